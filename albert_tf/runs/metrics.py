"""What is measured: means of sums, the lines of JSON of a run, and its evaluations.

A run keeps one file for each text, step and extent that it was measured on, so that
none replaces another.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from schemas.errors import AlbertError
from schemas.files import Values, read_bytes, read_json, undamaged, write_json
from schemas.layout import EVAL, EVALUATION, EVALUATIONS, METRICS, TRAIN
from schemas.locks import check_own
from schemas.readable import counted, percent
from schemas.report import Table

# What shows a line.
Say = Callable[[str], None]


class Progress(Protocol):
    """Lines, and one bar at a time."""

    @property
    def is_quiet(self) -> bool:
        """Whether nothing at all is shown, so that nothing need be measured for it."""

    def say(self, line: str) -> None:
        """Show a line."""

    def start(self, label: str, *, total: int, done: int = 0) -> object:
        """Begin a bar, in place of one that is there."""

    def advance(self, amount: int) -> None:
        """Move the bar on."""

    def show(self, status: str, *, is_last: bool = False) -> None:
        """Show about 75 characters: beside the bar, or now and then as a line.

        The last status is shown in any case.
        """


class NoProgress:
    """`Progress` of which nothing is shown."""

    is_quiet = True

    def say(self, *_: Any, **__: Any) -> None:
        """Show nothing."""

    start = advance = show = say


QUIET = NoProgress()


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


# What losses are of, as they are called in a line of metrics and to a person.
TASKS = {
    "mlm": "masked LM",
    "sampled_mlm": "masked LM among candidates",
    "sentence": "sentence task",
}

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
    for task, name in TASKS.items():
        if (loss := metrics.get(f"{task}_loss")) is not None:
            accuracy = metrics[f"{task}_accuracy"]
            if examples < FEW_EXAMPLES:
                parts += [
                    f"{name} {value_text(loss, metrics.get(f'{task}_loss_error'))}",
                    f"{with_interval(accuracy, metrics[f'{task}_count'])} right",
                ]
            else:
                parts.append(f"{name} {loss:.3f} ({percent(accuracy)} right)")
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
    is_stuck = min(losses) > STUCK_ABOVE_NATS and max(losses) - min(losses) < STUCK_NATS
    if not (is_stuck and is_at_chance):
        return None
    return (
        f"The masked-LM loss has stayed at {losses[-1]:.2f} since step "
        f"{recent[0]['step']}: the model predicts how frequent tokens are and nothing "
        "else. --recipe small-budget has first weights and a rate with which small "
        "models leave it soon; else the learning rate may be too high for this batch "
        "size (--learning-rate) or the warm-up too short (--warmup-steps)."
    )


def read_metrics(run: Path) -> list[Values]:
    """The whole lines of a run's metrics; a last one cut off by a kill is left out."""
    path = run / METRICS
    if not path.exists():
        return []
    content = read_bytes(path, most=_MOST_BYTES)
    whole = content[: content.rfind(b"\n") + 1]
    found = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            metrics: Any = json.loads(line) if len(line) <= _LONGEST_LINE else None
        except (ValueError, RecursionError):
            metrics = None
        is_object = isinstance(metrics, dict) and {"step", "split"} <= metrics.keys()
        if not (is_object and all(map(_is_valid, metrics.items()))):
            raise AlbertError(
                f"{path}: line {number} is not a line of metrics; remove the line and run the "
                "same command again."
            )
        found.append(metrics)
    return found


def _is_valid(item: tuple[str, Any]) -> bool:
    """Whether a value can stand under its name in a line."""
    name, value = item
    if name == "split":
        return value in (TRAIN, EVAL)
    is_number = type(value) in ((int,) if name == "step" else (int, float))
    if name in ("step", "seconds"):
        return is_number and 0 <= value < 2**63
    # What is not a number was measured too, where training went wrong.
    return value is None or (is_number and (type(value) is float or abs(value) < 2**63))


# Whether a model beats counting is not said by fewer words than these.
LEAST_JUDGED = 30

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
    check_own(folder)
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
    found = []
    for path in paths:
        values = read_json(path)
        with undamaged(path, remedy="run albert evaluate again"):
            # Whatever is shown of it can be shown.
            text_of(values)
            heading(values)
            comparison(values)
            minimal_pairs(values)
            list(sentences(values))
        found.append(values)
    return sorted(found, key=lambda one: (text_of(one), one["step"], one["examples"]))


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
    return Table(
        title="Against counting",
        columns=("what predicts", "bits per character", "masked-LM loss", "masked tokens right"),
        rows=tuple(
            (
                words,
                "{value:.3f} ({low:.3f} to {high:.3f})".format(**bits[name])
                if name in bits
                else None,
                None
                if (loss := task["mlm_loss"]) is None
                else value_text(loss, task.get("mlm_loss_error")),
                _share_text(task["mlm_accuracy"], evaluation["mlm_count"]),
            )
            for name, words in _PREDICTORS.items()
            if (task := tasks.get(name)) is not None
        ),
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
            difference = bits["model_minus_neighbours"]
            yield verdict(difference)
            ours, theirs = (of["mlm_loss"] for of in (evaluation, counting["neighbours"]))
            is_better = difference["high"] < 0
            if None not in (ours, theirs) and is_better != (ours < theirs):
                yield (
                    f"Its masked-LM loss says otherwise ({ours:.3f}, counting {theirs:.3f}): that "
                    "is of single tokens, with many masked at once, so that counting often misses "
                    "a neighbour. The verdict is of whole words, each masked alone with all of the "
                    "text around it in sight."
                )
            if not is_better:
                yield (
                    "A longer run would do better: another --output with --init-from this run "
                    "and --budget, or, where its loss no longer falls, more text or a larger "
                    "model."
                )
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
