"""What --budget chooses, as lines for a person and as flags."""

import dataclasses
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cli import STARTED
from cli.support.architecture import resolve_model
from cli.support.console import Console, silent_stderr
from cli.support.options import is_given
from schemas.config import ModelConfig, TrainConfig
from schemas.errors import SettingError
from schemas.manifest import DatasetManifest
from schemas.presets import PRESETS
from schemas.readable import aligned, counted, rounded

if TYPE_CHECKING:
    from albert_tf.planning.budget import Candidate
    from albert_tf.training.budget_choice import BudgetChoice

# The preset that the models of a budget are told as differing from.
NEAREST = "tiny"

# Where config.json has the record of a choice.
BUDGET_RECORD = "chosen_for_budget"

# What the data decides, so that no flag has to.
OF_DATA = ("vocab_size", "sentence_task")

# A vocabulary so many times as large as suits the text is worth a word.
MUCH_LARGER = 1.5

# Tokens that the published English ALBERTs were trained on: 125,000 steps of 4,096
# sequences of up to 512.
PUBLISHED_TOKENS = 125_000 * 4096 * 512


class Asked(NamedTuple):
    """What a run is to be.

    Attributes:
        model: Value of --model.
        overrides: Values of --set.
        config: All other settings.
        record: What config.json keeps of a choice; empty where nothing was chosen.
    """

    model: str
    overrides: tuple[str, ...]
    config: TrainConfig
    record: dict[str, Any]


def asked_for_budget(
    seconds: float,
    asked: Asked,
    *,
    data: Path,
    manifest: DatasetManifest,
    output: Path,
    overwrite: bool,
    console: Console,
) -> Asked:
    """What a run with --budget is to be: as it was begun, or as is chosen now.

    Args:
        seconds: The budget, as for `choose`.
        asked: What the flags say.
        data: The data set.
        manifest: Its manifest.
        output: The run directory.
        overwrite: Whether a run that is there is begun again.
        console: Told what was chosen.

    Raises:
        SettingError: The run was begun for another budget, or no step fits.
    """
    from albert_tf.runs.checkpoints import has_checkpoint

    if has_checkpoint(output) and not overwrite:
        return as_begun_for_budget(output, seconds)
    choice = choose(
        seconds,
        asked,
        data=data,
        manifest=manifest,
        console=console,
    )
    for line in budget_lines(choice):
        console.say(line)
    return Asked(
        NEAREST,
        overrides_of(choice.chosen.config),
        choice.train,
        record_of(choice, seconds=seconds),
    )


def as_begun_for_budget(run: Path, seconds: float) -> Asked:
    """What was chosen when a run was begun.

    Raises:
        SettingError: It was begun for another budget, or for none.
    """
    from albert_tf.runs.run_record import recorded_settings, recorded_training

    recorded = recorded_settings(run)
    record = recorded.get(BUDGET_RECORD)
    if not record or record["seconds"] != seconds:
        begun = f"--budget {record['seconds']:.0f}s" if record else "no --budget"
        raise SettingError(
            f"{run} was begun with {begun}; give the same to go on, or another "
            "--output."
        )
    return Asked(
        recorded["model"],
        tuple(recorded["overrides"]),
        recorded_training(run, recorded),
        record,
    )


def choose(
    seconds: float,
    asked: Asked,
    *,
    data: Path,
    manifest: DatasetManifest,
    console: Console,
) -> "BudgetChoice":
    """Choose what flags do not say, by timing steps on this machine.

    Args:
        seconds: The budget, from when the command was entered.
        asked: What the flags say.
        data: The data set.
        manifest: Its manifest.
        console: Told what is being timed.

    Raises:
        SettingError: --steps was given too, or no step fits.
    """
    if is_given("steps"):
        raise SettingError("--budget chooses the steps; leave it or --steps out.")
    with silent_stderr():
        from albert_tf.training.budget_choice import choose_for_budget, models_for
    if is_given("model") or asked.overrides:
        models = [resolve_model(asked.model, asked.overrides, manifest)]
    else:
        models = models_for(manifest, longest=manifest.config.max_seq_length)
    return choose_for_budget(
        seconds - (time.monotonic() - STARTED),
        asked.config,
        data=data,
        manifest=manifest,
        models=models,
        precision_is_given=is_given("precision"),
        say=console.say,
    )


