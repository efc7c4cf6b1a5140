"""How many bits a model needs for each character of held-out words.

The words are those of `words`, each masked alone; a model's bits compare with those of
models of any vocabulary and any training masks on the same text, and with what counting
gives (`neighbour_counts`).
"""

import math
from typing import NamedTuple

import numpy as np

from albert_tf.evaluation.neighbour_counts import UNKNOWN, Asked
from albert_tf.evaluation.word_scores import Float, Questions
from albert_tf.runs.confidence import DEVIATIONS


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
