"""How a run with a budget ends in time: its steps are counted again while it goes.

A machine may have been busy for a moment when steps were timed, and an hour of training makes
many machines hot. So a run with a budget pauses now and then, while none of its steps depends
on how many there will be, and continues with as many as fit: its weights are those of a run
that was begun with that many, and with the same warm-up.
"""

import bisect
import dataclasses
import time
from collections.abc import Iterator

from albert_tf.planning.budget import cost_ahead, sample_flops
from albert_tf.runs.run_record import record_training
from albert_tf.training.loop import Training
from albert_tf.training.run import ResolvedRun
from albert_tf.training.stream import Stream
from schemas.architecture import ModelConfig
from schemas.config import ResolvedTrainConfig, TrainConfig, evaluations_every
from schemas.errors import SettingError
from schemas.manifest import DatasetManifest
from schemas.phases import first_bound

# Of the steps that do not depend on how many there will be, the shares after which they
# are counted again: the last time when a little can still be taken off.
PAUSES = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)

# There is no pause after fewer steps than this: they say nothing about the pace.
LEAST_STEPS_TIMED = 8

# Saving, and ending the process.
ENDING_SECONDS = 10.0


def set_pause(training: Training, shares: Iterator[float], deadline: float | None) -> None:
    """Find the step after which steps are counted again, by the next share that is not over.

    Up to the last such step what is left is the time to the deadline, if there is one: the
    steps of the moment say little of it.
    """
    steps = (pause_after(share, training.config) for share in shares)
    training.pause = next((step for step in steps if step > training.state.step), None)
    training.ends_at = deadline if training.pause else None


def recount(run: ResolvedRun, training: Training, stream: Stream, deadline: float | None) -> bool:
    """Have a run as many steps as fit in what is left; whether it ends late with the fewest.

    On their number none of the steps done depends.
    """
    assert deadline is not None, "else there is no pause"
    step, config, step_seconds = training.state.step, training.config, training.pace.mean_seconds
    steps, fitting = refilled(
        config,
        run.model_config,
        run.manifest,
        step=step,
        pace=step_seconds,
        evaluating=training.evaluations.seconds(step, step_seconds=step_seconds),
        seconds=deadline - time.monotonic(),
    )
    is_late = steps > fitting
    if steps != config.steps:
        note = f"; at least {steps:,} are needed now, so it will end late" if is_late else ""
        training.progress.say(
            f"At the pace so far {fitting:,} steps fit in the budget, not {config.steps:,}{note}."
        )
        every = config.eval_every
        # Unless somebody asked for a number.
        if run.config.eval_every == evaluations_every(run.config.steps):
            every = max(every, evaluations_every(steps))
        config = dataclasses.replace(config, steps=steps, eval_every=every)
        record_training(run.folder, config)
        training.config = training.evaluations.config = config
        stream.run = dataclasses.replace(run, config=config)
    return is_late


def pause_after(share: float, config: TrainConfig) -> int:
    """The step of one of the `PAUSES`; 0 for none.

    >>> pause_after(0.4, TrainConfig(steps=4000, warmup_steps=400))
    160
    >>> pause_after(0.4, TrainConfig(steps=4000, masked_lm_prob="0.30..0.15"))
    0
    """
    step = int(share * first_bound(config).step)
    return step if step >= LEAST_STEPS_TIMED else 0


def refilled(
    config: ResolvedTrainConfig,
    model: ModelConfig,
    manifest: DatasetManifest,
    *,
    step: int,
    pace: float,
    evaluating: float,
    seconds: float,
) -> tuple[int, int]:
    """How many steps a run is to have, once the seconds of each are known.

    Args:
        step: Those that are done.
        pace: Seconds of each of them.
        evaluating: Seconds of an evaluation.
        seconds: Until the run is to end.

    Returns:
        As many as fit, but no fewer than it can have: with fewer, some of those done would
        have been different; and as many as fit.
    """

    def are_enough(steps: int) -> bool:
        try:
            return first_bound(dataclasses.replace(config, steps=steps)).step >= step
        except SettingError:
            return False  # not even for the warm-up

    ahead = cost_ahead(sample_flops(model, config, manifest), done=step / config.steps)
    each = ahead * pace + evaluating / config.eval_every
    fitting = step + max(0, int((seconds - ENDING_SECONDS) / each))
    least = step + bisect.bisect_left(range(step, config.steps), True, key=are_enough)
    return max(fitting, least), fitting
