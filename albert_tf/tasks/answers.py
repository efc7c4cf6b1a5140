"""`answer`: from where answers may begin and end, token by token, to text and measures.

Outputs are `AnswerScores`. A target is the tuple of all right answers, a prediction one
answer, which is "" where there is none.

As google-research/albert's `run_squad_v1.py`: the best begins and ends of each window,
in the passage, in the right order and not too long, each in the window that has most
of the passage around it. The text is that of the passage itself, character by
character.

Answers are compared as the scripts of SQuAD 1.1, SQuAD 2.0 and CMRC 2018 do. SQuAD:
lower-case, without ASCII punctuation and the articles a, an, the, words divided at
spaces. CMRC: lower-case, without its punctuation, Chinese by character and all else
by word, F1 by the longest common part. Its script divides words by NLTK, of which the
rules for marks are here, but not those for English contractions.
"""

import collections
import dataclasses
import difflib
import re
import string
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from albert_tf.tasks.task import Array, Examples, Measure, Result, Targets, Task, mean_of, softmax
from schemas.task import EncodedExample, Metric, TaskExample, Window

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = frozenset(string.punctuation)

# What CMRC's script leaves out (cmrc2018_evaluate.py), and what is one part each.
_CMRC_PUNCTUATION = frozenset("-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")
_HAN = r"\u4e00-\u9fa5"
_ALONE = r";@#$%&?!()\[\]{}<>\"—–"
_PARTS = re.compile(
    # A comma goes on before a digit, and a full stop unless the words end there.
    rf"[{_HAN}]|(?:[^\s{_HAN}{_ALONE},.]|,(?=\d)|\.(?!\s*(?:[{_HAN}]|$)))+|\S"
)


