"""What is measured: means of sums, kept as lines of JSON and shown in TensorBoard."""

import json
import math
from pathlib import Path
from typing import Any

import tensorflow as tf

from albert_tf.finished import read_metrics
from albert_tf.pretrainer import Sums
from schemas.errors import AlbertError
from schemas.json_file import write_text
from schemas.layout import METRICS, TENSORBOARD

Metrics = dict[str, Any]


def means(sums: Sums) -> dict[str, float | None]:
    """Losses in nats and accuracies; None for a task without examples.

    >>> means(Sums(6.0, 1.0, 4.0, 0.0, 0.0, 0.0))["mlm_loss"]
    1.5
    """

    def mean(total: Any, count: Any) -> float | None:
        return float(total) / float(count) if count else None

    return {
        "mlm_loss": mean(sums.mlm_loss, sums.mlm_count),
        "mlm_accuracy": mean(sums.mlm_correct, sums.mlm_count),
        "sentence_loss": mean(sums.sentence_loss, sums.sentence_count),
        "sentence_accuracy": mean(sums.sentence_correct, sums.sentence_count),
    }


def perplexity(loss: float) -> float:
    """How many pieces a model that is that unsure wavers between."""
    return math.exp(loss) if loss < 700 else math.inf


def metrics_text(metrics: Metrics) -> str:
    """Metrics as a person reads them.

    >>> metrics_text({"mlm_loss": 7.25, "mlm_accuracy": 0.1, "sentence_loss": None})
    'masked LM 7.250 (10.0% right)'
    """
    parts = []
    for task, name in (("mlm", "masked LM"), ("sentence", "sentence task")):
        loss, accuracy = metrics.get(f"{task}_loss"), metrics.get(f"{task}_accuracy")
        if loss is not None and accuracy is not None:
            parts.append(f"{name} {loss:.3f} ({accuracy:.1%} right)")
    if metrics.get("split") == "eval" and metrics.get("mlm_loss") is not None:
        parts.append(f"perplexity {perplexity(metrics['mlm_loss']):.1f}")
    if metrics.get("layer_consistency") is not None:
        parts.append(f"layer consistency {metrics['layer_consistency']:.4f}")
    if metrics.get("learning_rate") is not None:
        parts.append(f"learning rate {metrics['learning_rate']:.2e}")
    if metrics.get("gradient_norm") is not None:
        parts.append(f"gradient {metrics['gradient_norm']:.2f}")
    return ", ".join(parts)


class MetricsLog:
    """`metrics.jsonl` and TensorBoard of a run, cut back to the step it resumes from.

    TensorBoard's event files cannot be cut, so they are written anew from the lines.
    """

    def __init__(self, run: Path, *, step: int) -> None:
        self._path = run / METRICS
        self.lines = [line for line in read_metrics(run) if line["step"] <= step]
        text = "".join(json.dumps(line) + "\n" for line in self.lines)
        write_text(self._path, text)
        directory = run / TENSORBOARD
        for old in directory.glob("events.out.tfevents.*"):
            old.unlink()
        self._writer = tf.summary.create_file_writer(str(directory))
        for line in self.lines:
            self._show(line)

    def write(self, line: Metrics) -> None:
        """Append one line: `step`, `split` and what was measured.

        Raises:
            AlbertError: It cannot be written, as when the disk is full.
        """
        self.lines.append(line)
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            self._show(line)
            self._writer.flush()
        except (OSError, tf.errors.OpError) as error:
            raise AlbertError(
                f"{self._path.parent} cannot be written to: {error}; free some space "
                "and run the same command again, it continues from its last checkpoint."
            ) from error

    def evaluations(self) -> list[Metrics]:
        """The lines of the eval split, oldest first."""
        return [line for line in self.lines if line["split"] == "eval"]

    def close(self) -> None:
        """Finish the event file."""
        self._writer.close()

    def _show(self, line: Metrics) -> None:
        split, step = line["split"], line["step"]
        with self._writer.as_default():
            for name, value in line.items():
                if name not in ("step", "split") and value is not None:
                    tf.summary.scalar(f"{split}/{name}", value, step=step)
