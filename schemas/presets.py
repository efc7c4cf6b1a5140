"""Names for architectures (paper, Table 1) and for the settings of training (Table 14).

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
    # A rung of `albert_tf.planning.budget`, whose layers share nothing: sharing saves
    # no time, and in so small a model hardly any memory.
    "tiny": ModelConfig(
        num_hidden_layers=4,
        hidden_size=256,
        embedding_size=128,
        num_attention_heads=4,
        intermediate_size=1024,
        sharing="none",
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
        "optimizer": "muon",
        "bias_correction": True,
        "learning_rate": 0.002,
        "schedule": "constant-cooldown",
        "constant_steps": 1000,
        "initializer": "positional-heads",
        "unigram_bias": True,
        "pmi_embeddings": True,
        # Constant up to the cooldown: until then no step depends on how many follow.
        "masked_lm_prob": "0.40:0.8,0.40..0.15",
    },
}

# The one that --budget begins with.
BUDGET_RECIPE = "small-budget"


def _table_14(
    learning_rate: float, batch_size: int, dropout: float, *, steps: int, warmup: int
) -> dict[str, Any]:
    return {
        "learning_rate": learning_rate,
        "batch_size": batch_size,
        "dropout": dropout,
        "steps": steps,
        "warmup_steps": warmup,
        # As published, with decay of 0.01 and dropout of 0.1 before the head.
        "bias_correction": False,
    }


# The settings of fine-tuning in the paper (Table 14), by task; without its lengths.
TASK_RECIPES: dict[str, dict[str, Any]] = {
    "cola": _table_14(1e-5, 16, 0.0, steps=5336, warmup=320),
    "sts-b": _table_14(2e-5, 16, 0.0, steps=3598, warmup=214),
    "sst-2": _table_14(1e-5, 32, 0.0, steps=20_935, warmup=1256),
    "mnli": _table_14(3e-5, 128, 0.0, steps=10_000, warmup=1000),
    "qnli": _table_14(1e-5, 32, 0.0, steps=33_112, warmup=1986),
    "qqp": _table_14(5e-5, 128, 0.1, steps=14_000, warmup=1000),
    "rte": _table_14(3e-5, 32, 0.1, steps=800, warmup=200),
    "mrpc": _table_14(2e-5, 32, 0.0, steps=800, warmup=200),
    "wnli": _table_14(2e-5, 16, 0.1, steps=2000, warmup=250),
    "squad": _table_14(5e-5, 48, 0.0, steps=3649, warmup=365),
    "squad2": _table_14(3e-5, 48, 0.0, steps=8144, warmup=814),
    "race": _table_14(2e-5, 32, 0.1, steps=12_000, warmup=1000),
}
