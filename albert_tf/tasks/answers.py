"""`answer`: from where answers may begin and end, token by token, to their text.

Outputs are `AnswerScores`. A target is the tuple of all right answers, a prediction one
answer, which is "" where there is none.

As google-research/albert's `run_squad_v1.py`: the best begins and ends of each window,
in the passage, in the right order and not too long, each in the window that has most
of the passage around it. The text is that of the passage itself, character by
character.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from albert_tf.tasks import answer_metrics
from albert_tf.tasks.task import (
    Array,
    Measure,
    Result,
    Targets,
    Task,
    mean_of,
    softmax,
)
from schemas.task import EncodedExample, Metric, TaskExample, Window

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


_METRICS: dict[str, Callable[[str, str], float]] = {
    "answer_f1": answer_metrics.answer_f1,
    "exact_match": answer_metrics.exact_match,
    "cmrc_f1": answer_metrics.cmrc_f1,
    "cmrc_exact_match": answer_metrics.cmrc_exact_match,
}


class AnswerInPassage(Task):
    """The part of a passage that answers a question, or no answer."""

    does = "finds the answer to a question in a passage"
    share_metrics = ("exact_match", "cmrc_exact_match")

    def target(self, example: TaskExample) -> tuple[str, ...]:
        """All right answers; () if the question has none."""
        return tuple(answer.text for answer in example.answers or ())

    def output(
        self,
        example: TaskExample,
        rows: Sequence[EncodedExample],
        logits: Sequence[Array],
        *,
        max_answer_tokens: int,
    ) -> AnswerScores:
        """The best answers of all windows of the passage."""
        return answer_scores(example.text, rows, logits, max_tokens=max_answer_tokens)

    def prediction(self, output: Any, *, threshold: float | None) -> str:
        """The best answer; "" if no answer scores more than it by over `threshold`."""
        return _text(output.best(threshold))

    def shown(
        self, example: TaskExample, output: Any, *, threshold: float | None
    ) -> Result:
        """The answer with its place, and the best ones with their probabilities."""
        best = output.best(threshold)
        scores = [span.score for span in output.spans]
        # As SQuAD's scripts print it.
        probabilities = softmax(np.array(scores)).tolist() if scores else []
        return {
            "answer": _text(best),
            "start": best.start if best else None,
            "end": best.end if best else None,
            "null_margin": output.null_margin if output.spans else None,
            "n_best": [
                {
                    "text": span.text,
                    "start": span.start,
                    "end": span.end,
                    "score": span.score,
                    "probability": probability,
                }
                for span, probability in zip(output.spans, probabilities, strict=True)
            ],
        }

    def measure(
        self, metric: Metric, targets: Targets, predictions: Targets
    ) -> Measure:
        """The mean of what each answer is worth."""
        pairs = zip(targets, predictions, strict=True)
        compare = _METRICS[metric]
        return mean_of(
            [
                answer_metrics.best_of(compare, prediction, golds)
                for golds, prediction in pairs
            ]
        )

    def majority(self, targets: Targets, examples: Sequence[TaskExample]) -> list[Any]:
        """No answer."""
        return [""] * len(examples)

    def named(self, example: TaskExample, value: Any, *, other: Any) -> Any:
        """The answer, or all that are right."""
        return list(value) if isinstance(value, tuple) else value

    def sureness(self, output: Any, target: Any, prediction: Any) -> float:
        """How far apart the best answer and no answer are."""
        return float(min(abs(output.null_margin), 1e9))

    def is_right(self, target: Any, prediction: Any) -> bool:
        """Whether a prediction is right by the exact match of the task.

        >>> from schemas.task import TaskSpec
        >>> metrics = ("cmrc_f1", "cmrc_exact_match")
        >>> spec = TaskSpec(name="cmrc", kind="answer", metrics=metrics)
        >>> AnswerInPassage(spec).is_right(("\u5317\u4eac",), "\u5317\u4eac\u3002")
        True
        """
        exact = (metric for metric in self.spec.metrics if metric in self.share_metrics)
        compare = _METRICS[next(exact)]
        return bool(answer_metrics.best_of(compare, prediction, target))

    def best_threshold(self, outputs: Sequence[Any], targets: Targets) -> float | None:
        """The margin that is best for the first measure; 0 without examples.

        None if every question has an answer.
        """
        if not self.spec.has_unanswerable:
            return None
        if not outputs:
            return 0.0
        compare = _METRICS[self.spec.metrics[0]]
        pairs = list(zip(outputs, targets, strict=True))
        threshold, _ = answer_metrics.best_null_threshold(
            # A question without any span has no answer, whatever the threshold.
            [max(min(output.null_margin, 1e9), -1e9) for output in outputs],
            [
                answer_metrics.best_of(compare, _text(output.best(None)), golds)
                for output, golds in pairs
            ],
            [answer_metrics.best_of(compare, "", golds) for golds in targets],
        )
        return threshold


def _text(span: Span | None) -> str:
    return span.text if span else ""
