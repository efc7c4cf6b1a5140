"""The loss of vectors, over the whole batch of a step whatever fits in memory.

Every text of a batch is told from all others in it, so the loss of a micro-batch is not
its own. Its vectors are computed first, without gradients, then the gradient of the
loss by each vector; a micro-batch then only passes these on to the weights (gradient
caching, Gao et al. 2021, 2101.06983). The sum is exact: a micro-batch of any size
gives the same step but for rounding.
"""

from collections.abc import Callable

import numpy as np

from albert_tf.finetuning.batches import Array, Batch, micro_batches

# The loss is that of the first numbers of a vector too, so that these do as shorter
# vectors (Matryoshka representations, Kusupati et al. 2022, 2205.13147).
PREFIXES = (64, 128, 256)

# What similarities are multiplied by, as in sentence-transformers.
_SCALE = 20.0

_LEAST = 1e-12

# What of a batch vectors follow from.
INPUTS = ("input_ids", "input_mask", "segment_ids", "option_mask")


def with_gradients(
    batch: Batch, compute: Callable[[Batch], Array], *, size: int, is_scored: bool
) -> Batch:
    """A batch `[B, O, S]` with the loss of each row and its gradient by each vector.

    Args:
        compute: The vectors `[M, O, H]` of a part of it, as the model gives them.
        size: M.

    Returns:
        With `losses` `[B]`, and `gradients` `[B, O, H]` of the mean loss.
    """
    rows = len(batch["input_ids"])
    parts = micro_batches({name: batch[name] for name in INPUTS}, size=size, devices=1)
    vectors = [compute({name: each[0] for name, each in part.items()}) for part in parts]
    whole = np.concatenate(vectors)[:rows].astype(np.float64)
    losses, gradients = np.zeros(rows), np.zeros_like(whole)
    width = whole.shape[-1]
    for prefix in (*(each for each in PREFIXES if each < width), width):
        beginning = whole[..., :prefix]
        norms = np.maximum(np.linalg.norm(beginning, axis=-1, keepdims=True), _LEAST)
        units = beginning / norms
        own, by_unit = (cosine_losses if is_scored else ranking_losses)(units, batch)
        by_unit /= max(batch["weights"].sum(), 1.0)
        along = np.sum(by_unit * units, axis=-1, keepdims=True)
        losses += own
        gradients[..., :prefix] += (by_unit - along * units) / norms
    return {**batch, "losses": losses.astype(np.float32), "gradients": gradients.astype(np.float32)}


def cosine_losses(units: Array, batch: Batch) -> tuple[Array, Array]:
    """How far the cosine of each pair is from its score, squared.

    Returns:
        The losses `[B]`, and the gradient of their weighted sum `[B, O, H]`.
    """
    first, second = units[:, 0], units[:, 1]
    far = np.sum(first * second, axis=-1) - batch["targets"]
    by_cosine = (2 * far * batch["weights"])[:, None]
    gradients = np.zeros_like(units)
    gradients[:, 0], gradients[:, 1] = by_cosine * second, by_cosine * first
    return far**2, gradients


def ranking_losses(units: Array, batch: Batch) -> tuple[Array, Array]:
    """How unlikely the partner of each text is among all of a batch, in nats `[B]`.

    The multiple negatives ranking loss of sentence-transformers (Henderson et al. 2017,
    1705.00652): a softmax over the partners of all texts, and over those that are known
    not to belong to one. Texts that are the same as a text or as its partner are none.

    Returns:
        The losses, and the gradient of their weighted sum `[B, O, H]`.
    """
    rows, options, width = units.shape
    anchors, candidates = units[:, 0], units[:, 1:].reshape(-1, width)
    is_there = (batch["option_mask"][:, 1:] * batch["weights"][:, None]).ravel() > 0
    ids = batch["input_ids"].reshape(rows * options, -1)
    _, names = np.unique(ids, axis=0, return_inverse=True)
    names = names.reshape(rows, options)
    own = np.arange(rows) * (options - 1)
    of_candidates = names[:, 1:].ravel()
    is_same = (of_candidates == names[:, :1]) | (of_candidates == names[:, 1:2])
    is_same[np.arange(rows), own] = False
    scores = _SCALE * anchors @ candidates.T  # [B, C]
    scores = np.where(is_same | ~is_there, -np.inf, scores)
    # A row that fills up a batch has at least itself.
    scores[np.arange(rows), own] = _SCALE * np.sum(anchors * candidates[own], axis=-1)
    highest = scores.max(axis=1, keepdims=True)
    shares = np.exp(scores - highest)
    total = shares.sum(axis=1, keepdims=True)
    losses = (np.log(total) + highest)[:, 0] - scores[np.arange(rows), own]
    by_score = shares / total
    by_score[np.arange(rows), own] -= 1.0
    by_score *= _SCALE * batch["weights"][:, None]
    gradients = np.zeros_like(units)
    gradients[:, 0] = by_score @ candidates
    gradients[:, 1:] = (by_score.T @ anchors).reshape(rows, options - 1, width)
    return losses, gradients
