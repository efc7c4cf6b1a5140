"""The metrics of runs as curves over their steps, with few enough points to draw."""

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from albert_tf.runs.metrics import Metrics
from albert_tf.runs.run_record import Run
from schemas.layout import EVAL, TRAIN
from schemas.report import Curve, Curves, Unit

# Points of a curve, and of all training curves of a plot.
MOST_POINTS, MOST_POINTS_OF_PLOT = 400, 4000


class Quantity(NamedTuple):
    """What is drawn of the metrics.

    Attributes:
        name: Of the metric.
        title: Of the plot.
        about: How to read it.
        unit: Of the values.
        level: A value to compare with.
        is_held_out: Whether what evaluation measured is drawn too.
        is_logarithmic: The scale.
        combine: One value for several training lines next to each other.
    """

    name: str
    title: str
    about: str
    unit: Unit = "value"
    level: float | None = None
    is_held_out: bool = True
    is_logarithmic: bool = False
    combine: Callable[[Iterable[float]], float] = fmean


QUANTITIES = (
    Quantity("mlm_loss", "Masked-LM loss", "Nats for a masked piece; lower is better."),
    Quantity(
        "mlm_accuracy",
        "Masked-LM accuracy",
        "Masked pieces that are guessed right.",
        unit="share",
    ),
    Quantity(
        "sentence_loss",
        "Sentence loss",
        "Nats for a pair; the line is what guessing costs.",
        level=math.log(2),
    ),
    Quantity(
        "sentence_accuracy",
        "Sentence accuracy",
        "Pairs whose label is guessed right; the line is chance.",
        unit="share",
        level=0.5,
    ),
    Quantity(
        "bits_per_character",
        "Bits per character",
        "Of a few held-out words, each masked alone; lower is better.",
    ),
    Quantity(
        "learning_rate",
        "Learning rate",
        "Linear warm-up, then what the schedule says.",
        is_held_out=False,
        combine=max,
    ),
    Quantity(
        "gradient_norm",
        "Gradient norm",
        "Before clipping, on a logarithmic scale.",
        is_held_out=False,
        is_logarithmic=True,
        combine=max,
    ),
    Quantity(
        "sequences_per_second",
        "Throughput",
        "Sequences trained on in a second.",
        is_held_out=False,
    ),
)


def curves(quantity: Quantity, runs: Sequence[Run]) -> Curves | None:
    """The plot of a quantity; None when no run has measured it."""
    most = -(-MOST_POINTS_OF_PLOT // len(runs))
    drawn, most_combined = [], 1
    for number, run in enumerate(runs):
        for split in (TRAIN, EVAL) if quantity.is_held_out else (TRAIN,):
            points = _points(run.of_split(split), quantity.name)
            size = -(-len(points) // min(MOST_POINTS, most))
            if points:
                most_combined = max(most_combined, size)
                thinned = thin(points, size=size, combine=quantity.combine)
                is_held_out = split == EVAL
                drawn.append(Curve(run=number, is_held_out=is_held_out, points=thinned))
    if not drawn:
        return None
    of = "greatest" if quantity.combine is max else "mean"
    combined = f" A point is the {of} of up to {most_combined} lines of the log."
    return Curves(
        title=quantity.title,
        about=quantity.about + (combined if most_combined > 1 else ""),
        unit=quantity.unit,
        curves=tuple(drawn),
        level=quantity.level,
        is_logarithmic=quantity.is_logarithmic,
    )


def _points(lines: list[Metrics], name: str) -> list[tuple[float, float]]:
    """What was measured, without what is not a number."""
    return [
        (line["step"], line[name])
        for line in lines
        if line.get(name) is not None and math.isfinite(line[name])
    ]


def thin(
    points: Sequence[tuple[float, float]],
    *,
    size: int,
    combine: Callable[[Iterable[float]], float],
) -> tuple[tuple[float, float], ...]:
    """One point for each `size` neighbours, at the last step of them.

    >>> thin([(1, 4.0), (2, 2.0), (3, 1.0)], size=2, combine=fmean)
    ((2, 3.0), (3, 1.0))
    """
    groups = [points[i : i + size] for i in range(0, len(points), size)]
    return tuple((group[-1][0], combine(y for _, y in group)) for group in groups)
