"""Pretraining from end to end: a run is taken up, and trained to its last step."""

import contextlib
import dataclasses
import itertools
import os
import shlex
import time
from collections.abc import Iterator
from typing import Literal

import keras
import numpy as np

from albert_tf.data.data_check import check_same_data
from albert_tf.hosts import shared_arrays, shared_checkpoint
from albert_tf.model.compiling import compile_together
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.model.sampled_softmax import among_any
from albert_tf.model.unpadding import batches_of_each_size
from albert_tf.planning.budget import sample_flops
from albert_tf.planning.cost import accelerators_shown, check_duration
from albert_tf.runs.checkpoints import arrays_of, assign_arrays, load_newest, newest_step
from albert_tf.runs.metrics import QUIET, Progress, Say, Sums, means
from albert_tf.training.evaluations import HeldOutEvaluations, MetricsLog
from albert_tf.training.first_weights import (
    give_first_weights,
    missing_heads,
    read_source,
    starting_weights,
)
from albert_tf.training.loop import OverflowedError, Saver, StepParts, Training
from albert_tf.training.recount import PAUSES, recount, set_pause
from albert_tf.training.run import ResolvedRun, RunState, remove_leftovers, training_steps
from albert_tf.training.signals import Reason, stop_requests
from albert_tf.training.steps import Array, StepDone, TrainingSteps, micro_batch_size
from albert_tf.training.stream import Stream
from albert_tf.training.timing import utilization_text
from schemas.errors import AlbertError
from schemas.files import copy_whole, write_json
from schemas.layout import DATA_MANIFEST, MANIFEST, METRICS, MODEL_CONFIG, SPM_MODEL
from schemas.phases import phases_of
from schemas.readable import duration

# About this many lines of training metrics in a run.
NUM_LINES = 1000


@dataclasses.dataclass(frozen=True)
class TrainResult:
    """How a call of `pretrain` ended: after which of how many steps, and why."""

    step: int
    steps: int
    reason: Literal["finished"] | Reason

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.reason == "finished"


def pretrain(
    run: ResolvedRun,
    *,
    max_seconds: float | None = None,
    deadline: float | None = None,
    progress: Progress = QUIET,
) -> TrainResult:
    """Train a checked run, from the start or from its newest checkpoint.

    Args:
        max_seconds: Stop when this much time has passed, saving as after Ctrl-C; the
            first step is done in any case.
        deadline: When the last step is to be done, in seconds of `time.monotonic`: the
            steps of a new run are counted again once its pace is known, and its settings
            say so. None to leave them.
    """
    if run.is_writer and newest_step(run.folder) is not None:
        check_same_data(run.folder, data=run.data)
        deadline = None
    # There is nothing to save yet, so a signal may end this at once.
    start = time.monotonic()
    model = AlbertPretrainer(
        run.model_config, precision=run.config.precision, recompute=run.config.recompute
    )
    steps, state = take_up(run, model, say=progress.say)
    if max_seconds is not None:
        max_seconds -= time.monotonic() - start
    with stop_requests(max_seconds, run.hosts) as stop:
        log = MetricsLog(run.folder, step=state.step, hosts=run.hosts)
        evaluations = HeldOutEvaluations(run, model, state, log=log, progress=progress)
        every = run.config.checkpoint_every
        saver = Saver(run.folder, steps, state, every=every, is_writer=run.is_writer)
        stream = Stream(run, state, num_devices=steps.num_devices)
        training = Training(
            config=run.config,
            steps=steps,
            state=state,
            evaluations=evaluations,
            saver=saver,
            stop=stop,
            progress=progress,
            costs=sample_flops(run.model_config, run.config, run.manifest),
            hosts=run.hosts,
        )
        pauses = iter(PAUSES if deadline is not None else ())
        set_pause(training, pauses, deadline)
        newest: StepDone | None = None
        # Reading has threads, and Python at its end may wait for them for ever.
        with contextlib.closing(stream.steps()) as read:
            batches: Iterator[StepParts] = read
            if not (training.has_ended or stop.reason):
                first = next(read)
                prepare(training, stream, first)
                batches = itertools.chain([first], read)
            training.evaluate_when_due(has_bar=False)
            training.start_bar()
            try:
                for newest, seconds in training.steps_done(batches):
                    state.add(newest, seconds, examples=run.config.batch_size)
                    # Reading is ahead of the training.
                    state.landmark = stream.landmarks.before(state.examples)
                    if is_line_due(state, stream):
                        log_window(log, state, stream, newest)
                    training.show(step_text(stream, state.step, newest.sums))
                    if training.is_ahead:
                        continue
                    training.evaluate_when_due()
                    if saver.is_due(state.step) or state.step == training.pause:
                        saver.save_what_is_new()
                    if state.step == training.pause and not stop.reason:
                        is_late = recount(run, training, stream, deadline)
                        set_pause(training, pauses, None if is_late else deadline)
                        # It may be the last one now, or one with an evaluation.
                        training.evaluate_when_due()
                        training.start_bar()
            except OverflowedError as error:
                if newest and state.window_steps:
                    log_window(log, state, stream, newest)
                raise overflow(
                    run, error, step=state.step + 1, saved_step=saver.saved_step
                ) from error
            saver.save_what_is_new()
        reason = training.unfinished
        log.close()
    return TrainResult(state.step, training.config.steps, reason or "finished")


