"""The parts of a run, put together at the step where it stands."""

from collections.abc import Generator, Iterator
from typing import NamedTuple

from albert_tf.data.input_pipeline import Records, training_batches
from albert_tf.data.on_the_fly import Landmark
from albert_tf.data.step_shape import StepShape
from albert_tf.evaluation.held_out import (
    HeldOut,
    num_evaluation_examples,
)
from albert_tf.evaluation.word_scores import HeldOutWords
from albert_tf.hosts.hosts import shared_value
from albert_tf.model.pretrainer import AlbertPretrainer, Batch
from albert_tf.runs.progress import Progress
from albert_tf.training.beginning import begin
from albert_tf.training.evaluations import Evaluations
from albert_tf.training.interruption import StopRequest
from albert_tf.training.job import Job
from albert_tf.training.metrics_log import MetricsLog, RememberedMetrics
from albert_tf.training.pace import Pace
from albert_tf.training.run_state import RunState
from albert_tf.training.saver import Saver
from albert_tf.training.step_record import StepRecord
from albert_tf.training.steps import TrainingSteps
from albert_tf.training.training_loop import TrainingLoop


class Parts(NamedTuple):
    """What a run has from its beginning to its end.

    Attributes:
        steps: The step, with model and optimizer state.
        state: Where the run stands.
        log: Its metrics.
        held_out: What it is evaluated on, if it is on anything.
        words: Held-out words that it is asked about, if it is about any.
        pace: Of the steps that this process has done.
        stop: Asked between micro-batches.
        progress: Shows how the run goes.
    """

    steps: TrainingSteps
    state: RunState
    log: RememberedMetrics
    held_out: HeldOut | None
    words: HeldOutWords | None
    pace: Pace
    stop: StopRequest
    progress: Progress


def parts_of(job: Job, *, stop: StopRequest, progress: Progress) -> Parts:
    """The parts of a run that is begun, or goes on from its newest checkpoint.

    Raises:
        AlbertError: It cannot be continued.
    """
    records = job.records()
    steps, state = begin(job, records, say=progress.say)
    held_out = make_held_out(job, steps.model, records, progress=progress)
    return Parts(
        steps,
        state,
        metrics_log(job, step=state.step),
        held_out,
        words_of_run(job, steps.model, records, held_out),
        Pace(job.config.batch_size),
        stop,
        progress,
    )


def metrics_log(job: Job, *, step: int) -> RememberedMetrics:
    """The metrics up to a step, written on by the first host alone."""
    if job.is_writer:
        log: RememberedMetrics = MetricsLog(job.run, step=step)
        shared_value(log.lines, job.hosts)
        return log
    return RememberedMetrics(shared_value(None, job.hosts))


def examples_of(
    job: Job, parts: Parts, records: Records
) -> Generator[Batch, None, None]:
    """The examples of a run from where it stands, a step at a time."""
    size = job.config.batch_size
    shape = StepShape(
        size,
        parts.state.micro_batch_size,
        devices=parts.steps.num_devices,
        host=job.hosts.index,
        num_hosts=job.hosts.number,
    )
    return training_batches(
        records,
        shape,
        seed=job.config.seed,
        start=parts.state.examples,
        landmark=Landmark(*parts.state.landmark),
    )


def make_loop(
    job: Job,
    parts: Parts,
    *,
    records: Records,
    batches: Iterator[Batch],
    until: int | None,
) -> TrainingLoop:
    """Put the parts of a run together at the step where it stands."""

    def keep_landmark() -> None:
        # Reading is ahead of the training.
        parts.state.landmark = records.landmarks.before(parts.state.examples)

    return TrainingLoop(
        run=job.run,
        config=job.config,
        steps=parts.steps,
        batches=batches,
        state=parts.state,
        evaluations=Evaluations(
            parts.held_out,
            parts.log,
            job.config,
            progress=parts.progress,
            words=parts.words,
            starts_trained=job.starts_trained,
        ),
        saver=Saver(
            job.run,
            parts.steps,
            parts.state,
            every=job.config.checkpoint_every,
            is_writer=job.is_writer,
            before_save=keep_landmark,
        ),
        record=StepRecord(job.config, job.model_config, parts.state, parts.log),
        progress=parts.progress,
        stop=parts.stop,
        pace=parts.pace,
        until=until,
        hosts=job.hosts,
    )


def words_of_run(
    job: Job, model: AlbertPretrainer, records: Records, held_out: HeldOut | None
) -> HeldOutWords | None:
    """The words that a run is evaluated on, if it is on any."""
    if job.vocabulary is None or held_out is None:
        return None
    return HeldOutWords(
        model, records, examples=held_out.examples, vocabulary=job.vocabulary
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
