"""What every kind of task asks of a model and of its measures."""

import abc
import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn import metrics

from schemas.errors import SettingError
from schemas.task import TARGETS, EncodedExample, Metric, TaskExample, TaskSpec

Array = npt.NDArray[Any]
Examples = Sequence[TaskExample]
Targets = Sequence[Any]
Result = dict[str, Any]

# A measure as a function of the numbers of the examples that count, None for all.
Measure = Callable[[Array | None], float]


@dataclasses.dataclass(frozen=True)
class Task(abc.ABC):
    """A task of one kind, with the labels of that task.

    A target and a prediction have the same form, so whatever predicts is measured
    alike: a model, or guessing.

    Attributes:
        does: What a model of this kind does, after "It".
        share_metrics: Measures that are the share of examples that are right.
        threshold: See `best_threshold`.
        max_answer_tokens: Of `answer`.
    """

    does: ClassVar[str]
    share_metrics: ClassVar[tuple[Metric, ...]] = ("accuracy",)

    spec: TaskSpec
    _: dataclasses.KW_ONLY
    threshold: float | None = None
    max_answer_tokens: int = 0

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        return {label: number for number, label in enumerate(self.spec.labels)}

    def number_of(self, label: str) -> int:
        """The number of a label."""
        if label not in self._numbers:
            raise SettingError(
                f"The label {label!r:.60} is not one of {self.spec.name}: "
                f"{', '.join(self.spec.labels):.200}."
            )
        return self._numbers[label]

    def target(self, example: TaskExample) -> Any:
        """What is right."""
        return next(value for name in TARGETS if (value := getattr(example, name)) is not None)

    def output(
        self, example: TaskExample, rows: Sequence[EncodedExample], logits: Sequence[Array]
    ) -> Any:
        """What a model computes for an example, from all its rows.

        Args:
            logits: Of each row, from `logits_of`.
        """
        return logits[0]

    def prediction(self, output: Any) -> Any:
        """What a model says, in the form of a target: the number of what is likeliest."""
        return int(np.argmax(output))

    def predictions(self, outputs: Sequence[Any]) -> list[Any]:
        """What a model says of all examples."""
        return [self.prediction(output) for output in outputs]

    @abc.abstractmethod
    def shown(self, example: TaskExample, output: Any) -> Result:
        """A prediction for a person and for JSON."""

    def measure(self, metric: Metric, targets: Targets, predictions: Targets) -> Measure:
        """One of the measures of the task on these examples, or on some of them."""
        true, predicted, score = np.asarray(targets), np.asarray(predictions), MEASURES[metric]
        return lambda rows: float(score(taken(true, rows), taken(predicted, rows)))

    def majority(self, targets: Targets, examples: Examples) -> list[Any]:
        """What always predicting the most frequent target gives, or the mean score."""
        return [most_frequent(Counter(targets))] * len(examples)

    def named(self, example: TaskExample, value: Any, *, other: Any) -> Any:
        """A target or a prediction for the list of errors.

        Args:
            other: The one of the two that `value` is not.
        """
        return value

    def sureness(self, output: Any, target: Any, prediction: Any) -> float:
        """How sure of a wrong prediction the model is."""
        return float(softmax(output).max())

    def is_right(self, target: Any, prediction: Any) -> bool:
        """Whether a prediction is right."""
        return bool(target == prediction)

    def best_threshold(self, outputs: Sequence[Any], targets: Targets) -> float | None:
        """The best threshold for these examples; None for kinds without any."""
        return None

    def by_label(self, targets: Targets, predictions: Targets) -> Result:
        """Measures of each label; nothing for kinds without labels."""
        return {}


def _correlation(of: Callable[..., Any], true: Array, predicted: Array) -> Any:
    """A correlation; 0 where one of both is all the same, of which libraries warn."""
    return of(true, predicted) if all(map(np.ptp, (true, predicted))) else 0.0


_macro_f1 = functools.partial(metrics.f1_score, average="macro", zero_division=0.0)

# Those of numbers: labels are measured by scikit-learn, scores by scipy. F1 is that of
# the second label, as MRPC and QQP have it.
MEASURES: dict[Metric, Callable[[Array, Array], Any]] = {
    "accuracy": metrics.accuracy_score,
    "f1": functools.partial(_macro_f1, labels=[1]),
    "macro_f1": _macro_f1,
    "matthews": functools.partial(_correlation, metrics.matthews_corrcoef),
    "pearson": functools.partial(_correlation, lambda *both: stats.pearsonr(*both)[0]),
    "spearman": functools.partial(_correlation, lambda *both: stats.spearmanr(*both)[0]),
}


def softmax(logits: Array) -> Array:
    """Probabilities of logits `[..., C]`."""
    wide = np.asarray(logits, np.float64)
    shares = np.exp(wide - wide.max(axis=-1, keepdims=True))
    result: Array = shares / shares.sum(axis=-1, keepdims=True)
    return result


def sigmoid(logits: Array) -> Array:
    """Probabilities of independent labels."""
    wide = np.asarray(logits, np.float64)
    result: Array = 0.5 * (1 + np.tanh(wide / 2))
    return result


def best_threshold(scores: Array, targets: Array) -> float:
    """The score from which to predict label 1 for the highest F1 of label 1.

    The highest of several, and between two scores that occur.

    >>> best_threshold(np.array([0.1, 0.2, 0.6, 0.9]), np.array([0, 0, 1, 1]))
    0.4
    """
    order = np.argsort(-scores, kind="stable")
    ordered, right = scores[order], np.cumsum(targets[order] == 1)
    said = np.arange(1, len(scores) + 1)
    f1 = 2 * right / (said + max(int((targets == 1).sum()), 1))
    # Not between equal scores.
    is_last = np.append(ordered[1:] != ordered[:-1], True)
    best = int(np.argmax(np.where(is_last, f1, -1)))
    after = ordered[best + 1] if best + 1 < len(ordered) else 0.0
    return float((ordered[best] + after) / 2)


def most_frequent(counts: Counter[int]) -> int:
    """The most frequent number, the smallest of several, whatever their order.

    >>> most_frequent(Counter([2, 1, 0, 1, 2]))
    1
    """
    return max(sorted(counts), key=counts.__getitem__)


def mean_of(values: Any) -> Measure:
    """The mean of a value of each example; 0 if there is no example."""
    array = np.asarray(values, np.float64)
    return lambda rows: float(taken(array, rows).mean()) if len(array) else 0.0


def taken(values: Array, rows: Array | None) -> Array:
    """The values of some examples, or of all."""
    return values if rows is None else values[rows]


def scores_of_label(precision: float, recall: float, f1: float, support: int) -> Result:
    """The measures of a label, under the names that JSON has."""
    return {"precision": precision, "recall": recall, "f1": f1, "support": support}


def label_scores(targets: Any, predictions: Any, labels: Any) -> list[Result]:
    """The measures of each label, by scikit-learn."""
    columns = metrics.precision_recall_fscore_support(
        targets, predictions, labels=labels, average=None, zero_division=0.0
    )
    return [
        scores_of_label(float(precision), float(recall), float(f1), int(support))
        for precision, recall, f1, support in zip(*columns, strict=True)
    ]
