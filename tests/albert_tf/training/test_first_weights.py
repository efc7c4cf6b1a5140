"""What a run begins with: weights drawn or counted, or those of another run."""

import dataclasses
from unittest.mock import Mock

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.model.initial_weights import begin_with_positional_heads, initialize_weights
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.model.trained_model import TrainedModel
from albert_tf.runs.checkpoints import arrays_of
from albert_tf.training import first_weights
from albert_tf.training.pretraining import take_up
from schemas.example import CLS_ID, FIRST_ORDINARY_ID, PAD_ID, SEP_ID
from tests.refusals import refusal
from tests.runs import SETTINGS
from tests.training_data import TINY, make_manifest, resolved_run, save_run

EMBEDDINGS = "albert/encoder/embeddings/word_embeddings"
BIAS = "albert/masked_lm_head/output_bias"


def begun_with(data, **asked):
    run = resolved_run(data, data, dataclasses.replace(SETTINGS, **asked))
    model = AlbertPretrainer(run.model_config)
    first_weights.give_first_weights(model, run.config, run.records(), say=print)
    return arrays_of(model.weights_by_path)


def test_first_weights_counted_together_are_those_counted_alone_of_one_reading(data, monkeypatch):
    reading = Mock(wraps=first_weights.training_batches)
    monkeypatch.setattr(first_weights, "training_batches", reading)
    plain = begun_with(data)
    assert not reading.called
    vectors = begun_with(data, pmi_embeddings=True)
    frequencies = begun_with(data, unigram_bias=True)
    both = begun_with(data, pmi_embeddings=True, unigram_bias=True)
    assert [given.args[1].batch_size for given in reading.call_args_list] == [60, 60, 60]
    changed = {path for path in plain if not np.array_equal(plain[path], both[path])}
    assert changed == {EMBEDDINGS, BIAS}
    expected = plain | {EMBEDDINGS: vectors[EMBEDDINGS], BIAS: frequencies[BIAS]}
    for path, values in expected.items():
        np.testing.assert_array_equal(both[path], values, err_msg=path)


def test_first_weights_by_width_and_the_tokens_frequencies_are_those_asked_for(data):
    ours = begun_with(data, initializer="width", unigram_bias=True)
    theirs = begun_with(data, initializer="range")
    bias = ours.pop(BIAS)
    assert not theirs.pop(BIAS).any()
    # TINY has width 16.
    scale = np.sqrt(2 / (5 * 16)) / 0.02
    for path, values in theirs.items():
        expected = values * scale if values.ndim > 1 else values
        np.testing.assert_allclose(ours[path], expected, rtol=1e-6, err_msg=path)
    counts = np.zeros(TINY.vocab_size)
    files = map(str, sorted(data.glob("train/*/*.tfrecord")))
    for record in tf.data.TFRecordDataset(list(files)).as_numpy_iterator():
        feature = tf.train.Example.FromString(record).features.feature
        np.add.at(counts, list(feature["masked_lm_ids"].int64_list.value), 1)
    np.testing.assert_allclose(np.exp(bias), (counts + 0.5) / (counts + 0.5).sum(), rtol=1e-5)


def test_a_run_begins_with_the_positional_heads_asked_for(data, tmp_path):
    config = dataclasses.replace(SETTINGS, initializer="positional-heads")
    begun = AlbertPretrainer(TINY)
    take_up(resolved_run(data, tmp_path, config), begun, say=print)
    model = AlbertPretrainer(TINY)
    initialize_weights(model, standard_deviation=np.sqrt(2 / (5 * 16)), seed=config.seed)
    begin_with_positional_heads(model.encoder)
    for path, values in arrays_of(begun.weights_by_path).items():
        expected = model.weights_by_path[path].numpy()
        np.testing.assert_allclose(values, expected, rtol=1e-6, err_msg=path)


MANIFEST = make_manifest([])


def started(run, config, *, manifest=MANIFEST):
    model = AlbertPretrainer(config)
    source = first_weights.read_source(run, manifest=manifest, data=run / "data")
    return arrays_of(model.weights_by_path) | first_weights.starting_weights(config, source)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ({}, {}),
        ({}, {"num_hidden_layers": 6}),
        ({"sharing": "none"}, {"sharing": "none", "num_hidden_layers": 4}),
        (
            {"num_hidden_layers": 2, "num_hidden_groups": 2},
            {"num_hidden_layers": 6, "num_hidden_groups": 3},
        ),
    ],
)
def test_every_weight_is_that_of_the_source(tmp_path, source, target):
    source, target = (dataclasses.replace(TINY, **x) for x in (source, target))
    weights = save_run(tmp_path, source)
    for path, array in started(tmp_path, target).items():
        assert (array == weights[first_weights.source_path(path, target, source)]).all()


