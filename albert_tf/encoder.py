"""The stack of layers, some or all of them with the same weights."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from albert_tf.dropout import DropoutSeeds
from albert_tf.layers import (
    Embeddings,
    FeedForward,
    SelfAttention,
    dense,
)
from albert_tf.recomputation import recomputed
from albert_tf.sharing import Part, sublayers
from schemas.config import ModelConfig

Tensor = Any


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
    ) -> Tensor | list[Tensor]:
        """Encode `[B, S]` pieces as rows `[B*S, H]`.

        Args:
            input_ids: Piece ids.
            input_mask: 1 at pieces, 0 at padding.
            segment_ids: 0 in the first segment and at padding, 1 in the second.
            seeds: Where dropout draws from; without, there is no dropout.
            every_layer: Return the rows of all layers, the last layer's last.
        """
        rows = self.embeddings(input_ids, segment_ids, seeds=seeds)
        order = sublayers(self.config)
        uses = Counter(name for _, name in order)
        weights = {n: self.sublayers[n].weights_for(count) for n, count in uses.items()}
        layers = []
        for (_, attention), (_, ffn) in zip(order[::2], order[1::2], strict=True):
            given = [weights[attention].pop(), weights[ffn].pop()]
            block = self._block(attention, ffn, input_mask, seeds=seeds)
            if self.recompute and seeds is not None:
                rows = recomputed(block, rows, *given[0], *given[1])
            else:
                rows = block(rows, *given[0], *given[1])
            layers.append(rows)
        inner = self.config.inner_group_num
        return layers[inner - 1 :: inner] if every_layer else rows

    def _block(
        self,
        attention: str,
        ffn: str,
        input_mask: Tensor,
        *,
        seeds: DropoutSeeds | None,
    ) -> Callable[..., Tensor]:
        """Two sublayers as a function of rows `[B*S, H]` and all of their weights."""
        first = seeds.num_drawn if seeds else 0

        def block(rows: Tensor, *weights: Tensor) -> Tensor:
            if seeds:
                seeds.num_drawn = first  # the same masks when it is computed again
            half = len(weights) // 2
            rows = self.sublayers[attention](
                rows, input_mask, seeds=seeds, weights=weights[:half]
            )
            return self.sublayers[ffn](rows, seeds=seeds, weights=weights[half:])

        return block

    def pool(self, rows: Tensor, length: int) -> Tensor:
        """A summary `[B, H]` of each sequence, from its first piece, [CLS]."""
        assert self.pooler is not None, "a model without sentence task pools nothing"
        first = ops.reshape(rows, (-1, length, self.config.hidden_size))[:, 0]
        return ops.tanh(self.pooler(first))
