"""When a run is evaluated, what that costs, and whether it is the best so far."""

import time

from albert_tf.evaluation.held_out import HeldOut
from albert_tf.evaluation.word_scores import HeldOutWords
from albert_tf.planning.budget import WITH_WORDS
from albert_tf.runs.metrics import Metrics, best_evaluation, means, metrics_text
from albert_tf.runs.progress import Progress
from albert_tf.training.health import collapse_warning
from albert_tf.training.interruption import StopRequest
from albert_tf.training.metrics_log import RememberedMetrics
from albert_tf.training.run_state import RunState
from schemas.config import FORWARD_SHARE, ResolvedTrainConfig
from schemas.layout import EVAL


class Evaluations:
    """Before the first step, after the last and regularly in between, once each.

    Args:
        held_out: What to evaluate on, if there is anything.
        log: Its lines tell what was evaluated before.
        config: The resolved settings.
        progress: Shows how far an evaluation is, and its result.
        words: Of the held-out text, if these are asked about too.
        starts_trained: Whether the model was trained before the first step.
    """

    def __init__(
        self,
        held_out: HeldOut | None,
        log: RememberedMetrics,
        config: ResolvedTrainConfig,
        *,
        progress: Progress,
        words: HeldOutWords | None = None,
        starts_trained: bool = False,
    ) -> None:
        self._held_out, self._log, self._config = held_out, log, config
        self._words, self._starts_trained = words, starts_trained
        self._every = config.eval_every
        self._progress = progress

    def is_due(self, step: int) -> bool:
        """Whether there is an evaluation after a step that was not done yet."""
        is_done = any(line["step"] == step for line in self._log.evaluations())
        is_time = step % self._every == 0 or step == self._config.steps
        return self._held_out is not None and is_time and not is_done

    def measure(
        self, state: RunState, stop: StopRequest, *, has_bar: bool
    ) -> Metrics | None:
        """Evaluate; the line of metrics, None if stopped.

        Args:
            state: Where the run stands.
            stop: Asked between batches.
            has_bar: Whether training has a bar already; else one is begun.
        """
        assert self._held_out is not None, "else none is due"
        examples, done = self._examples(state.step), 0

        def show(number: int) -> None:
            nonlocal done
            done += number
            if has_bar:
                self._progress.show(f"evaluating, {done:,} of {examples:,} examples")
            else:
                self._progress.advance(number)

        if not has_bar:
            self._progress.start("evaluating", total=examples)
        start = time.perf_counter()
        sums = self._held_out.sums(
            examples=examples, on_batch=show, should_stop=stop.agree
        )
        if sums is None:
            return None
        # Without training all words are as likely as all others.
        asked = self._words if self._is_trained(state.step) else None
        bits = asked.bits_per_character(stop.agree) if asked else None
        if asked and bits is None and stop.reason:
            return None
        return {
            "step": state.step,
            "split": EVAL,
            **means(sums),
            "bits_per_character": bits,
            "learning_rate": None,
            "gradient_norm": None,
            "sequences_per_second": examples / (time.perf_counter() - start),
            "seconds": state.seconds,
        }

    def is_best(self, line: Metrics) -> bool:
        """Whether no evaluation of a trained model before had a lower loss."""
        return best_evaluation([*self._log.evaluations(), line]) is line

    def record(self, line: Metrics) -> None:
        """Log an evaluation and show it."""
        self._log.write(line)
        self._progress.say(f"Held out, step {line['step']}: {metrics_text(line)}.")
        if warning := collapse_warning(self._log.evaluations()):
            self._progress.say(warning)

    def seconds(self, step: int, *, step_seconds: float) -> float:
        """About what an evaluation after a step takes.

        Judging by the fastest before that asked about words too, or by a step if that
        is faster: the first evaluation of a process is compiled.

        Args:
            step: After which it is.
            step_seconds: What a step takes.
        """
        before = [line for line in self._log.evaluations() if line["step"]]
        rates = [line.get("sequences_per_second") for line in before]
        measured = [1 / rate for rate in rates if rate]
        guess = FORWARD_SHARE * step_seconds / self._config.batch_size
        if self._words and self._is_trained(step):
            guess *= WITH_WORDS
        fastest: float = min([*measured, guess])
        return self._examples(step) * fastest

    def seconds_left(self, step: int, *, step_seconds: float) -> float:
        """What all evaluations after a step take together."""
        last = self._config.steps
        regular = last // self._every - step // self._every
        number = regular + bool(last % self._every) if step < last else 0
        return number * self.seconds(last, step_seconds=step_seconds)

    def _examples(self, step: int) -> int:
        if self._held_out is None:
            return 0
        return self._config.evaluated_examples(
            held_out=self._held_out.examples, is_trained=self._is_trained(step)
        )

    def _is_trained(self, step: int) -> bool:
        return step > 0 or self._starts_trained
