"""What is measured: means of sums, and the lines of JSON that a run keeps of them."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from schemas.errors import AlbertError
from schemas.files import read_bytes
from schemas.layout import EVAL, METRICS, TRAIN
from schemas.readable import counted, percent

Metrics = dict[str, Any]
Float = npt.NDArray[np.float64]

# Standard deviations on both sides of a normal distribution that hold 95 %.
DEVIATIONS = 1.96

# A collapsed model predicts the frequencies of tokens: published collapses stay at 6.6
# to 7.3 nats, with the sentence task at chance (huggingface/transformers 4727, 5984).
STUCK_EVALUATIONS = 4
STUCK_NATS = 0.02
STUCK_ABOVE_NATS = 5.0

# More than the metrics of any run have, and than any line of them.
_MOST_BYTES, _LONGEST_LINE = 64 << 20, 1 << 16


class Sums(NamedTuple):
    """Losses (in nats) and hits, added up over predictions, and how many there were.

    Sums and not means, because the batch of a step is computed in micro-batches with
    different numbers of masked pieces.
    """

    mlm_loss: Any
    mlm_correct: Any
    mlm_count: Any
    sentence_loss: Any
    sentence_correct: Any
    sentence_count: Any


def means(sums: Sums) -> dict[str, float | None]:
    """Losses in nats and accuracies; None for a task without examples.

    >>> means(Sums(6.0, 1.0, 4.0, 0.0, 0.0, 0.0))["mlm_loss"]
    1.5
    """
    values: dict[str, float | None] = {}
    for task, (loss, correct, count) in (("mlm", sums[:3]), ("sentence", sums[3:])):
        values[f"{task}_loss"] = float(loss) / float(count) if count else None
        values[f"{task}_accuracy"] = float(correct) / float(count) if count else None
    return values


def perplexity(loss: float) -> float:
    """How many equally likely tokens would be as hard to guess as at this loss."""
    return math.exp(loss) if loss < 700 else math.inf


def metric_text(name: str, value: float | None) -> str:
    """One metric as tables show it, by its name.

    >>> metric_text("mlm_loss", 7.25), metric_text("mlm_accuracy", 0.1)
    ('7.2500', '10.00%')
    >>> metric_text("mlm_count", 12345), metric_text("sentence_loss", None)
    ('12,345', 'none')
    """
    if value is None:
        return "none"
    if name.endswith("_accuracy"):
        return f"{value:.2%}"
    return f"{value:.4f}" if isinstance(value, float) else f"{value:,}"


# Figures of fewer held-out examples are never shown without their intervals.
FEW_EXAMPLES = 200


def metrics_text(metrics: Metrics) -> str:
    """The metrics of a step in one line, with intervals if few examples are behind it.

    >>> metrics_text({"mlm_loss": 7.25, "mlm_accuracy": 0.1, "sentence_loss": None})
    'masked LM 7.250 (10.0% right)'
    >>> metrics_text({"bits_per_character": 2.5, "learning_rate": 0.001})
    '2.500 bits per character, learning rate 1.00e-03'
    >>> few = {"examples": 20, "mlm_loss": 7.25, "mlm_loss_error": 0.25}
    >>> metrics_text(few | {"mlm_accuracy": 0.1, "mlm_count": 300})
    'masked LM 7.250 (7.000 to 7.500), 10.0% (7.1 to 13.9%) right, 20 examples'
    """
    examples = metrics.get("examples") or FEW_EXAMPLES
    parts = []
    for task, name in (("mlm", "masked LM"), ("sentence", "sentence task")):
        if metrics.get(f"{task}_loss") is not None:
            parts += _of_task(metrics, task, name, is_few=examples < FEW_EXAMPLES)
    if examples < FEW_EXAMPLES:
        parts.append(counted(examples, "example"))
    elif metrics.get("split") == EVAL and metrics.get("mlm_loss") is not None:
        parts.append(f"perplexity {perplexity(metrics['mlm_loss']):.1f}")
    if (bits := metrics.get("bits_per_character")) is not None:
        error = metrics.get("bits_per_character_error")
        value, _, around = value_text(bits, error).partition(" ")
        parts.append(f"{value} bits per character {around}".rstrip())
    others = {
        "layer_consistency": "layer consistency {:.4f}",
        "learning_rate": "learning rate {:.2e}",
        "gradient_norm": "gradient {:.2f}",
    }
    parts += [
        shown.format(metrics[name])
        for name, shown in others.items()
        if metrics.get(name) is not None
    ]
    return ", ".join(parts)


def _of_task(metrics: Metrics, task: str, name: str, *, is_few: bool) -> list[str]:
    """Loss and accuracy of a task, as they stand in a line."""
    loss, accuracy = metrics[f"{task}_loss"], metrics[f"{task}_accuracy"]
    if not is_few:
        return [f"{name} {loss:.3f} ({percent(accuracy)} right)"]
    shown = value_text(loss, metrics.get(f"{task}_loss_error"))
    right = with_interval(accuracy, metrics[f"{task}_count"])
    return [f"{name} {shown}", f"{right} right"]


def value_text(value: float, error: float | None) -> str:
    """A value and its 95 % interval, of which `error` is half the width.

    >>> value_text(2.5, 0.25), value_text(2.5, None)
    ('2.500 (2.250 to 2.750)', '2.500')
    """
    if error is None:
        return f"{value:.3f}"
    return f"{value:.3f} ({value - error:.3f} to {value + error:.3f})"


def interval(share: float, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of `count` trials.

    >>> low, high = interval(0.5, 100)
    >>> round(low, 3), round(high, 3)
    (0.404, 0.596)
    """
    squared = DEVIATIONS**2
    middle = (share + squared / (2 * count)) / (1 + squared / count)
    spread = share * (1 - share) / count + squared / (4 * count * count)
    half = DEVIATIONS * math.sqrt(spread) / (1 + squared / count)
    # Rounding may lead out of the range of a share.
    return max(0.0, middle - half), min(1.0, middle + half)


