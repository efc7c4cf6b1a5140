"""The stack of layers, some or all of them with the same weights."""

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from albert_tf.model.layers import (
    DropoutSeeds,
    Embeddings,
    FeedForward,
    SelfAttention,
    dense,
)
from albert_tf.model.operations import SharedWeights, recomputed, repeat
from albert_tf.model.parameters import Part, layer_names, sublayers
from albert_tf.model.unpadding import Unpadding
from schemas.config import ModelConfig

Tensor = Any
Shared = dict[str, SharedWeights]
Layer = Callable[..., Tensor]


class Encoder(keras.layers.Layer):
    """Embeddings, L layers and, where there is a sentence task, the pooler.

    Args:
        config: The architecture.
        recompute: Compute each layer again for its gradients, to keep less in memory.
    """

    def __init__(
        self, config: ModelConfig, *, recompute: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(name="encoder", **kwargs)
        self.config = config
        self.recompute = recompute
        self.embeddings = Embeddings(config, dtype=self.dtype_policy)
        self.sublayers = {
            name: self._sublayer(part, name) for part, name in sublayers(config)
        }

    def _sublayer(self, part: Part, name: str) -> keras.layers.Layer:
        layer_class = {"attention": SelfAttention, "ffn": FeedForward}[part]
        return layer_class(self.config, name=name, dtype=self.dtype_policy)

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        width = self.config.hidden_size
        self.embeddings.build()
        for sublayer in self.sublayers.values():
            sublayer.build()
        self.pooler = None
        if self.config.sentence_task != "none":
            self.pooler = dense(width, "pooler", inputs=width, dtype=self.dtype_policy)

    def call(
        self,
        input_ids: Tensor,
        input_mask: Tensor,
        segment_ids: Tensor,
        seeds: DropoutSeeds | None = None,
        every_layer: bool = False,
        unpadding: Unpadding | None = None,
    ) -> Tensor | list[Tensor]:
        """Encode `[B, S]` pieces as rows `[B*S, H]`, or `[T, H]` with an `unpadding`.

        Args:
            input_ids: Piece ids.
            input_mask: 1 at pieces, 0 at padding.
            segment_ids: 0 in the first segment and at padding, 1 in the second.
            seeds: Where dropout draws from; without, there is no dropout.
            every_layer: Return the rows of all layers, the last layer's last.
            unpadding: Which places have rows, where not all have.
        """
        embeddings = self.embeddings
        rows = embeddings(input_ids, segment_ids, seeds=seeds, unpadding=unpadding)
        weights = {n: layer.shared_weights() for n, layer in self.sublayers.items()}
        attended = {"input_mask": input_mask, "unpadding": unpadding}
        layer = functools.partial(self._layer, attended=attended, seeds=seeds)
        in_groups = self.config.sharing == "all" and self.config.inner_group_num == 1
        if in_groups and not every_layer:
            return self._group_by_group(rows, weights, layer)
        layers = self._one_by_one(rows, weights, layer)
        inner = self.config.inner_group_num
        return layers[inner - 1 :: inner] if every_layer else layers[-1]

    def _group_by_group(self, rows: Tensor, weights: Shared, layer: Layer) -> Tensor:
        """The rows behind the last layer, layers of the same weights in a loop."""

        def layer_of(
            group: tuple[str, str], first: int, number: int | Tensor, rows: Tensor
        ) -> Tensor:
            copies = [w for name in group for w in weights[name].copy()]
            return layer(group, first + number, rows, copies)

        first = 0
        for group, size in Counter(layer_names(self.config)).items():
            rows = repeat(functools.partial(layer_of, group, first), rows, size)
            first += size
        return rows

    def _one_by_one(self, rows: Tensor, weights: Shared, layer: Layer) -> list[Tensor]:
        """The rows behind each layer."""
        layers = []
        for number, names in enumerate(layer_names(self.config)):
            own = [w for name in names for w in weights[name].copy()]
            rows = layer(names, number, rows, own)
            layers.append(rows)
        return layers

    def _layer(
        self,
        names: tuple[str, str],
        number: int | Tensor,
        rows: Tensor,
        weights: list[Tensor],
        *,
        attended: dict[str, Any],
        seeds: DropoutSeeds | None,
    ) -> Tensor:
        """Attention and FFN of these names, with a copy of the weights of both."""
        attention, ffn = (self.sublayers[name] for name in names)

        def compute(rows: Tensor, *weights: Tensor) -> Tensor:
            own, half = seeds and seeds.of_layer(number), len(weights) // 2
            rows = attention(rows, **attended, seeds=own, weights=weights[:half])
            return ffn(rows, seeds=own, weights=weights[half:])

        if self.recompute and seeds is not None:
            return recomputed(compute, rows, *weights)
        return compute(rows, *weights)

    def pool(
        self, rows: Tensor, length: int, unpadding: Unpadding | None = None
    ) -> Tensor:
        """A summary `[B, H]` of each sequence, from its first piece, [CLS]."""
        assert self.pooler is not None, "a model without sentence task pools nothing"
        if unpadding:
            firsts = ops.reshape(unpadding.rows, (-1, length))[:, 0]
            return ops.tanh(self.pooler(ops.take(rows, firsts, axis=0)))
        first = ops.reshape(rows, (-1, length, self.config.hidden_size))[:, 0]
        return ops.tanh(self.pooler(first))
