"""What a run begins with: weights that are counted, a place in the data."""

import dataclasses

import numpy as np
import pytest

from albert_tf.data import input_pipeline
from albert_tf.data.corrupt_records import SkippedRecords
from albert_tf.runs.checkpoints import arrays_of
from albert_tf.training.beginning import first_weights, new_model, start
from albert_tf.training.origin import Origin
from albert_tf.training.saver import Saver
from schemas.json_file import write_json
from schemas.manifest import read_manifest
from tests.albert_tf.training.test_train import CONFIG
from tests.training_data import job_of, write_dataset

EMBEDDINGS = "albert/encoder/embeddings/word_embeddings"
BIAS = "albert/masked_lm_head/output_bias"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    write_dataset(root)
    return root


def records_for(job):
    """What it reads, when nothing is said of corrupt records."""
    return job.records(SkippedRecords(print))


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
        first_weights(model, job, records=records_for(job), say=print)
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


@pytest.mark.parametrize(
    ("settings", "other_data", "position"),
    [
        ({"steps": 20}, {}, (48, [1, 0, 40])),
        ({"batch_size": 16}, {}, (48, [1, 0, 40])),
        ({"masked_lm_prob": "0.15..0.10"}, {}, (48, [1, 0, 40])),
        ({"seed": 1}, {}, (48, [0, 0, 0])),
        ({"max_seq_length": "16"}, {}, (48, [0, 0, 0])),
        ({"max_seq_length": "24:0.5,16"}, {}, (48, [0, 0, 0])),
        ({}, {"fingerprint": "another"}, (0, [0, 0, 0])),
    ],
)
def test_a_run_begins_to_read_where_another_did_if_its_groups_are_the_same(
    data, tmp_path, settings, other_data, position
):
    source = tmp_path / "source"
    job = job_of(data, source, CONFIG)
    steps, state = start(job, records_for(job), say=print)
    state.step, state.examples, state.landmark = 6, 48, (1, 0, 40)
    Saver(source, steps, state, every=None).save()
    write_json(source / "config.json", {"command": "pretrain"} | vars(CONFIG))
    job = job_of(
        data,
        tmp_path / "run",
        dataclasses.replace(CONFIG, **settings),
        manifest=dataclasses.replace(read_manifest(data), **other_data),
        origin=Origin(run=source, keeps_optimizer=True),
    )
    _, state = start(job, records_for(job), say=print)
    assert (state.examples, list(state.landmark)) == position
