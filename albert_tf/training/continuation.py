"""What may be set anew when a run is continued, and what stays as it began.

A run continues with the same settings, so that it ends with the same bytes wherever it
was stopped. Its micro-batch may change, which affects only rounding, and its number of
steps, as long as no finished step depends on it.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from albert_tf.runs.checkpoints import newest_step
from schemas.config import TrainConfig, flag_name
from schemas.errors import SettingError
from schemas.phases import given, parse_schedule

# What the rates of a schedule depend on from its cooldown on.
OF_COOLDOWN = ("steps", "cooldown_share")


def continued(now: TrainConfig, begun: TrainConfig) -> TrainConfig:
    """The settings given, completed by what the run has where they would derive it.

    A warm-up derived from other steps would be another one, and evaluations on another
    number of examples would not compare.

    Args:
        now: With which a run is to be continued.
        begun: Those that it has.

    >>> begun = TrainConfig(steps=4000, schedule="constant-cooldown", warmup_steps=100)
    >>> longer = TrainConfig(steps=8000, schedule="constant-cooldown")
    >>> continued(longer, begun).warmup_steps
    100
    """
    kept: dict[str, int] = {}
    micro, warmup = begun.micro_batch_size, begun.resolved().warmup_steps
    if now.micro_batch_size is None and micro and micro <= now.batch_size:
        kept["micro_batch_size"] = micro
    is_derived = now.resolved().warmup_steps == warmup
    examples = begun.resolved().eval_examples
    if now.eval_examples is None and now.resolved().eval_examples != examples:
        kept["eval_examples"] = examples
    if now.warmup_steps is None and not is_derived and warmup <= now.cooldown_start:
        kept["warmup_steps"] = warmup
    return dataclasses.replace(now, **kept)  # type: ignore[arg-type]


class Bound(NamedTuple):
    """How far something is the same, whatever the number of steps is.

    Attributes:
        step: Up to this step it does not depend on the number.
        what: What depends on the number afterwards, for people.
    """

    step: int
    what: str


def first_bound(config: TrainConfig) -> Bound:
    """How many steps of a run are the same if it is given more or fewer of them.

    >>> first_bound(TrainConfig(steps=4000, warmup_steps=100)).step
    100
    >>> first_bound(TrainConfig(steps=4000, schedule="constant-cooldown")).step
    3200
    """
    return min(_bounds(config))


def _bounds(config: TrainConfig) -> Iterator[Bound]:
    """Of all that depends on the number of steps."""
    is_linear = config.schedule == "linear"
    rates = config.warm_up if is_linear else config.cooldown_start
    yield Bound(rates, "its learning rates depend")
    for setting, text in given(config).items():
        piece, *others = parse_schedule(text, setting)
        if piece.first != piece.last:
            yield Bound(0, "the settings of its examples depend")
        elif others:
            end = round(piece.end * config.steps)
            yield Bound(end, "the settings of its examples depend")


def check_steps_may_change(run: Path, before: TrainConfig, now: TrainConfig) -> None:
    """Refuse another number of steps where a step that is done depends on it.

    Args:
        run: The run directory.
        before: The settings that the run has.
        now: The same but for `OF_COOLDOWN`.

    Raises:
        SettingError: Says why, and what to do.
    """
    deciding = ("steps",) if before.schedule == "linear" else OF_COOLDOWN
    if all(getattr(before, name) == getattr(now, name) for name in deciding):
        return
    step = newest_step(run) or 0
    bound = min(first_bound(before), first_bound(now))
    if step <= bound.step:
        return
    changed = [n for n in deciding if getattr(before, n) != getattr(now, n)]
    flags = " and ".join(map(flag_name, changed))
    kept = " and ".join(f"{flag_name(n)} {getattr(before, n)}" for n in changed)
    raise SettingError(
        f"{run} is at step {step} of {before.steps} and cannot change {flags}: after "
        f"step {bound.step} {bound.what} on {'them' if 'steps' in changed else 'it'}; "
        f"keep {kept}, or begin another run with its weights: another --output with "
        f"--init-from {run}."
    )
