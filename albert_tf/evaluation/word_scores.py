"""How likely a model finds whole words in their places, read from left to right.

A token of a word is predicted while it and all later tokens of the word are masked and
everything around the word is visible (Kauf and Ivanova, 2305.10588). So a word counts
as one whether the vocabulary has one token for it or four, and its probability is the
product over its tokens.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from keras import ops

from albert_tf.evaluation.words import Row, Span
from albert_tf.model.operations import cross_entropy
from albert_tf.model.pretrainer import AlbertPretrainer, Batch
from albert_tf.training.backends import compiled
from schemas.special_tokens import MASK_ID, PAD_ID, SEP_ID

# Tokens computed at a time, padding included. All widths that are a power of two, or
# three times one, divide it, so that the layers see one shape whatever the width.
BATCH_TOKENS = 3072

# The least length that questions are padded to.
LEAST_WIDTH = 8

Int = npt.NDArray[np.int64]
Float = npt.NDArray[np.float64]


class Questions(NamedTuple):
    """N tokens to predict.

    Attributes:
        rows: Token ids, special ones included, nothing masked.
        row: In which of the rows each token stands, `[N]`.
        place: Where it stands there, `[N]`.
        end: The place after its word: it and the tokens up to there are masked, `[N]`.
    """

    rows: Sequence[Row]
    row: Int
    place: Int
    end: Int


def questions_about(rows: Sequence[Row], words: Sequence[Span]) -> Questions:
    """One question for each token of some words.

    >>> questions = questions_about([np.array([2, 8, 9, 7, 3])], [Span(0, 1, 3)])
    >>> questions.place, questions.end
    (array([1, 2]), array([3, 3]))
    """
    row, start, end = np.array(words, np.int64).reshape(-1, 3).T
    sizes = end - start
    firsts = np.cumsum(sizes) - sizes
    place = np.arange(sizes.sum()) + np.repeat(start - firsts, sizes)
    return Questions(rows, np.repeat(row, sizes), place, np.repeat(end, sizes))


class WordScorer:
    """A model that is asked about words; every shape is compiled once.

    Args:
        model: Any; with the weights that it has when it is asked.
    """

    def __init__(self, model: AlbertPretrainer) -> None:
        self._answer = compiled(_losses, model)
        self._longest = model.config.max_position_embeddings

    def losses(
        self,
        rows: Sequence[Row],
        words: Sequence[Span],
        *,
        on_batch: Callable[[int], None] = lambda done: None,
    ) -> Float:
        """Minus the log probability of each word, in nats, `[W]`.

        Args:
            rows: Token ids, special ones included, nothing masked.
            words: W words of these rows.
            on_batch: Told how many tokens each batch has predicted.
        """
        questions = questions_about(rows, words)
        losses = np.zeros(len(questions.row))
        for some, of_batch in self.answers(questions):
            losses[some] = of_batch
            on_batch(len(some))
        return sum_by_word(losses, words)

    def answers(self, questions: Questions) -> Iterator[tuple[Int, Float]]:
        """Numbers of some questions and their losses in nats, a batch at a time."""
        for some, batch in batches_by_length(questions, longest=self._longest):
            yield some, np.asarray(self._answer(batch))[: len(some)]


def sum_by_word(losses: Float, words: Sequence[Span]) -> Float:
    """The losses of all tokens of some words, added up for each word, `[W]`."""
    sizes = [word.end - word.start for word in words]
    numbers = np.repeat(np.arange(len(words)), sizes)
    sums: Any = np.bincount(numbers, weights=losses, minlength=len(words))
    totals: Float = sums
    return totals


def batches_by_length(
    questions: Questions, *, longest: int
) -> Iterator[tuple[Int, Batch]]:
    """Batches of questions of about one length, the longest first, with their numbers.

    Each is filled up to the number of rows of its width, so that every width has one
    shape.

    Args:
        questions: About rows of up to `longest` tokens.
        longest: The number of positions that the model has.
    """
    lengths = np.array([len(row) for row in questions.rows], np.int64)[questions.row]
    order, first = np.argsort(-lengths, kind="stable"), 0
    while first < len(order):
        width = width_of(int(lengths[order[first]]), longest=longest)
        size = max(1, BATCH_TOKENS // width)
        some = order[first : first + size]
        yield some, _batch(questions, some, size=size, width=width)
        first += size


def width_of(length: int, *, longest: int) -> int:
    """The length that rows of a length are padded to: one of a few, each compiled once.

    >>> [width_of(length, longest=512) for length in (5, 9, 20, 33, 100, 512)]
    [8, 12, 24, 48, 128, 512]
    """
    width = LEAST_WIDTH
    while width < length:
        # Powers of two, and between them three halves of each.
        width = width * 3 // 2 if width & (width - 1) == 0 else width * 4 // 3
    return min(width, longest)


def _batch(questions: Questions, some: Int, *, size: int, width: int) -> Batch:
    """Arrays `[size, width]`, rows that ask nothing last."""
    ids = np.full((size, width), PAD_ID, np.int32)
    mask = np.zeros((size, width), np.int32)
    places, labels = np.zeros((2, size, 1), np.int32)
    for number, question in enumerate(some.tolist()):
        tokens = questions.rows[questions.row[question]]
        place = questions.place[question]
        ids[number, : len(tokens)] = tokens
        ids[number, place : questions.end[question]] = MASK_ID
        mask[number, : len(tokens)] = 1
        places[number], labels[number] = place, tokens[place]
    mask[len(some) :, 0] = 1  # A row of padding alone has nothing to attend to.
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
