"""How many bits a model needs for each character of held-out words.

The words are those of `words`, each masked alone; a model's bits compare with those of
models of any vocabulary and any training masks on the same text, and with what counting
gives (`neighbour_counts`).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from albert_tf.evaluation.neighbour_counts import UNKNOWN, NeighbourCounts
from albert_tf.evaluation.word_scores import questions_about, token_losses
from albert_tf.evaluation.words import Word
from albert_tf.model.pretrainer import AlbertPretrainer, Batch

Float = npt.NDArray[np.float64]
Row = npt.NDArray[np.int32]


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
        losses: Minus the log probability of each word, in nats, `[W]`.
        characters: How many characters each has, `[W]`.

    >>> bits_per_character(np.log([4.0, 16.0]), np.array([1.0, 2.0])).value
    2.0
    """
    bits = losses / math.log(2)
    value = bits.sum() / characters.sum()
    # The deviation of a ratio of sums, to first order.
    deviation = math.sqrt(np.sum((bits - value * characters) ** 2)) / characters.sum()
    return BitsPerCharacter(
        float(value), float(value - 1.96 * deviation), float(value + 1.96 * deviation)
    )


def unmasked_rows(batches: Iterable[Batch]) -> Iterator[Row]:
    """Token ids of each example as it was before masking, without padding.

    Args:
        batches: Dicts of arrays as `pretrainer.BATCH_FEATURES`, rows that were filled
            up included; those are left out.
    """
    for batch in batches:
        ids = np.array(batch["input_ids"])
        weights = np.asarray(batch["masked_lm_weights"]) > 0
        rows, places = np.nonzero(weights)
        positions = np.asarray(batch["masked_lm_positions"])[rows, places]
        ids[rows, positions] = np.asarray(batch["masked_lm_ids"])[rows, places]
        lengths = np.sum(batch["input_mask"], axis=1)
        for row, length in zip(ids, lengths, strict=True):
            if length:
                yield row[:length]


def model_losses(
    model: AlbertPretrainer,
    rows: Sequence[Row],
    words: Sequence[Word],
    *,
    on_batch: Callable[[int], None] = lambda done: None,
) -> Float:
    """Minus the log probability of each word by a model, in nats, `[W]`.

    Args:
        model: Any.
        rows: Examples, nothing masked.
        words: Words of these examples.
        on_batch: Told how many tokens each batch has predicted.
    """
    questions = [
        question
        for word in words
        for question in questions_about(
            rows[word.row].tolist(), [(word.start, word.end)]
        )
    ]
    return _by_word(token_losses(model, questions, on_batch=on_batch), words)


def counting_losses(
    counts: NeighbourCounts, rows: Sequence[Row], words: Sequence[Word]
) -> tuple[Float, Float]:
    """The same by the frequencies of tokens, and by their two neighbours as well.

    As the model, counting reads a word from left to right: of a token inside a word it
    knows the one before, and only of the last one that after it.
    """
    labels, left, right = [], [], []
    for word in words:
        tokens = rows[word.row].tolist()
        for place in range(word.start, word.end):
            labels.append(tokens[place])
            left.append(tokens[place - 1])
            right.append(tokens[word.end] if place == word.end - 1 else UNKNOWN)
    asked = np.array(labels, np.int64)
    neighbours = {"left": np.array(left), "right": np.array(right)}
    return (
        _by_word(counts.unigram_losses(asked), words),
        _by_word(counts.losses(asked, **neighbours), words),
    )


def _by_word(losses: Float, words: Sequence[Word]) -> Float:
    """The losses of all tokens added up over the tokens of each word."""
    if not words:
        return np.zeros(0)
    firsts = np.cumsum([0, *(word.end - word.start for word in words[:-1])])
    total: Any = np.add.reduceat(losses, firsts)
    added: Float = total
    return added


def word_characters(words: Sequence[Word]) -> Float:
    """How many characters each word has, `[W]`."""
    return np.array([word.characters for word in words], np.float64)
