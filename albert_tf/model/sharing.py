"""Which layers share which weights (paper, section 3.1 and Table 4)."""

import dataclasses
import re
from typing import Literal

from schemas.config import ModelConfig

Part = Literal["attention", "ffn"]
PARTS: tuple[Part, Part] = ("attention", "ffn")


def weight_owner(part: Part, layer: int, config: ModelConfig) -> str:
    """The owner of the weights that a part of a layer uses: its group, or itself.

    >>> weight_owner("attention", 7, ModelConfig(num_hidden_groups=2))
    'group_1'
    >>> weight_owner("ffn", 7, ModelConfig(sharing="attention"))
    'layer_7'
    """
    if config.sharing in ("all", part):
        return f"group_{layer * config.num_hidden_groups // config.num_hidden_layers}"
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


def layer_names(config: ModelConfig) -> list[tuple[str, str]]:
    """The names of the attention and FFN weights of every layer.

    >>> layer_names(ModelConfig(num_hidden_layers=2))[1]
    ('group_0_inner_0_attention', 'group_0_inner_0_ffn')
    """
    names = [name for _, name in sublayers(config)]
    return list(zip(names[::2], names[1::2], strict=True))


def whole_layers(config: ModelConfig) -> ModelConfig:
    """The architecture of an equal model whose groups share all of their weights.

    Other programs know no other sharing. A model that shares only a part gets a group
    for each layer, and what was shared is repeated in each.

    >>> whole_layers(ModelConfig(sharing="attention")).num_hidden_groups
    12
    """
    if config.sharing == "all":
        return config
    return dataclasses.replace(
        config, sharing="all", num_hidden_groups=config.num_hidden_layers
    )


def whole_layers_source(path: str, config: ModelConfig) -> str:
    """The path of the weight that a path of `whole_layers` takes its values from.

    >>> config = ModelConfig(sharing="attention")
    >>> whole_layers_source("encoder/group_7_inner_0_attention/key/bias", config)
    'encoder/group_0_inner_0_attention/key/bias'
    >>> whole_layers_source("encoder/group_7_inner_0_ffn/output/bias", config)
    'encoder/layer_7_inner_0_ffn/output/bias'
    """
    if config.sharing == "all":
        return path

    def owner(match: re.Match[str]) -> str:
        part: Part = "attention" if match[3] == "attention" else "ffn"
        return weight_owner(part, int(match[1]), config) + match[2]

    return re.sub(r"group_(\d+)(_inner_\d+_(attention|ffn))", owner, path)
