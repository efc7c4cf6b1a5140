"""Words that a run is asked about while it trains: fewer of those of `evaluate`."""

import pytest

from albert_tf.convert.reading import load_pretrainer
from albert_tf.data.input_pipeline import Records
from albert_tf.evaluation.evaluate import Scope, evaluate
from albert_tf.evaluation.held_out import never
from albert_tf.model.trained_model import read_trained
from albert_tf.training import evaluate as evaluations
from albert_tf.training.evaluate import EXAMPLES_PER_WORD, LEAST_WORDS, HeldOutWords
from schemas.manifest import read_manifest
from tests.albert_tf.evaluation.words_vocabulary import WORDS
from tests.training_data import TINY, save_run, write_dataset


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


def words_of(run, data, *, examples, **settings):
    records = Records(data, read_manifest(data), **settings)
    model = load_pretrainer(run)
    return HeldOutWords(model, records, examples=examples, vocabulary=WORDS)


def test_they_are_those_of_albert_evaluate_but_fewer(run, data, monkeypatch):
    monkeypatch.setattr(evaluations, "LEAST_WORDS", 8)
    scope = Scope(examples=80, words=80 // EXAMPLES_PER_WORD, vocabulary=WORDS)
    expected = evaluate(read_trained(run), data=data, scope=scope)[
        "bits_per_character"
    ]["model"]
    words = words_of(run, data, examples=80)
    found = [words.bits_per_character(never, is_last=False) for _ in range(2)]
    for one in found:
        assert one._asdict() == pytest.approx(expected, rel=1e-5)


def test_of_few_examples_the_last_evaluation_alone_asks_about_enough_words(run, data):
    words = words_of(run, data, examples=80)
    assert words.bits_per_character(never, is_last=False) is None
    assert [words.number(is_last=last) for last in (False, True)] == [0, LEAST_WORDS]
    # These examples do not have that many.
    assert words.bits_per_character(never, is_last=True) is None


def test_a_stop_is_heard_between_batches(run, data, monkeypatch):
    monkeypatch.setattr(evaluations, "LEAST_WORDS", 8)
    words = words_of(run, data, examples=80)
    assert words.bits_per_character(lambda: True, is_last=True) is None
