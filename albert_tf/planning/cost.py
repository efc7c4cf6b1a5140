"""What a run will take: operations, memory, sequences at a time.

Operations are those of matrix products, a multiplication with its addition counted as
two; embedding look-ups, softmax, GELU and layer normalisation are not counted. The
backward pass takes twice the operations of the forward pass, so training takes three
times as many, and recomputation adds another forward pass of the layers. Sharing
weights changes none of this: every layer is computed, whichever weights it uses.
"""

import dataclasses
import glob
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from albert_tf.model.parameters import count_encoder_parameters, count_parameters
from schemas.architecture import PRESETS, ModelConfig, same_shape_bert
from schemas.config import Precision, ResolvedDataConfig, TrainConfig
from schemas.errors import SettingError
from schemas.files import Values
from schemas.readable import duration

# Bytes of a number of the computation, by `--precision`.
NUMBER_BYTES: dict[Precision, int] = {"float32": 4, "bfloat16": 2}

# A run of more than this is not begun without a word.
LONG_SECONDS = 7 * 86_400

# A weight, its two moments and its accumulated gradient, in float32 whatever the
# precision.
WEIGHT_BYTES = 4 * 4

# For first weights: the examples in which tokens are counted; the most frequent tokens,
# beside which all are counted; the columns beyond those asked for.
COUNTED_EXAMPLES, CONTEXTS, EXTRA_COLUMNS = 50_000, 2048, 32

# Operations a second of dense bfloat16 products, by the vendors' data sheets, and the
# share of them that training base reached on an H200, with JAX.
PEAK_FLOPS = {"H100": 989e12, "A100": 312e12}
SHARE_OF_PEAK = 0.35
# Two accelerators that many know, at that share of their peak.
MACHINES = {
    f"{name}, bfloat16, {SHARE_OF_PEAK:.0%} of {peak / 1e12:.0f} TFLOP/s": SHARE_OF_PEAK * peak
    for name, peak in PEAK_FLOPS.items()
}

# What Linux shows of GPUs and TPUs, even if no library can use them. Under Windows the driver of
# NVIDIA's puts a library there, and all GPUs are one device.
ACCELERATORS = (
    "/dev/nvidia[0-9]*",
    "/dev/accel[0-9]*",
    "/dev/vfio/[0-9]*",
    "/usr/lib/wsl/lib/libcuda.so.1",
)

# The fields of an architecture that follow from the data and not from its shape.
OF_DATA = ("vocab_size", "sentence_task", "max_position_embeddings")


def forward_flops(
    config: ModelConfig, *, length: int, predictions: int, candidates: int | None = None
) -> dict[str, int]:
    """Operations of one sequence's forward pass, by part of the model.

    Args:
        length: S, tokens in the sequence.
        predictions: P, places in it where tokens are predicted.
        candidates: Tokens that are predicted among; None for the whole vocabulary.

    >>> flops = forward_flops(ModelConfig(), length=512, predictions=20)
    >>> round(sum(flops.values()) / 512)  # a token
    189250278
    """
    hidden, embedding = config.hidden_size, config.embedding_size
    blocks = num_blocks(config)
    has_sentence_task = config.sentence_task != "none"
    dense = 4 * hidden * hidden + 2 * hidden * config.intermediate_size
    head = hidden * embedding + embedding * (candidates or config.vocab_size)
    products = {
        "projection": config.has_projection * length * embedding * hidden,
        "layers": blocks * length * dense,
        "attention_scores": blocks * length * 2 * length * hidden,
        "masked_lm_head": predictions * head,
        "sentence_head": has_sentence_task * (hidden * hidden + 2 * hidden),
    }
    return {part: 2 * number for part, number in products.items()}


def predictions_of(data: ResolvedDataConfig, length: int) -> int:
    """About the predictions in an example of this many tokens.

    >>> from schemas.config import DataConfig
    >>> data = DataConfig(max_seq_length=128).resolved(input_bytes=0)
    >>> predictions_of(data, 128), predictions_of(data, 104)
    (19, 15)
    """
    return round(data.max_predictions_per_seq * length / data.max_seq_length)


def training_flops(
    config: ModelConfig,
    *,
    length: int,
    predictions: int,
    recompute: bool = False,
    candidates: int | None = None,
) -> int:
    """Operations to train on one sequence, a forward and a backward pass."""
    forward = forward_flops(config, length=length, predictions=predictions, candidates=candidates)
    again = forward["layers"] + forward["attention_scores"] if recompute else 0
    return 3 * sum(forward.values()) + again


def state_bytes(config: ModelConfig) -> int:
    """Memory of the weights and of what the optimizer keeps for each."""
    return WEIGHT_BYTES * sum(count_parameters(config).values())


def counting_bytes(config: ModelConfig, *, length: int) -> int:
    """Memory of the machine in which `--pmi-embeddings` are counted.

    That of the tokens `[N, S]`, of the counts `[V, C]` and of five matrices `[V, E]`
    of which their singular vectors are found.

    Args:
        length: S, tokens in the longest example.

    >>> counting_bytes(ModelConfig(), length=512) >> 20
    423
    """
    columns = CONTEXTS + 5 * (config.embedding_size + EXTRA_COLUMNS)
    return 4 * (COUNTED_EXAMPLES * length + config.vocab_size * columns)