def with_interval(share: float, count: int) -> str:
    """A share as a person reads it.

    >>> with_interval(0.5, 100)
    '50.0% (40.4 to 59.6%)'
    """
    low, high = map(percent, interval(share, count))
    return f"{percent(share)} ({low.removesuffix('%')} to {high})"


class BitsPerCharacter(NamedTuple):
    """A mean over the characters of some words.

    Attributes:
        low: The lower end of its 95 % interval, over the draw of the words.
    """

    value: float
    low: float
    high: float


def bits_per_character(losses: Float, characters: Float) -> BitsPerCharacter:
    """The bits of all words by the characters of all words.

    Args:
        losses: Minus the log probability of each word, in nats, `[W]`; or by how much
            that of one model is greater than that of another.
        characters: How many characters each has, `[W]`.

    >>> bits_per_character(np.log([4.0, 16.0]), np.array([1.0, 2.0])).value
    2.0
    """
    bits = losses / math.log(2)
    value = bits.sum() / characters.sum()
    # The deviation of a ratio of sums, to first order.
    deviation = math.sqrt(np.sum((bits - value * characters) ** 2)) / characters.sum()
    half = DEVIATIONS * deviation
    return BitsPerCharacter(float(value), float(value - half), float(value + half))


def best_evaluation(evaluations: Sequence[Metrics]) -> Metrics | None:
    """The one of a trained model with the lowest loss, the newest of several.

    >>> losses = {0: 1.0, 5: 3.0, 10: math.nan}
    >>> best_evaluation([{"step": n, "mlm_loss": losses[n]} for n in losses])
    {'step': 5, 'mlm_loss': 3.0}

    Args:
        evaluations: Lines of metrics, the oldest first.
    """
    trained = [
        line
        for line in reversed(evaluations)
        if line["step"] and line.get("mlm_loss") is not None and not math.isnan(line["mlm_loss"])
    ]
    return min(trained, key=lambda line: float(line["mlm_loss"]), default=None)


def collapse_warning(evaluations: list[Metrics]) -> str | None:
    """A warning when the last evaluations show that nothing is being learned.

    >>> stuck = [
    ...     {"step": s, "mlm_loss": 7.1, "sentence_accuracy": 0.5} for s in range(4)
    ... ]
    >>> collapse_warning(stuck).split(":")[0]
    'The masked-LM loss has stayed at 7.10 since step 0'
    """
    recent = evaluations[-STUCK_EVALUATIONS:]
    losses = [line["mlm_loss"] for line in recent]
    if len(recent) < STUCK_EVALUATIONS or None in losses:
        return None
    accuracy = recent[-1]["sentence_accuracy"]
    is_at_chance = accuracy is None or abs(accuracy - 0.5) < 0.02
    has_moved = max(losses) - min(losses) >= STUCK_NATS
    is_stuck = min(losses) > STUCK_ABOVE_NATS and not has_moved
    if not (is_stuck and is_at_chance):
        return None
    return (
        f"The masked-LM loss has stayed at {losses[-1]:.2f} since step "
        f"{recent[0]['step']}: the model predicts how frequent tokens are and nothing "
        "else. --recipe small-budget has first weights and a rate with which small "
        "models leave it soon; else the learning rate may be too high for this batch "
        "size (--learning-rate) or the warm-up too short (--warmup-steps)."
    )


def read_metrics(run: Path) -> list[dict[str, Any]]:
    """The whole lines of a run's metrics; a last one cut off by a kill is left out."""
    path = run / METRICS
    if not path.exists():
        return []
    content = read_bytes(path, most=_MOST_BYTES)
    whole = content[: content.rfind(b"\n") + 1]
    return [
        _parsed(line, place=f"{path}: line {number}")
        for number, line in enumerate(whole.splitlines(), start=1)
    ]


def _parsed(line: bytes, *, place: str) -> dict[str, Any]:
    """A line with a step, a split, and numbers or nothing for the rest."""
    try:
        metrics: Any = json.loads(line) if len(line) <= _LONGEST_LINE else None
    except (ValueError, RecursionError):
        metrics = None
    is_object = isinstance(metrics, dict) and {"step", "split"} <= metrics.keys()
    if is_object and all(map(_is_valid, metrics.items())):
        return dict(metrics)
    raise AlbertError(
        f"{place} is not a line of metrics; remove the line and run the same command again."
    )


def _is_valid(item: tuple[str, Any]) -> bool:
    """Whether a value can stand under its name in a line."""
    name, value = item
    if name == "split":
        return value in (TRAIN, EVAL)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name == "step":
        return is_number and isinstance(value, int) and 0 <= value < 2**63
    if name == "seconds":
        return is_number and 0 <= value < 2**63
    # What is not a number was measured too, where training went wrong.
    is_in_range = isinstance(value, float) or (is_number and abs(value) < 2**63)
    return value is None or (is_number and is_in_range)
