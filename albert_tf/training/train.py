"""Training from end to end: checks, a new or a resumed run, the loop."""

import contextlib
import dataclasses
from collections.abc import Generator, Iterator
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
from albert_tf.data.input_pipeline import Records, training_batches
from albert_tf.data.on_the_fly import Landmark
from albert_tf.model.pretrainer import AlbertPretrainer, Batch
from albert_tf.runs.checkpoints import Which, has_checkpoint
from albert_tf.runs.metrics import Metrics
from albert_tf.training.backends import backend
from albert_tf.training.beginning import Job, WordsOf, begin
from albert_tf.training.evaluation import (
    HeldOut,
    HeldOutWords,
    num_evaluation_examples,
)
from albert_tf.training.evaluations import Evaluations
from albert_tf.training.hosts import ONE_HOST, Hosts
from albert_tf.training.interruption import Reason, StopRequest, stop_requests
from albert_tf.training.metrics_log import MetricsLog, RememberedMetrics
from albert_tf.training.progress import QUIET, Progress
from albert_tf.training.run_state import RunState
from albert_tf.training.saver import Saver
from albert_tf.training.shared_state import shared_value
from albert_tf.training.step_record import StepRecord
from albert_tf.training.steps import TrainingSteps
from albert_tf.training.training_loop import TrainingLoop
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
        model_config,
        train_config.resolved(),
        read_manifest(data),
        data,
        output,
        init_from,
        shared_value(keep_optimizer, hosts),
        init_checkpoint,
        words_of,
        hosts,
    )
    return train_until_stopped(job, max_seconds=max_seconds, progress=progress)


def train_until_stopped(
    job: Job, *, max_seconds: float | None, progress: Progress
) -> TrainResult:
    """Begin a checked run, or go on with it, to its end or until it is stopped.

    Raises:
        AlbertError: It cannot be continued, or something failed.
    """
    with stop_requests(max_seconds, job.hosts) as stop:
        steps, state = begin(job, progress.say)
        log = metrics_log(job, step=state.step)
        records = job.records(progress.say)
        # Reading has threads, and Python at its end may wait for them for ever.
        with contextlib.closing(examples_of(job, steps, state, records)) as batches:
            loop = make_loop(
                job,
                steps,
                state,
                log=log,
                progress=progress,
                stop=stop,
                records=records,
                batches=batches,
            )
            reason = loop.train()
        log.close()
    lines = log.evaluations()
    first, last = (lines[0], lines[-1]) if lines else (None, None)
    return TrainResult(
        step=state.step,
        steps=job.config.steps,
        finished=reason is None,
        reason=reason or "finished",
        first_evaluation=first,
        last_evaluation=last,
    )


def metrics_log(job: Job, *, step: int) -> RememberedMetrics:
    """The metrics up to a step, written on by the first host alone."""
    if job.is_writer:
        log: RememberedMetrics = MetricsLog(job.run, step=step)
        shared_value(log.lines, job.hosts)
        return log
    return RememberedMetrics(shared_value(None, job.hosts))


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


def examples_of(
    job: Job, steps: TrainingSteps, state: RunState, records: Records
) -> Generator[Batch, None, None]:
    """The examples of a run from where it stands, a step at a time."""
    return training_batches(
        records,
        seed=job.config.seed,
        start=state.examples,
        batch_size=job.config.batch_size,
        micro_batch_size=state.micro_batch_size,
        devices=steps.num_devices,
        host=job.hosts.index,
        num_hosts=job.hosts.number,
        landmark=Landmark(*state.landmark),
    )


def make_loop(  # noqa: PLR0913 - the parts of a run
    job: Job,
    steps: TrainingSteps,
    state: RunState,
    *,
    records: Records,
    batches: Iterator[Batch],
    log: RememberedMetrics,
    progress: Progress,
    stop: StopRequest,
) -> TrainingLoop:
    """Put the parts of a run together at the step where it stands."""
    held_out = make_held_out(job, steps.model, records, progress=progress)
    return TrainingLoop(
        run=job.run,
        config=job.config,
        steps=steps,
        batches=batches,
        state=state,
        evaluations=Evaluations(
            held_out,
            log,
            job.config,
            progress=progress,
            words=words_of_run(job, steps.model, records, held_out),
        ),
        saver=Saver(
            job.run,
            steps,
            state,
            every=job.config.checkpoint_every,
            is_writer=job.is_writer,
            landmark=records.landmarks.before,
        ),
        record=StepRecord(job.config, job.model_config, state, log),
        progress=progress,
        stop=stop,
        hosts=job.hosts,
    )


def words_of_run(
    job: Job, model: AlbertPretrainer, records: Records, held_out: HeldOut | None
) -> HeldOutWords | None:
    """The words that a run is evaluated on, if it is on any."""
    if job.words_of is None or held_out is None:
        return None
    return job.words_of(model, records, examples=held_out.examples)


def make_held_out(
    job: Job, model: AlbertPretrainer, records: Records, *, progress: Progress
) -> HeldOut | None:
    """What the run is evaluated on; None, and a word, if the data set has nothing."""
    examples = num_evaluation_examples(job.manifest, maximum=job.config.eval_examples)
    if examples:
        return HeldOut(model, records, examples=examples)
    progress.say(
        f"{job.data} has no held-out examples: training goes on without held-out "
        "losses."
    )
    return None