def activation_bytes(
    config: ModelConfig,
    *,
    length: int,
    predictions: int,
    precision: Precision = "float32",
    recompute: bool = False,
) -> int:
    """Roughly what one sequence keeps for its gradients.

    * For each layer: query, key, value and context of attention, what enters and leaves
      both normalisations (rows `[S, H]`), and what enters GELU (`[S, F]`).
    * For one layer at a time: gradients of all these, and what is computed again, which
      is what leaves GELU, the weights of attention and their gradients.
    * Once: the logits and their gradients.
    * With dropout: what leaves it and its mask, a byte a number; with dropout of
      attention its weights too, which are kept then.

    With recomputation each layer keeps only what enters it, and one layer is whole. JAX
    may keep more.
    """
    number = NUMBER_BYTES[precision]
    hidden, inner = config.hidden_size, config.intermediate_size
    rows, scores = length * hidden, config.num_attention_heads * length * length
    layer = number * (8 * rows + length * inner)
    again = number * (length * inner + 2 * scores)
    if config.attention_probs_dropout_prob:
        layer += (2 * number + 1) * scores
    if config.hidden_dropout_prob:
        layer += (number + 1) * 2 * rows
    logits = 2 * number * predictions * config.vocab_size
    blocks = num_blocks(config)
    if recompute:
        return blocks * number * rows + 2 * layer + again + logits
    return (blocks + 1) * layer + again + logits


def num_blocks(config: ModelConfig) -> int:
    """How often attention and FFN are computed for a sequence."""
    return config.num_hidden_layers * config.inner_group_num


# On a CPU more tokens at a time make no matrix product faster, but delay signals.
MAX_TOKENS = 4096

# More tokens at a time keep no accelerator busier: a product of as many rows has dozens
# of tiles for each of its multiprocessors.
MAX_TOKENS_OF_ACCELERATOR = 1 << 16


def measured_tokens(config: ModelConfig, *, length: int, memory_bytes: int) -> int:
    """Tokens that an accelerator measures a model on at a time, a power of two.

    What a layer and the head compute of them, in float32, is to fit in a quarter of its memory.

    >>> sizes = (104 << 30, 6 << 30)
    >>> [measured_tokens(ModelConfig(), length=512, memory_bytes=size) for size in sizes]
    [65536, 8192]
    """
    numbers = 6 * config.hidden_size + 2 * config.intermediate_size + config.vocab_size // 3
    numbers += 2 * config.num_attention_heads * length
    fitting = memory_bytes // 4 // (4 * numbers)
    return max(MAX_TOKENS, min(MAX_TOKENS_OF_ACCELERATOR, 1 << (fitting.bit_length() - 1)))


# The share of the free memory that activations may take.
MEMORY_SHARE = 0.5

# Where Linux shows a container the limits it runs under.
CGROUP = Path("/sys/fs/cgroup")


class MemoryLimit(NamedTuple):
    """Memory that is free on all devices together, and the most tokens at a time."""

    free_bytes: int
    max_tokens: int = MAX_TOKENS


def memory_limit(devices: Sequence[Mapping[str, int] | None]) -> MemoryLimit:
    """The limit of devices that compute the same, or of the machine they share.

    Args:
        devices: The `bytes_limit` and `bytes_in_use` of each; None or empty for one
            without memory of its own, such as a CPU.

    >>> memory_limit([{"bytes_limit": 100 << 30, "bytes_in_use": 4 << 30}] * 2)
    MemoryLimit(free_bytes=206158430208, max_tokens=65536)
    """
    free = [
        max(0, memory["bytes_limit"] - memory["bytes_in_use"])
        for memory in devices
        if memory and "bytes_limit" in memory
    ]
    if len(free) < len(devices):
        return MemoryLimit(free_memory_bytes())
    return MemoryLimit(min(free) * len(free), MAX_TOKENS_OF_ACCELERATOR)


