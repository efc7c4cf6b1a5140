"""What pretraining measures between steps, and what that costs."""

import dataclasses
import time
from typing import ClassVar

from albert_tf.evaluation.held_out import HeldOut
from albert_tf.evaluation.words import EXAMPLES_OF_WORD, HeldOutWords
from albert_tf.runs.metrics import (
    Metrics,
    best_evaluation,
    collapse_warning,
    metrics_text,
)
from albert_tf.runs.progress import Progress
from albert_tf.training.interruption import StopRequest
from albert_tf.training.saving import RememberedMetrics, RunState
from schemas.config import FORWARD_SHARE, ResolvedTrainConfig
from schemas.layout import EVAL


@dataclasses.dataclass(kw_only=True)
class HeldOutEvaluations:
    """The `Evaluations` of pretraining, on held-out examples and words.

    Before the first step, after the last and regularly in between, once each.

    Attributes:
        held_out: What to evaluate on, if there is anything.
        words: Of the held-out text, if these are asked about too.
        log: Its lines tell what was evaluated before.
        starts_trained: Whether the model was trained before the first step.
    """

    held_out: HeldOut | None
    words: HeldOutWords | None = None
    log: RememberedMetrics
    state: RunState
    config: ResolvedTrainConfig
    progress: Progress
    starts_trained: bool = False
    are_all_saved: ClassVar[bool] = False

    def is_due(self, step: int) -> bool:
        """Whether there is an evaluation after a step that was not done yet."""
        is_done = any(line["step"] == step for line in self.log.evaluations())
        is_time = step % self.config.eval_every == 0 or step == self.config.steps
        return self.held_out is not None and is_time and not is_done

    def measure(self, step: int, stop: StopRequest, *, has_bar: bool) -> Metrics | None:
        """Evaluate; the line of metrics, None if stopped."""
        assert self.held_out is not None, "else none is due"
        examples, done = self._examples(step), 0

        def show(number: int) -> None:
            nonlocal done
            done += number
            if has_bar:
                self.progress.show(f"evaluating, {done:,} of {examples:,} examples")
            else:
                self.progress.advance(number)

        if not has_bar:
            self.progress.start("evaluating", total=examples)
        start = time.perf_counter()
        measured = self.held_out.measure(
            examples=examples, on_batch=show, should_stop=stop.agree
        )
        if measured is None:
            return None
        # Without training all words are as likely as all others.
        asked = self.words if self._is_trained(step) else None
        is_last = step == self.config.steps
        bits = asked.bits_per_character(stop.agree, is_last=is_last) if asked else None
        if asked and bits is None and stop.reason:
            return None
        return {
            "step": step,
            "split": EVAL,
            **measured.figures(),
            "examples": examples,
            "bits_per_character": bits and bits.value,
            "bits_per_character_error": bits and (bits.high - bits.low) / 2,
            "learning_rate": None,
            "gradient_norm": None,
            "sequences_per_second": examples / (time.perf_counter() - start),
            "seconds": self.state.seconds,
        }

    def is_best(self, line: Metrics) -> bool:
        """Whether no evaluation of a trained model before had a lower loss."""
        return best_evaluation([*self.log.evaluations(), line]) is line

    def record(self, line: Metrics) -> None:
        """Log an evaluation and show it."""
        self.log.write(line)
        self.progress.say(f"Held out, step {line['step']}: {metrics_text(line)}.")
        if warning := collapse_warning(self.log.evaluations()):
            self.progress.say(warning)

    def seconds(self, step: int, *, step_seconds: float) -> float:
        """About what an evaluation after a step takes.

        Judging by the fastest before that asked about words too, or by a step if that
        is faster: the first evaluation of a process is compiled.
        """
        before = [line for line in self.log.evaluations() if line["step"]]
        rates = [line.get("sequences_per_second") for line in before]
        measured = [1 / rate for rate in rates if rate]
        guess = FORWARD_SHARE * step_seconds / self.config.batch_size
        regular = more = 0
        if self.words and self._is_trained(step):
            regular = self.words.number(is_last=False)
            more = self.words.number(is_last=step == self.config.steps) - regular
        examples = self._examples(step)
        if examples:
            guess *= 1 + EXAMPLES_OF_WORD * regular / examples
        fastest: float = min([*measured, guess])
        return (examples + EXAMPLES_OF_WORD * more) * fastest

    def seconds_left(self, step: int, *, step_seconds: float) -> float:
        """What all evaluations after a step take together."""
        last, every = self.config.steps, self.config.eval_every
        if self.held_out is None or step >= last:
            return 0.0
        # One at the last step, and those before it.
        number = (last - 1) // every - step // every
        each = self.seconds(max(1, last - 1), step_seconds=step_seconds)
        return number * each + self.seconds(last, step_seconds=step_seconds)

    def _examples(self, step: int) -> int:
        if self.held_out is None:
            return 0
        return self.config.evaluated_examples(
            held_out=self.held_out.examples, is_trained=self._is_trained(step)
        )

    def _is_trained(self, step: int) -> bool:
        return step > 0 or self.starts_trained
