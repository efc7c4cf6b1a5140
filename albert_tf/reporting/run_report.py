"""Runs as a section of a report: curves over steps, held-out figures, configuration."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from albert_tf.model.parameters import count_encoder_parameters, count_parameters
from albert_tf.runs import last_evaluation
from albert_tf.runs.confidence import with_interval
from albert_tf.runs.metrics import Metrics, perplexity
from albert_tf.runs.run_record import Run
from albert_tf.training.health import collapse_warning
from schemas.config import FIRST_EXAMPLES
from schemas.layout import EVAL, TRAIN
from schemas.readable import duration, percent
from schemas.report import Cell, Curve, Curves, Section, Table, Unit

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
        "causal_loss",
        "Causal-LM loss",
        "Nats for a piece given those before it, in the first phase; lower is better.",
        is_held_out=False,
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


def runs_section(runs: Sequence[Run]) -> Section:
    """One section for all runs, their curves in the same plots."""
    is_one = len(runs) == 1
    notes = [
        sentence if is_one else f"{run.title}: {sentence}"
        for run in runs
        for sentence in _sentences(run)
    ]
    return Section(
        title=runs[0].title if is_one else f"{len(runs)} runs",
        kind="Run" if is_one else "Runs",
        facts=_facts(runs[0]) if is_one else (),
        notes=tuple(notes),
        runs=tuple(run.title for run in runs),
        plots=tuple(plot for q in QUANTITIES if (plot := curves(q, runs)) is not None),
        tables=(
            *(() if is_one else (_overview(runs),)),
            _held_out(runs),
            *_against_counting(runs),
            _configuration(runs),
        ),
    )


def _evaluations(run: Run) -> list[Metrics]:
    """The held-out lines of a run; what a line does not say was not measured."""
    unknown = dict.fromkeys(("mlm_loss", "sentence_accuracy"))
    return [{**unknown, **line} for line in run.of_split(EVAL)]


def _sentences(run: Run) -> Iterator[str]:
    """What is said of a run in words."""
    if warning := collapse_warning(
        _evaluations(run), causal_steps=run.config.causal_steps
    ):
        yield warning
    if run.evaluation:
        yield (
            f"albert evaluate, step {run.evaluation['step']:,}, "
            f"{run.evaluation['examples']:,} held-out examples of the data set "
            f"{run.evaluation['data_fingerprint'][:12]}: "
            f"{' '.join(last_evaluation.sentences(run.evaluation))}"
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


def _facts(run: Run) -> tuple[tuple[str, str], ...]:
    values = (f"{v:,}" if isinstance(v, int) else str(v) for v in _row(run)[1:])
    return tuple(zip(_OVERVIEW, values, strict=True))


_OVERVIEW = (
    "steps",
    "time",
    "model",
    "encoder parameters",
    "all parameters",
    "examples in a step",
    "precision",
    "optimizer",
    "started",
)


def _row(run: Run) -> tuple[Cell, ...]:
    """A run in one row: its title, then what `_OVERVIEW` names."""
    last, config = run.lines[-1], run.config
    return (
        run.title,
        f"{last['step']:,} of {config.steps:,}",
        duration(last.get("seconds") or 0.0),
        _text(run.settings.get("model")),
        count_encoder_parameters(run.model),
        sum(count_parameters(run.model).values()),
        config.batch_size,
        config.precision,
        config.optimizer,
        str(_environment(run).get("started") or "")[:10],
    )


def _environment(run: Run) -> dict[str, Any]:
    """Where and when a run was started, as far as it says."""
    return run.settings.get("environment") or {}


def _overview(runs: Sequence[Run]) -> Table:
    return Table(
        title="Runs",
        columns=("run", *_OVERVIEW),
        rows=tuple(map(_row, runs)),
    )


def _held_out(runs: Sequence[Run]) -> Table:
    """The newest held-out figures of each run, and its best where those are others."""
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        lines = run.of_split(EVAL)
        if not lines:
            rows.append((run.title, "no held-out evaluation", *[None] * 6))
            continue
        last = lines[-1]
        rows.append(_figures(run, last, which="last"))
        # As `--checkpoint best`: of a trained model, the newest of several.
        trained = [line for line in reversed(lines) if line["step"]] or [last]
        best = min(trained, key=lambda line: _or_infinity(line.get("mlm_loss")))
        if best is not last:
            rows.append(_figures(run, best, which="best"))
    return Table(
        title="Held-out evaluation",
        columns=(
            "run",
            "which",
            "step",
            "masked-LM loss",
            "perplexity",
            "accuracy",
            "sentence loss",
            "sentence accuracy",
        ),
        rows=tuple(rows),
    )


def _against_counting(runs: Sequence[Run]) -> Iterator[Table]:
    """What `albert evaluate` has found of runs, and their minimal pairs."""
    measured = [run for run in runs if run.evaluation]
    rows: list[tuple[Cell, ...]] = []
    scores: dict[str, dict[str, Cell]] = {}
    for run in measured:
        assert run.evaluation
        table = last_evaluation.comparison(run.evaluation)
        columns = table.columns[1:]
        rows += [(run.title, *row) for row in table.rows]
        pairs = last_evaluation.minimal_pairs(run.evaluation)
        for paradigm, right, _ in pairs.rows if pairs else ():
            scores.setdefault(str(paradigm), {})[run.title] = right
    if rows:
        yield Table(
            title="Against counting",
            columns=("run", "what predicts", *columns),
            rows=tuple(rows),
        )
    if scores:
        titles = [run.title for run in measured]
        yield Table(
            title="Minimal pairs right, by paradigm",
            columns=("paradigm", *titles),
            rows=tuple(
                (paradigm, *(of_runs.get(title) for title in titles))
                for paradigm, of_runs in scores.items()
            ),
            is_folded=True,
        )


def _figures(run: Run, line: Metrics, *, which: str) -> tuple[Cell, ...]:
    loss = line.get("mlm_loss")
    return (
        run.title,
        which,
        line["step"],
        loss,
        None if loss is None else perplexity(loss),
        _with_interval(line.get("mlm_accuracy"), pairs=0),
        line.get("sentence_loss"),
        _with_interval(
            line.get("sentence_accuracy"), pairs=_evaluated(run, step=line["step"])
        ),
    )


def _or_infinity(value: float | None) -> float:
    return math.inf if value is None or math.isnan(value) else value


def _with_interval(accuracy: float | None, *, pairs: int) -> str | None:
    """A share of so many pairs; without an interval where they were not counted."""
    if accuracy is None:
        return None
    return with_interval(accuracy, pairs) if pairs else percent(accuracy)


def _evaluated(run: Run, *, step: int) -> int:
    """How many held-out examples a run is measured on after a step."""
    held_out = run.data.num_examples(EVAL) if run.data else 0
    return min(held_out, run.config.eval_examples if step else FIRST_EXAMPLES)


def _configuration(runs: Sequence[Run]) -> Table:
    """Every setting of every run, those that differ first."""
    described = [_settings(run) for run in runs]
    names = dict.fromkeys(name for values in described for name in values)
    rows = [(n, *(_text(values.get(n)) for values in described)) for n in names]
    rows.sort(key=lambda row: len(set(row[1:])) == 1)
    differing = sum(len(set(row[1:])) > 1 for row in rows)
    return Table(
        title="Configuration" + (", differences first" if differing else ""),
        columns=("setting", *(run.title for run in runs)),
        rows=tuple(rows),
        marked=frozenset(range(differing)),
        is_folded=True,
    )


def _settings(run: Run) -> dict[str, Any]:
    """The resolved settings: of the run, the training, the architecture, the data."""
    return {
        **{name: run.settings.get(name) for name in ("model", "overrides")},
        "data": _name(run.settings.get("data")),
        "data fingerprint": run.data.fingerprint[:12] if run.data else None,
        **dataclasses.asdict(run.config),
        "init_from": _name(run.settings.get("init_from")),
        "keep_optimizer": run.settings.get("keep_optimizer"),
        **{f"{name} at first": value for name, value in _began(run).items()},
        "max_time": run.settings.get("max_time"),
        **dataclasses.asdict(run.model),
        "albert_version": run.settings.get("albert_version"),
        "python": _environment(run).get("python"),
    }


def _began(run: Run) -> dict[str, Any]:
    """The settings that a run began with and no longer has."""
    return run.settings.get("began") or {}


def _name(path: str | None) -> str | None:
    """The last part of a path; the others are nobody else's business."""
    return None if path is None else Path(path).name


def _text(value: Any) -> str:
    """A setting as a person reads it.

    >>> [_text(value) for value in (None, True, 0.001, ["a=1"], 30000)]
    ['none', 'yes', '0.001', 'a=1', '30000']
    """
    match value:
        case None | []:
            return "none"
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(str, value))
    return str(value)
