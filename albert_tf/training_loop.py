"""The training loop: steps, and between them evaluations, metrics and checkpoints."""

import dataclasses
import itertools
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from albert_tf.checkpoints import Checkpoint, arrays_of, save_checkpoint
from albert_tf.compute_cost import flops_text, training_flops
from albert_tf.evaluation import HeldOut
from albert_tf.health import check_is_number, collapse_warning
from albert_tf.interruption import Reason, StopRequest
from albert_tf.matrix_rate import rate_for_training
from albert_tf.metrics import means, metrics_text
from albert_tf.metrics_log import MetricsLog
from albert_tf.pretrainer import Batch, Sums
from albert_tf.progress import Progress, duration_text
from albert_tf.schedule import learning_rate, peak_learning_rate
from albert_tf.steps import TrainingSteps, step_counts
from schemas.config import TrainConfig
from schemas.errors import AlbertError

# Between checkpoints when --checkpoint-every is not given.
CHECKPOINT_SECONDS = 30 * 60

Array = np.ndarray[Any, np.dtype[np.float64]]

# About so many lines of training metrics in a run.
NUM_LINES = 1000


@dataclasses.dataclass
class RunState:
    """What a checkpoint remembers besides weights and slots.

    Attributes:
        micro_batch_size: Kept, because another one rounds differently.
        step: Steps done.
        examples: Training examples consumed, the position in the data.
        seconds: Time spent in steps.
        window: The `Sums` since the last line of metrics.
        window_seconds: Time spent in those steps.
        window_steps: How many they are.
    """

    micro_batch_size: int
    step: int = 0
    examples: int = 0
    seconds: float = 0.0
    window: tuple[float, ...] = (0.0,) * len(Sums._fields)
    window_seconds: float = 0.0
    window_steps: int = 0


@dataclasses.dataclass
class Pace:
    """How fast this process trains, evaluations and checkpoints left out.

    Attributes:
        sequence_flops: Operations to train on one sequence.
        matrix_rate: The operations a second that the machine reaches in products alone,
            None if nobody wants to know.
    """

    sequence_flops: int = 0
    matrix_rate: float | None = None
    steps: int = 0
    seconds: float = 0.0
    waiting_seconds: float = 0.0
    pieces: float = 0.0

    def text(self, *, batch_size: int, steps_left: int) -> str:
        """Rates, the share of time waiting for data, and the time left."""
        step_seconds = self.seconds / self.steps
        rate = batch_size / step_seconds
        return (
            f"{rate:.1f} seq/s, "
            f"{self.pieces / self.seconds:.0f} tokens/s, "
            f"{self._share(rate)}"
            f"data {self.waiting_seconds / self.seconds:.0%}, "
            f"{duration_text(steps_left * step_seconds)} left"
        )

    def _share(self, rate: float) -> str:
        """How much of the machine so many sequences a second make use of."""
        if self.matrix_rate is None:
            return ""
        share = rate * self.sequence_flops / self.matrix_rate
        return f"{share:.0%} of {flops_text(self.matrix_rate)}/s, "


