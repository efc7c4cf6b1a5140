"""How many sequences to compute at a time, when nobody says."""

import os

from schemas.config import ModelConfig

# More pieces at a time make no matrix product on a CPU faster, only signals slower.
MAX_PIECES = 4096

# The share of the free memory that activations may take.
MEMORY_SHARE = 0.5


def derive_micro_batch_size(
    batch_size: int,
    config: ModelConfig,
    *,
    length: int,
    predictions: int,
    free_bytes: int,
) -> int:
    """The largest divisor of the batch whose activations fit.

    Args:
        batch_size: Sequences in a step.
        config: The architecture.
        length: S.
        predictions: P.
        free_bytes: Memory that is free now.

    >>> derive_micro_batch_size(
    ...     32, ModelConfig(), length=512, predictions=77, free_bytes=16 << 30
    ... )
    4
    """
    per_sequence = activation_bytes(config, length=length, predictions=predictions)
    fitting = int(free_bytes * MEMORY_SHARE) // per_sequence
    most = max(1, min(fitting, MAX_PIECES // length))
    return max(size for size in range(1, most + 1) if batch_size % size == 0)


def activation_bytes(config: ModelConfig, *, length: int, predictions: int) -> int:
    """What one sequence keeps in float32 for its gradients, about.

    Per layer the rows that enter and leave each operation, and scores and weights of
    attention; once the logits, their exponentials and their gradients.
    """
    rows = length * (12 * config.hidden_size + 6 * config.intermediate_size)
    attention = 3 * config.num_attention_heads * length * length
    layers = config.num_hidden_layers * config.inner_group_num
    return 4 * (layers * (rows + attention) + 3 * predictions * config.vocab_size)


def free_memory_bytes() -> int:
    """Memory the machine could give now."""
    pages = os.sysconf("SC_AVPHYS_PAGES")
    return pages * os.sysconf("SC_PAGE_SIZE")
