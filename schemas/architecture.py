"""An architecture: its fields, and the names of those in the paper (Table 1)."""

import dataclasses
from typing import Literal

from schemas.config import SentenceTask, check_bounds, option
from schemas.errors import SettingError
from schemas.readable import counted

Sharing = Literal["all", "attention", "ffn", "none"]
Activation = Literal["gelu", "relu"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The architecture, under the names of Hugging Face's AlbertConfig."""

    vocab_size: int = option(30000, "Pieces in the vocabulary (V).", minimum=6, maximum=10_000_000)
    embedding_size: int = option(128, "Width of the embeddings (E).", minimum=1, maximum=65_536)
    hidden_size: int = option(768, "Width of the layers (H).", minimum=1, maximum=65_536)
    num_hidden_layers: int = option(12, "Layers (L).", minimum=1, maximum=1024)
    num_hidden_groups: int = option(1, "Groups of layers that share weights.", minimum=1)
    inner_group_num: int = option(1, "Blocks in a layer of a group.", minimum=1, maximum=16)
    num_attention_heads: int = option(12, "Attention heads (A).", minimum=1)
    intermediate_size: int = option(3072, "Width inside the FFN (F).", minimum=1, maximum=262_144)
    sharing: Sharing = option(
        "all", "What the layers of a group share (Table 4): all, attention, ffn or none."
    )
    hidden_dropout_prob: float = option(
        0.0, "Dropout after embeddings and blocks.", minimum=0.0, maximum=0.9
    )
    attention_probs_dropout_prob: float = option(
        0.0, "Dropout on the attention weights.", minimum=0.0, maximum=0.9
    )
    max_position_embeddings: int = option(512, "Longest sequence.", minimum=1, maximum=1_000_000)
    type_vocab_size: int = option(2, "Segments.", minimum=2, maximum=1024)
    initializer_range: float = option(
        0.02, "Standard deviation of the initial weights.", minimum=0.0
    )
    layer_norm_eps: float = option(1e-12, "Epsilon of layer normalization.", minimum=0)
    hidden_act: Activation = option(
        "gelu", "Activation between the two layers of an FFN: gelu or relu."
    )
    sentence_task: SentenceTask = option(
        "sop", "The sentence task that is trained: sop, nsp or none."
    )
    embedding_projection: Literal["if-narrower", "always"] = option(
        "if-narrower",
        "Where embeddings are projected to the width of the layers: where they are "
        "narrower, or always.",
    )
    layer_consistency_weight: float = option(
        0.0, "Weight of a loss that makes adjacent layers agree; the paper has none.", minimum=0.0
    )

    def __post_init__(self) -> None:
        check_bounds(self, named=str)
        if self.hidden_size % self.num_attention_heads:
            raise SettingError(
                f"num_attention_heads must divide hidden_size {self.hidden_size}, and "
                f"{self.num_attention_heads} does not."
            )
        if self.num_hidden_groups > self.num_hidden_layers:
            raise SettingError(
                f"num_hidden_groups must be at most num_hidden_layers "
                f"{self.num_hidden_layers}, not {self.num_hidden_groups}."
            )
        if self.layer_consistency_weight and self.num_hidden_layers == 1:
            raise SettingError(
                "layer_consistency_weight compares neighbouring layers and there is "
                "only one; leave it 0, or give num_hidden_layers of 2 or more."
            )

    @property
    def has_projection(self) -> bool:
        """Whether embeddings are projected from E to H."""
        is_always = self.embedding_projection == "always"
        return is_always or self.embedding_size != self.hidden_size

    @property
    def shape(self) -> str:
        """Its layers in words.

        >>> ModelConfig().shape
        '12 layers of 768, sharing all'
        """
        layers = counted(self.num_hidden_layers, "layer")
        return f"{layers} of {self.hidden_size}, sharing {self.sharing}"


def _albert(layers: int, hidden: int, *, heads: int) -> ModelConfig:
    return ModelConfig(
        num_hidden_layers=layers,
        hidden_size=hidden,
        num_attention_heads=heads,
        intermediate_size=4 * hidden,
    )


def same_shape_bert(config: ModelConfig) -> ModelConfig:
    """The BERT of the same shape: nothing shared, embeddings as wide as the layers."""
    return dataclasses.replace(
        config, sharing="none", num_hidden_groups=1, embedding_size=config.hidden_size
    )


PRESETS = {
    # A rung of `albert_tf.planning.budget`, whose layers share nothing: sharing saves
    # no time, and in so small a model hardly any memory.
    "tiny": dataclasses.replace(_albert(4, 256, heads=4), sharing="none"),
    "base": _albert(12, 768, heads=12),
    "large": _albert(24, 1024, heads=16),
    "xlarge": _albert(24, 2048, heads=16),
    "xxlarge": _albert(12, 4096, heads=64),
    "bert-base": same_shape_bert(_albert(12, 768, heads=12)),
    "bert-large": same_shape_bert(_albert(24, 1024, heads=16)),
}
