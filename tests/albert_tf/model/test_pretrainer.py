"""The model against transformers, and what is summed over its predictions."""

import dataclasses
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.model import pretrainer
from albert_tf.training.run import training_steps
from albert_tf.training.steps import pretraining_counts
from schemas.config import TrainConfig
from tests.batches import random_batch
from tests.huggingface_albert import (
    SMALL,
    huggingface_losses,
    huggingface_model,
    lively_model,
    lively_weights,
    to_huggingface,
)

GOLDEN = Path(__file__).parent / "golden" / "albert_small.json"


def tensors(batch):
    return {name: tf.constant(values) for name, values in batch.items()}


def sums_of(model, batch):
    return pretrainer.task_sums(model, batch, *model(batch))


def mean_losses(sums):
    return (float(sums.mlm_loss / sums.mlm_count), float(sums.sentence_loss / sums.sentence_count))


def test_logits_and_losses_are_those_of_transformers():
    golden = json.loads(GOLDEN.read_text())
    model, batch = lively_model(), tensors(random_batch(SMALL))
    mlm_logits, sentence_logits = model(batch)
    np.testing.assert_allclose(mlm_logits, golden["mlm_logits"], atol=1e-5)
    np.testing.assert_allclose(sentence_logits, golden["sentence_logits"], atol=1e-5)
    assert mean_losses(sums_of(model, batch)) == pytest.approx(
        (golden["mlm_loss"], golden["sentence_loss"]), abs=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_hidden_groups": 1},
        {"num_hidden_groups": 4, "inner_group_num": 2},
        {"num_attention_heads": 4, "type_vocab_size": 3},
    ],
)
def test_gradients_are_those_of_transformers(changes):
    pytest.importorskip("transformers")
    config = dataclasses.replace(SMALL, **changes)
    model, batch = lively_model(config), random_batch(config, rows=5)
    with tf.GradientTape() as tape:
        sums = sums_of(model, tensors(batch))
        loss = pretrainer.step_loss(
            sums, mlm_count=sums.mlm_count, sentence_count=sums.sentence_count
        )
    weights = model.weights_by_path
    ours = tape.gradient(loss, [weight.value for weight in weights.values()])
    named = zip(weights, ours, strict=True)
    ours = {path: tf.convert_to_tensor(gradient).numpy() for path, gradient in named}
    theirs = huggingface_model(config, lively_weights(model))
    *_, mlm_loss, sentence_loss = huggingface_losses(theirs, batch)
    (mlm_loss + sentence_loss).backward()
    parameters = dict(theirs.named_parameters())
    expected_loss = (mlm_loss + sentence_loss).item()
    assert float(loss) == pytest.approx(expected_loss, abs=1e-5)
    for name, gradient in to_huggingface(ours).items():
        expected = parameters[name].grad.numpy()
        difference = np.linalg.norm(gradient - expected)
        # The gradient of a key's bias is zero but for rounding: softmax ignores it.
        assert difference <= 1e-4 * np.linalg.norm(expected) + 1e-7, name


def test_padding_changes_no_logit():
    model, batch = lively_model(), random_batch(SMALL, rows=2)
    batch["input_ids"][0, 8:] = 0
    batch["input_mask"][0, 8:] = 0
    batch["masked_lm_positions"] = batch["masked_lm_positions"] % 6
    short = {
        name: values[:1, :8] if values.shape[1:] == (12,) else values[:1]
        for name, values in batch.items()
    }
    padded_logits, padded_sentence = model(tensors(batch))
    logits, sentence = model(tensors(short))
    np.testing.assert_allclose(padded_logits[:4], logits, atol=1e-5)
    np.testing.assert_allclose(padded_sentence[:1], sentence, atol=1e-5)


def test_masked_pieces_and_pairs_count_and_rows_without_weight_or_label_nowhere():
    model, batch = lively_model(), random_batch(SMALL, rows=3)
    before = sums_of(model, tensors(batch))
    assert float(before.mlm_count) == batch["masked_lm_weights"].sum()
    assert float(before.sentence_count) == 3
    empty = {name: np.zeros_like(values[:1]) for name, values in batch.items()}
    empty["sentence_order_labels"][:] = -1
    filled = {name: np.concatenate([batch[name], empty[name]]) for name in batch}
    np.testing.assert_allclose(sums_of(model, tensors(filled)), before, rtol=1e-5)


def test_model_without_sentence_task_has_neither_pooler_nor_sentence_head():
    config = dataclasses.replace(SMALL, sentence_task="none")
    model = lively_model(config)
    assert not [p for p in model.weights_by_path if "pooler" in p or "sentence" in p]
    sums = sums_of(model, tensors(random_batch(config)))
    assert [float(value) for value in sums[3:]] == [0.0, 0.0, 0.0]


def test_step_loss_adds_both_tasks_each_over_the_count_of_the_step():
    sums = pretrainer.Sums(6.0, 0.0, 2.0, 3.0, 0.0, 1.0)
    assert float(pretrainer.step_loss(sums, mlm_count=4.0, sentence_count=2.0)) == 3.0


def test_bfloat16_computes_close_to_float32_and_keeps_float32_weights():
    batch = tensors(random_batch(SMALL))
    exact = mean_losses(sums_of(lively_model(), batch))
    model = lively_model(precision="bfloat16")
    mlm_logits, _ = model(batch)
    assert mlm_logits.dtype == tf.bfloat16
    assert {weight.dtype for weight in model.trainable_variables} == {"float32"}
    assert mean_losses(sums_of(model, batch)) == pytest.approx(exact, rel=0.02)


ON = dataclasses.replace(SMALL, layer_consistency_weight=0.5)


