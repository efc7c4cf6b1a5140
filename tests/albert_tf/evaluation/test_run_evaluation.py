"""Measuring a run on any data set."""

import dataclasses
import json
import math
import shutil

import pytest

from albert_tf.training.evaluation import evaluate
from albert_tf.training.train import pretrain
from schemas.config import TrainConfig
from schemas.errors import AlbertError
from schemas.layout import SPM_MODEL
from tests.manifests import edit_manifest
from tests.training_data import TINY, write_dataset

CONFIG = TrainConfig(
    batch_size=4, micro_batch_size=4, steps=2, eval_every=2, learning_rate=0.01
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    write_dataset(root, eval_examples=250)
    return root


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    root = tmp_path_factory.mktemp("run")
    pretrain(TINY, CONFIG, data=data, output=root)
    return root


def test_a_run_measures_as_its_last_evaluation_said(run, data):
    lines = [json.loads(x) for x in (run / "metrics.jsonl").read_text().splitlines()]
    result = evaluate(run, data=data)
    last = lines[-1]
    for name in ("mlm_loss", "mlm_accuracy", "sentence_loss", "sentence_accuracy"):
        assert result[name] == pytest.approx(last[name], rel=1e-6)
    assert result["mlm_perplexity"] == pytest.approx(math.exp(last["mlm_loss"]))
    assert (result["step"], result["examples"], result["sentence_count"]) == (
        2,
        250,
        250,
    )
    assert 250 <= result["mlm_count"] <= 4 * 250


def test_a_run_is_measured_in_the_precision_of_its_own_evaluations(data, tmp_path):
    config = dataclasses.replace(CONFIG, precision="bfloat16")
    pretrain(TINY, config, data=data, output=tmp_path)
    (tmp_path / "config.json").write_text('{"precision": "bfloat16"}')
    last = json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[-1])
    losses = {
        precision: evaluate(tmp_path, data=data, precision=precision)["mlm_loss"]
        for precision in (None, "bfloat16", "float32")
    }
    assert losses[None] == losses["bfloat16"] == last["mlm_loss"]
    assert losses["float32"] != losses["bfloat16"]


def test_fewer_examples_are_the_first_ones(run, data):
    result = evaluate(run, data=data, eval_examples=10)
    assert (result["examples"], result["sentence_count"]) == (10, 10)


def test_data_of_another_sentence_task_can_be_measured_on(run, tmp_path):
    write_dataset(tmp_path, sentence_task="nsp", layout="padded")
    assert evaluate(run, data=tmp_path)["sentence_count"] == 7


def test_data_without_eval_split_is_refused(run, tmp_path):
    write_dataset(tmp_path, eval_examples=0)
    with pytest.raises(AlbertError) as caught:
        evaluate(run, data=tmp_path)
    assert str(caught.value) == (
        f"{tmp_path} has no held-out examples; make data from more text or with a "
        "larger --eval-fraction."
    )


def test_data_of_another_vocabulary_is_refused(run, tmp_path):
    write_dataset(tmp_path)
    edit_manifest(
        tmp_path / "manifest.json",
        lambda values: values["vocabulary"].update(sha256="0" * 64),
    )
    with pytest.raises(AlbertError) as caught:
        evaluate(run, data=tmp_path)
    assert str(caught.value).startswith(
        f"{tmp_path} was made with another vocabulary (sha256 000000000000) than {run}"
    )
    assert str(run / SPM_MODEL) in str(caught.value)


def test_a_corrupt_record_is_named(run, tmp_path):
    write_dataset(tmp_path)
    path = tmp_path / "eval/copy-00/part-00000-of-00002.tfrecord"
    content = bytearray(path.read_bytes())
    content[30] ^= 1
    path.write_bytes(content)
    with pytest.raises(AlbertError) as caught:
        evaluate(run, data=tmp_path)
    assert str(caught.value) == (
        f"{path}: record 0, at byte 0, does not match its checksum; make the data "
        "again."
    )


def test_a_directory_that_is_no_run_is_refused(data, tmp_path):
    with pytest.raises(AlbertError, match=r"has no model\.json, so it is not a run"):
        evaluate(tmp_path, data=data)


def test_a_run_without_checkpoint_is_refused(run, data, tmp_path):
    for name in ("model.json", "spiece.model", "data_manifest.json"):
        shutil.copy(run / name, tmp_path)
    with pytest.raises(AlbertError, match="holds no checkpoint yet"):
        evaluate(tmp_path, data=data)


def test_padded_and_compact_data_measure_the_same(run, tmp_path):
    results = []
    for layout in ("compact", "padded"):
        write_dataset(tmp_path / layout, layout=layout)
        results.append(evaluate(run, data=tmp_path / layout))
    assert results[0] == results[1]


def test_a_model_without_sentence_task_has_no_sentence_metrics(data, tmp_path):
    model = dataclasses.replace(TINY, sentence_task="none")
    config = dataclasses.replace(CONFIG, steps=1)
    pretrain(model, config, data=data, output=tmp_path)
    result = evaluate(tmp_path, data=data)
    assert (result["sentence_loss"], result["sentence_count"]) == (None, 0)
