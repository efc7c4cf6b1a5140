"""Training from end to end: checks, a new or a resumed run, the loop."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from albert_tf.data.corrupt_records import SkippedRecords
from albert_tf.data.data_check import (
    check_has_training_examples,
    check_has_vocabulary,
    check_model_fits,
    check_same_data,
    check_shards_are_whole,
    check_task_fits,
)
from albert_tf.data.input_pipeline import Records, training_batches
from albert_tf.model.initial_weights import initialize_weights
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.planning.micro_batch import derive_micro_batch_size, free_memory_bytes
from albert_tf.runs.checkpoints import (
    Checkpoint,
    assign_arrays,
    has_checkpoint,
    load_newest,
)
from albert_tf.runs.metrics import Metrics
from albert_tf.training.backends import backend, training_steps
from albert_tf.training.evaluation import HeldOut, num_evaluation_examples
from albert_tf.training.evaluations import Evaluations
from albert_tf.training.interruption import Reason, StopRequest, stop_requests
from albert_tf.training.metrics_log import MetricsLog
from albert_tf.training.progress import QUIET, Progress
from albert_tf.training.run_state import RunState
from albert_tf.training.saver import Saver
from albert_tf.training.step_record import StepRecord
from albert_tf.training.steps import TrainingSteps
from albert_tf.training.training_loop import TrainingLoop
from albert_tf.training.warm_start import check_can_start_from, start_from
from schemas.config import ModelConfig, ResolvedTrainConfig, TrainConfig
from schemas.errors import AlbertError, SettingError
from schemas.json_file import write_json
from schemas.layout import (
    DATA_MANIFEST,
    MANIFEST,
    METRICS,
    MODEL_CONFIG,
    SPM_MODEL,
    TENSORBOARD,
)
from schemas.manifest import DatasetManifest, read_manifest
from schemas.whole_file import whole_file

Say = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class TrainResult:
    """How a call of `pretrain` ended.

    Attributes:
        step: Steps done in all.
        finished: Whether that is all of them.
        reason: Why it ended.
        first_evaluation: The metrics before the first step, None without eval split.
        last_evaluation: The newest ones.
    """

    step: int
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
    max_seconds: float | None = None,
    progress: Progress = QUIET,
) -> TrainResult:
    """Train in a run directory, from the start or from its newest checkpoint.

    Args:
        model_config: The architecture.
        train_config: The settings; derived defaults are filled in here.
        data: A finished data set.
        output: The run directory.
        init_from: A run whose weights to start from.
        max_seconds: Stop when so long has passed, saving as after Ctrl-C; the first
            step is done in any case.
        progress: Shows how the run goes.

    Raises:
        AlbertError: Something does not fit or failed; one sentence with the remedy.
    """
    if has_checkpoint(output):
        check_same_data(output, data=data)
        init_from = None  # The run has these weights; their source may be gone.
    check_run(model_config, train_config, data=data, output=output, init_from=init_from)
    manifest = read_manifest(data)
    config = train_config.resolved()
    job = Job(model_config, config, manifest, data, output, init_from)
    with stop_requests(max_seconds) as stop:
        checkpoint = load_newest(output, progress.say)
        if checkpoint is None:
            steps, state = start(job, progress.say)
        else:
            steps, state = resume(job, checkpoint)
            progress.say(f"Continuing {output} after step {state.step}.")
        log = MetricsLog(output, step=state.step)
        loop = make_loop(job, steps, state, log=log, progress=progress, stop=stop)
        reason = loop.train()
        log.close()
    lines = log.evaluations()
    first, last = (lines[0], lines[-1]) if lines else (None, None)
    return TrainResult(state.step, reason is None, reason or "finished", first, last)


@dataclasses.dataclass(frozen=True)
class Job:
    """What `pretrain` was asked to do, with the data set's manifest."""

    model_config: ModelConfig
    config: ResolvedTrainConfig
    manifest: DatasetManifest
    data: Path
    run: Path
    init_from: Path | None


