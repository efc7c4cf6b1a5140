"""What a fine-tuned model is worth on examples whose labels are known."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.finetuning import answer_metrics, calibration, label_metrics
from albert_tf.finetuning.answers import AnswerScores
from albert_tf.finetuning.entity_metrics import found, has_entities
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

# Errors that are told, the most confident first, and characters of their text.
_ERRORS, _CHARACTERS = 20, 300


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
        self._targets = targets_of(spec, held_out.examples)

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
        threshold = chosen_threshold(
            self._spec, self._held_out.examples, outputs, self._targets
        )
        predictions = [said(self._spec, o, threshold=threshold) for o in outputs]
        return measured(self._spec, self._targets, predictions)


def chosen_threshold(
    spec: TaskSpec,
    examples: Sequence[TaskExample],
    outputs: Sequence[Any],
    targets: Sequence[Any],
) -> float | None:
    """The threshold that is best on half of the examples (`calibration.halves`).

    Of `multilabel` for F1 over all labels, of `answer` with unanswerable questions for
    the first measure of the task. None for all else, and where a half is empty.
    """
    is_first = calibration.halves([example.id for example in examples])
    rows = np.flatnonzero(is_first).tolist()
    if spec.kind == "multilabel" and rows:
        scores = calibration.sigmoid(np.array([outputs[row] for row in rows]))
        wanted = np.array([targets[row] for row in rows])
        return calibration.best_threshold(scores.ravel(), wanted.ravel())
    if spec.kind == "answer" and spec.has_unanswerable and rows:
        return _null_threshold(
            [outputs[row] for row in rows],
            [targets[row] for row in rows],
            measure=measure_of_answers(spec),
        )
    return 0.0 if spec.kind == "answer" and spec.has_unanswerable else None


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
    spec: TaskSpec,
    examples: Sequence[TaskExample],
    outputs: Sequence[Any],
    *,
    threshold: float | None,
    temperature: float | None = None,
    baselines: Mapping[str, Sequence[Any]] | None = None,
) -> Result:
    """All that is told of a model on some examples, as JSON has it.

    Args:
        spec: The task.
        examples: With labels.
        outputs: Of the model, for each.
        threshold: See `task_outputs.said`.
        temperature: To measure calibration with; None to choose it on half of these
            examples and measure it on the others.
        baselines: What guessing says of the examples, by name.
    """
    targets = targets_of(spec, examples)
    predictions = [said(spec, output, threshold=threshold) for output in outputs]
    measures = measured(spec, targets, predictions)
    first = spec.metrics[0]
    result: Result = {
        "examples": len(examples),
        "metric": first,
        "metrics": measures,
        "intervals": {
            name: interval_of(spec, name, targets, predictions) for name in spec.metrics
        },
        "baselines": {
            name: measured(spec, targets, guesses)
            for name, guesses in (baselines or {}).items()
        },
        "threshold": threshold,
    }
    result |= _by_label(spec, targets, predictions)
    if spec.kind == "classify":
        result |= _calibration(spec, examples, outputs, targets, temperature)
    return result | _errors(spec, examples, outputs, targets, predictions)


def _by_label(
    spec: TaskSpec, targets: Sequence[Any], predictions: Sequence[Any]
) -> Result:
    """Precision, recall, F1 and support of each label; the confusion matrix."""
    if spec.kind == "tag" and has_entities(spec.labels):
        names = spec.labels
        counts = found(
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
    found = {}
    for name, column, support in rows:
        precision, recall, f1 = map(float, column)
        found[name] = _scores(precision, recall, f1, int(support))
    return found


def _scores(precision: float, recall: float, f1: float, support: int) -> Result:
    return {"precision": precision, "recall": recall, "f1": f1, "support": support}


def _calibration(
    spec: TaskSpec,
    examples: Sequence[TaskExample],
    outputs: Sequence[Any],
    targets: Sequence[Any],
    temperature: float | None,
) -> Result:
    """Whether probabilities are right, before and after one temperature.

    One that is chosen here is chosen on half of the examples, and both errors are of
    the others; else they are of all.
    """
    logits, true = np.array(outputs), np.array(targets)
    is_first = calibration.halves([example.id for example in examples])
    if not is_first.any() or is_first.all():
        return {}
    is_measured = np.ones_like(is_first)
    if temperature is None:
        temperature = calibration.best_temperature(logits[is_first], true[is_first])
        is_measured = ~is_first

    def error(scale: float) -> float:
        shares = calibration.softmax(logits[is_measured] / scale)
        return calibration.calibration_error(shares, true[is_measured])

    result: Result = {
        "temperature": temperature,
        "calibration_error": error(1.0),
        "calibration_error_with_temperature": error(temperature),
    }
    if len(spec.labels) == 2:
        ones = calibration.softmax(logits)[:, 1]
        result["area_under_curve"] = label_metrics.area_under_curve(true, ones)
        result |= _binary_threshold(ones, true, is_first)
    return result


def _binary_threshold(ones: Any, true: Any, is_first: Any) -> Result:
    """F1 of the second label with a threshold that is chosen on half, on the others."""
    threshold = calibration.best_threshold(ones[is_first], true[is_first])

    def f1(least: float) -> float:
        guess = (ones[~is_first] >= least).astype(int)
        return label_metrics.f1(
            label_metrics.confusion(true[~is_first], guess, labels=2)
        )

    return {
        "f1_threshold": {"value": threshold, "f1": f1(threshold), "f1_at_half": f1(0.5)}
    }


def _errors(
    spec: TaskSpec,
    examples: Sequence[TaskExample],
    outputs: Sequence[Any],
    targets: Sequence[Any],
    predictions: Sequence[Any],
) -> Result:
    """The errors that the model is surest of, with their text."""
    wrong = [
        (_sureness(spec, output, true, guess), number)
        for number, (output, true, guess) in enumerate(
            zip(outputs, targets, predictions, strict=True)
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
    """What is told of a target or a prediction; of tags, those that the other lacks."""
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
