"""Which of two runs is better, by the words that `albert evaluate` asked both about.

A word is told from all others by its letters and those around it, so that runs with
different vocabularies, and even data sets, are compared over the words of the same
text. Each word has two losses, and the interval is that of their differences.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from albert_tf.runs.evaluations import WORD_LOSSES, margin, text_of
from albert_tf.runs.metrics import Metrics, bits_per_character
from albert_tf.runs.run_record import Run

# Fewer words that both were asked about tell nothing.
LEAST_WORDS = 500
# A smaller share of the words is the same only where other parts of the text were
# measured, or vocabularies keep different letters.
MOST_SHARED = 0.8


class Paired(NamedTuple):
    """The words that two runs were both asked about.

    Attributes:
        one: An evaluation of the first run.
        other: One of the second.
        differences: By how many nats each word costs the first run less, `[W]`.
        characters: Of each word, `[W]`.
    """

    one: Metrics
    other: Metrics
    differences: npt.NDArray[np.float64]
    characters: npt.NDArray[np.float64]


def compared(one: Run, other: Run) -> str:
    """Which of two runs is better and by how much, or why nobody can say."""
    for run in (one, other):
        if not any(WORD_LOSSES in found for found in run.evaluations):
            return (
                f"{one.title} and {other.title} cannot be compared: {run.title} has no "
                "words of albert evaluate; run it on both, with the same --text or "
                "--data."
            )
    paired = most_words(one.evaluations, other.evaluations)
    number = len(paired.characters)
    if number < LEAST_WORDS:
        return (
            f"{one.title} and {other.title} cannot be compared: albert evaluate "
            f"measured them on different text ({text_of(paired.one)} and "
            f"{text_of(paired.other)}) with {number:,} words in common; run it on both "
            "with the same --text."
        )
    value, low, high = bits_per_character(paired.differences, paired.characters)
    better, worse = (one, other) if value >= 0 else (other, one)
    if value < 0:
        value, low, high = -value, -high, -low
    by = margin(value, low, high)
    relation = f"{better.title} is better than {worse.title} by {by}"
    if low <= 0:
        relation = (
            f"{one.title} and {other.title} cannot be told apart: {better.title} needs {by} less"
        )
    steps = f"steps {paired.one['step']:,} and {paired.other['step']:,}"
    said = f"{relation}, over {number:,} words of {text_of(paired.one)}, {steps}."
    return " ".join([said, *_reservations(one, other, paired)])


def _reservations(one: Run, other: Run, paired: Paired) -> Iterator[str]:
    """Why a comparison says less than it seems to."""
    for run, found in ((one, paired.one), (other, paired.other)):
        if found.get("trained_on"):
            yield f"{run.title} was trained on this text."
    asked = min(len(each[WORD_LOSSES]["keys"]) for each in (paired.one, paired.other))
    if len(paired.characters) < MOST_SHARED * asked:
        yield (
            f"Only these of {asked:,} words are the same for both: other parts of the "
            "text were measured, or the vocabularies keep different letters (case, "
            "accents); text without these is easier."
        )


def most_words(ones: Sequence[Metrics], others: Sequence[Metrics]) -> Paired:
    """The two evaluations with the most words in common, of several the newest."""
    pairs = [
        _paired(one, other)
        for one in ones
        for other in others
        if WORD_LOSSES in one and WORD_LOSSES in other
    ]
    return max(
        pairs, key=lambda found: (len(found.characters), found.one["step"] + found.other["step"])
    )


def _paired(one: Metrics, other: Metrics) -> Paired:
    of_one, of_other = one[WORD_LOSSES], other[WORD_LOSSES]
    _, at, there = np.intersect1d(
        np.array(of_one["keys"], np.uint64),
        np.array(of_other["keys"], np.uint64),
        return_indices=True,
    )
    lost = np.array(of_other["losses"])[there] - np.array(of_one["losses"])[at]
    characters = np.array(of_one["characters"], np.float64)[at]
    return Paired(one, other, lost, characters)