def take_up(
    run: ResolvedRun, model: AlbertPretrainer, *, say: Say
) -> tuple[TrainingSteps, RunState]:
    """A run at its newest checkpoint, or before its first step.

    It is as the checkpoint has it, but for the micro-batch asked for.
    """
    newest = load_newest(run.folder, say) if run.is_writer else None
    checkpoint = shared_checkpoint(newest, run.hosts)
    if checkpoint is None:
        steps, state = start(run, model, say=say)
    else:
        try:
            state = RunState(**checkpoint.state)
        except TypeError as error:
            raise AlbertError(
                f"{run.folder}: the newest checkpoint is of no pretraining ({error}); "
                "start the run again with --overwrite."
            ) from error
        if not state.unpadded:
            raise AlbertError(
                f"{run.folder} was begun with padding, which is no longer computed; start "
                f"a new run with --init-from {shlex.quote(str(run.folder))} --output NEW."
            )
        size = run.config.micro_batch_size or state.micro_batch_size
        steps = training_steps(model, run.config, checkpoint=checkpoint)
        say(f"Continuing {run.folder} after step {state.step}.")
        if size != state.micro_batch_size:
            say(
                f"Micro-batches of {size} instead of {state.micro_batch_size}: this "
                "changes only rounding, and what dropout leaves out."
            )
            state.micro_batch_size = size
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    state.machine = f"{run.hosts.number} x " * (run.hosts.number > 1) + f"{cores} CPU cores"
    if device := steps.device():
        state.machine = f"{steps.num_devices * run.hosts.number} x {device}"
    return steps, state


def start(run: ResolvedRun, model: AlbertPretrainer, *, say: Say) -> tuple[TrainingSteps, RunState]:
    """A run before its first step, with the files that never change."""
    if run.is_writer:
        give_first_weights(model, run.config, run.records(), say=say)
        if run.init_from is not None:
            source = read_source(run.init_from, manifest=run.manifest, data=run.data, say=say)
            weights = starting_weights(model.config, source)
            assign_arrays({path: model.weights_by_path[path] for path in weights}, weights)
            say(f"Starting from the weights of {run.init_from}, step {source.step}.")
            for note in missing_heads(run.model_config, source):
                say(note)
        remove_leftovers(run.folder)
        write_json(run.folder / MODEL_CONFIG, dataclasses.asdict(run.model_config))
        for name, target in ((SPM_MODEL, SPM_MODEL), (MANIFEST, DATA_MANIFEST)):
            copy_whole(run.data / name, run.folder / target)
    if run.hosts.number > 1:
        weights = shared_arrays(arrays_of(model.weights_by_path), run.hosts)
        assign_arrays(model.weights_by_path, weights)
    steps = training_steps(model, run.config)
    phases = phases_of(run.manifest.config, run.config)
    examples = [phase.config for phase in phases]
    size = micro_batch_size(steps, run.config, examples, hosts=run.hosts)
    return steps, RunState(size, unpadded=True)


