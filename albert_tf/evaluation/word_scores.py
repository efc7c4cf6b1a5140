"""How likely a model finds held-out words: bits per character.

A token of a word is predicted while it and all later tokens of the word are masked and
everything around the word is visible (Kauf and Ivanova, 2305.10588). So a word counts
as one whether the vocabulary has one token for it or four, and its probability is the
product over its tokens. The bits of all words by their characters compare with those of
models of any vocabulary and any training masks on the same text.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from keras import ops

from albert_tf.data.input_pipeline import Records
from albert_tf.evaluation.compiled import compiled
from albert_tf.evaluation.counting import UNKNOWN, Asked, held_out_text
from albert_tf.evaluation.held_out import Stop
from albert_tf.evaluation.words import (
    Row,
    Span,
    Vocabulary,
    Word,
    first_rows,
    sample_words,
)
from albert_tf.model.operations import cross_entropy
from albert_tf.model.pretrainer import AlbertPretrainer, Batch
from albert_tf.runs.metrics import DEVIATIONS
from schemas.example import MASK_ID, PAD_ID, SEP_ID

# Tokens computed at a time, padding included. All widths that are a power of two, or
# three times one, divide it, so that the layers see one shape whatever the width.
BATCH_TOKENS = 3072

# The least length that questions are padded to.
LEAST_WIDTH = 8

# Held-out examples for each word of an evaluation while a model trains: words make that
# about a quarter longer.
EXAMPLES_PER_WORD = 10

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


class BitsPerCharacter(NamedTuple):
    """A mean over the characters of some words.

    Attributes:
        value: Bits for each character.
        low: The lower end of its 95 % interval, over the draw of the words.
        high: The upper end.
    """

    value: float
    low: float
    high: float


def bits_per_character(losses: Float, characters: Float) -> BitsPerCharacter:
    """The bits of all words by the characters of all words.

    Args:
        losses: Minus the log probability of each word, in nats, `[W]`; or by how much
            that of one model is greater than that of another.
        characters: How many characters each has, `[W]`.

    >>> bits_per_character(np.log([4.0, 16.0]), np.array([1.0, 2.0])).value
    2.0
    """
    bits = losses / math.log(2)
    value = bits.sum() / characters.sum()
    # The deviation of a ratio of sums, to first order.
    deviation = math.sqrt(np.sum((bits - value * characters) ** 2)) / characters.sum()
    half = DEVIATIONS * deviation
    return BitsPerCharacter(float(value), float(value - half), float(value + half))


def known_beside(questions: Questions) -> Asked:
    """What counting knows of each token of a word that a model is asked about.

    Like the model, counting reads a word from left to right: it knows the token before
    each token of a word, but the one after only for the last.
    """
    starts = np.cumsum([0, *map(len, questions.rows)])[questions.row]
    tokens = np.concatenate([*questions.rows, [UNKNOWN]]).astype(np.int64)
    places = starts + questions.place
    is_last = questions.place == questions.end - 1
    return Asked(
        labels=tokens[places],
        left=tokens[places - 1],
        right=np.where(is_last, tokens[places + 1], UNKNOWN),
    )


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


class HeldOutWords:
    """Words of the examples that a run is evaluated on, asked about while it trains.

    They are among those that `albert evaluate` asks about. Nothing is read before they
    are asked for the first time.

    Args:
        model: Measured as it is at each call.
        examples: How many held-out examples an evaluation has, from the first.
    """

    def __init__(
        self,
        model: AlbertPretrainer,
        records: Records,
        *,
        examples: int,
        vocabulary: Vocabulary,
    ) -> None:
        self._scorer, self._records = WordScorer(model), records
        self._examples, self._vocabulary = examples, vocabulary
        self._asked: tuple[list[Row], list[Word]] | None = None

    def bits_per_character(self, should_stop: Stop) -> float | None:
        """Of all words; None if there are none, or stopped."""
        if self._asked is None:
            self._asked = self._sample()
        rows, words = self._asked
        if not words:
            return None
        spans = [word.span for word in words]
        questions = questions_about(rows, spans)
        losses = np.zeros(len(questions.row))
        for some, of_batch in self._scorer.answers(questions):
            if should_stop():
                return None
            losses[some] = of_batch
        characters = np.array([word.characters for word in words], np.float64)
        return bits_per_character(sum_by_word(losses, spans), characters).value

    def _sample(self) -> tuple[list[Row], list[Word]]:
        """Rows of held-out text, and words in them."""
        texts = held_out_text(
            self._records.dataset,
            self._records.manifest,
            examples=self._examples,
        )
        rows = itertools.chain.from_iterable(text.rows for text in texts)
        text = list(first_rows(rows, self._vocabulary))
        maximum = self._examples // EXAMPLES_PER_WORD
        return text, sample_words(text, self._vocabulary, maximum=maximum)
