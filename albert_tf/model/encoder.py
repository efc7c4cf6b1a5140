"""The stack of layers, some or all of them with the same weights."""

import functools
import itertools
from typing import Any

from keras import ops

from albert_tf.model.layers import (
    DropoutSeeds,
    Embeddings,
    FeedForward,
    Layer,
    SelfAttention,
    SharedWeights,
)
from albert_tf.model.parameters import sublayers
from albert_tf.model.unpadding import Unpadding
from schemas.architecture import ModelConfig

Tensor = Any

SUBLAYERS = {"attention": SelfAttention, "ffn": FeedForward}


class Encoder(Layer):
    """Embeddings, L layers and, where there is a sentence task, the pooler.

    Args:
        recompute: Compute each layer again for its gradients, to keep less in memory.
    """

    def __init__(
        self, config: ModelConfig, *, recompute: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(config, name="encoder", **kwargs)
        self.recompute = recompute
        self.embeddings = Embeddings(name="embeddings", **self.likewise)
        self.sublayers = {
            name: SUBLAYERS[part](name=name, **self.likewise)
            for part, name in sublayers(config)
        }

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        width = self.config.hidden_size
        self.embeddings.build()
        for sublayer in self.sublayers.values():
            sublayer.build()
        self.pooler = None
        if self.config.sentence_task != "none":
            self.pooler = self.new_dense("pooler", width, inputs=width)

    def call(
        self,
        input_ids: Tensor,
        input_mask: Tensor,
        segment_ids: Tensor,
        seeds: DropoutSeeds | None = None,
        every_layer: bool = False,
        unpadding: Unpadding | None = None,
    ) -> Tensor | list[Tensor]:
        """Encode `[B, S]` tokens as rows `[B*S, H]`, or `[T, H]` with an `unpadding`.

        Args:
            input_mask: 1 at tokens, 0 at padding.
            segment_ids: 0 in the first segment and at padding, 1 in the second.
            seeds: Where dropout draws from; without, there is no dropout.
            every_layer: Return the rows of all layers, the last layer's last.
            unpadding: Which places have rows, where not all have.
        """
        rows = self.embeddings(input_ids, segment_ids, seeds=seeds, unpadding=unpadding)
        layer = functools.partial(
            self._layer,
            weights={n: part.shared_weights() for n, part in self.sublayers.items()},
            attended={"input_mask": input_mask, "unpadding": unpadding},
            seeds=seeds,
        )
        names = [name for _, name in sublayers(self.config)]
        pairs = zip(names[::2], names[1::2], strict=True)
        layers: list[Tensor] = []
        first = 0
        # Layers in a row that have the same weights, at once unless all are asked for.
        for pair, same in itertools.groupby(pairs):
            end = first + len(list(same))
            step = 1 if every_layer else end - first
            for number in range(first, end, step):
                of_pair, numbers = functools.partial(layer, pair), range(number, end)
                rows = self.operations.repeat(of_pair, rows, numbers[:step])
                layers.append(rows)
            first = end
        inner = self.config.inner_group_num
        return layers[inner - 1 :: inner] if every_layer else rows

    def _layer(
        self,
        names: tuple[str, str],
        number: int | Tensor,
        rows: Tensor,
        *,
        weights: dict[str, SharedWeights],
        attended: dict[str, Any],
        seeds: DropoutSeeds | None,
    ) -> Tensor:
        """Attention and FFN of these names in the place of a layer."""
        attention, ffn = (self.sublayers[name] for name in names)

        def compute(rows: Tensor, *weights: Tensor) -> Tensor:
            own, half = seeds and seeds.of_layer(number), len(weights) // 2
            rows = attention(rows, **attended, seeds=own, weights=weights[:half])
            return ffn(rows, seeds=own, weights=weights[half:])

        copies = [weight for name in names for weight in weights[name].copy()]
        if self.recompute and seeds is not None:
            return self.operations.recomputed(compute, rows, *copies)
        return compute(rows, *copies)

    def pool(
        self, rows: Tensor, length: int, unpadding: Unpadding | None = None
    ) -> Tensor:
        """A summary `[B, H]` of each sequence, from its first piece, [CLS]."""
        assert self.pooler is not None, "a model without sentence task pools nothing"
        if unpadding:
            places = ops.reshape(unpadding.rows, (-1, length))[:, 0]
            first = ops.take(rows, places, axis=0)
        else:
            first = ops.reshape(rows, (-1, length, self.config.hidden_size))[:, 0]
        return ops.tanh(self.pooler(first))
