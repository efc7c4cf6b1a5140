"""What a run measures: its log, and evaluations of pretraining between steps."""

import abc
import json
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from albert_tf.data.input_pipeline import Records
from albert_tf.evaluation.bits_per_character import (
    Row,
    Vocabulary,
    Word,
    WordScorer,
    held_out_rows,
    questions_about,
    sample_words,
    sum_by_word,
)
from albert_tf.evaluation.held_out import HeldOut
from albert_tf.hosts import ONE_HOST, Hosts, shared_value
from albert_tf.model.compiling import Program, Stop
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.runs.metrics import (
    BitsPerCharacter,
    Metrics,
    Progress,
    best_evaluation,
    bits_per_character,
    collapse_warning,
    metrics_text,
    read_metrics,
)
from albert_tf.training.run import ResolvedRun, RunState
from albert_tf.training.signals import StopRequest
from schemas.config import MAX_EVAL_EXAMPLES, ResolvedTrainConfig
from schemas.errors import AlbertError
from schemas.files import write_text
from schemas.layout import EVAL, METRICS, TENSORBOARD

# A word takes as long as this many held-out examples.
EXAMPLES_OF_WORD = 2.5

# Held-out examples for each word of an evaluation while a model trains: words make that
# about a quarter longer.
EXAMPLES_PER_WORD = 10

# Bits per character of fewer words are not shown: they are known to 4 % at best.
LEAST_WORDS = 500


class MetricsLog:
    """The metrics of a run, oldest first; the first host keeps them in its folder.

    `metrics.jsonl` and TensorBoard are cut back to the step that the run resumes from.
    Event files cannot be cut, so they are written again from the lines.
    """

    def __init__(self, run: Path, *, step: int, hosts: Hosts = ONE_HOST) -> None:
        self._path = run / METRICS
        self._writer: Any = None
        lines = None
        if hosts.index == 0:
            lines = [line for line in read_metrics(run) if line["step"] <= step]
        self.lines: list[Metrics] = shared_value(lines, hosts)
        if hosts.index:
            return
        events = run / TENSORBOARD
        text = "".join(json.dumps(line) + "\n" for line in self.lines)
        write_text(self._path, text)
        for old in events.glob("events.out.tfevents.*"):
            old.unlink()
        self._writer = tf.summary.create_file_writer(str(events))
        for line in self.lines:
            self._show(line)

    def write(self, line: Metrics) -> None:
        """Add one line: `step`, `split` and what was measured."""
        self.lines.append(line)
        if self._writer is None:
            return
        try:
            # Written anew by this process: a second name is a copy that somebody keeps.
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            self._show(line)
            self._writer.flush()
        except (OSError, tf.errors.OpError) as error:
            raise AlbertError(
                f"{self._path.parent} cannot be written to: {error}; free some space "
                "and run the same command again to continue from the last checkpoint."
            ) from error

    def evaluations(self) -> list[Metrics]:
        """The lines of the eval split, oldest first."""
        return [line for line in self.lines if line["split"] == EVAL]

    def close(self) -> None:
        """Finish the event file."""
        if self._writer is not None:
            self._writer.close()

    def _show(self, line: Metrics) -> None:
        split, step = line["split"], line["step"]
        with self._writer.as_default():
            for name, value in line.items():
                if name not in ("step", "split") and value is not None:
                    tf.summary.scalar(f"{split}/{name}", value, step=step)


class Evaluations(abc.ABC):
    """What is measured between the steps of a training: regularly and after the last, once each.

    Attributes:
        are_all_saved: Whether every evaluation has a checkpoint, or the best ones only.
        config: Says after which steps.
        log: Its lines tell what was evaluated before.
    """

    are_all_saved: ClassVar[bool]

    def __init__(self, config: ResolvedTrainConfig, *, log: MetricsLog, progress: Progress) -> None:
        self.config, self.log, self.progress = config, log, progress

    @property
    def are_enough(self) -> bool:
        """Whether they end the training before its last step."""
        return False

    def programs(self) -> list[Program]:
        """What compiles all of them, if it takes long."""
        return []

    def is_due(self, step: int) -> bool:
        """Whether there is an evaluation after a step that was not done yet."""
        is_time = step % self.config.eval_every == 0 or step == self.config.steps
        return is_time and all(line["step"] != step for line in self.log.evaluations())

    @abc.abstractmethod
    def measure(self, step: int, stop: StopRequest, *, has_bar: bool) -> Metrics | None:
        """The line of metrics after a step, with a bar if asked; None if stopped."""

    @abc.abstractmethod
    def is_best(self, line: Metrics) -> bool:
        """Whether an evaluation that is not recorded yet is the best so far."""

    @abc.abstractmethod
    def record(self, line: Metrics) -> None:
        """Log an evaluation and show it."""

    def seconds(self, step: int, *, step_seconds: float) -> float:
        """About what the evaluation after a step takes; 0 where that is not known."""
        return 0.0

    def seconds_left(self, step: int, *, step_seconds: float) -> float:
        """What all evaluations after a step take together."""
        return 0.0


