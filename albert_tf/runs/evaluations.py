"""The results of `albert evaluate` of a run: kept there, read, in words.

A run keeps one file for each text, step and extent that it was measured on, so that
none replaces another.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from albert_tf.runs.metrics import Metrics, value_text, with_interval
from schemas.errors import AlbertError
from schemas.files import read_json, undamaged, write_json
from schemas.layout import EVALUATION, EVALUATIONS
from schemas.readable import counted
from schemas.report import Cell, Table

# Whether a model beats counting is not said by fewer words than these.
LEAST_JUDGED = 30

# What each evaluation says, also where nothing was counted.
_ALWAYS = ("step", "data_fingerprint", "precision", "examples", "mlm_loss")

# What predicts: the model, and what counting has under these names.
_PREDICTORS = {
    "model": "the model",
    "neighbours": "counting both neighbours",
    "unigram": "counting tokens",
}

# What tells one evaluation of a run from another.
_MEASURED = ("text", "data_fingerprint", "step", "examples", "precision")

# The losses of single words, which only a comparison of runs reads.
WORD_LOSSES = "word_losses"


def write_evaluation(run: Path, evaluation: Metrics) -> None:
    """Keep an evaluation in a run; one of the same text, step and extent goes."""
    folder = run / EVALUATIONS
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise AlbertError(f"{folder} cannot be written: {error.strerror}.") from error
    # A name that says what was measured, to people and to programs.
    words = (evaluation.get("bits_per_character") or {}).get("words")
    pairs = (evaluation.get("minimal_pairs") or {}).get("pairs")
    asked = [*(evaluation.get(name) for name in _MEASURED), words, pairs]
    digest = hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:12]
    readable = re.sub(r"[^\w.-]+", "-", evaluation.get("text") or "data")[:60]
    name = f"{readable}-step-{evaluation['step']}-{digest}.json"
    write_json(folder / name, evaluation)


def read_evaluations(run: Path) -> list[Metrics]:
    """All evaluations of a run, by text and then by step."""
    paths = sorted((run / EVALUATIONS).glob("*.json"))
    if (run / EVALUATION).exists():
        # The only one that earlier versions kept.
        paths.insert(0, run / EVALUATION)
    found = [_read(path) for path in paths]
    return sorted(found, key=lambda one: (text_of(one), one["step"], one["examples"]))


def _read(path: Path) -> Metrics:
    values = read_json(path)
    with undamaged(path, remedy="run albert evaluate again"):
        for name in _ALWAYS:
            values[name]
        # Whatever is shown of it can be shown.
        heading(values)
        comparison(values)
        minimal_pairs(values)
        list(sentences(values))
    return values


def text_of(evaluation: Metrics) -> str:
    """The text that was measured on, by its name and the first digits of its hash."""
    known = "; trained on" if evaluation.get("trained_on") else ""
    digits = evaluation["data_fingerprint"][:12]
    return f"{evaluation.get('text') or 'the data set'} ({digits}{known})"


def heading(evaluation: Metrics) -> str:
    """Which weights were measured, on how much of what, and how."""
    example = "example" if evaluation.get("trained_on") else "held-out example"
    return (
        f"Step {evaluation['step']:,}, {counted(evaluation['examples'], example)} of "
        f"{text_of(evaluation)}, {evaluation['precision']}"
    )


def comparison(evaluation: Metrics) -> Table:
    """What the model has, and beside it what counting gives on the same text."""
    bits = evaluation.get("bits_per_character") or {}
    tasks = {"model": evaluation, **(evaluation.get("counting") or {})}
    rows: list[tuple[Cell, ...]] = []
    for name, words in _PREDICTORS.items():
        if name in tasks:
            task = tasks[name]
            loss, error = task["mlm_loss"], task.get("mlm_loss_error")
            rows.append(
                (
                    words,
                    _interval_text(bits[name]) if name in bits else None,
                    None if loss is None else value_text(loss, error),
                    _share_text(task["mlm_accuracy"], evaluation["mlm_count"]),
                )
            )
    return Table(
        title="Against counting",
        columns=("what predicts", "bits per character", "masked-LM loss", "masked tokens right"),
        rows=tuple(rows),
    )


def minimal_pairs(evaluation: Metrics) -> Table | None:
    """Pairs of sentences whose grammatical one is found likelier, by paradigm."""
    found = evaluation.get("minimal_pairs")
    if not found:
        return None
    return Table(
        title="Minimal pairs",
        columns=("paradigm", "right", "of pairs"),
        rows=tuple(
            (line["paradigm"], _share_text(line["accuracy"], line["pairs"]), line["pairs"])
            for line in found["paradigms"]
        ),
    )


def sentences(evaluation: Metrics) -> Iterator[str]:
    """What an evaluation says in words: if it is good, and how it was measured."""
    bits, counting = (evaluation.get(name) for name in ("bits_per_character", "counting"))
    if names := evaluation.get("trained_on"):
        yield (
            f"The model was trained on {', '.join(names)}: these figures say nothing "
            "of unseen text."
        )
    if bits and counting:
        if bits["words"] < LEAST_JUDGED:
            yield (
                f"{counted(bits['words'], 'word')} cannot say whether the model beats "
                f"counting; {LEAST_JUDGED} or more can."
            )
        else:
            yield verdict(bits["model_minus_neighbours"])
    if pairs := evaluation.get("minimal_pairs"):
        shown = _share_text(pairs["accuracy"], pairs["pairs"])
        yield f"Minimal pairs: {shown} of {pairs['pairs']:,} right."
    accuracy, loss = evaluation["sentence_accuracy"], evaluation["sentence_loss"]
    if shown := _share_text(accuracy, evaluation["sentence_count"]):
        error = evaluation.get("sentence_loss_error")
        yield f"Sentence task: {shown} right, loss {value_text(loss, error)}."
    if bits:
        yield (
            f"Bits per character are over {counted(bits['words'], 'held-out word')}"
            f" ({counted(bits['characters'], 'character')}), each masked alone."
        )
    if counting:
        yield (
            f"Counting used {counted(counting['tokens'], 'token')} in "
            f"{counted(counting['examples'], 'example')} of the training split."
        )


def verdict(difference: dict[str, float]) -> str:
    """Whether a model beats counting, from what it needs more: bits, with an interval.

    >>> verdict({"value": -0.25, "low": -0.375, "high": -0.125})
    'The model beats counting both neighbours by 0.250 bits per character (0.125 to \
0.375).'
    """
    value, low, high = (difference[name] for name in ("value", "low", "high"))
    if high < 0:
        fewer = margin(-value, -high, -low)
        return f"The model beats counting both neighbours by {fewer}."
    more = margin(value, low, high)
    if low > 0:
        return f"Counting both neighbours beats the model by {more}."
    return (
        "The model is neither better nor worse than counting both neighbours, as far "
        f"as these words show: the difference is {more}."
    )


def margin(value: float, low: float, high: float) -> str:
    """By how much something is better, with the interval of that."""
    return f"{value:.3f} bits per character ({low:.3f} to {high:.3f})"


def _share_text(share: float | None, count: int) -> str | None:
    """A share with its interval; None where nothing was counted."""
    return None if share is None or not count else with_interval(share, count)


def _interval_text(interval: dict[str, Any]) -> str:
    """A number with its interval.

    >>> _interval_text({"value": 2.5, "low": 2.25, "high": 2.75})
    '2.500 (2.250 to 2.750)'
    """
    value, low, high = (interval[name] for name in ("value", "low", "high"))
    return f"{value:.3f} ({low:.3f} to {high:.3f})"