def overrides_of(config: ModelConfig) -> tuple[str, ...]:
    """The values of --set that make the nearest preset this architecture.

    >>> overrides_of(dataclasses.replace(PRESETS["tiny"], num_hidden_layers=6))
    ('num_hidden_layers=6',)
    """
    preset = dataclasses.asdict(PRESETS[NEAREST])
    return tuple(
        f"{name}={value}"
        for name, value in dataclasses.asdict(config).items()
        if value != preset[name] and name not in OF_DATA
    )


def budget_lines(choice: "BudgetChoice") -> Iterator[str]:
    """What was chosen, what to expect of it, and its neighbours."""
    from albert_tf.planning.budget import suited_vocabulary

    chosen = choice.chosen
    yield (
        f"chosen: {_shape(chosen)}, {chosen.steps:,} steps of "
        f"{choice.train.batch_size} sequences, learning rate "
        f"{choice.train.learning_rate:g}, {choice.train.precision}; "
        f"{chosen.tokens:,} tokens at {rounded(_rate(choice, chosen))} sequences/s."
    )
    yield f"expected: masked-LM loss {_loss(choice, chosen)}."
    for place in (choice.place - 1, choice.place + 1):
        if 0 <= place < len(choice.candidates):
            other = choice.candidates[place]
            yield (
                f"beside it: {_shape(other)}, {other.steps:,} steps, "
                f"loss {_loss(choice, other)}."
            )
    if chosen.is_outside:
        yield (
            "No run of this size was measured, so the expectation is a guess; so is "
            "that another shape would be worse."
        )
    suited, pieces = suited_vocabulary(choice.text_tokens), chosen.config.vocab_size
    if pieces > MUCH_LARGER * suited:
        yield (
            f"The vocabulary has {pieces:,} pieces; about {suited:,} suit a text of "
            f"{choice.text_tokens:,} tokens better (albert vocab --vocab-size)."
        )
    times = PUBLISHED_TOKENS / chosen.tokens
    if times > 2:
        power = 10 ** int(math.log10(times))
        yield (
            f"ALBERTs that others published have seen over {power:,} times as much "
            "text: if there is one for this language and vocabulary, albert import and "
            "--init-from will beat this."
        )


def budget_table(choice: "BudgetChoice") -> list[str]:
    """Every model considered, the one chosen with a mark."""
    rows = [("", "sequences/s", "steps", "tokens", "expected loss", "")]
    for place, each in enumerate(choice.candidates):
        rows.append(
            (
                _shape(each),
                rounded(_rate(choice, each)),
                f"{each.steps:,}",
                f"{each.tokens:,}",
                _loss(choice, each),
                "chosen" if place == choice.place else "",
            )
        )
    return aligned(rows)


def record_of(choice: "BudgetChoice", *, seconds: float) -> dict[str, Any]:
    """What config.json keeps of a choice, for people and for the next command.

    Args:
        choice: What was chosen.
        seconds: The budget.
    """
    return {
        "seconds": seconds,
        "unigram_loss": choice.unigram,
        "candidates": [
            {
                "num_hidden_layers": each.config.num_hidden_layers,
                "hidden_size": each.config.hidden_size,
                "step_seconds": each.step_seconds,
                "steps": each.steps,
                "expected_loss": each.loss_share * choice.unigram,
                "margin": each.margin,
            }
            for each in choice.candidates
        ],
        "chosen": choice.place,
    }


def _shape(candidate: "Candidate") -> str:
    config = candidate.config
    return (
        f"{counted(config.num_hidden_layers, 'layer')} of {config.hidden_size}, "
        f"sharing {config.sharing}"
    )


def _rate(choice: "BudgetChoice", candidate: "Candidate") -> float:
    return choice.train.batch_size / candidate.step_seconds


def _loss(choice: "BudgetChoice", candidate: "Candidate") -> str:
    """The expected loss with its interval, in nats."""
    middle = candidate.loss_share * choice.unigram
    margin = middle * candidate.margin
    return f"{middle:.2f} ({middle - margin:.2f} to {middle + margin:.2f})"
