"""How many weights an architecture has, without building it."""

from albert_tf.sharing import PARTS, sublayers
from schemas.config import ModelConfig


def count_parameters(config: ModelConfig) -> dict[str, int]:
    """The number of weights of each part of a model.

    >>> sum(count_parameters(ModelConfig()).values())
    11813810
    """
    hidden, embedding = config.hidden_size, config.embedding_size
    inner, rows = config.intermediate_size, config.vocab_size
    rows += config.max_position_embeddings + config.type_vocab_size
    has_projection = embedding != hidden
    has_sentence_task = config.sentence_task != "none"
    block = {
        "attention": 4 * (hidden * hidden + hidden) + 2 * hidden,
        "ffn": 2 * hidden * inner + inner + hidden + 2 * hidden,
    }
    return {
        "embeddings": rows * embedding + 2 * embedding,
        "projection": has_projection * (embedding * hidden + hidden),
        **{part: block[part] * num_copies(config)[part] for part in PARTS},
        "pooler": has_sentence_task * (hidden * hidden + hidden),
        "masked_lm_head": hidden * embedding + 3 * embedding + config.vocab_size,
        "sentence_head": has_sentence_task * (2 * hidden + 2),
    }


def num_copies(config: ModelConfig) -> dict[str, int]:
    """How many different attentions and FFNs there are.

    >>> num_copies(ModelConfig(sharing="attention"))
    {'attention': 1, 'ffn': 12}
    """
    names = set(sublayers(config))
    return {part: sum(p == part for p, _ in names) for part in PARTS}


def count_encoder_parameters(config: ModelConfig) -> int:
    """The weights of encoder and pooler, the number papers and model cards give.

    >>> count_encoder_parameters(ModelConfig())
    11683584
    """
    counts = count_parameters(config)
    return sum(n for part, n in counts.items() if not part.endswith("_head"))
