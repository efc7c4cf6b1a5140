"""What a model says of one text: the pieces at its masks, the order of two passages.

Nothing is compiled, because that would take longer than a few texts do: not the model,
and not its fused functions on TensorFlow, which would be compiled for every length.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from keras import ops

from albert_tf.model.operations import elementary
from albert_tf.model.pretrainer import AlbertPretrainer, Batch
from schemas.example import MASK_ID, SEP_ID

Probabilities = npt.NDArray[np.float64]


def mask_probabilities(model: AlbertPretrainer, input_ids: list[int]) -> Probabilities:
    """How likely each of V pieces is at each of the M masks of a text, `[M, V]`.

    Args:
        input_ids: Special pieces included, with [MASK] at the places asked about.
    """
    masks = [place for place, piece in enumerate(input_ids) if piece == MASK_ID]
    with elementary():
        logits, _ = model(_batch_of_one(input_ids, masks))
    return _softmax(logits)


def in_order_probability(model: AlbertPretrainer, input_ids: list[int]) -> float:
    """How likely the second passage of a pair follows the first.

    Args:
        model: One whose sentence task is sop.
        input_ids: `[CLS] A [SEP] B [SEP]`.
    """
    with elementary():
        _, logits = model(_batch_of_one(input_ids, []))
    return float(_softmax(logits)[0, 0])


def likeliest(probabilities: Probabilities, *, top: int) -> list[tuple[int, float]]:
    """The likeliest pieces at one place, best first, each with its probability.

    >>> likeliest(np.array([0.1, 0.2, 0.5, 0.2]), top=3)
    [(2, 0.5), (1, 0.2), (3, 0.2)]
    """
    best = np.argsort(-probabilities, kind="stable")[:top]
    return [(int(piece), float(probabilities[piece])) for piece in best]


def _batch_of_one(input_ids: list[int], places: list[int]) -> Batch:
    """One text as a batch: segment B begins after the first [SEP]."""
    ids = np.array([input_ids], np.int32)
    separators = np.cumsum(ids == SEP_ID, axis=1) - (ids == SEP_ID)
    features = {
        "input_ids": ids,
        "input_mask": np.ones_like(ids),
        "segment_ids": (separators > 0).astype(np.int32),
        "masked_lm_positions": np.array([places], np.int32),
    }
    return {name: ops.convert_to_tensor(value) for name, value in features.items()}


def _softmax(logits: Any) -> Probabilities:
    """Probabilities of logits `[N, C]`."""
    values = ops.convert_to_numpy(ops.cast(logits, "float32")).astype(np.float64)
    shares = np.exp(values - values.max(axis=1, keepdims=True))
    probabilities: Probabilities = shares / shares.sum(axis=1, keepdims=True)
    return probabilities
