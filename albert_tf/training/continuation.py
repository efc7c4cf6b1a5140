"""What may be set anew when a run is continued, and what stays as it began.

A run continues with the same settings, so that it ends with the same bytes wherever it
was stopped. Its micro-batch may change, on which only rounding depends, and its number
of steps, as long as no step that is done would have had another learning rate.
"""

import dataclasses
from pathlib import Path

from albert_tf.runs.checkpoints import newest_step
from schemas.config import TrainConfig
from schemas.errors import SettingError
from schemas.phases import changes_over_steps

# What the rates of a schedule depend on from its cooldown on.
OF_COOLDOWN = ("steps", "cooldown_share")


def continued(given: TrainConfig, begun: TrainConfig) -> TrainConfig:
    """The settings given, completed by what the run has where they would derive it.

    A warm-up derived from other steps would be another one, and evaluations on another
    number of examples would not compare.

    Args:
        given: With which a run is to be continued.
        begun: Those that it has.

    >>> begun = TrainConfig(steps=4000, schedule="constant-cooldown", warmup_steps=100)
    >>> longer = TrainConfig(steps=8000, schedule="constant-cooldown")
    >>> continued(longer, begun).warmup_steps
    100
    """
    kept: dict[str, int] = {}
    micro, warmup = begun.micro_batch_size, begun.resolved().warmup_steps
    if given.micro_batch_size is None and micro and micro <= given.batch_size:
        kept["micro_batch_size"] = micro
    is_derived = given.resolved().warmup_steps == warmup
    examples = begun.resolved().eval_examples
    if given.eval_examples is None and given.resolved().eval_examples != examples:
        kept["eval_examples"] = examples
    if given.warmup_steps is None and not is_derived and warmup <= given.cooldown_start:
        kept["warmup_steps"] = warmup
    return dataclasses.replace(given, **kept)  # type: ignore[arg-type]


def check_steps_may_change(run: Path, before: TrainConfig, now: TrainConfig) -> None:
    """Refuse another number of steps where a step that is done depends on it.

    Args:
        run: The run directory.
        before: The settings that the run has.
        now: The same but for `OF_COOLDOWN`.

    Raises:
        SettingError: Says why, and what to do.
    """
    if all(getattr(before, name) == getattr(now, name) for name in OF_COOLDOWN):
        return
    step = newest_step(run) or 0
    if changes_over_steps(before):
        reason = "the settings of its examples depend on --steps"
    elif before.causal_steps:
        reason = "the end of its causal phase depends on --steps"
    elif now.schedule == "linear":
        reason = "every learning rate of its linear schedule depends on --steps"
    elif step > before.cooldown_start:
        reason = f"its cooldown began after step {before.cooldown_start}"
    elif step > now.cooldown_start:
        reason = f"the cooldown would begin after step {now.cooldown_start}"
    else:
        return
    raise SettingError(
        f"{run} is at step {step} of {before.steps} and cannot get other --steps, for "
        f"{reason}; leave --steps {before.steps} and --cooldown-share "
        f"{before.cooldown_share}, or go on in another --output with --init-from {run} "
        "--keep-optimizer."
    )