class HeldOutWords:
    """Words of the examples that a run is evaluated on, asked about while it trains.

    They are among those that `albert evaluate` asks about. Nothing is read before they
    are asked for the first time.
    """

    def __init__(
        self, model: AlbertPretrainer, records: Records, *, examples: int, vocabulary: Vocabulary
    ) -> None:
        self._scorer, self._records = WordScorer(model), records
        self._examples, self._vocabulary = examples, vocabulary
        self._asked: tuple[list[Row], list[Word]] | None = None

    def number(self, *, is_last: bool) -> int:
        """How many words an evaluation asks about at most; 0 if it asks about none.

        Few examples have few words, which the last evaluation alone is worth.
        """
        affordable = self._examples // EXAMPLES_PER_WORD
        if affordable >= LEAST_WORDS:
            return affordable
        return LEAST_WORDS if is_last else 0

    def program(self) -> Program:
        """What compiles asking on JAX."""
        return self._scorer.program(self._records.manifest.config.max_seq_length)

    def bits_per_character(self, should_stop: Stop, *, is_last: bool) -> BitsPerCharacter | None:
        """Of all words; None if stopped, or if there are too few."""
        if not self.number(is_last=is_last):
            return None
        if self._asked is None:
            rows = held_out_rows(self._records, self._vocabulary, examples=self._examples)
            maximum = self.number(is_last=is_last)
            self._asked = rows, sample_words(rows, self._vocabulary, maximum=maximum)
        rows, words = self._asked
        if len(words) < LEAST_WORDS:
            return None
        spans = [word.span for word in words]
        questions = questions_about(rows, spans)
        losses = np.zeros(len(questions.row))
        for some, of_batch in self._scorer.answers(questions):
            if should_stop():
                return None
            losses[some] = of_batch
        characters = np.array([word.characters for word in words], np.float64)
        return bits_per_character(sum_by_word(losses, spans), characters)


class HeldOutEvaluations(Evaluations):
    """Those of pretraining, on held-out examples and words; none where nothing is held out."""

    are_all_saved = False

    def __init__(
        self,
        run: ResolvedRun,
        model: AlbertPretrainer,
        state: RunState,
        *,
        log: MetricsLog,
        progress: Progress,
    ) -> None:
        super().__init__(run.config, log=log, progress=progress)
        self._state, self._starts_trained = state, run.starts_trained
        self.held_out: HeldOut | None = None
        self.words: HeldOutWords | None = None
        examples = min(run.config.eval_examples, run.manifest.num_examples(EVAL))
        if not examples:
            progress.say(
                f"{run.data} has no held-out examples: training goes on without held-out losses."
            )
            return
        records = run.records()
        self.held_out = HeldOut(
            model, records, examples=examples, keeps=examples <= MAX_EVAL_EXAMPLES
        )
        if run.vocabulary is not None:
            self.words = HeldOutWords(model, records, examples=examples, vocabulary=run.vocabulary)

    def programs(self) -> list[Program]:
        """See `Evaluations.programs`."""
        if self.held_out is None or not (programs := self.held_out.programs()):
            return []
        asks = self.words and self.words.number(is_last=True)
        return [*programs, self.words.program()] if self.words and asks else programs

    def is_due(self, step: int) -> bool:
        """See `Evaluations.is_due`."""
        return self.held_out is not None and super().is_due(step)

    def measure(self, step: int, stop: StopRequest, *, has_bar: bool) -> Metrics | None:
        """See `Evaluations.measure`."""
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
        measured = self.held_out.measure(examples=examples, on_batch=show, should_stop=stop.agree)
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
            "seconds": self._state.seconds,
        }

    def is_best(self, line: Metrics) -> bool:
        """See `Evaluations.is_best`: no trained model before had a lower loss."""
        return best_evaluation([*self.log.evaluations(), line]) is line

    def record(self, line: Metrics) -> None:
        """See `Evaluations.record`."""
        self.log.write(line)
        self.progress.say(f"Held out, step {line['step']}: {metrics_text(line)}.")
        if warning := collapse_warning(self.log.evaluations()):
            self.progress.say(warning)

    def seconds(self, step: int, *, step_seconds: float) -> float:
        """About what an evaluation after a step takes.

        Judging by the fastest before that asked about words too; of one alone also by a step
        if that is faster, for the first evaluation of a process may have compiled.
        """
        before = [line for line in self.log.evaluations() if line["step"]]
        rates = [line.get("sequences_per_second") for line in before]
        measured = [1 / rate for rate in rates if rate]
        guess = self.config.forward_share * step_seconds / self.config.batch_size
        regular = more = 0
        if self.words and self._is_trained(step):
            regular = self.words.number(is_last=False)
            more = self.words.number(is_last=step == self.config.steps) - regular
        examples = self._examples(step)
        if examples:
            guess *= 1 + EXAMPLES_OF_WORD * regular / examples
        fastest: float = min(measured if measured[1:] else [*measured, guess])
        return (examples + EXAMPLES_OF_WORD * more) * fastest

    def seconds_left(self, step: int, *, step_seconds: float) -> float:
        """See `Evaluations.seconds_left`."""
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
        return step > 0 or self._starts_trained
