"""Sections of a report: runs with curves and figures, compared, and fine-tuned models.

A word is told from all others by its letters and those around it, so that runs with
different vocabularies, and even data sets, are compared over the words of the same
text. Each word has two losses, and the interval is that of their differences.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from albert_tf.model.parameters import count_encoder_parameters, count_parameters
from albert_tf.reporting.learning_curves import QUANTITIES, curves, not_comparable
from albert_tf.runs.metrics import (
    WORD_LOSSES,
    Float,
    Metrics,
    best_evaluation,
    bits_per_character,
    collapse_warning,
    comparison,
    heading,
    margin,
    minimal_pairs,
    perplexity,
    read_metrics,
    sentences,
    text_of,
    value_text,
    with_interval,
)
from albert_tf.runs.run_record import Run
from albert_tf.runs.task_record import (
    labels_table,
    measures_table,
    read_record,
    read_worth,
    task_verdict,
)
from schemas.architecture import PRESETS
from schemas.files import Values
from schemas.layout import EVAL, TRAIN
from schemas.readable import duration, percent
from schemas.report import Cell, Curve, Curves, Section, Table

# Fewer words that both were asked about tell nothing.
LEAST_WORDS = 500
# A smaller share of the words is the same only where other parts of the text were
# measured, or vocabularies keep different letters.
MOST_SHARED = 0.8


class Paired(NamedTuple):
    """The words that two runs were both asked about.

    Attributes:
        one: An evaluation of the first run.
        other: One of the second.
        differences: By how many nats each word costs the first run less, `[W]`.
        characters: Of each word, `[W]`.
    """

    one: Metrics
    other: Metrics
    differences: Float
    characters: Float


def compared(one: Run, other: Run) -> str:
    """Which of two runs is better and by how much, or why nobody can say."""
    for run in (one, other):
        if not any(WORD_LOSSES in found for found in run.evaluations):
            return (
                f"{one.title} and {other.title} cannot be compared: {run.title} has no "
                "words of albert evaluate; run it on both, with the same --text or "
                "--data."
            )
    paired = most_words(one.evaluations, other.evaluations)
    number = len(paired.characters)
    if number < LEAST_WORDS:
        return (
            f"{one.title} and {other.title} cannot be compared: albert evaluate "
            f"measured them on different text ({text_of(paired.one)} and "
            f"{text_of(paired.other)}) with {number:,} words in common; run it on both "
            "with the same --text."
        )
    value, low, high = bits_per_character(paired.differences, paired.characters)
    better, worse = (one, other) if value >= 0 else (other, one)
    if value < 0:
        value, low, high = -value, -high, -low
    by = margin(value, low, high)
    relation = f"{better.title} is better than {worse.title} by {by}"
    if low <= 0:
        relation = (
            f"{one.title} and {other.title} cannot be told apart: {better.title} needs {by} less"
        )
    steps = f"steps {paired.one['step']:,} and {paired.other['step']:,}"
    said = f"{relation}, over {number:,} words of {text_of(paired.one)}, {steps}."
    return " ".join([said, *_reservations(one, other, paired)])


def _reservations(one: Run, other: Run, paired: Paired) -> Iterator[str]:
    """Why a comparison says less than it seems to."""
    for run, found in ((one, paired.one), (other, paired.other)):
        if found.get("trained_on"):
            yield f"{run.title} was trained on this text."
    asked = min(len(each[WORD_LOSSES]["keys"]) for each in (paired.one, paired.other))
    if len(paired.characters) < MOST_SHARED * asked:
        yield (
            f"Only these of {asked:,} words are the same for both: other parts of the "
            "text were measured, or the vocabularies keep different letters (case, "
            "accents); text without these is easier."
        )


def most_words(ones: Sequence[Metrics], others: Sequence[Metrics]) -> Paired:
    """The two evaluations with the most words in common, of several the newest."""
    pairs = [
        _paired(one, other)
        for one in ones
        for other in others
        if WORD_LOSSES in one and WORD_LOSSES in other
    ]
    return max(
        pairs, key=lambda found: (len(found.characters), found.one["step"] + found.other["step"])
    )


def _paired(one: Metrics, other: Metrics) -> Paired:
    of_one, of_other = one[WORD_LOSSES], other[WORD_LOSSES]
    _, at, there = np.intersect1d(
        np.array(of_one["keys"], np.uint64),
        np.array(of_other["keys"], np.uint64),
        return_indices=True,
    )
    lost = np.array(of_other["losses"])[there] - np.array(of_one["losses"])[at]
    characters = np.array(of_one["characters"], np.float64)[at]
    return Paired(one, other, lost, characters)


# How many settings that differ are named; the others stand in the table.
_SHOWN_DIFFERENCES = 6


def runs_section(runs: Sequence[Run]) -> Section:
    """One section for all runs, their curves in the same plots."""
    is_one, configuration = len(runs) == 1, _configuration(runs)
    notes = [] if is_one else [_differences(configuration)]
    notes += [compared(runs[0], run) for run in runs[1:]]
    if reason := not_comparable(runs):
        notes.append(reason.strip())
    notes += [
        sentence if is_one else f"{run.title}: {sentence}"
        for run in runs
        for sentence in _sentences(run)
    ]
    rows = tuple(map(_row, runs))
    overview = Table(title="Runs", columns=("run", *_OVERVIEW), rows=rows)
    return Section(
        title=runs[0].title if is_one else f"{len(runs)} runs",
        kind="Run" if is_one else "Runs",
        facts=tuple(zip(_OVERVIEW, rows[0][1:], strict=True)) if is_one else (),
        runs=tuple(run.title for run in runs),
        plots=tuple(plot for quantity in QUANTITIES for plot in curves(quantity, runs)),
        parts=(
            *notes,
            *(() if is_one else (overview,)),
            _held_out(runs),
            *_against_counting(runs),
            configuration,
        ),
    )


def _sentences(run: Run) -> Iterator[str]:
    """What is said of a run in words."""
    # What a line does not say was not measured.
    unknown = dict.fromkeys(("mlm_loss", "sentence_accuracy"))
    if warning := collapse_warning([unknown | line for line in run.of_split(EVAL)]):
        yield warning
    for one in run.evaluations:
        yield f"{heading(one)}: {' '.join(sentences(one))}"


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
        _architecture(run),
        count_encoder_parameters(run.model),
        sum(count_parameters(run.model).values()),
        config.batch_size,
        config.precision,
        config.optimizer,
        str(_environment(run).get("started") or "")[:10],
    )


def _architecture(run: Run) -> str:
    """The name of a preset, or the shape of what has none."""
    name = run.settings.get("model")
    if name in PRESETS and not run.settings.get("overrides"):
        return str(name)
    return run.model.shape


def _environment(run: Run) -> Values:
    """Where and when a run was started, as far as it says."""
    return run.settings.get("environment") or {}


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
        best = best_evaluation(lines)
        if best not in (None, last):
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
    rows: list[tuple[Cell, ...]] = []
    scores: dict[str, dict[str, Cell]] = {}
    titles: list[str] = []
    columns: Sequence[str] = ()
    for run in runs:
        for one in run.evaluations:
            text, step = text_of(one), one["step"]
            table = comparison(one)
            columns = table.columns[1:]
            rows += [(run.title, text, step, *row) for row in table.rows]
        newest: Metrics = max(
            (one for one in run.evaluations if one.get("minimal_pairs")),
            key=lambda one: (one["step"], one["minimal_pairs"]["pairs"]),
            default={},
        )
        if pairs := minimal_pairs(newest):
            titles.append(f"{run.title}, step {newest['step']:,}")
            for paradigm, right, _ in pairs.rows:
                scores.setdefault(str(paradigm), {})[titles[-1]] = right
    if rows:
        yield Table(
            title="Against counting",
            columns=("run", "held-out text", "step", "what predicts", *columns),
            rows=tuple(rows),
        )
    if scores:
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
    # How many held-out examples a run is measured on after this step.
    pairs = run.config.evaluated_examples(
        held_out=run.data.num_examples(EVAL) if run.data else 0,
        is_trained=line["step"] > 0 or run.settings.get("init_from") is not None,
    )
    return (
        run.title,
        which,
        line["step"],
        _loss(line, "mlm"),
        None if loss is None else perplexity(loss),
        _accuracy(line, "mlm", count=line.get("mlm_count") or 0),
        _loss(line, "sentence"),
        _accuracy(line, "sentence", count=line.get("sentence_count", pairs)),
    )


def _loss(line: Metrics, task: str) -> Cell:
    """A loss, with its interval where that was measured."""
    loss, error = line.get(f"{task}_loss"), line.get(f"{task}_loss_error")
    return loss if loss is None or error is None else value_text(loss, error)


def _accuracy(line: Metrics, task: str, *, count: int) -> str | None:
    """A share of so many; without an interval where they were not counted."""
    accuracy = line.get(f"{task}_accuracy")
    if accuracy is None:
        return None
    return with_interval(accuracy, count) if count else percent(accuracy)


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


def _differences(configuration: Table) -> str:
    """What differs between runs, in a sentence: what was set, then what follows."""
    number = len(configuration.marked)
    if not number:
        return "The runs have the same settings."
    shown = [
        f"{name} ({'; '.join(map(str, values))})"
        for name, *values in configuration.rows[: min(number, _SHOWN_DIFFERENCES)]
    ]
    others = number - len(shown)
    more = f" and {others} more under Configuration" if others else ""
    return f"What differs: {', '.join(shown)}{more}."


def _settings(run: Run) -> Values:
    """The resolved settings: of the run, the training, the architecture, the data."""
    began = run.settings.get("began") or {}
    return {
        "model": _name(run.settings.get("model")),
        "overrides": run.settings.get("overrides"),
        "data": _name(run.settings.get("data")),
        "data fingerprint": run.data.fingerprint[:12] if run.data else None,
        **dataclasses.asdict(run.config),
        "init_from": _name(run.settings.get("init_from")),
        **{f"{name} at first": value for name, value in began.items()},
        "max_time": run.settings.get("max_time"),
        **dataclasses.asdict(run.model),
        "albert_version": run.settings.get("albert_version"),
        "python": _environment(run).get("python"),
    }


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


def tuned_section(folder: Path, *, title: str) -> Section:
    """The section of a fine-tuned model."""
    record, result = read_record(folder), read_worth(folder)
    lines = read_metrics(folder)
    return Section(
        title=title,
        kind="Fine-tuned model",
        facts=(
            ("task", record.spec.name),
            ("kind", record.spec.kind),
            ("held-out examples", result["examples"]),
            ("step of the best checkpoint", result["step"]),
        ),
        runs=(title,),
        plots=tuple(_curves(lines, [*result["metrics"], "loss"])),
        parts=(
            *task_verdict(result),
            measures_table(result),
            labels_table(result),
            *_confusion(result),
        ),
    )


def _curves(lines: list[Metrics], names: list[str]) -> Iterator[Curves]:
    """A plot for each measure over the steps; of the loss that of training."""
    for name in names:
        split = TRAIN if name == "loss" else EVAL
        points = tuple(
            (line["step"], line[name])
            for line in lines
            if line["split"] == split and line.get(name) is not None
        )
        if points:
            curve = Curve(run=0, is_held_out=split == EVAL, points=points)
            about = "On held-out examples." if split == EVAL else "Of training."
            yield Curves(title=name, about=about, unit="value", curves=(curve,))


def _confusion(result: Values) -> Iterator[Table]:
    if "confusion" in result:
        labels = tuple(result["labels"])
        rows = zip(labels, result["confusion"], strict=True)
        yield Table(
            title="How often each label, a row, was called what",
            columns=("label", *labels),
            rows=tuple((label, *counts) for label, counts in rows),
            is_folded=True,
        )
