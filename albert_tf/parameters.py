"""Which weights an architecture has, and how many, without building it."""

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


def weight_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """The full name and the shape of every weight, those of `weights_by_path`.

    >>> weight_shapes(ModelConfig())["albert/encoder/pooler/kernel"]
    (768, 768)
    """
    hidden, embedding = config.hidden_size, config.embedding_size
    inner = config.intermediate_size
    blocks = {
        "attention": {
            **_dense("query", hidden, hidden),
            **_dense("key", hidden, hidden),
            **_dense("value", hidden, hidden),
            **_dense("output", hidden, hidden),
            **_layer_norm(hidden),
        },
        "ffn": {
            **_dense("intermediate", hidden, inner),
            **_dense("output", inner, hidden),
            **_layer_norm(hidden),
        },
    }
    has_sentence_task = config.sentence_task != "none"
    parts: dict[str, dict[str, tuple[int, ...]]] = {
        "encoder/embeddings": {
            "word_embeddings": (config.vocab_size, embedding),
            "position_embeddings": (config.max_position_embeddings, embedding),
            "token_type_embeddings": (config.type_vocab_size, embedding),
            **_layer_norm(embedding),
            **(_dense("projection", embedding, hidden) if embedding != hidden else {}),
        },
        **{f"encoder/{name}": blocks[part] for part, name in sublayers(config)},
        "encoder": _dense("pooler", hidden, hidden) if has_sentence_task else {},
        "masked_lm_head": {
            "output_bias": (config.vocab_size,),
            **_dense("transform", hidden, embedding),
            **_layer_norm(embedding),
        },
        "sentence_head": _dense("classifier", hidden, 2) if has_sentence_task else {},
    }
    return {
        f"albert/{part}/{name}": shape
        for part, shapes in parts.items()
        for name, shape in shapes.items()
    }


def _dense(name: str, inputs: int, units: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}/kernel": (inputs, units), f"{name}/bias": (units,)}


def _layer_norm(width: int) -> dict[str, tuple[int, ...]]:
    return {"layer_norm/gamma": (width,), "layer_norm/beta": (width,)}