def normalized(text: str) -> str:
    """An answer as SQuAD compares it.

    >>> normalized("The  Rhine, a river.")
    'rhine river'
    """
    kept = "".join(c for c in text.lower() if c not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", kept).split())


def exact_match(prediction: str, gold: str) -> float:
    """1 if both are the same answer, else 0."""
    return float(normalized(prediction) == normalized(gold))


def answer_f1(prediction: str, gold: str) -> float:
    """F1 of the words that both have; without any word, 1 if neither has one.

    >>> answer_f1("the river Rhine", "Rhine")
    0.6666666666666666
    """
    said, wanted = normalized(prediction).split(), normalized(gold).split()
    if not said or not wanted:
        return float(said == wanted)
    same = sum((collections.Counter(said) & collections.Counter(wanted)).values())
    return _f1(same, len(said), len(wanted))


def cmrc_exact_match(prediction: str, gold: str) -> float:
    """1 if both are the same but for punctuation, else 0."""
    return float(_without_punctuation(gold) == _without_punctuation(prediction))


def cmrc_f1(prediction: str, gold: str) -> float:
    """F1 of the longest part that both have in common, by character.

    >>> cmrc_f1("在北京市", "北京")
    0.6666666666666666
    """
    said, wanted = segmented(prediction), segmented(gold)
    matcher = difflib.SequenceMatcher(None, said, wanted, autojunk=False)
    return _f1(matcher.find_longest_match().size, len(said), len(wanted))


def segmented(text: str) -> list[str]:
    """Chinese by character, what is between by word, no punctuation.

    >>> segmented("他在 NBA 打球。")
    ['他', '在', 'nba', '打', '球']
    """
    return _PARTS.findall(_without_punctuation(text))


def best_of(measure: Callable[[str, str], float], prediction: str, golds: Iterable[str]) -> float:
    """The best over all right answers; a question without any has the answer "".

    As in SQuAD 2.0 an answer of nothing but punctuation and articles is none; 1.1 has
    three of them in its dev set.

    >>> best_of(exact_match, "", ["."]), best_of(exact_match, "", [".", "Rhine"])
    (1.0, 0.0)
    """
    if measure in (exact_match, answer_f1):
        golds = filter(normalized, golds)
    values = [measure(prediction, gold) for gold in golds]
    return max(values) if values else measure(prediction, "")


def best_null_threshold(
    null_scores: Sequence[float], answered: Sequence[float], unanswered: Sequence[float]
) -> tuple[float, float]:
    """The null score above which questions are best said to have no answer.

    As `find_best_thresh_v2` of SQuAD 2.0, whose threshold is just above a score.

    Args:
        null_scores: Of each question: of no answer, minus that of the best answer.
        answered: What each question is worth with its best answer.
        unanswered: What it is worth without answer.

    Returns:
        The threshold, and the mean worth with it; a question has no answer where its
        score is greater.
    """
    order = sorted(range(len(null_scores)), key=lambda number: null_scores[number])
    total = best = sum(unanswered)
    threshold = null_scores[order[0]] - 1.0
    for place, number in enumerate(order):
        total += answered[number] - unanswered[number]
        following = order[place + 1 : place + 2]
        is_last = all(null_scores[each] != null_scores[number] for each in following)
        if is_last and total > best:
            best, threshold = total, null_scores[number]
    return threshold, best / len(order)


def _without_punctuation(text: str) -> str:
    kept = (c for c in text.lower().strip() if c not in _CMRC_PUNCTUATION)
    return "".join(kept)


def _f1(same: int, said: int, wanted: int) -> float:
    if not same:
        return 0.0
    precision, recall = same / said, same / wanted
    return 2 * precision * recall / (precision + recall)


# How many begins and ends of each window are paired, and how many answers reported.
BEST = 20


@dataclasses.dataclass(frozen=True)
class AnswerSpan:
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

    spans: tuple[AnswerSpan, ...]
    null_score: float

    @property
    def null_margin(self) -> float:
        """By how much no answer scores more than the best one; 1e9 where there is none."""
        return min(self.null_score - self.spans[0].score, 1e9) if self.spans else 1e9

    def best(self, threshold: float | None) -> AnswerSpan | None:
        """The answer; None where no answer scores more than it by the threshold."""
        is_null = threshold is not None and self.null_margin > threshold
        return None if is_null or not self.spans else self.spans[0]


def answer_scores(
    passage: str, rows: Sequence[EncodedExample], logits: Sequence[Array], *, max_tokens: int
) -> AnswerScores:
    """The answers to one question, from all windows of its passage.

    Args:
        logits: Of each window, `[S, 2]`.
        max_tokens: Of an answer.
    """
    found: list[tuple[float, int, int]] = []
    for row, scores in zip(rows, logits, strict=True):
        assert row.window is not None
        found += window_spans(row.window, scores, max_tokens=max_tokens)
    null_score = min(float(scores[0].sum()) for scores in logits)
    # The earlier and shorter one of those that score alike.
    found.sort(key=lambda span: (-span[0], span[1], span[2]))
    spans: dict[str, AnswerSpan] = {}
    for score, first, last in found:
        text = passage[first:last]
        start = first + len(text) - len(text.lstrip())
        text = text.strip()
        if text and text not in spans:
            spans[text] = AnswerSpan(text, start, start + len(text), score)
        if len(spans) == BEST:
            break
    return AnswerScores(tuple(spans.values()), null_score)


def window_spans(window: Window, logits: Array, *, max_tokens: int) -> list[tuple[float, int, int]]:
    """Score, first character and end of each possible answer in a window.

    Args:
        logits: `[S, 2]`.
        max_tokens: Of an answer.
    """
    starts, ends = np.asarray(window.starts), np.asarray(window.ends)
    in_passage = starts >= 0
    context = np.frombuffer(window.has_max_context, np.uint8) == 1
    begins = _best(np.where(in_passage & context, logits[:, 0], -np.inf))
    lasts = _best(np.where(in_passage, logits[:, 1], -np.inf))
    return [
        (float(logits[begin, 0] + logits[last, 1]), int(starts[begin]), int(ends[last]))
        for begin in begins
        for last in lasts
        if begin <= last < begin + max_tokens
    ]


def _best(scores: Array) -> list[int]:
    """The places of the best scores, best first, without those of minus infinity."""
    order = np.argsort(-scores, kind="stable")[:BEST]
    return [int(place) for place in order if scores[place] > -np.inf]


_METRICS: dict[str, Callable[[str, str], float]] = {
    "answer_f1": answer_f1,
    "exact_match": exact_match,
    "cmrc_f1": cmrc_f1,
    "cmrc_exact_match": cmrc_exact_match,
}


class AnswerInPassage(Task):
    """The part of a passage that answers a question, or no answer."""

    does = "finds the answer to a question in a passage"
    share_metrics = ("exact_match", "cmrc_exact_match")

    def target(self, example: TaskExample) -> tuple[str, ...]:
        """All right answers; () if the question has none."""
        return tuple(answer.text for answer in example.answers or ())

    def output(
        self, example: TaskExample, rows: Sequence[EncodedExample], logits: Sequence[Array]
    ) -> AnswerScores:
        """The best answers of all windows of the passage."""
        longest = self.max_answer_tokens
        return answer_scores(example.text, rows, logits, max_tokens=longest)

    def prediction(self, output: Any) -> str:
        """The best answer; "" if no answer scores more than it by over `threshold`."""
        return _text(output.best(self.threshold))

    def shown(self, example: TaskExample, output: Any) -> Result:
        """The answer with its place, and the best ones with their probabilities."""
        best = output.best(self.threshold)
        scores = [span.score for span in output.spans]
        # As SQuAD's scripts print it.
        probabilities = softmax(np.array(scores)).tolist() if scores else []
        return {
            "answer": _text(best),
            "start": best.start if best else None,
            "end": best.end if best else None,
            "null_margin": output.null_margin if output.spans else None,
            "n_best": [
                {**dataclasses.asdict(span), "probability": probability}
                for span, probability in zip(output.spans, probabilities, strict=True)
            ],
        }

    def measure(self, metric: Metric, targets: Targets, predictions: Targets) -> Measure:
        """The mean of what each answer is worth."""
        pairs = zip(targets, predictions, strict=True)
        compare = _METRICS[metric]
        return mean_of([best_of(compare, prediction, golds) for golds, prediction in pairs])

    def majority(self, targets: Targets, examples: Examples) -> list[Any]:
        """No answer."""
        return [""] * len(examples)

    def sureness(self, output: Any, target: Any, prediction: Any) -> float:
        """How far apart the best answer and no answer are."""
        return abs(float(output.null_margin))

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
        return bool(best_of(compare, prediction, target))

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
        threshold, _ = best_null_threshold(
            [output.null_margin for output in outputs],
            [best_of(compare, _text(output.best(None)), golds) for output, golds in pairs],
            [best_of(compare, "", golds) for golds in targets],
        )
        return threshold


def _text(span: AnswerSpan | None) -> str:
    return span.text if span else ""
