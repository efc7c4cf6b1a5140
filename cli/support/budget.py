"""What --budget chooses, as lines for a person and as flags."""

import dataclasses
import functools
import math
import os
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.support.architecture import parse_override, resolve_model
from cli.support.console import Console, silent_stderr
from cli.support.recipes import Asked
from schemas.config import ModelConfig, TrainConfig
from schemas.errors import SettingError
from schemas.layout import BUDGET_RECORD
from schemas.manifest import DatasetManifest
from schemas.presets import PRESETS
from schemas.readable import aligned, rounded

if TYPE_CHECKING:
    from albert_tf.planning.budget import Candidate
    from albert_tf.training.budget import BudgetChoice

# A run of more than this is not begun without a word.
LONG_SECONDS = 7 * 86_400

# What training makes of the rate of matrix products on a CPU.
SHARE_OF_PRODUCTS = 0.6

# What Linux shows of GPUs and TPUs.
ACCELERATORS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/accel0", "/dev/vfio/0")

# The preset that the models of a budget are described as changes of.
NEAREST = "tiny"

# What the data decides, so that no flag may.
NEVER_SET = ("vocab_size", "sentence_task")

# A vocabulary this many times larger than suits the text is worth a remark.
MUCH_LARGER = 1.5

# Tokens that the published English ALBERTs were trained on: 125,000 steps of 4,096
# sequences of up to 512.
PUBLISHED_TOKENS = 125_000 * 4096 * 512


def next_pretrain(data: Path | str, manifest: DatasetManifest) -> Iterator[str]:
    """What to type once there is a data set, quoted for the shell.

    A machine on which ALBERT's own recipe would take more than a week is told so, and
    gets a budget; one with an accelerator is not measured.
    """
    command = f"albert pretrain --data {shlex.quote(str(data))} --output run"
    if not has_accelerator():
        seconds = bare_seconds(manifest, rate=product_rate())
        if seconds > LONG_SECONDS:
            yield (
                "Without --budget the next command trains ALBERT base as its authors "
                f"did, about {days(seconds)} on this machine."
            )
            command += " --budget 1h"
    yield f"next: {command}"


def days(seconds: float) -> str:
    """A long time, as it is known: to about two digits.

    >>> days(899_078_400)
    '10,000 days'
    """
    number = float(f"{seconds / 86_400:.2g}")
    return f"{number:,.0f} days"


def bare_seconds(manifest: DatasetManifest, *, rate: float) -> float:
    """About what `albert pretrain` takes on a data set without any other flag.

    Args:
        rate: Of matrix products on this machine, in FLOP/s.
    """
    from albert_tf.planning.cost import predictions_of, training_flops

    train, length = TrainConfig(), round(manifest.statistics["mean_length"])
    of_example = training_flops(
        ModelConfig(vocab_size=manifest.vocabulary["size"]),
        length=length,
        predictions=predictions_of(manifest.config, length),
    )
    return train.steps * train.batch_size * of_example / (SHARE_OF_PRODUCTS * rate)


def product_rate() -> float:
    """The rate of matrix products on the processor, in FLOP/s, in a tenth of a second.

    `timing.matrix_rate` needs TensorFlow, which takes seconds to load.
    """
    # Only here: a plan without a budget needs no NumPy.
    import numpy as np

    rows, kernel = np.ones((1024, 1024), "f4"), np.ones((1024, 1024), "f4")
    seconds = []
    for _ in range(8):
        start = time.perf_counter()
        rows @ kernel
        seconds.append(time.perf_counter() - start)
    return float(2 * 1024**3 / min(seconds))


def has_accelerator() -> bool:
    """Whether the machine has a GPU or TPU."""
    return any(map(os.path.exists, ACCELERATORS))


def asked_for_budget(
    asked: Asked,
    *,
    manifest: DatasetManifest,
    check: Callable[[ModelConfig], object],
    console: Console,
) -> Asked:
    """What a new run with --budget is to be; see `choose`."""
    chosen, choice = choose(asked, manifest=manifest, check=check, console=console)
    for line in budget_lines(choice, begins_anew=asked.init_from is None):
        console.say(line)
    return chosen


