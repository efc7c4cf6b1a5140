"""Training from end to end: checks, a new or a resumed run, the loop."""

import contextlib
import dataclasses
import time
from typing import Literal

from albert_tf.data.data_check import check_same_data
from albert_tf.planning.budget import evaluating_share
from albert_tf.runs.checkpoints import has_checkpoint
from albert_tf.runs.progress import QUIET, Progress
from albert_tf.training.budget_revision import (
    PAUSES,
    Deadline,
    cost_ahead,
    least_steps,
    pause_after,
    steps_that_fit,
)
from albert_tf.training.interruption import Reason, stop_requests
from albert_tf.training.job import Job
from albert_tf.training.parts import Parts, examples_of, make_loop, parts_of
from albert_tf.training.run_check import check_run
from schemas.layout import EVAL


@dataclasses.dataclass(frozen=True)
class TrainResult:
    """How a call of `pretrain` ended.

    Attributes:
        step: Steps done in all.
        steps: Those that the run is to have.
        reason: Why it ended.
    """

    step: int
    steps: int
    reason: Literal["finished"] | Reason

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.reason == "finished"


def pretrain(
    job: Job,
    *,
    max_seconds: float | None = None,
    deadline: Deadline | None = None,
    progress: Progress = QUIET,
) -> TrainResult:
    """Train in a run directory, from the start or from its newest checkpoint.

    Args:
        job: What to do.
        max_seconds: Stop when this much time has passed, saving as after Ctrl-C; the
            first step is done in any case.
        deadline: When the last step is to be done, for which the steps of a new run
            are counted again once its pace is known; None to leave them.
        progress: Shows how the run goes.

    Raises:
        AlbertError: Something does not fit or failed; one sentence with the remedy.
    """
    if not job.is_writer:
        job = dataclasses.replace(job, init_from=None)
    elif has_checkpoint(job.run):
        check_same_data(job.run, data=job.data)
        # The run has what it started from; its source may be gone.
        job, deadline = dataclasses.replace(job, init_from=None), None
    check_run(job)
    return train_until_stopped(
        job, max_seconds=max_seconds, deadline=deadline, progress=progress
    )


def train_until_stopped(
    job: Job,
    *,
    max_seconds: float | None,
    deadline: Deadline | None,
    progress: Progress,
) -> TrainResult:
    """Begin a checked run, or go on with it, to its end or until it is stopped.

    With a deadline it pauses, and goes on with as many steps as fit it.

    Raises:
        AlbertError: It cannot be continued, or something failed.
    """
    with stop_requests(max_seconds, job.hosts) as stop:
        parts = parts_of(job, stop=stop, progress=progress)
        reason = None
        if deadline is not None:
            job, reason = train_with_pauses(job, deadline, parts)
        reason = reason or train_until(None, job, parts)
        parts.log.close()
    return TrainResult(parts.state.step, job.config.steps, reason or "finished")


def train_until(until: int | None, job: Job, parts: Parts) -> Reason | None:
    """Train up to a step, or the last; why it ended earlier, if it did.

    Raises:
        AlbertError: Something failed; what was done before is saved.
    """
    records = job.records()
    # Reading has threads, and Python at its end may wait for them for ever.
    with contextlib.closing(examples_of(job, parts, records)) as batches:
        loop = make_loop(job, parts, records=records, batches=batches, until=until)
        return loop.train()


def train_with_pauses(
    job: Job, deadline: Deadline, parts: Parts
) -> tuple[Job, Reason | None]:
    """Train while no step depends on how many follow, and count them again meanwhile.

    Returns:
        What is asked for then, and why it ended earlier, if it did.

    Raises:
        AlbertError: Something failed; what was done before is saved.
    """
    for share in PAUSES:
        pause = pause_after(share, job.config)
        if parts.state.step >= pause:
            continue
        if reason := train_until(pause, job, parts):
            return job, reason
        job = revised(job, deadline, parts)
    return job, None


def revised(job: Job, deadline: Deadline, parts: Parts) -> Job:
    """The same with as many steps as fit the deadline, which is told its settings."""
    step, before = parts.state.step, job.config.steps
    length = job.manifest.statistics["mean_length"]
    data = job.manifest.config
    ahead = cost_ahead(job.config, job.model_config, data, step=step, length=length)
    fitting = steps_that_fit(
        step,
        step_seconds=ahead * parts.pace.settled_seconds,
        evaluating=evaluating_share(
            before, job.config, held_out=job.manifest.num_examples(EVAL)
        ),
        seconds=deadline.at - time.monotonic(),
    )
    steps = max(fitting, least_steps(job.config, step=step))
    if steps == before:
        return job
    note = "" if steps == fitting else f", and it can have no fewer than {steps:,} now"
    parts.progress.say(
        f"At the pace so far {fitting:,} steps fill the budget, not {before:,}{note}."
    )
    config = dataclasses.replace(job.config, steps=steps)
    deadline.tell(config)
    return dataclasses.replace(job, config=config)
