"""How likely a model finds whole words in their places, read from left to right.

A token of a word is predicted while it and all later tokens of the word are masked and
everything around the word is visible (Kauf and Ivanova, 2305.10588). So what the
vocabulary made one token or four is one word either way, and a word's probability is
the product over its tokens.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from keras import ops

from albert_tf.model.operations import cross_entropy
from albert_tf.model.pretrainer import AlbertPretrainer, Batch
from albert_tf.training.backends import compiled
from schemas.special_tokens import MASK_ID, PAD_ID, SEP_ID

# Tokens computed at a time, padding included.
BATCH_TOKENS = 8192

# Lengths are rounded up to a multiple of this: each length is compiled once.
WIDTH = 64

Scores = npt.NDArray[np.float64]


class Question(NamedTuple):
    """A token to predict.

    Attributes:
        tokens: The example with what is masked masked, special tokens included.
        place: Where the token stands.
        label: Which one it is.
    """

    tokens: list[int]
    place: int
    label: int


def questions_about(
    tokens: Sequence[int], words: Sequence[tuple[int, int]]
) -> Iterator[Question]:
    """One question for each token of some words of an example.

    Args:
        tokens: The example, special tokens included, nothing masked.
        words: The places `[start, end)` of each word.

    >>> [question[:2] for question in questions_about([2, 8, 9, 7, 3], [(1, 3)])]
    [([2, 4, 4, 7, 3], 1), ([2, 8, 4, 7, 3], 2)]
    """
    for start, end in words:
        for place in range(start, end):
            masked = [*tokens[:place], *[MASK_ID] * (end - place), *tokens[end:]]
            yield Question(masked, place, tokens[place])


def token_losses(
    model: AlbertPretrainer,
    questions: Sequence[Question],
    *,
    on_batch: Callable[[int], None] = lambda done: None,
) -> Scores:
    """Minus the log probability of each token asked about, in nats, `[N]`.

    Args:
        model: Any.
        questions: N of them, of any lengths.
        on_batch: Told how many of them each batch has answered.
    """
    answer = compiled(_losses, model)
    losses = np.zeros(len(questions))
    longest = model.config.max_position_embeddings
    for rows, batch in batches_by_length(questions, longest=longest):
        losses[rows] = np.asarray(answer(batch))[: len(rows)]
        on_batch(len(rows))
    return losses


def batches_by_length(
    questions: Sequence[Question], *, longest: int
) -> Iterator[tuple[npt.NDArray[np.int64], Batch]]:
    """Batches of questions of about one length, with their numbers.

    Each is filled up to the number of rows of its width, so that every width has one
    shape.

    Args:
        questions: Of any lengths up to `longest`.
        longest: The positions that the model has.
    """
    lengths = np.array([len(question.tokens) for question in questions], np.int64)
    widths = np.minimum(-(-lengths // WIDTH) * WIDTH, longest)
    for width in np.unique(widths):
        size = max(1, BATCH_TOKENS // int(width))
        rows = np.flatnonzero(widths == width)
        for first in range(0, len(rows), size):
            some = rows[first : first + size]
            yield some, _batch([questions[n] for n in some], size=size, width=width)


def _batch(questions: list[Question], *, size: int, width: int) -> Batch:
    """Arrays `[size, width]`, rows that ask nothing last."""
    ids = np.full((size, width), PAD_ID, np.int32)
    mask = np.zeros((size, width), np.int32)
    places, labels = np.zeros((2, size, 1), np.int32)
    for row, (tokens, place, label) in enumerate(questions):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
        places[row], labels[row] = place, label
    mask[len(questions) :, 0] = 1  # A row of padding alone has nothing to attend to.
    separators = np.cumsum(ids == SEP_ID, axis=1) - (ids == SEP_ID)
    return {
        "input_ids": ids,
        "input_mask": mask,
        "segment_ids": ((separators == 1) & (mask == 1)).astype(np.int32),
        "masked_lm_positions": places,
        "masked_lm_ids": labels,
        "masked_lm_weights": np.ones((size, 1), np.float32),
        "sentence_order_labels": np.full(size, -1, np.int32),
    }


def _losses(model: AlbertPretrainer, batch: Batch) -> Any:
    logits, _ = model(batch)
    losses, _ = cross_entropy(logits, ops.reshape(batch["masked_lm_ids"], (-1,)))
    return losses
