"""What predictions are worth, by the measures of a task.

A prediction has the form of what is right: the number of a label or an option, a 0 or 1
for each label, a score, the number of each word's tag, or the text of an answer, beside
all right texts. So whatever predicts is measured alike: a model, or guessing.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from albert_tf.finetuning import answer_metrics, label_metrics
from albert_tf.finetuning.entity_metrics import Found, count_entities
from albert_tf.runs.confidence import interval
from schemas.task import Metric, TaskExample, TaskSpec

Array = npt.NDArray[Any]
Targets = Sequence[Any]
Interval = tuple[float, float]

# Of a resampled measure, and where the middle 95 % of their values end.
_SAMPLES = 200
_ENDS = (2.5, 97.5)

_ANSWERS: dict[str, Callable[[str, str], float]] = {
    "answer_f1": answer_metrics.answer_f1,
    "exact_match": answer_metrics.exact_match,
    "cmrc_f1": answer_metrics.cmrc_f1,
    "cmrc_exact_match": answer_metrics.cmrc_exact_match,
}
_OF_TABLE: dict[str, Callable[[Any], float]] = {
    "accuracy": label_metrics.accuracy,
    "matthews": label_metrics.matthews,
    "f1": label_metrics.f1,
    "macro_f1": label_metrics.macro_f1,
}
_CORRELATIONS: dict[str, Callable[[Any, Any], float]] = {
    "pearson": label_metrics.pearson,
    "spearman": label_metrics.spearman,
}
# These are shares of examples, each right or wrong.
_SHARES = ("accuracy", "exact_match", "cmrc_exact_match")


def targets_of(spec: TaskSpec, examples: Iterable[TaskExample]) -> list[Any]:
    """What is right, in the form of predictions.

    Raises:
        SettingError: A label is not one of the task.
    """
    return [_target(spec, example) for example in examples]


def _target(spec: TaskSpec, example: TaskExample) -> Any:
    if spec.kind == "classify":
        assert example.label is not None
        return spec.label_number(example.label)
    if spec.kind == "multilabel":
        numbers = [spec.label_number(label) for label in example.labels or ()]
        return tuple(int(n in numbers) for n in range(len(spec.labels)))
    if spec.kind == "tag":
        return tuple(spec.label_number(tag) for tag in example.tags or ())
    if spec.kind == "answer":
        return tuple(answer.text for answer in example.answers or ())
    return example.score if spec.kind == "regress" else example.choice


def measured(
    spec: TaskSpec, targets: Targets, predictions: Targets
) -> dict[str, float]:
    """All measures of a task, by name."""
    return {
        metric: _on_sample(spec, metric, targets, predictions)(None)
        for metric in spec.metrics
    }


def interval_of(
    spec: TaskSpec, metric: Metric, targets: Targets, predictions: Targets
) -> Interval:
    """The 95 % interval of a measure.

    For a share Wilson's; for others the middle 95 % of 200 samples, drawn from the
    examples with replacement.
    """
    on_sample, number = _on_sample(spec, metric, targets, predictions), len(targets)
    if metric in _SHARES and spec.kind != "tag":
        return interval(on_sample(None), number)
    rng = np.random.Generator(np.random.PCG64(number))
    values = [on_sample(rng.integers(0, number, number)) for _ in range(_SAMPLES)]
    low, high = np.percentile(values, _ENDS)
    return float(low), float(high)


def measure_of_answers(spec: TaskSpec) -> Callable[[str, str], float]:
    """The first measure of a task of answers, for a predicted and a right one."""
    return _ANSWERS[spec.metrics[0]]


def is_right(spec: TaskSpec, true: Any, said: Any) -> bool:
    """Whether a prediction is right; for answers, by the exact match of the task.

    >>> spec = TaskSpec(
    ...     name="cmrc", kind="answer", metrics=("cmrc_f1", "cmrc_exact_match")
    ... )
    >>> is_right(spec, ("\u5317\u4eac",), "\u5317\u4eac\u3002")
    True
    """
    if spec.kind != "answer":
        return bool(true == said)
    exact = next(metric for metric in spec.metrics if metric in _SHARES)
    return bool(answer_metrics.best_of(_ANSWERS[exact], said, true))


def _on_sample(
    spec: TaskSpec, metric: Metric, targets: Targets, predictions: Targets
) -> Callable[[Array | None], float]:
    """A measure as a function of the examples that count; None for all, once."""
    if metric in _ANSWERS:
        golds = zip(targets, predictions, strict=True)
        measure = _ANSWERS[metric]
        return _mean([answer_metrics.best_of(measure, said, g) for g, said in golds])
    if spec.kind == "tag":
        return _of_tags(spec, metric, targets, predictions)
    true, said = np.asarray(targets), np.asarray(predictions)
    if metric in _CORRELATIONS:
        correlation = _CORRELATIONS[metric]
        return lambda rows: correlation(_taken(true, rows), _taken(said, rows))
    if spec.kind == "multilabel":
        return lambda rows: _of_labels(metric, _taken(true, rows), _taken(said, rows))
    if spec.kind == "choose":
        return _mean((true == said).astype(float))
    size, of_table = len(spec.labels), _OF_TABLE[metric]
    return lambda rows: of_table(
        label_metrics.confusion(_taken(true, rows), _taken(said, rows), labels=size)
    )


def _of_tags(
    spec: TaskSpec, metric: Metric, targets: Targets, predictions: Targets
) -> Callable[[Array | None], float]:
    """Measures of tags, from the counts of each sentence."""
    if metric == "entity_f1":
        names = spec.labels
        pairs = zip(targets, predictions, strict=True)
        counts = np.array(
            [
                count_entities([[names[n] for n in true]], [[names[n] for n in said]])[
                    ""
                ]
                for true, said in pairs
            ]
        ).reshape(-1, 3)
        return lambda rows: Found(*_taken(counts, rows).sum(axis=0).tolist()).f1
    rights = np.array(
        [
            (np.equal(true, said).sum(), len(true))
            for true, said in zip(targets, predictions, strict=True)
        ]
    ).reshape(-1, 2)

    def share(rows: Array | None) -> float:
        right, words = _taken(rights, rows).sum(axis=0)
        return float(right / max(words, 1))

    return share


def _of_labels(metric: Metric, targets: Array, predictions: Array) -> float:
    """Measures of independent labels `[N, L]`; accuracy is of all labels together."""
    if metric == "accuracy":
        return float((targets == predictions).all(axis=1).mean())
    tables = label_metrics.tables_of_labels(targets, predictions)
    if metric == "micro_f1":
        return label_metrics.micro_f1(tables)
    return label_metrics.macro_f1_of_labels(tables)


def _mean(values: Any) -> Callable[[Array | None], float]:
    array = np.asarray(values, np.float64)
    return lambda rows: float(_taken(array, rows).mean()) if len(array) else 0.0


def _taken(values: Array, rows: Array | None) -> Array:
    return values if rows is None else values[rows]