def prepare(training: Training, stream: Stream, first: StepParts) -> None:
    """Compile and time the first step of a process, and say how long the run will take."""
    run, steps, progress = stream.run, training.steps, training.progress
    step, size = training.state.step, training.state.micro_batch_size
    if accelerators_shown() and not steps.device():
        progress.say(
            "Note: the CPU trains: this machine has a GPU or TPU that "
            f"{keras.backend.backend()} does not see, most likely for want of its "
            "CUDA libraries (README, On GPUs)."
        )
    progress.say("Compiling the step ...")
    parts = [*first.parts]
    kinds = batches_of_each_size(stream.sizes(), number=steps.num_devices, rows=size)
    candidates = stream.num_candidates if stream.is_sampled(step) else None
    if candidates:
        kinds += [among_any(kind, number=candidates) for kind in kinds]
    programs = [*steps.programs(kinds), *training.evaluations.programs()]
    compile_together(programs, say=progress.say)
    seconds = steps.compile(parts, should_stop=training.stop.agree)
    if seconds is None:
        return
    training.pace.estimate = seconds
    utilization = ""
    devices = steps.num_devices * run.hosts.number
    if not progress.is_quiet:
        utilization = utilization_text(
            steps,
            first.counts,
            seconds,
            devices=devices,
            config=run.config,
            candidates=candidates,
            say=progress.say,
        )
    left = training.seconds_left()
    ending = f"the {run.config.steps - step:,} steps left will take about {duration(left)}"
    if training.ends_at is not None:
        ending = f"the steps are counted again during the run, so that it ends in {duration(left)}"
    progress.say(
        f"A step of {run.config.batch_size} sequences ({len(parts) * devices} x {size}) takes "
        f"about {duration(seconds)}{utilization}; {ending}."
    )
    if not (step or run.may_be_long):
        check_duration(left, is_alone=run.hosts.number == 1, say=progress.say)


def is_line_due(state: RunState, stream: Stream) -> bool:
    """Whether a step is one that metrics are logged after: now and then, and after the last."""
    step, steps = state.step, stream.run.config.steps
    # A line has the losses of one kind of softmax.
    is_last_of_kind = stream.is_sampled(step - 1) != stream.is_sampled(step)
    return step % max(1, steps // NUM_LINES) == 0 or step == steps or is_last_of_kind


def log_window(log: MetricsLog, state: RunState, stream: Stream, newest: StepDone) -> None:
    """Log the means of all steps since the last line."""
    is_sampled = stream.is_sampled(state.step - 1)
    size = stream.run.config.batch_size
    log.write(state.take_line(newest, batch_size=size, is_sampled=is_sampled))


def step_text(stream: Stream, step: int, sums: Array) -> str:
    """What to show of a step, by what it added up: its losses.

    Args:
        step: From 1.
    """
    of_losses, consistency = np.split(sums, [len(Sums._fields)])
    values = means(Sums(*of_losses.tolist()))
    run, text = stream.run, [f"step {step}/{stream.run.config.steps}"]
    task = run.model_config.sentence_task.upper()
    for name, loss in (("mlm", "masked LM"), ("sentence", task)):
        value = values[f"{name}_loss"]
        if value is not None:
            text.append(f"{loss} {value:.3f}")
            if name == "mlm" and stream.is_sampled(step - 1):
                text[-1] += f" (among {stream.num_candidates:,} pieces)"
    text += [f"layer consistency {mean:.4f}" for mean in consistency.tolist()]
    return ", ".join(text)


def overflow(
    run: ResolvedRun, error: OverflowedError, *, step: int, saved_step: int
) -> AlbertError:
    """The error that names the likely cause of a loss that is not finite, and what to do."""
    folder = run.folder
    remedy = "a lower --learning-rate or more --warmup-steps"
    advice = (
        f"the checkpoints in {folder} are kept; start a run with another --output, "
        f"{remedy} and --init-from {shlex.quote(str(folder))}."
        if saved_step > 0
        else f"start again with {remedy}; what was measured is in {folder / METRICS}."
    )
    return AlbertError(
        f"the {error.what} of step {step} is {error.value}: the learning rate "
        f"is most likely too high for this batch size; {advice}"
    )