def derive_micro_batch_size(
    train: TrainConfig,
    config: ModelConfig,
    *,
    length: int,
    predictions: int,
    limit: MemoryLimit,
    devices: int = 1,
) -> int:
    """The fewest micro-batches whose activations fit, of equal size up to the last.

    Args:
        train: The batch, the precision, and whether layers are computed again.
        length: S, of a sequence with P predictions.
        devices: How many micro-batches are computed at the same time.

    >>> train = TrainConfig(batch_size=32)
    >>> limit = MemoryLimit(free_bytes=16 << 30)
    >>> derive_micro_batch_size(
    ...     train, ModelConfig(), length=512, predictions=77, limit=limit
    ... )
    8
    """
    per_sequence = activation_bytes(
        config,
        length=length,
        predictions=predictions,
        precision=train.precision,
        recompute=train.recompute,
    )
    fitting = int(limit.free_bytes * MEMORY_SHARE) // (per_sequence * devices)
    most = max(1, min(fitting, limit.max_tokens // length))
    rounds = -(-train.batch_size // (most * devices))
    return -(-train.batch_size // (rounds * devices))


def free_memory_bytes(cgroup: Path = CGROUP, meminfo: Path = Path("/proc/meminfo")) -> int:
    """Memory the machine could give now, or the container where that is less.

    macOS does not say it; there it is half of what the machine has.
    """
    try:
        lines = meminfo.read_text().splitlines()
        (available,) = (line for line in lines if line.startswith("MemAvailable:"))
        free = int(available.split()[1]) << 10
    except (OSError, ValueError):
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    try:
        limit = int((cgroup / "memory.max").read_text())
        used = int((cgroup / "memory.current").read_text())
        lines = (cgroup / "memory.stat").read_text().splitlines()
        # Cached files are given back on demand, so they count as free.
        cached = dict(line.split(maxsplit=1) for line in lines)["inactive_file"]
        return min(free, max(0, limit - used + int(cached)))
    except (OSError, ValueError, KeyError):  # No such file, or the limit is "max".
        return free


def check_duration(seconds: float, *, is_alone: bool, say: Callable[[str], None]) -> None:
    """Ask for --yes before a run of more than a week; where others train along, only say it.

    Args:
        seconds: What the run will take, or less than that.
        is_alone: Whether no other host would be left waiting.
    """
    if seconds <= LONG_SECONDS:
        return
    long = f"this run would take {duration(seconds)} or more on this machine"
    shorter = (
        "with --budget 1h, and without --model, --recipe and --steps, it is what suits an hour"
    )
    if is_alone:
        raise SettingError(f"{long}; give --yes to start it all the same; {shorter}.")
    say(f"Note: {long}; {shorter}.")


def plan(
    config: ModelConfig,
    data: ResolvedDataConfig,
    train: TrainConfig,
    machines: Mapping[str, float],
    *,
    length: int,
) -> Values:
    """All figures of a run, as one JSON object.

    Args:
        data: Gives the length S and the predictions P of the longest example.
        machines: For which the time is estimated, by name: the operations a second
            that each sustains in training.
        length: Tokens in an average example; padding is not computed.
    """
    bert = same_shape_bert(config)
    name = preset_name(config) or "this model"
    costs = {name: cost(config, data, train, length=length)}
    if bert != config:
        name = preset_name(bert) or "its BERT"
        costs[name] = cost(bert, data, train, length=length)
    sequences = train.steps * train.batch_size
    return {
        "max_seq_length": data.max_seq_length,
        "max_predictions_per_seq": data.max_predictions_per_seq,
        "precision": train.precision,
        "steps": train.steps,
        "batch_size": train.batch_size,
        "sequences": sequences,
        "mean_length": length,
        "tokens": sequences * length,
        "models": costs,
        "days": {
            machine: {
                name: of_model["training_flops"] / flops / 86400 for name, of_model in costs.items()
            }
            for machine, flops in machines.items()
        },
    }


def cost(
    config: ModelConfig, data: ResolvedDataConfig, train: TrainConfig, *, length: int
) -> Values:
    """What one architecture costs; operations are of one token, or of the whole run."""
    mean = {"length": length, "predictions": predictions_of(data, length)}
    longest = {"length": data.max_seq_length, "predictions": data.max_predictions_per_seq}
    forward = forward_flops(config, **mean)
    sequence, recomputed = (
        training_flops(config, **mean, recompute=again) for again in (False, True)
    )
    kept, kept_recomputed = (
        activation_bytes(config, **longest, precision=train.precision, recompute=again)
        for again in (False, True)
    )
    return {
        "architecture": dataclasses.asdict(config),
        "parameters": sum(count_parameters(config).values()),
        "encoder_parameters": count_encoder_parameters(config),
        "forward_flops": sum(forward.values()) / length,
        "step_flops": sequence / length,
        "step_flops_recomputed": recomputed / length,
        "state_bytes": state_bytes(config),
        "counting_bytes": counting_bytes(config, length=data.max_seq_length),
        "activation_bytes": kept,
        "activation_bytes_recomputed": kept_recomputed,
        "training_flops": train.steps * train.batch_size * sequence,
    }


def accelerators_shown() -> int:
    """The GPUs and TPUs of this machine, whether a library sees them or not; none if hidden."""
    is_hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    if is_hidden or "JAX_PLATFORMS" in os.environ:
        return 0
    return sum(len(glob.glob(pattern)) for pattern in ACCELERATORS)


def preset_name(config: ModelConfig) -> str | None:
    """The preset with these widths, depth and sharing, whatever its vocabulary.

    >>> preset_name(same_shape_bert(ModelConfig(vocab_size=8000)))
    'bert-base'
    """
    of_data = {field: getattr(config, field) for field in OF_DATA}
    for name, preset in PRESETS.items():
        if dataclasses.replace(preset, **of_data) == config:
            return name
    return None
