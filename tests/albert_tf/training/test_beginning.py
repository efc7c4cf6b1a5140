"""What a run begins with: weights that are counted, a place in the data."""

import dataclasses

import numpy as np
import pytest

from albert_tf.data import input_pipeline
from albert_tf.runs.checkpoints import arrays_of
from albert_tf.training.beginning import first_weights, new_model
from tests.albert_tf.training.test_train import CONFIG
from tests.training_data import job_of, write_dataset

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

    def noted(records, shape, **settings):
        readings.append(shape.batch_size)
        return training_batches(records, shape, **settings)

    def weights(**asked):
        job = job_of(data, tmp_path, dataclasses.replace(CONFIG, **asked))
        model = new_model(job)
        first_weights(model, job, records=job.records(), say=print)
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
