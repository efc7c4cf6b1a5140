"""What a fine-tuned model is worth on examples whose labels are known."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from albert_tf.finetuning import answer_metrics, calibration, label_metrics
from albert_tf.finetuning.answers import AnswerScores
from albert_tf.finetuning.entity_metrics import count_entities, has_entities
from albert_tf.finetuning.task_logits import TaskLogits
from albert_tf.finetuning.task_measures import (
    interval_of,
    is_right,
    measure_of_answers,
    measured,
    targets_of,
)
from albert_tf.finetuning.task_outputs import outputs_of, said
from albert_tf.finetuning.tuning_job import TaskRows
from albert_tf.model.task_model import TaskModel
from schemas.finetune_config import ResolvedFineTuneConfig
from schemas.task import TaskExample, TaskSpec

Result = dict[str, Any]

# Errors that are reported, the most confident first, and characters of their text.
_ERRORS, _CHARACTERS = 20, 300


@dataclasses.dataclass(frozen=True)
class Answered:
    """Examples whose labels are known, and what a model says of them.

    Attributes:
        spec: The task.
        examples: With labels.
        outputs: Of the model, for each (`task_outputs`).
    """

    spec: TaskSpec
    examples: Sequence[TaskExample]
    outputs: Sequence[Any]

    @functools.cached_property
    def targets(self) -> list[Any]:
        """What is right, in the form of predictions."""
        return targets_of(self.spec, self.examples)

    @functools.cached_property
    def is_first(self) -> npt.NDArray[np.bool_]:
        """Which of them something is chosen on, `[N]`."""
        return calibration.halves([example.id for example in self.examples])

    @property
    def has_halves(self) -> bool:
        """Whether there are some to choose on and some to measure on."""
        return bool(self.is_first.any() and not self.is_first.all())

    def predictions(self, threshold: float | None) -> list[Any]:
        """What the model says from a threshold on (`task_outputs.said`)."""
        return [said(self.spec, output, threshold=threshold) for output in self.outputs]


class Evaluator:
    """The examples that a model is measured on again and again.

    Args:
        model: Measured as it is at each call.
        spec: The task.
        held_out: Encoded examples whose labels are known.
        config: The settings.
    """

    def __init__(
        self,
        model: TaskModel,
        spec: TaskSpec,
        held_out: TaskRows,
        *,
        config: ResolvedFineTuneConfig,
    ) -> None:
        self._spec, self._held_out, self._config = spec, held_out, config
        self._logits = TaskLogits(model, spec, longest=config.max_seq_length)

    def measures(self, *, on_rows: Callable[[int], None]) -> dict[str, float]:
        """The measures of the task.

        Args:
            on_rows: See `TaskLogits.of_rows`.
        """
        outputs = outputs_of(
            self._spec,
            self._held_out.examples,
            self._held_out.rows,
            self._logits.of_rows(self._held_out.rows, on_rows=on_rows),
            max_answer_tokens=self._config.max_answer_tokens,
        )
        answered = Answered(self._spec, self._held_out.examples, outputs)
        predictions = answered.predictions(chosen_threshold(answered))
        return measured(self._spec, answered.targets, predictions)


def chosen_threshold(answered: Answered) -> float | None:
    """The threshold that is best on half of the examples (`calibration.halves`).

    Of `multilabel` for F1 over all labels, None where that half is empty; of `answer`
    with unanswerable questions for the first measure of the task, 0 where it is empty.
    None of all else.
    """
    spec = answered.spec
    rows = np.flatnonzero(answered.is_first).tolist()
    outputs = [answered.outputs[row] for row in rows]
    targets = [answered.targets[row] for row in rows]
    if spec.kind == "multilabel" and rows:
        scores = calibration.sigmoid(np.array(outputs))
        return calibration.best_threshold(scores.ravel(), np.array(targets).ravel())
    if spec.kind == "answer" and spec.has_unanswerable:
        measure = measure_of_answers(spec)
        return _null_threshold(outputs, targets, measure=measure) if rows else 0.0
    return None


def _null_threshold(
    outputs: Sequence[AnswerScores],
    targets: Sequence[tuple[str, ...]],
    *,
    measure: Callable[[str, str], float],
) -> float:
    def worth(text: str, golds: tuple[str, ...]) -> float:
        return answer_metrics.best_of(measure, text, golds)

    pairs = list(zip(outputs, targets, strict=True))
    threshold, _ = answer_metrics.best_null_threshold(
        # A question without any span has no answer, whatever the threshold.
        [max(min(output.null_margin, 1e9), -1e9) for output in outputs],
        [worth(said_of(output), golds) for output, golds in pairs],
        [worth("", golds) for golds in targets],
    )
    return threshold


def said_of(output: AnswerScores) -> str:
    """The best answer, whether or not there is one."""
    best = output.best(None)
    return best.text if best else ""


def evaluated(
    answered: Answered,
    *,
    threshold: float | None,
    temperature: float | None = None,
    baselines: Mapping[str, Sequence[Any]] | None = None,
) -> Result:
    """All that is reported of a model on some examples, as JSON has it.

    Args:
        answered: The examples, and what it says of them.
        threshold: See `task_outputs.said`.
        temperature: To measure calibration with; None to choose it on half of these
            examples and measure it on the others.
        baselines: What guessing says of the examples, by name.
    """
    spec, targets = answered.spec, answered.targets
    predictions = answered.predictions(threshold)
    result: Result = {
        "examples": len(answered.examples),
        "metric": spec.metrics[0],
        "metrics": measured(spec, targets, predictions),
        "intervals": {
            name: interval_of(spec, name, targets, predictions) for name in spec.metrics
        },
        "baselines": {
            name: measured(spec, targets, guesses)
            for name, guesses in (baselines or {}).items()
        },
        "threshold": threshold,
    }
    result |= _by_label(answered, predictions)
    if spec.kind == "classify":
        result |= _calibration(answered, temperature)
        if len(spec.labels) == 2:
            result |= _of_two_labels(answered)
    return result | _errors(answered, predictions)


def _by_label(answered: Answered, predictions: Sequence[Any]) -> Result:
    """Precision, recall, F1 and support of each label; the confusion matrix."""
    spec, targets = answered.spec, answered.targets
    if spec.kind == "tag" and has_entities(spec.labels):
        names = spec.labels
        counts = count_entities(
            [[names[n] for n in true] for true in targets],
            [[names[n] for n in guess] for guess in predictions],
        )
        return {
            "labels": {
                name or "all": _scores(f.precision, f.recall, f.f1, f.wanted)
                for name, f in counts.items()
            }
        }
    if spec.kind == "multilabel":
        tables = label_metrics.tables_of_labels(
            np.array(targets), np.array(predictions)
        )
        columns = [label_metrics.precision_recall_f1(table)[:, 1] for table in tables]
        supports = tables[:, 1].sum(axis=1)
        return {"labels": _named(spec, columns, supports)}
    if spec.kind not in ("classify", "tag"):
        return {}
    true, guess = (
        np.concatenate([np.atleast_1d(v) for v in values])
        for values in (targets, predictions)
    )
    table = label_metrics.confusion(true, guess, labels=len(spec.labels))
    result: Result = {
        "labels": _named(
            spec, label_metrics.precision_recall_f1(table).T, table.sum(axis=1)
        )
    }
    if spec.kind == "classify":
        result["confusion"] = table.tolist()
        result["balanced_accuracy"] = label_metrics.balanced_accuracy(table)
    return result


def _named(spec: TaskSpec, columns: Any, supports: Any) -> Result:
    rows = zip(spec.labels, columns, supports, strict=True)
    by_label = {}
    for name, column, support in rows:
        precision, recall, f1 = map(float, column)
        by_label[name] = _scores(precision, recall, f1, int(support))
    return by_label


def _scores(precision: float, recall: float, f1: float, support: int) -> Result:
    return {"precision": precision, "recall": recall, "f1": f1, "support": support}


def _calibration(answered: Answered, temperature: float | None) -> Result:
    """Whether probabilities are right, before and after one temperature.

    One that is chosen here is chosen on half of the examples, and both errors are of
    the others; else they are of all. Nothing where none is given and a half is empty.
    """
    logits, true = np.array(answered.outputs), np.array(answered.targets)
    is_measured = np.ones(len(true), bool)
    if temperature is None:
        if not answered.has_halves:
            return {}
        is_first, is_measured = answered.is_first, ~answered.is_first
        temperature = calibration.best_temperature(logits[is_first], true[is_first])

    def error(scale: float) -> float:
        shares = calibration.softmax(logits[is_measured] / scale)
        return calibration.calibration_error(shares, true[is_measured])

    return {
        "temperature": temperature,
        "calibration_error": error(1.0),
        "calibration_error_with_temperature": error(temperature),
    }


def _of_two_labels(answered: Answered) -> Result:
    """How well two labels are told apart, by all thresholds and by the best one.

    The best is chosen on half of the examples, and its F1 is of the others; nothing is
    told of it where a half is empty.
    """
    ones = calibration.softmax(np.array(answered.outputs))[:, 1]
    true, is_first = np.array(answered.targets), answered.is_first
    area = label_metrics.area_under_curve(true, ones)
    if not answered.has_halves:
        return {"area_under_curve": area}
    threshold = calibration.best_threshold(ones[is_first], true[is_first])

    def f1(least: float) -> float:
        guess = (ones[~is_first] >= least).astype(int)
        return label_metrics.f1(
            label_metrics.confusion(true[~is_first], guess, labels=2)
        )

    chosen = {"value": threshold, "f1": f1(threshold), "f1_at_half": f1(0.5)}
    return {"area_under_curve": area, "f1_threshold": chosen}


def _errors(answered: Answered, predictions: Sequence[Any]) -> Result:
    """The errors that the model is surest of, with their text."""
    spec, examples, targets = answered.spec, answered.examples, answered.targets
    wrong = [
        (_sureness(spec, output, true, guess), number)
        for number, (output, true, guess) in enumerate(
            zip(answered.outputs, targets, predictions, strict=True)
        )
        if not is_right(spec, true, guess)
    ]
    wrong.sort(key=lambda pair: (-pair[0], pair[1]))
    return {
        "errors": [
            {
                "id": examples[number].id,
                "text": examples[number].text[:_CHARACTERS],
                "text_pair": (examples[number].text_pair or "")[:_CHARACTERS] or None,
                "right": _told(spec, examples[number], true, other=guess),
                "predicted": _told(spec, examples[number], guess, other=true),
                "sureness": sureness,
            }
            for sureness, number in wrong[:_ERRORS]
            for true, guess in [(targets[number], predictions[number])]
        ]
    }


def _sureness(spec: TaskSpec, output: Any, true: Any, guess: Any) -> float:
    """How sure of itself the model is: of a score, how far it is from the right one."""
    if spec.kind == "regress":
        return abs(float(true) - float(guess))
    if spec.kind == "answer":
        return float(min(abs(output.null_margin), 1e9))
    if spec.kind == "multilabel":
        return float(np.abs(calibration.sigmoid(output) - np.array(true)).max())
    shares = calibration.softmax(output)
    if spec.kind == "tag":
        wrong = np.not_equal(true, guess)
        return float(shares.max(axis=1)[wrong].max())
    return float(shares.max())


def _told(spec: TaskSpec, example: TaskExample, value: Any, *, other: Any) -> Any:
    """What is reported of a target or prediction; of tags, those the other lacks."""
    labels = spec.labels
    if spec.kind == "classify":
        return labels[value]
    if spec.kind == "choose":
        return example.options[value]
    if spec.kind == "multilabel":
        return [name for name, n in zip(labels, value, strict=True) if n]
    if spec.kind == "tag":
        rows = zip(example.words, value, other, strict=False)
        return [f"{word}/{labels[n]}" for word, n, wrong in rows if n != wrong]
    return list(value) if isinstance(value, tuple) else value