def test_layers_of_a_deeper_model_start_as_their_neighbours():
    deep = dataclasses.replace(TINY, sharing="none", num_hidden_layers=6)
    shallow = dataclasses.replace(TINY, sharing="none", num_hidden_layers=3)
    sources = [
        first_weights.source_path(f"albert/encoder/layer_{n}_inner_0_ffn/x", deep, shallow)
        for n in range(6)
    ]
    assert [path.split("_")[1] for path in sources] == list("001122")


def test_a_sentence_task_the_source_lacked_starts_fresh_but_no_vocabulary_does(tmp_path):
    save_run(tmp_path, dataclasses.replace(TINY, sentence_task="none"))
    ours = started(tmp_path, TINY)
    assert not ours["albert/encoder/pooler/kernel"].any()
    assert ours[EMBEDDINGS].any()
    other = dataclasses.replace(MANIFEST, vocabulary={"sha256": "0" * 64, "size": 64})
    assert "made with another vocabulary" in refusal(started, tmp_path, TINY, manifest=other)


def test_heads_that_do_not_come_from_the_source_are_told(tmp_path):
    config = dataclasses.replace(TINY, sentence_task="none")
    source = TrainedModel(
        folder=tmp_path, config=config, weights={}, max_seq_length=32, untrained=("masked_lm_head",)
    )
    bare, *more = first_weights.missing_heads(TINY, source)
    assert bare == (
        "It has no masked-LM head, so it gets a new one: fine-tune the model, or train "
        "it further before it fills masks."
    )
    assert more == [
        f"{tmp_path} has no sentence task: the pooler and the head of sop begin with new weights."
    ]
    assert [*first_weights.missing_heads(config, source)] == [bare]


A, B, C = range(FIRST_ORDINARY_ID, FIRST_ORDINARY_ID + 3)


@pytest.mark.parametrize(
    ("rows", "counts"),
    [
        (
            [[A, B, C]],
            {(A, B): 1.0, (B, A): 1.0, (B, C): 1.0, (C, B): 1.0, (A, C): 0.5, (C, A): 0.5},
        ),
        ([[CLS_ID, A, SEP_ID, B, PAD_ID, PAD_ID]], {(A, B): 0.5, (B, A): 0.5}),
        ([[A, A], [B, B]], {(A, A): 2.0, (B, B): 2.0}),
    ],
    ids=["near and far", "special tokens and padding", "rows that do not touch"],
)
def test_near_tokens_count_more_than_far_ones_on_either_side(rows, counts):
    ids, vocab_size = np.array(rows), FIRST_ORDINARY_ID + 3
    found = first_weights.neighbour_counts([ids], vocab_size=vocab_size)
    frequencies = np.bincount(ids.ravel(), minlength=vocab_size)
    frequencies[:FIRST_ORDINARY_ID] = 0
    order = np.argsort(-frequencies, kind="stable")[: found.shape[1]]
    assert counts == {
        (token, context): round(float(found[token, place]), 2)
        for place, context in enumerate(order)
        for token in range(vocab_size)
        if found[token, place]
    }


def test_no_more_contexts_than_are_frequent():
    vocab_size = first_weights.CONTEXTS + 50
    counts = first_weights.neighbour_counts([np.array([[A, B, C]])], vocab_size=vocab_size)
    assert counts.shape == (vocab_size, first_weights.CONTEXTS)


def test_what_stands_together_less_than_by_chance_is_nothing():
    information = first_weights.positive_information(np.float32([[8, 1], [1, 8], [0, 0]]))
    assert (information > 0).tolist() == [[True, False], [False, True], [False, False]]
    assert (information >= 0).all()


def test_the_vectors_are_those_of_an_exact_decomposition():
    random = np.random.default_rng(3)
    matrix = random.random((90, 60), dtype="f4")
    found = first_weights.leading_vectors(matrix, columns=4)
    left, values, _ = np.linalg.svd(matrix)
    exact = left[:, :4] * np.sqrt(values[:4])
    assert np.abs(found) == pytest.approx(np.abs(exact), abs=2e-3)


def test_tokens_in_the_same_places_are_alike_and_unseen_ones_have_none():
    random = np.random.default_rng(0)
    size = 40
    # Tokens in turns from the first and from the second half of the vocabulary.
    halves = np.arange(FIRST_ORDINARY_ID, size - 1).reshape(2, -1)
    rows = np.stack([random.choice(halves[place // 8], 400) for place in range(16)], axis=1)
    vectors = first_weights.pmi_vectors([rows], vocab_size=size, columns=2)
    assert not vectors[[*range(FIRST_ORDINARY_ID), size - 1]].any()
    seen = vectors[halves.ravel()]
    assert seen.mean(axis=0) == pytest.approx(0, abs=1e-5)
    assert seen.std(axis=0) == pytest.approx(1, abs=1e-5)
    first, second = vectors[halves[0]], vectors[halves[1]]
    spread = max(first.std(axis=0).min(), second.std(axis=0).min())
    gap = np.abs(first.mean(axis=0) - second.mean(axis=0)).max()
    assert gap > 2 * spread
