"""Which weights an architecture has, and how many, without building it.

Layers share all weights, those of one part, or none (paper, section 3.1 and Table 4).
"""

import dataclasses
import math
import re
from collections.abc import Callable
from typing import Literal

from schemas.architecture import ModelConfig
from schemas.task import Kind

Part = Literal["attention", "ffn"]
PARTS: tuple[Part, Part] = ("attention", "ffn")

# The group of a layer, which each program rounds in its own way.
GroupOf = Callable[[int, ModelConfig], int]


def weight_owner(part: Part, layer: int, config: ModelConfig) -> str:
    """The owner of the weights that a part of a layer uses: its group, or itself.

    >>> weight_owner("attention", 7, ModelConfig(num_hidden_groups=2))
    'group_1'
    >>> weight_owner("ffn", 7, ModelConfig(sharing="attention"))
    'layer_7'
    """
    if config.sharing in ("all", part):
        return f"group_{_group(layer, config)}"
    return f"layer_{layer}"


def sublayers(config: ModelConfig) -> list[tuple[Part, str]]:
    """Every sublayer, in the order of computation: its part, the name of its weights.

    >>> sublayers(ModelConfig(num_hidden_layers=2, sharing="attention"))
    ... # doctest: +NORMALIZE_WHITESPACE
    [('attention', 'group_0_inner_0_attention'), ('ffn', 'layer_0_inner_0_ffn'),
     ('attention', 'group_0_inner_0_attention'), ('ffn', 'layer_1_inner_0_ffn')]
    """
    return [
        (part, f"{weight_owner(part, layer, config)}_inner_{inner}_{part}")
        for layer in range(config.num_hidden_layers)
        for inner in range(config.inner_group_num)
        for part in PARTS
    ]


def whole_layers(config: ModelConfig) -> ModelConfig:
    """The architecture of an equal model whose groups share all of their weights.

    Other programs know no other sharing. A model that shares only a part, or whose
    groups transformers rounds otherwise, gets a group for each layer, and what was
    shared is repeated in each.

    >>> whole_layers(ModelConfig(sharing="attention")).num_hidden_groups
    12
    """
    if _is_whole(config):
        return config
    return dataclasses.replace(config, sharing="all", num_hidden_groups=config.num_hidden_layers)


def _group(layer: int, config: ModelConfig) -> int:
    return layer * config.num_hidden_groups // config.num_hidden_layers


def has_groups_of(group_of: GroupOf, config: ModelConfig) -> bool:
    """Whether the layers are in the same groups where another program rounds."""
    layers = range(config.num_hidden_layers)
    return all(group_of(layer, config) == _group(layer, config) for layer in layers)


def huggingface_group(layer: int, config: ModelConfig) -> int:
    """The group of a layer as transformers rounds it (`AlbertTransformer`).

    >>> config = ModelConfig(num_hidden_layers=18, num_hidden_groups=14)
    >>> huggingface_group(9, config), weight_owner("ffn", 9, config)
    (6, 'group_7')
    """
    return int(layer / (config.num_hidden_layers / config.num_hidden_groups))


def _is_whole(config: ModelConfig) -> bool:
    """Whether groups share all, and are of the same layers in transformers."""
    return config.sharing == "all" and has_groups_of(huggingface_group, config)


def whole_layers_source(path: str, config: ModelConfig) -> str:
    """The path of the weight that a path of `whole_layers` takes its values from.

    >>> config = ModelConfig(sharing="attention")
    >>> whole_layers_source("encoder/group_7_inner_0_attention/key/bias", config)
    'encoder/group_0_inner_0_attention/key/bias'
    >>> whole_layers_source("encoder/group_7_inner_0_ffn/output/bias", config)
    'encoder/layer_7_inner_0_ffn/output/bias'
    """
    if _is_whole(config):
        return path

    def owner(match: re.Match[str]) -> str:
        part: Part = "attention" if match[3] == "attention" else "ffn"
        return weight_owner(part, int(match[1]), config) + match[2]

    return re.sub(r"group_(\d+)(_inner_\d+_(attention|ffn))", owner, path)


Shapes = dict[str, tuple[int, ...]]

# What the paths of the head of a task begin with.
TASK_HEAD = "albert/task_head/"