@dataclasses.dataclass(kw_only=True)
class TrainingLoop:
    """A run that is ready for its next step.

    Attributes:
        run: The run directory.
        config: The resolved settings.
        steps: The compiled step, with model and slots.
        batches: What is left of the stream of examples, a step at a time.
        held_out: What to evaluate on, if there is anything.
        log: The metrics up to now.
        state: Where the run stands.
        progress: Shows it.
        stop: Asked between micro-batches.
    """

    run: Path
    config: TrainConfig
    steps: TrainingSteps
    batches: Iterator[Batch]
    held_out: HeldOut | None
    log: MetricsLog
    state: RunState
    progress: Progress
    stop: StopRequest

    def __post_init__(self) -> None:
        self._pace = Pace()
        self._saved_step = self.state.step
        self._saved_at = time.monotonic()
        self._log_every = max(1, self.config.steps // NUM_LINES)

    def train(self) -> Reason | None:
        """Go on to the last step; why it ended earlier, if it did.

        What is done by then is saved, in either case.

        Raises:
            AlbertError: The loss is no longer a number, or nothing can be saved.
        """
        self._evaluate_when_due()
        if not (self._is_finished or self.stop.reason):
            self._announce()
            self.progress.start(
                total=self.config.steps * self.config.batch_size,
                done=self.state.examples,
            )
            while not self._is_finished and self._step():
                self._evaluate_when_due()
                self._save_when_due()
        if self.state.step > self._saved_step:
            self._save()
        is_complete = self._is_finished and not self._evaluation_is_due
        return None if is_complete else self.stop.reason

    @property
    def _is_finished(self) -> bool:
        return self.state.step >= self.config.steps

    @property
    def _evaluation_is_due(self) -> bool:
        """Before the first step, after the last and in between, once each."""
        step, every = self.state.step, self.config.eval_every or 1
        is_done = any(line["step"] == step for line in self.log.evaluations())
        is_time = step % every == 0 or self._is_finished
        return self.held_out is not None and is_time and not is_done

    def _announce(self) -> None:
        """Compile, time a micro-batch, and say how long the run is going to take.

        The machine is measured too, to tell later how much of it the run makes use of.
        The batch is put back, so nothing of this shows in the result.
        """
        self.progress.say("Compiling the step ...")
        batch = self._next_batch()
        self.batches = itertools.chain([batch], self.batches)
        micro, devices = self.state.micro_batch_size, self.steps.num_devices
        part = {name: values[:devices] for name, values in batch.items()}
        if not self.progress.is_quiet:
            self._measure_machine(part)
        num_micro = self.config.batch_size // micro
        step_seconds = self.steps.compile(part) * math.ceil(num_micro / devices)
        left = self.config.steps - self.state.step
        self.progress.say(
            f"A step of {self.config.batch_size} sequences ({num_micro} x {micro}) "
            f"takes about {step_seconds:.2g} s; the {left} steps left will take about "
            f"{duration_text(left * step_seconds)}."
        )

    def _measure_machine(self, batch: Batch) -> None:
        """Find out what the machine can do and how much of it a sequence takes."""
        rate = rate_for_training(self.config.precision, self.progress.say)
        self._pace.matrix_rate = rate * self.steps.num_devices
        self._pace.sequence_flops = training_flops(
            self.steps.model.config,
            length=batch["input_ids"].shape[-1],
            predictions=batch["masked_lm_ids"].shape[-1],
        )

    def _step(self) -> bool:
        """Do one step; False, with nothing changed, when asked to stop."""
        start = time.perf_counter()
        batch = self._next_batch()
        waited = time.perf_counter() - start
        sums = self._accumulate(batch)
        if sums is None:
            self.steps.discard()
            return False
        state = self.state
        self._check_is_number(sums[0] + sums[3], "loss")
        rate = self._learning_rate(state.step)
        norm = self.steps.apply(rate)
        self._check_is_number(norm, "gradient")
        state.step += 1
        state.examples += self.config.batch_size
        seconds = time.perf_counter() - start
        self._pace.steps += 1
        self._pace.seconds += seconds
        self._pace.waiting_seconds += waited
        self._pace.pieces += float(np.sum(batch["input_mask"]))
        self._record(sums, seconds, learning_rate=rate, gradient_norm=norm)
        return True

    def _check_is_number(self, value: float, what: str) -> None:
        """Of the step that is being done."""
        check_is_number(
            value,
            what,
            step=self.state.step + 1,
            run=self.run,
            is_saved=self._saved_step > 0,
        )

    def _next_batch(self) -> Batch:
        """The examples of the next step.

        Raises:
            AlbertError: They cannot be read; the steps before are saved first.
        """
        try:
            return next(self.batches)
        except AlbertError:
            if self.state.step > self._saved_step:
                self._save()
            raise

    def _accumulate(self, batch: Batch) -> Array | None:
        """The gradients of a step, added up; its sums, None when asked to stop."""
        sums, devices = np.zeros(()), self.steps.num_devices
        counts = step_counts(batch)
        for micro in range(0, len(batch["input_ids"]), devices):
            if self.stop.reason:
                return None
            sums = sums + self.steps.accumulate(
                {name: v[micro : micro + devices] for name, v in batch.items()},
                counts=counts,
                step=self.state.step,
                micro=micro,
            )
            left = self.config.batch_size - micro * self.state.micro_batch_size
            self.progress.advance(min(devices * self.state.micro_batch_size, left))
        return sums

    def _learning_rate(self, step: int) -> float:
        return learning_rate(
            step,
            peak=peak_learning_rate(self.config),
            warmup_steps=self.config.warmup_steps or 0,
            steps=self.config.steps,
        )

    def _record(self, sums: Array, seconds: float, **of_step: float) -> None:
        """Show a step, and now and then log the means since the last line."""
        state, config = self.state, self.config
        of_all = self._pace.text(
            batch_size=config.batch_size, steps_left=config.steps - state.step
        )
        sums, consistency = np.split(sums, [len(Sums._fields)])
        shown = {**means(Sums(*sums.tolist())), **of_step}
        for mean in consistency:  # none unless its loss is trained
            shown["layer_consistency"] = mean
        text = metrics_text(shown)
        self.progress.show(
            f"step {state.step}/{config.steps}: {text}, {of_all}",
            is_last=self._is_finished,
        )
        state.seconds += seconds
        state.window = tuple((np.array(state.window) + sums).tolist())
        state.window_seconds += seconds
        state.window_steps += 1
        if state.step % self._log_every == 0 or self._is_finished:
            self._log_window(of_step)

    def _log_window(self, of_step: dict[str, float]) -> None:
        """Log the means since the last line, and begin the next."""
        state = self.state
        examples = state.window_steps * self.config.batch_size
        self.log.write(
            {
                "step": state.step,
                "split": "train",
                **means(Sums(*state.window)),
                **of_step,
                "sequences_per_second": examples / state.window_seconds,
                "seconds": state.seconds,
            }
        )
        state.window = (0.0,) * len(Sums._fields)
        state.window_seconds, state.window_steps = 0.0, 0

    def _evaluate_when_due(self) -> None:
        """Evaluate, log it, and keep a checkpoint of the best so far."""
        if self.held_out is None or not self._evaluation_is_due:
            return
        step = self.state.step
        start = time.perf_counter()
        sums = self.held_out.sums(stop=self.stop)
        if sums is None:
            return
        seconds = time.perf_counter() - start
        values = means(sums)
        loss = values["mlm_loss"]
        line = {
            "step": step,
            "split": "eval",
            **values,
            "learning_rate": None,
            "gradient_norm": None,
            "sequences_per_second": self.held_out.examples / seconds,
            "seconds": self.state.seconds,
        }
        before = [e["mlm_loss"] for e in self.log.evaluations() if e["step"]]
        self.log.write(line)
        self.progress.say(f"Held out, step {step}: {metrics_text(line)}.")
        if warning := collapse_warning(self.log.evaluations()):
            self.progress.say(warning)
        if step and loss is not None and loss <= min(before, default=math.inf):
            self._save(is_best=True)

    def _save_when_due(self) -> None:
        """Save every so many steps or minutes."""
        every = self.config.checkpoint_every
        if every is None:
            is_due = time.monotonic() - self._saved_at >= CHECKPOINT_SECONDS
        else:
            is_due = self.state.step % every == 0
        if is_due and self.state.step > self._saved_step:
            self._save()

    def _save(self, *, is_best: bool = False) -> None:
        """Save a checkpoint of the last whole step."""
        checkpoint = Checkpoint(
            arrays_of(self.steps.model.weights_by_path),
            arrays_of(self.steps.slots),
            dataclasses.asdict(self.state),
        )
        save_checkpoint(self.run, checkpoint, is_best=is_best)
        self._saved_step, self._saved_at = self.state.step, time.monotonic()
