"""Pretraining from end to end: what runs, and how it is trained to its last step."""

import contextlib
import dataclasses
import os
import shlex
import time
from collections.abc import Callable, Generator
from typing import Literal, NamedTuple

import keras
import numpy as np
import numpy.typing as npt

from albert_tf.data.data_check import check_same_data
from albert_tf.data.input_pipeline import StepShape, in_advance, training_batches
from albert_tf.data.on_the_fly import Landmark, Landmarks
from albert_tf.evaluation.held_out import compile_together
from albert_tf.model.pretrainer import Batch
from albert_tf.model.sampled_softmax import Candidates, Sampler, among_any, num_candidates
from albert_tf.model.unpadding import Fill, Sizes, batches_of_each_size, fill_of, unpadded
from albert_tf.planning.budget import (
    PAUSES,
    cost_ahead,
    cost_at,
    pause_after,
    refilled,
    sample_flops,
)
from albert_tf.planning.cost import accelerators_shown
from albert_tf.runs.checkpoints import newest_step
from albert_tf.runs.metrics import QUIET, Progress, Sums, means
from albert_tf.training.evaluate import HeldOutEvaluations, MetricsLog
from albert_tf.training.first_weights import label_log_shares
from albert_tf.training.loop import Saver, Training
from albert_tf.training.run import NOTHING, ResolvedRun, RunState, begin
from albert_tf.training.signals import Reason, StopRequest, stop_requests
from albert_tf.training.steps import Counts, StepDone, TrainingSteps, pretraining_counts
from albert_tf.training.timing import Pace, utilization_text
from schemas.config import ResolvedTrainConfig, evaluations_every
from schemas.errors import AlbertError
from schemas.layout import METRICS, TRAIN
from schemas.phases import first_bound
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


@dataclasses.dataclass(frozen=True)
class Deadline:
    """When the last step of a run is to be done.

    Attributes:
        at: In seconds of `time.monotonic`.
        tell: Told the settings with the steps that fit, before the first of them.
    """

    at: float
    tell: Callable[[ResolvedTrainConfig], None]


def pretrain(
    run: ResolvedRun,
    *,
    max_seconds: float | None = None,
    deadline: Deadline | None = None,
    before_first: Callable[[float], None] = lambda seconds: None,
    progress: Progress = QUIET,
) -> TrainResult:
    """Train a checked run, from the start or from its newest checkpoint.

    Args:
        max_seconds: Stop when this much time has passed, saving as after Ctrl-C; the
            first step is done in any case.
        deadline: When the last step is to be done, for which the steps of a new run
            are counted again once its pace is known; None to leave them.
        before_first: Called before the first step of a run with the seconds that the
            run will take; it may raise to end it.
    """
    if run.is_writer and newest_step(run.folder) is not None:
        check_same_data(run.folder, data=run.data)
        deadline = None
    # There is nothing to save yet, so a signal may end this at once.
    start = time.monotonic()
    steps, state = begin(run, say=progress.say)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    state.machine = f"{run.hosts.number} x " * (run.hosts.number > 1) + f"{cores} CPU cores"
    if device := steps.device():
        state.machine = f"{steps.num_devices * run.hosts.number} x {device}"
    if max_seconds is not None:
        max_seconds -= time.monotonic() - start
    with stop_requests(max_seconds, run.hosts) as stop:
        work = Pretraining(
            run,
            steps,
            state,
            stop=stop,
            progress=progress,
            deadline=deadline,
            before_first=before_first,
        )
        reason = work.train()
        work.log.close()
    return TrainResult(state.step, work.config.steps, reason or "finished")


class Step(NamedTuple):
    """The examples `[K, M, ...]` of a step, and what is computed of them at a time."""

    examples: Batch
    parts: list[Batch]