# What the weights are counted by, and what the paths of each part contain. A path that
# fits two parts belongs to the last of them.
_PARTS = {
    "embeddings": "/embeddings/",
    "projection": "/embeddings/projection/",
    "attention": "_attention/",
    "ffn": "_ffn/",
    "pooler": "/pooler/",
    "masked_lm_head": "/masked_lm_head/",
    "sentence_head": "/sentence_head/",
}


def count_parameters(config: ModelConfig) -> dict[str, int]:
    """The number of weights of each part of a model.

    >>> sum(count_parameters(ModelConfig()).values())
    11813810
    """
    counts = dict.fromkeys(_PARTS, 0)
    for path, shape in weight_shapes(config).items():
        part = next(part for part in reversed(_PARTS) if _PARTS[part] in path)
        counts[part] += math.prod(shape)
    return counts


def count_encoder_parameters(config: ModelConfig) -> int:
    """The weights of encoder and pooler, the number papers and model cards give.

    >>> count_encoder_parameters(ModelConfig())
    11683584
    """
    counts = count_parameters(config)
    return sum(n for part, n in counts.items() if not part.endswith("_head"))


def weight_shapes(config: ModelConfig) -> Shapes:
    """The shape of every weight, by its path in `weights_by_path`.

    >>> weight_shapes(ModelConfig())["albert/encoder/pooler/kernel"]
    (768, 768)
    """
    hidden, embedding = config.hidden_size, config.embedding_size
    blocks: dict[str, Shapes] = {
        "attention": {
            **_dense("query", hidden, hidden),
            **_dense("key", hidden, hidden),
            **_dense("value", hidden, hidden),
            **_dense("output", hidden, hidden),
            **_layer_norm(hidden),
        },
        "ffn": {
            **_dense("intermediate", hidden, config.intermediate_size),
            **_dense("output", config.intermediate_size, hidden),
            **_layer_norm(hidden),
        },
    }
    has_sentence_task = config.sentence_task != "none"
    parts: dict[str, Shapes] = {
        "encoder/embeddings": {
            "word_embeddings": (config.vocab_size, embedding),
            "position_embeddings": (config.max_position_embeddings, embedding),
            "token_type_embeddings": (config.type_vocab_size, embedding),
            **_layer_norm(embedding),
            **(_dense("projection", embedding, hidden) if config.has_projection else {}),
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


def task_weight_shapes(config: ModelConfig, *, kind: Kind, labels: int) -> Shapes:
    """The shape of every weight of a `TaskModel`, by its path.

    >>> shapes = task_weight_shapes(ModelConfig(), kind="tag", labels=9)
    >>> shapes["albert/task_head/classifier/kernel"]
    (768, 9)
    >>> "albert/encoder/pooler/kernel" in shapes
    False
    """
    whole = weight_shapes(encoder_config(config, kind))
    if kind == "embed":
        return {path: shape for path, shape in whole.items() if is_of_encoder(path)}
    head = _dense(head_name(kind), config.hidden_size, num_outputs(kind, labels))
    return {
        **{path: shape for path, shape in whole.items() if is_of_encoder(path)},
        **{f"{TASK_HEAD}{name}": shape for name, shape in head.items()},
    }


def encoder_config(config: ModelConfig, kind: Kind) -> ModelConfig:
    """The architecture with a pooler where a task needs one, and else without."""
    if needs_pooler(kind):
        return dataclasses.replace(config, sentence_task="sop")
    return dataclasses.replace(config, sentence_task="none")


def is_of_encoder(path: str) -> bool:
    """Whether a weight is of the encoder, its pooler included."""
    return path.startswith("albert/encoder/")


def needs_pooler(kind: Kind) -> bool:
    """Whether a task is about whole sequences and not about their tokens."""
    return kind not in ("answer", "tag", "embed")


def head_name(kind: Kind) -> str:
    """What transformers calls the head of a task."""
    return "qa_outputs" if kind == "answer" else "classifier"


def num_outputs(kind: Kind, labels: int) -> int:
    """How many numbers the head of a task gives, C."""
    return {"regress": 1, "choose": 1, "answer": 2}.get(kind, labels)


def _dense(name: str, inputs: int, units: int) -> Shapes:
    return {f"{name}/kernel": (inputs, units), f"{name}/bias": (units,)}


def _layer_norm(width: int) -> Shapes:
    return {"layer_norm/gamma": (width,), "layer_norm/beta": (width,)}
