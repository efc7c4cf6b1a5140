"""Which layers share which weights (paper, section 3.1 and Table 4)."""

from typing import Literal

from schemas.config import ModelConfig

Part = Literal["attention", "ffn"]
PARTS: tuple[Part, Part] = ("attention", "ffn")


def weight_owner(part: Part, layer: int, config: ModelConfig) -> str:
    """Whose weights a part of a layer uses: its group's, or its own.

    >>> weight_owner("attention", 7, ModelConfig(num_hidden_groups=2))
    'group_1'
    >>> weight_owner("ffn", 7, ModelConfig(sharing="attention"))
    'layer_7'
    """
    if config.sharing in ("all", part):
        return f"group_{layer * config.num_hidden_groups // config.num_hidden_layers}"
    return f"layer_{layer}"


def sublayers(config: ModelConfig) -> list[tuple[Part, str]]:
    """Part and name of the weights of every sublayer, in the order of computation.

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
