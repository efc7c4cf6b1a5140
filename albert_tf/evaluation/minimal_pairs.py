"""Pairs of sentences that differ in one thing, of which one is grammatical.

Reads what BLiMP (Warstadt et al., 1912.00582) and Zorro (Huebner et al., 2021) are
distributed as: JSON lines with `sentence_good`, `sentence_bad` and `UID`, or lines of
text of which every second one is the grammatical one.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from schemas.errors import AlbertError


class MinimalPair(NamedTuple):
    """Two sentences.

    Attributes:
        paradigm: What they test.
        good: The grammatical one.
        bad: The other.
    """

    paradigm: str
    good: str
    bad: str


def read_minimal_pairs(path: Path) -> list[MinimalPair]:
    """The pairs of one file.

    Raises:
        AlbertError: It cannot be read or is of another form; names file and line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise AlbertError(f"{path} cannot be read: {reason}.") from error
    if path.suffix == ".jsonl":
        return [
            _parsed(line, path=path, number=number)
            for number, line in enumerate(lines, start=1)
            if line.strip()
        ]
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
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        good = bad = paradigm = None
    if isinstance(good, str) and isinstance(bad, str) and isinstance(paradigm, str):
        return MinimalPair(paradigm, good, bad)
    raise AlbertError(
        f"{path}: line {number} has no sentence_good and sentence_bad; give files of "
        "BLiMP or Zorro."
    )


class ParadigmScore(NamedTuple):
    """How a model does on the pairs of one paradigm.

    Attributes:
        paradigm: What they test.
        right: Pairs whose grammatical sentence it finds likelier.
        pairs: All of them.
    """

    paradigm: str
    right: int
    pairs: int


def score_by_paradigm(
    pairs: Sequence[MinimalPair], good: Sequence[float], bad: Sequence[float]
) -> list[ParadigmScore]:
    """The score of each paradigm, in the order in which they came.

    Args:
        pairs: N of them.
        good: The loss of each grammatical sentence, `[N]`.
        bad: The loss of each other sentence, `[N]`. Equal losses count as wrong.

    >>> pairs = [MinimalPair("agreement", "", ""), MinimalPair("agreement", "", "")]
    >>> score_by_paradigm(pairs, [1.0, 3.0], [2.0, 3.0])
    [ParadigmScore(paradigm='agreement', right=1, pairs=2)]
    """
    right: dict[str, list[bool]] = {}
    for pair, good_loss, bad_loss in zip(pairs, good, bad, strict=True):
        right.setdefault(pair.paradigm, []).append(good_loss < bad_loss)
    return [
        ParadigmScore(paradigm, sum(hits), len(hits))
        for paradigm, hits in right.items()
    ]
