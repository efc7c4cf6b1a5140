"""Training from end to end: checks, a new or a resumed run, the loop."""

import contextlib
import dataclasses
import time
from pathlib import Path
from typing import Literal

from albert_tf.data.data_check import (
    check_has_training_examples,
    check_has_vocabulary,
    check_may_skip,
    check_model_fits,
    check_same_data,
    check_settings_fit,
    check_shards_are_whole,
)
from albert_tf.planning.budget import evaluating_share
from albert_tf.runs.checkpoints import Which, has_checkpoint
from albert_tf.runs.metrics import Metrics
from albert_tf.training.backends import backend
from albert_tf.training.beginning import Job, WordsOf
from albert_tf.training.budget_revision import (
    PAUSES,
    Deadline,
    cost_ahead,
    least_steps,
    pause_after,
    steps_that_fit,
)
from albert_tf.training.hosts import ONE_HOST, Hosts
from albert_tf.training.interruption import Reason, stop_requests
from albert_tf.training.parts import Parts, examples_of, make_loop, parts_of
from albert_tf.training.progress import QUIET, Progress
from albert_tf.training.shared_state import shared_value
from albert_tf.training.warm_start import (
    check_can_keep_optimizer,
    check_can_start_from,
)
from schemas.config import (
    OF_FIRST_WEIGHTS,
    ModelConfig,
    TrainConfig,
    flag_name,
)
from schemas.errors import SettingError
from schemas.layout import EVAL
from schemas.manifest import DatasetManifest, read_manifest


@dataclasses.dataclass(frozen=True)
class TrainResult:
    """How a call of `pretrain` ended.

    Attributes:
        step: Steps done in all.
        steps: Those that the run is to have.
        finished: Whether that is all of them.
        reason: Why it ended.
        first_evaluation: The metrics before the first step, None without eval split.
        last_evaluation: The newest ones.
    """

    step: int
    steps: int
    finished: bool
    reason: Literal["finished"] | Reason
    first_evaluation: Metrics | None
    last_evaluation: Metrics | None


def pretrain(  # noqa: PLR0913 - the arguments of the command
    model_config: ModelConfig,
    train_config: TrainConfig,
    *,
    data: Path,
    output: Path,
    init_from: Path | None = None,
    keep_optimizer: bool = False,
    init_checkpoint: Which = "latest",
    max_seconds: float | None = None,
    deadline: Deadline | None = None,
    progress: Progress = QUIET,
    words_of: WordsOf | None = None,
    hosts: Hosts = ONE_HOST,
) -> TrainResult:
    """Train in a run directory, from the start or from its newest checkpoint.

    Args:
        model_config: The architecture.
        train_config: The settings; derived defaults are filled in here.
        data: A finished data set.
        output: The run directory.
        init_from: A run whose weights to start from.
        keep_optimizer: Go on with its optimizer state, after its last step.
        init_checkpoint: Which of its checkpoints.
        max_seconds: Stop when so long has passed, saving as after Ctrl-C; the first
            step is done in any case.
        deadline: When the last step is to be done, for which the steps of a new run
            are counted again once its pace is known; None to leave them.
        progress: Shows how the run goes.
        words_of: Makes the held-out words that evaluations ask about; None for none.
        hosts: Those that train together, with the same settings; the first alone reads
            and writes `output` and reads `init_from`.

    Raises:
        AlbertError: Something does not fit or failed; one sentence with the remedy.
    """
    if hosts.index:
        init_from, keep_optimizer = None, False
    elif has_checkpoint(output):
        check_same_data(output, data=data)
        # The run has what it started from; its source may be gone.
        init_from, keep_optimizer = None, False
        deadline = None
    check_run(
        model_config,
        train_config,
        data=data,
        output=output,
        init_from=init_from,
        keep_optimizer=keep_optimizer,
        init_checkpoint=init_checkpoint,
    )
    job = Job(
        model_config=model_config,
        config=train_config.resolved(),
        manifest=read_manifest(data),
        data=data,
        run=output,
        init_from=init_from,
        keep_optimizer=shared_value(keep_optimizer, hosts),
        init_checkpoint=init_checkpoint,
        words_of=words_of,
        hosts=hosts,
    )
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
    lines = parts.log.evaluations()
    first, last = (lines[0], lines[-1]) if lines else (None, None)
    return TrainResult(
        step=parts.state.step,
        steps=job.config.steps,
        finished=reason is None,
        reason=reason or "finished",
        first_evaluation=first,
        last_evaluation=last,
    )


