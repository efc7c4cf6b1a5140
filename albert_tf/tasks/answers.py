"""From where answers may begin and end, token by token, to their text.

As google-research/albert's `run_squad_v1.py`: the best begins and ends of each window,
in the passage, in the right order and not too long, each in the window that has most
of the passage around it. The text is that of the passage itself, character by
character.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from schemas.task import EncodedExample, Window

Array = npt.NDArray[np.float64]

# How many begins and ends of each window are paired, and how many answers reported.
BEST = 20


@dataclasses.dataclass(frozen=True)
class Span:
    """A possible answer.

    Attributes:
        text: As it stands in the passage, without spaces around it.
        start: Its first character there.
        end: The first character after it.
        score: Of its first and last token, the sum.
    """

    text: str
    start: int
    end: int
    score: float


@dataclasses.dataclass(frozen=True)
class AnswerScores:
    """What a model says of a question.

    Attributes:
        spans: Possible answers, the best first; none where nothing can be one.
        null_score: That of no answer, the least of its windows.
    """

    spans: tuple[Span, ...]
    null_score: float

    @property
    def null_margin(self) -> float:
        """By how much no answer scores more than the best one."""
        best = self.spans[0].score if self.spans else -np.inf
        return float(self.null_score - best)

    def best(self, threshold: float | None) -> Span | None:
        """The answer; None where no answer scores more than it by the threshold.

        Args:
            threshold: None where every question has an answer.
        """
        is_null = threshold is not None and self.null_margin > threshold
        return None if is_null or not self.spans else self.spans[0]


def answer_scores(
    passage: str,
    rows: Sequence[EncodedExample],
    logits: Sequence[Array],
    *,
    max_tokens: int,
) -> AnswerScores:
    """The answers to one question, from all windows of its passage.

    Args:
        passage: The text.
        rows: Its windows.
        logits: Of each, `[S, 2]`.
        max_tokens: Of an answer.
    """
    found: list[tuple[float, int, int]] = []
    for row, scores in zip(rows, logits, strict=True):
        assert row.window is not None
        found += window_spans(row.window, scores, max_tokens=max_tokens)
    null_score = min(float(scores[0].sum()) for scores in logits)
    # The earlier and shorter one of those that score alike.
    found.sort(key=lambda span: (-span[0], span[1], span[2]))
    spans: dict[str, Span] = {}
    for score, first, last in found:
        text = passage[first:last]
        start = first + len(text) - len(text.lstrip())
        text = text.strip()
        if text and text not in spans:
            spans[text] = Span(text, start, start + len(text), score)
        if len(spans) == BEST:
            break
    return AnswerScores(tuple(spans.values()), null_score)


def window_spans(
    window: Window, logits: Array, *, max_tokens: int
) -> list[tuple[float, int, int]]:
    """Score, first character and end of each possible answer in a window.

    Args:
        window: Where its tokens stand in the passage.
        logits: `[S, 2]`.
        max_tokens: Of an answer.
    """
    starts, ends = np.asarray(window.starts), np.asarray(window.ends)
    in_passage = starts >= 0
    context = np.frombuffer(window.has_max_context, np.uint8) == 1
    begins = _best(np.where(in_passage & context, logits[:, 0], -np.inf))
    lasts = _best(np.where(in_passage, logits[:, 1], -np.inf))
    return [
        (
            float(logits[begin, 0] + logits[last, 1]),
            int(starts[begin]),
            int(ends[last]),
        )
        for begin in begins
        for last in lasts
        if begin <= last < begin + max_tokens
    ]


def _best(scores: Array) -> list[int]:
    """The places of the best scores, best first, without those of minus infinity."""
    order = np.argsort(-scores, kind="stable")[:BEST]
    return [int(place) for place in order if scores[place] > -np.inf]
