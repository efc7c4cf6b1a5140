"""What each layer does to its input, against models that end at that layer."""

import dataclasses
import itertools

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.data.input_pipeline import Records, evaluation_batches
from albert_tf.evaluation.held_out import compare_rows, layer_similarities
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.runs.metrics import QUIET
from tests.huggingface_albert import lively_model
from tests.training_data import TINY, write_dataset

DEEP = dataclasses.replace(TINY, num_hidden_layers=3)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    return Records(root, write_dataset(root))


def expected(rows, batch):
    """Distances, cosines and degrees over pieces, from the rows between layers."""
    is_piece = batch["input_mask"].reshape(-1) == 1
    rows = [np.asarray(r, np.float64)[is_piece] for r in rows]
    means = []
    for before, after in itertools.pairwise(rows):
        lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
        cosines = (before * after).sum(1) / lengths
        distances = np.linalg.norm(after - before, axis=1)
        angles = np.degrees(np.arccos(cosines))
        means.append([distances.mean(), cosines.mean(), angles.mean()])
    return means


@pytest.mark.parametrize("examples", [7, 2])
def test_every_layer_is_compared_with_the_one_before(records, monkeypatch, examples):
    """On the first examples; padding and rows that fill up a batch count nowhere."""
    (batch,) = evaluation_batches(records, batch_size=examples, examples=examples)
    inputs = (batch["input_ids"], batch["input_mask"], batch["segment_ids"])
    models = [lively_model(dataclasses.replace(DEEP, num_hidden_layers=n)) for n in (1, 2, 3)]
    rows = [models[0].encoder.embeddings(inputs[0], inputs[2])]
    rows += [model.encoder(*inputs) for model in models]
    monkeypatch.setattr("albert_tf.evaluation.held_out.MAX_TOKENS", 4 * 24)
    found = layer_similarities(models[-1], records, examples=examples, progress=QUIET)
    assert [row.layer for row in found] == [1, 2, 3]
    means = [[row.l2_distance, row.cosine_similarity, row.degrees] for row in found]
    np.testing.assert_allclose(means, expected(rows, batch), rtol=1e-4)


def test_equal_opposite_and_zero_rows_have_an_angle_too():
    before = tf.constant([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]])
    after = tf.constant([[1.0, 2.0], [-1.0, -2.0], [0.0, 3.0]])
    np.testing.assert_allclose(
        compare_rows(before, after), [[0, 1, 0], [20**0.5, -1, 180], [3, 0, 90]], atol=0.05
    )


def test_a_layer_of_several_blocks_is_one_layer(records):
    model = AlbertPretrainer(dataclasses.replace(DEEP, inner_group_num=2))
    assert len(layer_similarities(model, records, examples=7, progress=QUIET)) == 3