def train_until(until: int | None, job: Job, parts: Parts) -> Reason | None:
    """Train up to a step, or the last; why it ended earlier, if it did.

    Raises:
        AlbertError: Something failed; what was done before is saved.
    """
    records = job.records(parts.progress.say)
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
    """The same with as many steps as fit the deadline, once its settings are told."""
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


def check_run(  # noqa: PLR0913 - the arguments of the command
    model_config: ModelConfig,
    train_config: TrainConfig,
    *,
    data: Path,
    output: Path,
    init_from: Path | None,
    keep_optimizer: bool = False,
    init_checkpoint: Which = "latest",
) -> None:
    """Refuse a run that cannot work before anything is written or removed.

    Nothing in `output` is read: it may be about to be overwritten.

    Args:
        model_config: As for `pretrain`, as are all arguments.
        train_config: The settings.
        data: A finished data set.
        output: The run directory.
        init_from: A run whose weights to start from.
        keep_optimizer: Whether to go on with its optimizer state.
        init_checkpoint: Which of its checkpoints.

    Raises:
        AlbertError: Names what does not fit and the remedy.
    """
    backend()
    check_can_recompute(train_config)
    manifest = read_manifest(data)
    check_data(model_config, train_config, manifest=manifest, data=data)
    if keep_optimizer:
        check_goes_on(init_from, which=init_checkpoint)
    if init_from is None:
        return
    if init_from.resolve() == output.resolve():
        raise SettingError("--init-from must be another run than --output.")
    check_sets_no_weights(train_config)
    check_can_start_from(
        init_from,
        model_config,
        manifest=manifest,
        data=data,
        which=init_checkpoint,
        say=lambda line: None,
    )
    if keep_optimizer:
        check_can_keep_optimizer(init_from, model_config, train_config)


def check_data(
    model_config: ModelConfig,
    train_config: TrainConfig,
    *,
    manifest: DatasetManifest,
    data: Path,
) -> None:
    """Refuse a data set that a model with these settings cannot be trained on.

    Raises:
        AlbertError: Names what does not fit and the remedy.
    """
    check_model_fits(model_config, manifest, data=data)
    check_settings_fit(train_config, model_config, manifest, data=data)
    check_has_training_examples(manifest, data=data)
    check_has_vocabulary(data)
    if train_config.skip_corrupt:
        check_may_skip(manifest, data=data)
    else:
        check_shards_are_whole(manifest, data=data)


def check_goes_on(init_from: Path | None, *, which: Which) -> None:
    """Refuse to keep the optimizer state of no run, or of an older checkpoint.

    Raises:
        SettingError: Names the remedy.
    """
    if init_from is None:
        raise SettingError(
            "--keep-optimizer goes on from another run; name it with --init-from."
        )
    if which == "best":
        raise SettingError(
            "--keep-optimizer goes on from the newest checkpoint of a run; leave it or "
            "--init-checkpoint best out."
        )


def check_sets_no_weights(config: TrainConfig) -> None:
    """Refuse first weights for a run that takes all of them from another.

    Raises:
        SettingError: Names the setting.
    """
    for name in OF_FIRST_WEIGHTS:
        if getattr(config, name):
            raise SettingError(
                f"{flag_name(name)} sets first weights and --init-from takes all of "
                "them from another run; leave one of them out."
            )


def check_can_recompute(config: TrainConfig) -> None:
    """Refuse recomputation that XLA would undo: it computes equal things once.

    Raises:
        SettingError: Names the remedy.
    """
    if not config.recompute:
        return
    if backend() == "tensorflow":
        if config.xla:
            raise SettingError(
                "--xla undoes --recompute on TensorFlow; leave one of them out."
            )
        return
    import jax

    if jax.default_backend() == "cpu":
        raise SettingError(
            "--recompute saves nothing with JAX on a CPU; leave it out, or unset "
            "KERAS_BACKEND."
        )
