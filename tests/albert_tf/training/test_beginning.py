"""What first weights are counted from, and the loss of frequencies as well."""

import dataclasses
import shutil

import numpy as np
import pytest

from albert_tf.data import input_pipeline
from albert_tf.runs.checkpoints import arrays_of
from albert_tf.training.beginning import Job, first_weights, new_model, records_of
from albert_tf.training.budget_choice import unigram_loss
from schemas.errors import AlbertError
from schemas.manifest import read_manifest
from tests.albert_tf.training.test_train import CONFIG, spoil
from tests.training_data import TINY, write_dataset

EMBEDDINGS = "albert/encoder/embeddings/word_embeddings"
BIAS = "albert/masked_lm_head/output_bias"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    write_dataset(root)
    return root


def test_first_weights_counted_together_are_those_counted_alone_of_one_reading(
    data, tmp_path, monkeypatch
):
    readings = []

    def noted(records, **places):
        readings.append(places["batch_size"])
        return training_batches(records, **places)

    def weights(**asked):
        config = dataclasses.replace(CONFIG, **asked).resolved()
        manifest = read_manifest(data)
        job = Job(TINY, config, manifest, data, tmp_path, None, False, "latest")
        model = new_model(job)
        first_weights(model, job, lambda line: None)
        return arrays_of(model.weights_by_path)

    training_batches = input_pipeline.training_batches
    monkeypatch.setattr(input_pipeline, "training_batches", noted)
    plain = weights()
    assert readings == []
    vectors, frequencies = weights(pmi_embeddings=True), weights(unigram_bias=True)
    both = weights(pmi_embeddings=True, unigram_bias=True)
    assert readings == [60, 60, 60]
    changed = {path for path in plain if not np.array_equal(plain[path], both[path])}
    assert changed == {EMBEDDINGS, BIAS}
    expected = plain | {
        EMBEDDINGS: vectors[EMBEDDINGS],
        BIAS: frequencies[BIAS],
    }
    for path, values in expected.items():
        np.testing.assert_array_equal(both[path], values, err_msg=path)


def test_the_loss_of_frequencies_leaves_out_what_the_training_leaves_out(
    data, tmp_path
):
    shutil.copytree(data, tmp_path / "data")
    path = spoil(tmp_path / "data")
    manifest, said = read_manifest(data), []

    def loss(config):
        records = records_of(tmp_path / "data", manifest, config, say=said.append)
        return unigram_loss(records, config)

    place = f"{path}: record 0, at byte 0, does not match its checksum"
    with pytest.raises(AlbertError) as caught:
        loss(CONFIG)
    assert str(caught.value) == (
        f"{place}; make the data again, or leave such records out with --skip-corrupt."
    )
    whole = unigram_loss(records_of(data, manifest, CONFIG, say=said.append), CONFIG)
    assert said == []
    left = loss(dataclasses.replace(CONFIG, skip_corrupt=True))
    assert said == [f"{place}; left out (1 so far)."]
    assert 0 < abs(left - whole) < 0.1