def as_begun_for_budget(asked: Asked) -> Asked:
    """What was chosen when a run was begun, except for the flags given now."""
    from albert_tf.runs.run_record import recorded_settings, recorded_training

    run = asked.output
    recorded = recorded_settings(run)
    record = recorded.get(BUDGET_RECORD) or {}
    if record.get("seconds") != asked.budget:
        begun = record.get("seconds")
        said = "no --budget" if begun is None else f"--budget {begun:.0f}s"
        raise SettingError(
            f"{run} was begun with {said}; give the same to go on, or begin another "
            f"run with its weights: another --output with --init-from {run}."
        )
    # The budget chose the steps, whatever a file of settings says.
    given = {name: getattr(asked.config, name) for name in asked.given - {"steps"}}
    model, overrides = recorded["model"], tuple(recorded["overrides"])
    if asked.is_model_given:
        model, overrides = asked.model, asked.overrides
    return dataclasses.replace(
        asked,
        model=model,
        overrides=tuple(dict.fromkeys((*overrides, *asked.overrides))),
        config=dataclasses.replace(recorded_training(run, recorded), **given),
        record=record,
    )


def choose(
    asked: Asked,
    *,
    manifest: DatasetManifest,
    check: Callable[[ModelConfig], object],
    console: Console,
) -> tuple[Asked, "BudgetChoice"]:
    """Choose what flags do not say, by timing steps on this machine.

    Args:
        check: Called with one candidate before any is timed, to refuse what cannot be
            trained; the fields it checks are equal in all.
        console: Told what is being timed.

    Returns:
        What the run is to be, and what else was considered.
    """
    with silent_stderr():
        from albert_tf.evaluation.counting import loss_of_counting
        from albert_tf.training.budget import choose_for_budget
    assert asked.budget is not None, "else nothing is chosen"
    models = models_to_choose_from(asked, manifest)
    check(next(iter(models)))
    choice = choose_for_budget(
        asked.budget - (time.monotonic() - asked.started),
        asked.config,
        data=asked.data,
        manifest=manifest,
        models=list(models),
        precision_is_given="precision" in asked.given,
        count=functools.partial(loss_of_counting, asked.data, manifest),
        say=console.say,
    )
    chosen = dataclasses.replace(
        models[choice.chosen.config],
        config=choice.train,
        record=record_of(choice, seconds=asked.budget),
    )
    return chosen, choice


def models_to_choose_from(
    asked: Asked, manifest: DatasetManifest
) -> dict[ModelConfig, Asked]:
    """The model asked for, or those of the ladder that what --set says is valid for."""
    from albert_tf.data.data_check import manifests_of
    from albert_tf.training.budget import models_for

    made_first, *others = manifests_of(asked.config, manifest)
    if asked.is_model_given:
        found = [asked]
    else:
        rungs = models_for(
            made_first,
            longest=max(each.config.max_seq_length for each in (made_first, *others)),
            changes=dict(map(parse_override, asked.overrides)),
        )
        found = [
            dataclasses.replace(
                asked,
                model=NEAREST,
                overrides=(*overrides_of(rung), *asked.overrides),
            )
            for rung in rungs
        ]
    return {
        resolve_model(each.model, each.overrides, made_first): each for each in found
    }


def overrides_of(config: ModelConfig) -> tuple[str, ...]:
    """The values of --set that make the nearest preset this architecture.

    >>> overrides_of(dataclasses.replace(PRESETS["tiny"], num_hidden_layers=6))
    ('num_hidden_layers=6',)
    """
    preset = dataclasses.asdict(PRESETS[NEAREST])
    return tuple(
        f"{name}={value}"
        for name, value in dataclasses.asdict(config).items()
        if value != preset[name] and name not in NEVER_SET
    )


