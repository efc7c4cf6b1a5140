"""Bits per character of a few held-out words while a model trains."""

import pytest

from albert_tf.convert.reading import load_pretrainer
from albert_tf.data.input_pipeline import Records
from albert_tf.evaluation.run_evaluation import Scope, evaluate
from albert_tf.evaluation.training_words import EXAMPLES_PER_WORD, TrainingWords
from albert_tf.training.interruption import StopRequest
from schemas.manifest import read_manifest
from tests.albert_tf.evaluation.words_vocabulary import WORDS
from tests.training_data import TINY, save_run, write_dataset

GOES_ON = StopRequest()


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
    return TrainingWords(model, records, examples=examples, vocabulary=WORDS)


def test_they_are_those_of_albert_evaluate_but_fewer(run, data):
    scope = Scope(examples=80, words=80 // EXAMPLES_PER_WORD, vocabulary=WORDS)
    expected = evaluate(run, data=data, scope=scope)["bits_per_character"]["model"]
    words = words_of(run, data, examples=80)
    found = [words.bits_per_character(GOES_ON) for _ in range(2)]
    assert found == pytest.approx([expected["value"]] * 2, rel=1e-5)


def test_few_examples_have_no_words(run, data):
    words = words_of(run, data, examples=EXAMPLES_PER_WORD - 1)
    assert words.bits_per_character(GOES_ON) is None


def test_a_stop_is_heard_between_batches(run, data):
    stop = StopRequest(0.0)
    stop.has_progress = True
    assert words_of(run, data, examples=80).bits_per_character(stop) is None


def test_corrupt_records_are_left_out_where_training_leaves_them_out(run, tmp_path):
    write_dataset(tmp_path, eval_examples=100)
    path = tmp_path / "eval/copy-00/part-00000-of-00002.tfrecord"
    content = bytearray(path.read_bytes())
    content[30] ^= 1
    path.write_bytes(content)
    words = words_of(run, tmp_path, examples=80, on_corrupt=lambda record: None)
    assert words.bits_per_character(GOES_ON) > 0