def check_run(
    model_config: ModelConfig,
    train_config: TrainConfig,
    *,
    data: Path,
    output: Path,
    init_from: Path | None,
) -> None:
    """Refuse a run that cannot work before anything is written or removed.

    Nothing in `output` is read: it may be about to be overwritten.

    Args:
        model_config: As for `pretrain`, as are all arguments.
        train_config: The settings.
        data: A finished data set.
        output: The run directory.
        init_from: A run whose weights to start from.

    Raises:
        AlbertError: Names what does not fit and the remedy.
    """
    backend()
    check_can_recompute(train_config)
    manifest = read_manifest(data)
    check_model_fits(model_config, manifest, data=data)
    check_task_fits(model_config, manifest, data=data)
    check_has_training_examples(manifest, data=data)
    check_has_vocabulary(data)
    if not train_config.skip_corrupt:
        check_shards_are_whole(manifest, data=data)
    if init_from is None:
        return
    if init_from.resolve() == output.resolve():
        raise SettingError("--init-from must be another run than --output.")
    check_can_start_from(
        init_from, model_config, manifest=manifest, data=data, say=lambda line: None
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


def new_model(job: Job) -> AlbertPretrainer:
    """A model as the settings ask for, without values yet."""
    return AlbertPretrainer(
        job.model_config,
        precision=job.config.precision,
        recompute=job.config.recompute,
    )


def resume(job: Job, checkpoint: Checkpoint) -> tuple[TrainingSteps, RunState]:
    """A run as it was when a checkpoint was saved.

    Raises:
        AlbertError: The checkpoint is not one of this run.
    """
    size = checkpoint.state["micro_batch_size"]
    if job.config.batch_size % size:
        raise AlbertError(
            f"{job.run}: the newest checkpoint was saved with micro-batches of {size}, "
            f"which do not divide the batch of {job.config.batch_size}; start the run "
            "again with --overwrite."
        )
    model = new_model(job)
    assign_arrays(model.weights_by_path, checkpoint.weights)
    steps = training_steps(model, job.config)
    assign_arrays(steps.optimizer_state, checkpoint.optimizer_state)
    return steps, RunState(**checkpoint.state)


def start(job: Job, say: Say) -> tuple[TrainingSteps, RunState]:
    """Begin a run: first weights, the files that never change, step 0."""
    model = new_model(job)
    initialize_weights(
        model,
        standard_deviation=job.model_config.initializer_range,
        seed=job.config.seed,
    )
    if job.init_from is not None:
        start_from(model, job.init_from, manifest=job.manifest, data=job.data, say=say)
    remove_leftovers(job.run)
    write_json(job.run / MODEL_CONFIG, dataclasses.asdict(job.model_config))
    for source, target in ((SPM_MODEL, SPM_MODEL), (MANIFEST, DATA_MANIFEST)):
        copy_whole(job.data / source, job.run / target)
    steps = training_steps(model, job.config)
    micro_batch_size = job.config.micro_batch_size or derive_micro_batch_size(
        job.config.batch_size,
        job.model_config,
        length=job.manifest.config.max_seq_length,
        predictions=job.manifest.config.max_predictions_per_seq,
        free_bytes=free_memory_bytes(),
        precision=job.config.precision,
        recompute=job.config.recompute,
        devices=steps.num_devices,
    )
    return steps, RunState(micro_batch_size)


def remove_leftovers(run: Path) -> None:
    """Remove what a run wrote that ended before its first checkpoint.

    It may have had other settings, and its metrics would pass for those of this run.

    Raises:
        AlbertError: The directory is not writable.
    """
    try:
        for name in (METRICS, MODEL_CONFIG, DATA_MANIFEST, SPM_MODEL):
            (run / name).unlink(missing_ok=True)
        for events in (run / TENSORBOARD).glob("events.out.tfevents.*"):
            events.unlink()
    except OSError as error:
        raise AlbertError(
            f"{error.filename} cannot be removed: {error.strerror}; make the "
            "directory writable, or give another --output."
        ) from error


def copy_whole(source: Path, target: Path) -> None:
    """Copy a small file so that no reader ever sees half of it.

    Raises:
        AlbertError: The source cannot be read or the target cannot be written.
    """
    try:
        content = source.read_bytes()
    except OSError as error:
        raise AlbertError(f"{source} cannot be read: {error.strerror}.") from error
    with whole_file(target) as file:
        file.write(content)


def make_loop(
    job: Job,
    steps: TrainingSteps,
    state: RunState,
    *,
    log: MetricsLog,
    progress: Progress,
    stop: StopRequest,
) -> TrainingLoop:
    """Put the parts of a run together at the step where it stands."""
    records = Records(
        job.data,
        job.manifest,
        on_corrupt=SkippedRecords(progress.say) if job.config.skip_corrupt else None,
        remedy="make the data again, or leave such records out with --skip-corrupt",
    )
    held_out = make_held_out(job, steps.model, records, progress=progress)
    batches = training_batches(
        records,
        seed=job.config.seed,
        start=state.examples,
        micro_batch_size=state.micro_batch_size,
        micro_batches=job.config.batch_size // state.micro_batch_size,
        devices=steps.num_devices,
    )
    return TrainingLoop(
        run=job.run,
        config=job.config,
        steps=steps,
        batches=batches,
        state=state,
        evaluations=Evaluations(held_out, log, job.config, progress=progress),
        saver=Saver(job.run, steps, state, every=job.config.checkpoint_every),
        record=StepRecord(job.config, job.model_config, state, log),
        progress=progress,
        stop=stop,
    )


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