def counts_of(batch):
    return {
        "mlm_count": tf.reduce_sum(batch["masked_lm_weights"]),
        "sentence_count": tf.constant(float(len(batch["sentence_order_labels"]))),
        "piece_count": tf.constant(float(np.sum(batch["input_mask"]))),
    }


def cosines(layers, mask):
    """Similarities `[L - 1, pieces]` of the pieces of adjacent layers, in float64."""
    rows = [np.asarray(layer, "float64")[mask.reshape(-1) == 1] for layer in layers]
    return np.array(
        [
            (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
            for a, b in itertools.pairwise(rows)
        ]
    )


def mean_loss(layers, mask):
    return -np.log(1 / (1 + np.exp(-cosines(layers, mask)))).mean()


@pytest.mark.parametrize("num_layers", [2, 3, 5])
def test_loss_is_minus_the_mean_log_sigmoid_of_the_cosine(num_layers):
    rng = np.random.default_rng(1)
    layers = rng.normal(size=(num_layers, 3 * 12, 16)).astype("float32")
    mask = random_batch(SMALL)["input_mask"]
    assert mask.sum() < mask.size, "some of it is padding"
    total = float(pretrainer.layer_consistency_sum(list(map(tf.constant, layers)), mask))
    assert total / mask.sum() == pytest.approx(mean_loss(layers, mask), rel=1e-5)


def test_a_row_of_zeros_has_a_finite_gradient():
    rows = tf.zeros((2, 8))
    with tf.GradientTape() as tape:
        tape.watch(rows)
        loss = pretrainer.layer_consistency_sum([rows, tf.ones((2, 8))], np.ones((1, 2), "int32"))
    assert np.isfinite(tape.gradient(loss, rows)).all()


def test_layers_are_those_of_the_encoder_with_the_last_one_last():
    config = dataclasses.replace(ON, inner_group_num=2)
    model, batch = lively_model(config), tensors(random_batch(config))
    mlm_logits, sentence_logits, layers = model(batch, every_layer=True)
    assert [tuple(rows.shape) for rows in layers] == [(36, 16)] * 4
    ids, mask, segments = (batch[name] for name in ("input_ids", "input_mask", "segment_ids"))
    shallow = dataclasses.replace(config, num_hidden_layers=2, num_hidden_groups=1)
    first = lively_model(shallow)
    for path, weight in first.weights_by_path.items():
        weight.assign(model.weights_by_path[path])
    second_layer = first.encoder(ids, mask, segments)
    np.testing.assert_allclose(layers[1], second_layer, atol=1e-6)
    np.testing.assert_array_equal(layers[-1], model.encoder(ids, mask, segments))
    # Of products with fewer rows some processors round other bits.
    for found, plain in zip((mlm_logits, sentence_logits), model(batch), strict=True):
        np.testing.assert_allclose(found, plain, atol=1e-6)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_weighted_mean_is_added_to_the_loss_of_a_step(precision):
    batch = random_batch(ON)
    model = lively_model(ON, precision=precision)
    loss, values = pretrainer.micro_batch_loss(model, tensors(batch), **counts_of(batch))
    *_, layers = model(tensors(batch), every_layer=True)
    layers = [tf.cast(rows, tf.float32) for rows in layers]
    expected = mean_loss(layers, batch["input_mask"])
    assert float(values[6]) == pytest.approx(expected, rel=1e-4)
    sums = sums_of(model, tensors(batch))
    tasks = pretrainer.step_loss(sums, mlm_count=sums.mlm_count, sentence_count=sums.sentence_count)
    assert float(loss) == pytest.approx(float(tasks) + 0.5 * expected, rel=1e-5)
    np.testing.assert_allclose(values[:6], sums, rtol=1e-6)


def graph_operations(config):
    """The operations of a micro-batch's loss, and those of the tasks alone."""
    model, batch = lively_model(config), random_batch(config)
    counts = counts_of(batch)

    @tf.function(autograph=False)
    def through_micro_batch_loss(part):
        return pretrainer.micro_batch_loss(model, part, **counts)

    @tf.function(autograph=False)
    def through_the_tasks_alone(part):
        sums = sums_of(model, part)
        counts_of_tasks = {name: counts[name] for name in list(counts)[:2]}
        return pretrainer.step_loss(sums, **counts_of_tasks), tf.stack(sums)

    operations = []
    for function in (through_micro_batch_loss, through_the_tasks_alone):
        graph = function.get_concrete_function(tensors(batch)).graph
        operations.append(sorted(node.op for node in graph.as_graph_def().node))
    return operations


def test_off_the_graph_is_that_of_the_two_tasks():
    with_it, without_it = graph_operations(SMALL)
    assert with_it == without_it
    with_it, without_it = graph_operations(ON)
    assert len(with_it) > len(without_it)


@pytest.mark.slow
def test_training_with_the_loss_brings_neighbouring_layers_closer():
    """A few steps from the same weights on the same batches, with and without."""
    batches = [random_batch(SMALL, rows=8, seed=seed) for seed in range(4)]
    similarity = {}
    for weight in (0.0, 1.0):
        config = dataclasses.replace(SMALL, layer_consistency_weight=weight)
        steps = training_steps(lively_model(config), TrainConfig())
        for step in range(40):
            batch = {name: v[None] for name, v in batches[step % 4].items()}
            counts = pretraining_counts(batch)
            steps.accumulate(batch, counts=counts, step=step, micro=0)
            steps.apply(0.01, step=0)
        *_, layers = steps.model(tensors(batches[0]), every_layer=True)
        similarity[weight] = cosines(layers, batches[0]["input_mask"]).mean()
    start = lively_model(SMALL)
    *_, layers = start(tensors(batches[0]), every_layer=True)
    before = cosines(layers, batches[0]["input_mask"]).mean()
    assert similarity[1.0] > max(before, similarity[0.0]) + 0.05
