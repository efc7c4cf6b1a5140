"""What an architecture costs to train: operations and memory, by arithmetic alone.

Operations are those of matrix products, a multiplication with its addition counted as
two; embedding look-ups, softmax, GELU and layer normalisation are not counted. The
backward pass takes twice the operations of the forward pass, so training takes three
times as many, and recomputation adds another forward pass of the layers. Sharing
weights changes none of this: every layer is computed, whichever weights it uses.
"""

import dataclasses

from albert_tf.model.parameters import count_parameters
from schemas.architecture import ModelConfig
from schemas.config import Precision, ResolvedDataConfig

# Bytes of a number of the computation, by `--precision`.
NUMBER_BYTES: dict[Precision, int] = {"float32": 4, "bfloat16": 2}

# A weight, its two moments and its accumulated gradient, in float32 whatever the
# precision.
WEIGHT_BYTES = 4 * 4

# Examples in which tokens are counted for first weights, the tokens beside which all
# are counted, and the columns beyond those asked for
# (`albert_tf.data.token_statistics`, which needs NumPy).
COUNTED_EXAMPLES, CONTEXTS, EXTRA_COLUMNS = 50_000, 2048, 32


def forward_flops(
    config: ModelConfig, *, length: int, predictions: int
) -> dict[str, int]:
    """Operations of one sequence's forward pass, by part of the model.

    Args:
        length: S, tokens in the sequence.
        predictions: P, places in it where tokens are predicted.

    >>> flops = forward_flops(ModelConfig(), length=512, predictions=20)
    >>> round(sum(flops.values()) / 512)  # a token
    189250278
    """
    hidden, embedding = config.hidden_size, config.embedding_size
    blocks = num_blocks(config)
    has_sentence_task = config.sentence_task != "none"
    dense = 4 * hidden * hidden + 2 * hidden * config.intermediate_size
    head = hidden * embedding + embedding * config.vocab_size
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
    config: ModelConfig, *, length: int, predictions: int, recompute: bool = False
) -> int:
    """Operations to train on one sequence, a forward and a backward pass."""
    forward = forward_flops(config, length=length, predictions=predictions)
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


def same_shape_bert(config: ModelConfig) -> ModelConfig:
    """The BERT of the same shape: nothing shared, embeddings as wide as the layers."""
    return dataclasses.replace(
        config, sharing="none", num_hidden_groups=1, embedding_size=config.hidden_size
    )
