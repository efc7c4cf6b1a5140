"""When a run is evaluated, what that takes and asks, and which model is the best."""

import math
import types
from unittest.mock import Mock, call

import numpy as np
import pytest

from albert_tf.data.input_pipeline import Records
from albert_tf.evaluation.evaluate import Scope, evaluate
from albert_tf.evaluation.held_out import Measured
from albert_tf.model.compiling import never
from albert_tf.model.trained_model import read_trained
from albert_tf.runs.metrics import QUIET, BitsPerCharacter, Sums, metrics_text
from albert_tf.training import evaluations as module
from albert_tf.training.evaluations import HeldOutEvaluations, HeldOutWords, MetricsLog
from albert_tf.training.run import RunState
from schemas.config import TrainConfig
from schemas.manifest import read_manifest
from tests.albert_tf.evaluation.words_vocabulary import WORDS
from tests.exported_runs import load_pretrainer
from tests.training_data import TINY, save_run, write_dataset


def line(step, loss, *, rate=100.0):
    return {
        "step": step,
        "split": "eval",
        "mlm_loss": loss,
        "mlm_accuracy": 0.1,
        "sentence_accuracy": None,
        "sequences_per_second": rate,
    }


@pytest.fixture
def log(tmp_path):
    return MetricsLog(tmp_path, step=0)


MANY = types.SimpleNamespace(examples=5000)


def evaluations(log, *, held_out=MANY, words=None, starts_trained=False, **settings):
    """The evaluations of a run, on these instead of those of its data."""
    examples = held_out.examples if held_out else None
    config = TrainConfig(steps=25, batch_size=30, eval_examples=examples, **settings)
    manifest = types.SimpleNamespace(num_examples=lambda split: 0)
    given = {"data": "data", "config": config.resolved(), "manifest": manifest}
    run = types.SimpleNamespace(**given, starts_trained=starts_trained)
    due = HeldOutEvaluations(run, None, RunState(1), log=log, progress=QUIET)
    due.held_out, due.words = held_out, words
    return due


def test_evaluations_are_due_before_the_first_step_regularly_and_after_the_last(log):
    due = evaluations(log, eval_every=10)
    assert [step for step in range(26) if due.is_due(step)] == [0, 10, 20, 25]
    log.write(line(10, 6.0))
    assert [step for step in range(26) if due.is_due(step)] == [0, 20, 25]
    # Without held-out examples none is, and none takes time.
    none = evaluations(log, held_out=None)
    assert not none.is_due(0)
    assert none.seconds_left(0, step_seconds=3.0) == 0.0


def words(number, *, last):
    return types.SimpleNamespace(number=lambda *, is_last: last if is_last else number)


EACH, LAST = words(500, last=500), words(0, last=500)


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        # A third of the time of a step for as many sequences; the first is on few.
        ({}, {0: 20.0, 10: 500.0}),
        # Words make it a quarter longer but for the first, of few examples for the last alone.
        ({"words": EACH}, {10: 625.0}),
        ({"words": LAST}, {10: 500.0, 25: 625.0}),
        # A model that was trained before is measured in full at once.
        ({"words": EACH, "starts_trained": True}, {0: 625.0}),
    ],
)
def test_the_time_of_an_evaluation_follows_from_that_of_a_step(log, settings, seconds):
    due = evaluations(log, **settings)
    found = {step: due.seconds(step, step_seconds=9.0) for step in seconds}
    assert found == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ({}, {0: 1500.0, 9: 1500.0, 10: 1000.0, 20: 500.0, 24: 500.0, 25: 0.0}),
        ({"words": LAST}, {0: 1625.0}),
    ],
)
def test_the_time_left_counts_the_evaluations_to_come(log, settings, left):
    due = evaluations(log, eval_every=10, **settings)
    found = {step: due.seconds_left(step, step_seconds=9.0) for step in left}
    assert found == pytest.approx(left)


def test_or_that_of_the_fastest_evaluation_of_a_trained_model_before(log):
    for step, rate in ((0, 90.0), (5, 50.0), (10, 40.0)):
        log.write(line(step, 6.0, rate=rate))
    assert evaluations(log).seconds(15, step_seconds=9.0) == pytest.approx(100.0)


