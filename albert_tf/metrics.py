"""What is measured: means of sums, and the lines of JSON that a run keeps of them."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.errors import AlbertError
from schemas.layout import EVAL, METRICS, TRAIN

if TYPE_CHECKING:  # It loads Keras, which nobody needs to read what was measured.
    from albert_tf.pretrainer import Sums

Metrics = dict[str, Any]


def means(sums: "Sums") -> dict[str, float | None]:
    """Losses in nats and accuracies; None for a task without examples.

    >>> from albert_tf.pretrainer import Sums
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
    if metrics.get("split") == EVAL and metrics.get("mlm_loss") is not None:
        parts.append(f"perplexity {perplexity(metrics['mlm_loss']):.1f}")
    if metrics.get("layer_consistency") is not None:
        parts.append(f"layer consistency {metrics['layer_consistency']:.4f}")
    if metrics.get("learning_rate") is not None:
        parts.append(f"learning rate {metrics['learning_rate']:.2e}")
    if metrics.get("gradient_norm") is not None:
        parts.append(f"gradient {metrics['gradient_norm']:.2f}")
    return ", ".join(parts)


def read_metrics(run: Path) -> list[dict[str, Any]]:
    """The whole lines of a run's metrics; a last one cut off by a kill is left out.

    Raises:
        AlbertError: The file cannot be read, or a line is not what `pretrain` writes.
    """
    path = run / METRICS
    if not path.exists():
        return []
    try:
        content = path.read_bytes()
    except OSError as error:
        raise AlbertError(f"{path} cannot be read: {error.strerror}.") from error
    whole = content[: content.rfind(b"\n") + 1]
    return [
        _parsed(line, place=f"{path}: line {number}")
        for number, line in enumerate(whole.splitlines(), start=1)
    ]


def _parsed(line: bytes, *, place: str) -> dict[str, Any]:
    """A line with a step, a split, and numbers or nothing for the rest."""
    try:
        metrics: Any = json.loads(line)
    except ValueError:
        metrics = None
    if (
        isinstance(metrics, dict)
        and isinstance(metrics.get("step"), int)
        and metrics.get("split") in (TRAIN, EVAL)
        and all(
            value is None or isinstance(value, int | float)
            for name, value in metrics.items()
            if name != "split"
        )
    ):
        return metrics
    raise AlbertError(
        f"{place} is no line of metrics; remove the line and run the same command "
        "again."
    )
