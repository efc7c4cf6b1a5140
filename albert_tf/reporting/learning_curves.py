"""The metrics of runs as curves over their steps, with few enough points to draw."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from albert_tf.runs.run_record import Run
from schemas.layout import EVAL, TRAIN
from schemas.readable import percent
from schemas.report import Curve, Curves, Unit

# Points of a curve, and of all training curves of a plot.
MOST_POINTS, MOST_POINTS_OF_PLOT = 400, 4000


class Quantity(NamedTuple):
    """What is drawn of the metrics.

    Attributes:
        about: How to read it.
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
        "mlm_accuracy", "Masked-LM accuracy", "Masked pieces that are guessed right.", unit="share"
    ),
    Quantity(
        "sampled_mlm_loss",
        "Masked-LM loss among candidates",
        "Nats for a masked piece among a sample of the vocabulary, of all but the last steps.",
        is_held_out=False,
    ),
    Quantity(
        "sampled_mlm_accuracy",
        "Masked-LM accuracy among candidates",
        "Masked pieces that are guessed right in such a sample.",
        unit="share",
        is_held_out=False,
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
        "Of held-out words, each masked alone; lower is better.",
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
        "sequences_per_second", "Throughput", "Sequences trained on in a second.", is_held_out=False
    ),
)


def curves(quantity: Quantity, runs: Sequence[Run]) -> Iterator[Curves]:
    """The plots of a quantity; none when no run has measured it.

    Training and held-out text share a plot unless other shares of them are masked,
    which makes other measures of their losses.
    """
    splits = (TRAIN, EVAL) if quantity.is_held_out else (TRAIN,)
    # What is measured of masked tokens depends on how many there are.
    shares = masked_shares(runs) if "mlm" in quantity.name else ""
    for group in [(split,) for split in splits] if shares else [splits]:
        drawn, note = _drawn(quantity, runs, splits=group)
        if not drawn:
            continue
        where = {TRAIN: " in training", EVAL: ", held out"}[group[0]] if shares else ""
        is_compared = EVAL in group and any(curve.is_held_out for curve in drawn)
        yield Curves(
            title=quantity.title + where,
            about=quantity.about + note + shares + (not_comparable(runs) if is_compared else ""),
            unit=quantity.unit,
            curves=tuple(drawn),
            level=quantity.level,
            is_logarithmic=quantity.is_logarithmic,
        )


def _drawn(
    quantity: Quantity, runs: Sequence[Run], *, splits: Sequence[str]
) -> tuple[list[Curve], str]:
    """The curves of some splits, and what is said of points that stand for several."""
    most = -(-MOST_POINTS_OF_PLOT // len(runs))
    drawn, most_combined = [], 1
    for number, run in enumerate(runs):
        for split in splits:
            points = [
                (line["step"], line[quantity.name])
                for line in run.of_split(split)
                if line.get(quantity.name) is not None and math.isfinite(line[quantity.name])
            ]
            size = -(-len(points) // min(MOST_POINTS, most))
            if points:
                most_combined = max(most_combined, size)
                thinned = thin(points, size=size, combine=quantity.combine)
                drawn.append(Curve(run=number, is_held_out=split == EVAL, points=thinned))
    of = "greatest" if quantity.combine is max else "mean"
    combined = f" A point is the {of} of up to {most_combined} lines of the log."
    return drawn, combined if most_combined > 1 else ""


def masked_shares(runs: Sequence[Run]) -> str:
    """What is masked where that differs between training and held-out text, or runs."""
    shares = {}
    for run in runs:
        if run.data is not None:
            held_out = f"{run.data.config.masked_lm_prob:g}"
            shares[run.title] = (run.config.masked_lm_prob or held_out, held_out)
    if all(one == other for one, other in shares.values()):
        return ""
    said = {
        title: f"{_shown(trained)} in training and {_shown(held_out)} in held-out text"
        for title, (trained, held_out) in shares.items()
    }
    if len(set(said.values())) == 1:
        return f" Masked are {next(iter(said.values()))}, so that the two differ."
    of_runs = "; ".join(f"{title}: {shown}" for title, shown in said.items())
    return f" Masked are, of {of_runs}."


def _shown(share: str) -> str:
    """A share, or a schedule of shares, as a person reads it."""
    try:
        return f"{percent(float(share)).replace('.0%', '%')} of the tokens"
    except ValueError:
        return f"{share} of the tokens"


def not_comparable(runs: Sequence[Run]) -> str:
    """Why held-out figures of runs are not comparable; empty where they are."""
    known = [run.data for run in runs if run.data is not None]
    if len({data.vocabulary["sha256"] for data in known}) > 1:
        return (
            " The vocabularies of these runs differ, so their held-out figures are not "
            "comparable; albert evaluate measures bits per character, which are."
        )
    texts = ([s.sha256 for s in data.shard_files(EVAL, 0)] for data in known)
    if len(set(map(tuple, texts))) > 1:
        return (
            " The held-out texts of these runs differ, so their held-out figures are "
            "not comparable; albert evaluate --text measures both on the same."
        )
    return ""


def thin(
    points: Sequence[tuple[float, float]], *, size: int, combine: Callable[[Iterable[float]], float]
) -> tuple[tuple[float, float], ...]:
    """One point for each `size` neighbours, at the last step of them.

    >>> thin([(1, 4.0), (2, 2.0), (3, 1.0)], size=2, combine=fmean)
    ((2, 3.0), (3, 1.0))
    """
    groups = [points[i : i + size] for i in range(0, len(points), size)]
    return tuple((group[-1][0], combine(y for _, y in group)) for group in groups)