class Pretraining(Training):
    """What runs: a model with its optimizer, its data and its log.

    Args:
        deadline: See `pretrain`, as `before_first`.
    """

    state: RunState
    evaluations: HeldOutEvaluations

    def __init__(
        self,
        run: ResolvedRun,
        steps: TrainingSteps,
        state: RunState,
        *,
        stop: StopRequest,
        progress: Progress,
        deadline: Deadline | None = None,
        before_first: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        self._before_first = before_first
        self.run, self.config, self.hosts = run, run.config, run.hosts
        self.steps, self.state = steps, state
        self.stop, self.progress = stop, progress
        self.pace = Pace(run.config.batch_size)
        self.log = MetricsLog(run.folder, step=state.step, hosts=run.hosts)
        self.evaluations = HeldOutEvaluations(
            run, steps.model, state, log=self.log, progress=progress
        )
        self.saver = Saver(
            run.folder, steps, state, every=run.config.checkpoint_every, is_writer=run.is_writer
        )
        self._parts = sample_flops(run.model_config, run.config, run.manifest)
        self._landmarks = Landmarks()
        self._newest: StepDone | None = None
        self._num_candidates = num_candidates(run.model_config, run.config, run.manifest.config)
        # Once labels are counted.
        self._sampler: Sampler | None = None
        self._deadline, self._pauses = deadline, iter(PAUSES if deadline else ())
        # Unless somebody asked for a number.
        self._follows_steps = run.config.eval_every == evaluations_every(run.config.steps)
        self.pause = self._next_pause()

    def _next_pause(self, *, is_late: bool = False) -> int | None:
        """The next pause, up to which what is left is the time to the deadline.

        The steps of the moment say little of it.
        """
        steps = (pause_after(share, self.config) for share in self._pauses)
        pause = next((step for step in steps if step > self.state.step), None)
        self.ends_at = self._deadline.at if self._deadline and pause and not is_late else None
        return pause

    def recount(self) -> int | None:
        """See `Training.recount`."""
        assert self._deadline is not None, "else there is no pause"
        step, config, step_seconds = self.state.step, self.config, self.pace.mean_seconds
        steps, fitting = refilled(
            config,
            self.run.model_config,
            self.run.manifest,
            step=step,
            pace=step_seconds,
            evaluating=self.evaluations.seconds(step, step_seconds=step_seconds),
            seconds=self._deadline.at - time.monotonic(),
        )
        is_late = steps > fitting
        if steps != config.steps:
            note = f"; at least {steps:,} are needed now, so it will end late" if is_late else ""
            self.progress.say(
                f"At the pace so far {fitting:,} steps fit in the budget, not "
                f"{config.steps:,}{note}."
            )
            every = config.eval_every
            if self._follows_steps:
                every = max(every, evaluations_every(steps))
            config = dataclasses.replace(config, steps=steps, eval_every=every)
            self._deadline.tell(config)
            self.run = dataclasses.replace(self.run, config=config)
            self.config = self.evaluations.config = config
        return self._next_pause(is_late=is_late)

    def steps_left(self) -> float:
        """See `Training.steps_left`: other examples, or the whole vocabulary, may come last."""
        done = self.state.step / self.config.steps
        return super().steps_left() * cost_ahead(self._parts, done=done)

    def batches(self) -> Generator[Step, None, None]:
        """The examples from where the run stands, a step at a time.

        A recount leaves the next ones as they are, so reading goes on up to the first that
        depends on the number of steps.
        """
        seed, step = self.config.seed, self.state.step
        if self._num_candidates and self._sampler is None and self.is_sampled(step):
            vocab_size = self.run.model_config.vocab_size
            log_shares = label_log_shares(self.run.records(), vocab_size, seed=seed)
            self._sampler = Sampler(number=self._num_candidates, log_shares=log_shares, seed=seed)
        shape = StepShape(
            self.config.batch_size,
            self.state.micro_batch_size,
            devices=self.steps.num_devices,
            host=self.hosts.index,
            num_hosts=self.hosts.number,
        )
        while True:
            config, bound = self.config, first_bound(self.config).step
            records = self.run.records()
            self._landmarks = records.landmarks
            batches = training_batches(
                records,
                shape,
                seed=seed,
                # A step may be on its way.
                start=self.state.examples + (step - self.state.step) * shape.batch_size,
                landmark=Landmark(*self.state.landmark),
            )
            sizes = records.sizes(shape.micro_batch_size)
            steps = self._without_padding(batches, first=step, sizes=sizes)
            # What hosts tell each other they have to tell in the same order.
            with contextlib.closing(steps if self.hosts.number > 1 else in_advance(steps)) as found:
                while self.config is config or step < bound:
                    yield next(found)
                    step += 1
                    bound = min(bound, first_bound(self.config).step)

    def _without_padding(
        self, batches: Generator[Batch, None, None], *, first: int, sizes: Sizes
    ) -> Generator[Step, None, None]:
        """Batches with their parts; hosts and devices compute one in the same shapes."""
        devices = self.steps.num_devices
        with contextlib.closing(batches):
            for step, batch in enumerate(batches, first):
                parts = [
                    {name: v[micro : micro + devices] for name, v in batch.items()}
                    for micro in range(0, len(batch["input_ids"]), devices)
                ]
                fills = self.hosts.gather(np.ravel([fill_of(part) for part in parts]))
                agreed = fills.max(axis=0).astype(int).reshape(-1, 2).tolist()
                made = [
                    unpadded(part, Fill(*fill), sizes=sizes)
                    for part, fill in zip(parts, agreed, strict=True)
                ]
                if candidates := self._candidates(batch, step):
                    made = [candidates.batch(part) for part in made]
                yield Step(batch, made)

    def is_sampled(self, step: int) -> bool:
        """Whether a step, from 0, predicts among candidates alone."""
        return self._num_candidates is not None and step < self.config.sampled_steps

    def _candidates(self, batch: Batch, step: int) -> Candidates | None:
        """Those of a step on all hosts; None for the whole vocabulary."""
        if not self.is_sampled(step):
            return None
        assert self._sampler is not None, "made before the examples are read"

        def of_all(ids: str, mask: str) -> npt.NDArray[np.int_]:
            found = self.hosts.gather(np.where(batch[mask] > 0, batch[ids], -1).ravel())
            return found[found >= 0].astype(int)

        labels = of_all("masked_lm_ids", "masked_lm_weights")
        return self._sampler.draw(labels, shown=of_all("input_ids", "input_mask"), step=step)

    def parts(self, batch: Step) -> tuple[Counts, list[Batch]]:
        """What this host computes of a step, without padding."""
        own = pretraining_counts(batch.examples)
        counts = self.hosts.gather(np.array([*own.values()])).sum(axis=0)
        return dict(zip(own, counts.tolist(), strict=True)), batch.parts

    def prepare(self, batch: Step) -> None:
        """Compile and time the step, and say how long the run will take."""
        if accelerators_shown() and not self.steps.device():
            self.progress.say(
                "Note: the CPU trains: this machine has a GPU or TPU that "
                f"{keras.backend.backend()} does not see, most likely for want of its "
                "CUDA libraries (README, On GPUs)."
            )
        self.progress.say("Compiling the step ...")
        counts, parts = self.parts(batch)
        sizes = self.run.records().sizes(self.state.micro_batch_size)
        kinds = batches_of_each_size(
            sizes, number=self.steps.num_devices, rows=self.state.micro_batch_size
        )
        candidates = self._num_candidates if self.is_sampled(self.state.step) else None
        if candidates:
            kinds += [among_any(kind, number=candidates) for kind in kinds]
        programs = [*self.steps.programs(kinds), *self.evaluations.programs()]
        compile_together(programs, say=self.progress.say)
        seconds = self.steps.compile(parts, should_stop=self.stop.agree)
        if seconds is None:
            return
        self.pace.estimate = seconds
        utilization = ""
        if not self.progress.is_quiet:
            devices = self.steps.num_devices * self.hosts.number
            utilization = utilization_text(
                self.steps,
                counts,
                seconds,
                devices=devices,
                config=self.config,
                candidates=candidates,
                say=self.progress.say,
            )
        rows, size = self.config.batch_size, self.state.micro_batch_size
        number = len(batch.examples["input_ids"]) * self.hosts.number
        left, steps = self.seconds_left(), self.config.steps - self.state.step
        ending = f"the {steps:,} steps left will take about {duration(left)}"
        if self.ends_at is not None:
            ending = (
                f"the steps are counted again during the run, so that it ends in {duration(left)}"
            )
        self.progress.say(
            f"A step of {rows} sequences ({number} x {size}) takes about "
            f"{duration(seconds)}{utilization}; {ending}."
        )
        if not self.state.step:
            self._before_first(left)

    def record(self, done: StepDone, seconds: float) -> str:
        """Count the step that was just done, and log the means now and then."""
        sums, consistency = np.split(done.sums, [len(Sums._fields)])
        state, steps = self.state, self.config.steps
        state.examples += self.config.batch_size
        # Reading is ahead of the training.
        state.landmark = self._landmarks.before(state.examples)
        state.seconds += seconds
        state.window = tuple((np.array(state.window) + sums).tolist())
        state.window_seconds += seconds
        state.window_steps += 1
        self._newest = done
        # A line has the losses of one kind of softmax.
        is_last = self.is_sampled(state.step - 1) != self.is_sampled(state.step)
        if state.step % max(1, steps // NUM_LINES) == 0 or state.step == steps or is_last:
            self._log_window()
        before, after = (cost_at(self._parts, done=n / steps) for n in (state.step - 1, state.step))
        if before != after:  # steps take longer, or shorter, from here on
            self.pace.estimate = self.pace.step_seconds * after / before
            self.pace.newest.clear()
        values = means(Sums(*sums.tolist()))
        text = [f"step {state.step}/{steps}"]
        task = self.run.model_config.sentence_task.upper()
        for name, loss in (("mlm", "masked LM"), ("sentence", task)):
            value = values[f"{name}_loss"]
            if value is not None:
                text.append(f"{loss} {value:.3f}")
                if name == "mlm" and self.is_sampled(state.step - 1):
                    text[-1] += f" (among {self._num_candidates:,} pieces)"
        text += [f"layer consistency {mean:.4f}" for mean in consistency.tolist()]
        return ", ".join(text)

    def _log_window(self) -> None:
        """Log the means of all steps since the last line."""
        state, newest = self.state, self._newest
        if not (state.window_steps and newest):
            return
        examples, values = state.window_steps * self.config.batch_size, means(Sums(*state.window))
        if self.is_sampled(state.step - 1):
            values |= {f"sampled_{name}": values.pop(name) for name in ("mlm_loss", "mlm_accuracy")}
        self.log.write(
            {
                "step": state.step,
                "split": TRAIN,
                **values,
                "learning_rate": newest.learning_rate,
                "gradient_norm": newest.norm,
                "sequences_per_second": examples / state.window_seconds,
                "seconds": state.seconds,
            }
        )
        state.window, state.window_seconds, state.window_steps = NOTHING, 0.0, 0

    def overflow(self, value: float, what: str) -> AlbertError:
        """Log what was measured; the error names the likely cause and what to do."""
        self._log_window()
        folder = self.run.folder
        remedy = "a lower --learning-rate or more --warmup-steps"
        advice = (
            f"the checkpoints in {folder} are kept; start a run with another --output, "
            f"{remedy} and --init-from {shlex.quote(str(folder))}."
            if self.saver.saved_step > 0
            else f"start again with {remedy}; what was measured is in {folder / METRICS}."
        )
        return AlbertError(
            f"the {what} of step {self.state.step + 1} is {value}: the learning rate "
            f"is most likely too high for this batch size; {advice}"
        )
