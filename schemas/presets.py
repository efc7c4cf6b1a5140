"""Names for architectures (paper, Table 1) and for the settings of training.

`xlarge` has the 16 heads of the release.
"""

from typing import Any

from schemas.config import ModelConfig


def _albert(layers: int, hidden: int, *, heads: int) -> ModelConfig:
    return ModelConfig(
        num_hidden_layers=layers,
        hidden_size=hidden,
        num_attention_heads=heads,
        intermediate_size=4 * hidden,
    )


def _bert(layers: int, hidden: int, *, heads: int) -> ModelConfig:
    return ModelConfig(
        num_hidden_layers=layers,
        hidden_size=hidden,
        embedding_size=hidden,
        num_attention_heads=heads,
        intermediate_size=4 * hidden,
        sharing="none",
    )


PRESETS = {
    "tiny": ModelConfig(
        num_hidden_layers=4,
        hidden_size=256,
        embedding_size=128,
        num_attention_heads=4,
        intermediate_size=1024,
    ),
    "base": _albert(12, 768, heads=12),
    "large": _albert(24, 1024, heads=16),
    "xlarge": _albert(24, 2048, heads=16),
    "xxlarge": _albert(12, 4096, heads=64),
    "bert-base": _bert(12, 768, heads=12),
    "bert-large": _bert(24, 1024, heads=16),
}

# Settings other than the defaults; docs/reproducing.md measures `small-budget`.
RECIPES: dict[str, dict[str, Any]] = {
    "paper": {},
    "small-budget": {
        "batch_size": 32,
        "optimizer": "adamw",
        "bias_correction": True,
        "learning_rate": 0.001,
        "initializer": "positional-heads",
        "unigram_bias": True,
        "pmi_embeddings": True,
        "masked_lm_prob": "0.30..0.15",
    },
}

# The one that --budget begins with.
BUDGET_RECIPE = "small-budget"