def test_the_best_is_no_worse_than_any_trained_model_before_and_a_number(log):
    due = evaluations(log)
    assert not due.is_best(line(0, 1.0))
    log.write(line(0, 1.0))
    assert not due.is_best(line(10, math.nan))
    log.write(line(10, math.nan))
    assert due.is_best(line(20, 6.0))
    log.write(line(20, 6.0))
    assert [due.is_best(line(30, loss)) for loss in (6.0, 6.1, None)] == [True, False, False]


class Stub:
    """A `HeldOut` of two examples, and `HeldOutWords` of a known value."""

    examples = 10

    def __init__(self, bits=2.5):
        self.asked, self._bits = 0, bits

    def measure(self, *, on_batch, **arguments):
        on_batch(self.examples)
        by_example = np.array([[5.0, 7.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
        return Measured(Sums(12.0, 0.0, 2.0, 0.0, 0.0, 0.0), by_example)

    def bits_per_character(self, stop, *, is_last):
        self.asked += 1
        return self._bits and BitsPerCharacter(self._bits, 2.25, 2.75)


def measured(log, stub, *, step, stop_reason=None, progress=QUIET, has_bar=True):
    due = evaluations(log, held_out=stub, words=stub)
    due.progress = progress
    stop = types.SimpleNamespace(reason=stop_reason, agree=lambda: stop_reason)
    return due.measure(step, stop, has_bar=has_bar)


@pytest.mark.parametrize(
    ("has_bar", "shown"),
    [
        (False, [call.start("evaluating", total=10), call.advance(10)]),
        (True, [call.show("evaluating, 10 of 10 examples")]),
    ],
)
def test_an_evaluation_has_a_bar_of_its_own_or_a_word_beside_that_of_training(log, has_bar, shown):
    progress = Mock()
    assert measured(log, Stub(), step=0, progress=progress, has_bar=has_bar)
    assert progress.mock_calls == shown


def test_words_are_asked_about_once_something_was_learned_and_few_examples_have_intervals(log):
    stub = Stub()
    line = measured(log, stub, step=0)
    assert (line["bits_per_character"], stub.asked) == (None, 0)
    assert metrics_text(line) == (
        "masked LM 6.000 (4.040 to 7.960), 0% (0 to 65.8%) right, 10 examples"
    )
    line = measured(log, stub, step=5)
    assert line["bits_per_character"] == 2.5
    assert line["bits_per_character_error"] == 0.25
    # One that is stopped at its words is none.
    assert measured(log, Stub(None), step=5, stop_reason="interrupted") is None
    assert measured(log, Stub(None), step=5)["bits_per_character"] is None


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    write_dataset(root, eval_examples=100)
    return root


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    root = tmp_path_factory.mktemp("run")
    save_run(root, TINY)
    return root


def words_of(run, data, *, examples):
    records = Records(data, read_manifest(data))
    return HeldOutWords(load_pretrainer(run), records, examples=examples, vocabulary=WORDS)


def test_words_asked_in_training_are_those_of_albert_evaluate_but_fewer(run, data, monkeypatch):
    monkeypatch.setattr(module, "LEAST_WORDS", 8)
    scope = Scope(examples=80, words=80 // module.EXAMPLES_PER_WORD, vocabulary=WORDS)
    expected = evaluate(read_trained(run), data=data, scope=scope)["bits_per_character"]["model"]
    words = words_of(run, data, examples=80)
    found = [words.bits_per_character(never, is_last=False) for _ in range(2)]
    for one in found:
        assert one._asdict() == pytest.approx(expected, rel=1e-5)


def test_of_few_examples_the_last_evaluation_alone_asks_about_enough_words(run, data, monkeypatch):
    words = words_of(run, data, examples=80)
    assert words.bits_per_character(never, is_last=False) is None
    assert [words.number(is_last=last) for last in (False, True)] == [0, module.LEAST_WORDS]
    # These examples do not have that many.
    assert words.bits_per_character(never, is_last=True) is None
    monkeypatch.setattr(module, "LEAST_WORDS", 8)
    # A stop is heard between batches.
    stopped = words_of(run, data, examples=80)
    assert stopped.bits_per_character(lambda: True, is_last=True) is None