def budget_lines(choice: "BudgetChoice", *, begins_anew: bool) -> Iterator[str]:
    """What was chosen and, of a model that begins anew, what to expect of it."""
    chosen = choice.chosen
    if begins_anew and not chosen.is_fitted:
        size = "size" if chosen.is_outside else "few steps"
        yield (
            f"No run of this {size} was measured, so the expected loss is a guess, and "
            "so is the choice of shape."
        )
    yield (
        f"chosen: {chosen.config.shape}, {chosen.steps:,} steps of "
        f"{choice.train.batch_size} sequences, learning rate "
        f"{choice.train.learning_rate:g}, {choice.train.precision}; "
        f"{chosen.tokens:,} tokens at {rounded(_rate(choice, chosen))} sequences/s."
    )
    if begins_anew:
        yield from _expectations(choice)


def _expectations(choice: "BudgetChoice") -> Iterator[str]:
    """The loss to expect, that of the models beside it, and advice."""
    from albert_tf.planning.budget import AS_GOOD

    chosen = choice.chosen
    yield f"expected: masked-LM loss {_loss(choice, chosen)}."
    for place in (choice.place - 1, choice.place + 1):
        if 0 <= place < len(choice.candidates):
            other = choice.candidates[place]
            yield (
                f"beside it: {other.config.shape}, {other.steps:,} steps, "
                f"loss {_loss(choice, other)}."
            )
    least = min(each.loss_share for each in choice.candidates[: choice.place + 1])
    if least < chosen.loss_share <= least * AS_GOOD:
        yield (
            f"Losses within {AS_GOOD - 1:.0%} of the lowest count as equal; the "
            "largest of these models is chosen, because it goes on learning longest."
        )
    yield from _advice(choice)


def _advice(choice: "BudgetChoice") -> Iterator[str]:
    """What would do better: more text, a smaller vocabulary, a published model."""
    from albert_tf.planning.budget import BEYOND, MOST_EPOCHS, suited_vocabulary

    chosen = choice.chosen
    epochs = chosen.tokens / choice.text_tokens
    if epochs > BEYOND * MOST_EPOCHS:
        yield (
            f"The text would be read {epochs:,.0f} times. No run that was measured "
            f"read its text more than {MOST_EPOCHS} times, so the loss may be higher: "
            "give more text, or less time."
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
            "ALBERTs that others published have seen over "
            f"{int(times / power) * power:,} times as much text: if there is one for "
            "this language and vocabulary, albert import and --init-from will beat "
            "this."
        )


def budget_table(choice: "BudgetChoice") -> list[str]:
    """Every model considered, the one chosen with a mark."""
    rows = [("", "sequences/s", "steps", "tokens", "expected loss", "")]
    for place, each in enumerate(choice.candidates):
        rows.append(
            (
                each.config.shape,
                rounded(_rate(choice, each)),
                f"{each.steps:,}",
                f"{each.tokens:,}",
                _loss(choice, each),
                "chosen" if place == choice.place else "",
            )
        )
    return aligned(rows)


def record_of(choice: "BudgetChoice", *, seconds: float) -> dict[str, Any]:
    """What config.json keeps of a choice, for people and for the next command."""
    return {
        "seconds": seconds,
        "loss_of_counting": choice.counting,
        "candidates": [
            {
                "num_hidden_layers": each.config.num_hidden_layers,
                "hidden_size": each.config.hidden_size,
                "step_seconds": each.step_seconds,
                "steps": each.steps,
                "expected_loss": choice.counting and each.loss_share * choice.counting,
                "interval": list(each.interval),
            }
            for each in choice.candidates
        ],
        "chosen": choice.place,
    }


def _rate(choice: "BudgetChoice", candidate: "Candidate") -> float:
    return choice.train.batch_size / candidate.step_seconds


def _loss(choice: "BudgetChoice", candidate: "Candidate") -> str:
    """The expected loss with its interval, in nats where these are known."""
    middle = candidate.loss_share * (choice.counting or 1)
    low, high = (share * middle for share in candidate.interval)
    unit = "" if choice.counting else " of the loss of counting neighbours"
    if candidate.is_fitted:
        return f"{middle:.2f} ({low:.2f} to {high:.2f}){unit}"
    return f"about {middle:.2g} ({low:.2g} to {high:.2g}){unit}"
