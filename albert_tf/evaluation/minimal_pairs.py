"""Pairs of sentences that differ in one thing, of which one is grammatical.

A model is right where it finds the grammatical sentence likelier, word by word: each
word is predicted with all other words visible, its tokens from left to right
(`word_scores`).

Reads what BLiMP (Warstadt et al., 1912.00582) and Zorro (Huebner et al., 2021) are
distributed as: JSON lines with `sentence_good`, `sentence_bad` and `UID`, or lines of
text of which every second one is the grammatical one.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from albert_tf.evaluation.bits_per_character import Row, Span, Vocabulary, word_bounds
from albert_tf.evaluation.counting import Float
from schemas.errors import AlbertError
from schemas.example import CLS_ID, SEP_ID
from schemas.files import check_is_file

# Endings of the files that pairs are distributed in, beside read-me files and licences.
SUFFIXES = (".jsonl", ".txt")


class MinimalPair(NamedTuple):
    """Two sentences, of which one is grammatical, and the paradigm that they test."""

    paradigm: str
    good: str
    bad: str


def read_minimal_pairs(path: Path) -> list[MinimalPair]:
    """The pairs of one file."""
    check_is_file(path)
    try:
        # Not `splitlines`, to which a sentence may have more ends of lines.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise AlbertError(f"{path} cannot be read: {reason}.") from error
    if path.suffix == ".jsonl":
        pairs = [
            _parsed(line, path=path, number=number)
            for number, line in enumerate(lines, start=1)
            if line.strip()
        ]
        if not pairs:
            raise AlbertError(f"{path} has no pairs; give files of BLiMP or Zorro.")
        return pairs
    sentences = [line.strip() for line in lines if line.strip()]
    if not sentences or len(sentences) % 2:
        raise AlbertError(
            f"{path} has {len(sentences)} sentences; give JSON lines with "
            "sentence_good and sentence_bad, or lines of which every second one is the "
            "grammatical form of the one before."
        )
    return [
        MinimalPair(path.stem, good, bad)
        for bad, good in zip(sentences[::2], sentences[1::2], strict=True)
    ]


def _parsed(line: str, *, path: Path, number: int) -> MinimalPair:
    try:
        values: Any = json.loads(line)
        good, bad = values["sentence_good"], values["sentence_bad"]
        paradigm = values.get("UID", path.stem)
        (good + bad).encode()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        good = bad = paradigm = None
    if isinstance(good, str) and isinstance(bad, str) and isinstance(paradigm, str):
        return MinimalPair(paradigm, good, bad)
    raise AlbertError(
        f"{path}: line {number} has no sentence_good and sentence_bad; give files of "
        "BLiMP or Zorro."
    )


def first_of_paradigms(
    pairs: Iterable[MinimalPair], *, maximum: int | None
) -> Iterator[MinimalPair]:
    """The first pairs of each paradigm, `maximum` of each or all."""
    taken: Counter[str] = Counter()
    for pair in pairs:
        taken[pair.paradigm] += 1
        if maximum is None or taken[pair.paradigm] <= maximum:
            yield pair


def sentence_rows(
    pairs: Sequence[MinimalPair], sentences: Sequence[Sequence[int]], *, longest: int
) -> list[Row]:
    """The 2N sentences of N pairs between [CLS] and [SEP], each good one first."""
    texts = [text for pair in pairs for text in (pair.good, pair.bad)]
    rows = [np.array([CLS_ID, *ids, SEP_ID], np.int32) for ids in sentences]
    for text, row in zip(texts, rows, strict=True):
        if len(row) > longest:
            shown = text if len(text) <= 60 else f"{text[:60].rstrip()} ..."
            raise AlbertError(
                f'"{shown}" has {len(row)} tokens with [CLS] and [SEP] and the '
                f"model reads {longest}; leave its file out."
            )
    return rows


def words_of_sentences(rows: Sequence[Row], vocabulary: Vocabulary) -> list[Span]:
    """Every word between [CLS] and [SEP], punctuation marks included."""
    return [
        Span(number, start, end)
        for number, row in enumerate(rows)
        for start, end in word_bounds(vocabulary.word_starts[row])
        if 0 < start < len(row) - 1
    ]


def score_by_paradigm(pairs: Sequence[MinimalPair], losses: Float) -> list[tuple[str, int, int]]:
    """Each paradigm, as they came, with its pairs that are right and all its pairs.

    Args:
        pairs: N of them.
        losses: Of the sentences, each good one before the bad, `[2N]`. Equal losses
            count as wrong.

    >>> pairs = [MinimalPair("agreement", "", ""), MinimalPair("agreement", "", "")]
    >>> score_by_paradigm(pairs, np.array([1.0, 2.0, 3.0, 3.0]))
    [('agreement', 1, 2)]
    """
    right: dict[str, list[bool]] = {}
    for pair, (good, bad) in zip(pairs, losses.reshape(-1, 2).tolist(), strict=True):
        right.setdefault(pair.paradigm, []).append(good < bad)
    return [(paradigm, sum(hits), len(hits)) for paradigm, hits in right.items()]
