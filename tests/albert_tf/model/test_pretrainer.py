"""The model against transformers, and what is summed over its predictions."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.model.pretrainer import (
    BATCH_FEATURES,
    AlbertPretrainer,
    Sums,
    pretraining_sums,
    step_loss,
)
from tests.batches import random_batch
from tests.huggingface_albert import (
    SMALL,
    huggingface_losses,
    huggingface_model,
    lively_weights,
    to_huggingface,
)

GOLDEN = Path(__file__).parent / "golden" / "albert_small.json"


def lively_model(config=SMALL, **kwargs):
    model = AlbertPretrainer(config, **kwargs)
    weights = lively_weights(model)
    for path, weight in model.weights_by_path.items():
        weight.assign(weights[path])
    return model


def tensors(batch):
    return {name: tf.constant(values) for name, values in batch.items()}


def mean_losses(sums):
    return (
        float(sums.mlm_loss / sums.mlm_count),
        float(sums.sentence_loss / sums.sentence_count),
    )


def test_logits_and_losses_are_those_of_transformers():
    golden = json.loads(GOLDEN.read_text())
    model, batch = lively_model(), tensors(random_batch(SMALL))
    mlm_logits, sentence_logits = model(batch)
    np.testing.assert_allclose(mlm_logits, golden["mlm_logits"], atol=1e-5)
    np.testing.assert_allclose(sentence_logits, golden["sentence_logits"], atol=1e-5)
    assert mean_losses(pretraining_sums(model, batch)) == pytest.approx(
        (golden["mlm_loss"], golden["sentence_loss"]), abs=1e-5
    )


@pytest.mark.slow
def test_golden_numbers_are_what_transformers_computes_now():
    pytest.importorskip("transformers")
    weights = lively_weights(AlbertPretrainer(SMALL))
    model = huggingface_model(SMALL, weights)
    mlm_logits, sentence_logits, mlm_loss, sentence_loss = (
        value.detach().numpy()
        for value in huggingface_losses(model, random_batch(SMALL))
    )
    golden = json.loads(GOLDEN.read_text())
    np.testing.assert_allclose(golden["mlm_logits"], mlm_logits, atol=1e-5)
    np.testing.assert_allclose(golden["sentence_logits"], sentence_logits, atol=1e-5)
    assert golden["mlm_loss"] == pytest.approx(float(mlm_loss), abs=1e-5)
    assert golden["sentence_loss"] == pytest.approx(float(sentence_loss), abs=1e-5)


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
        sums = pretraining_sums(model, tensors(batch))
        loss = step_loss(
            sums, mlm_count=sums.mlm_count, sentence_count=sums.sentence_count
        )
    weights = model.weights_by_path
    ours = tape.gradient(loss, [weight.value for weight in weights.values()])
    ours = {
        path: tf.convert_to_tensor(gradient).numpy()
        for path, gradient in zip(weights, ours, strict=True)
    }
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


def test_rows_without_weight_or_label_count_nowhere():
    model, batch = lively_model(), random_batch(SMALL, rows=3)
    before = pretraining_sums(model, tensors(batch))
    empty = {name: np.zeros_like(values[:1]) for name, values in batch.items()}
    empty["sentence_order_labels"][:] = -1
    filled = {name: np.concatenate([batch[name], empty[name]]) for name in batch}
    np.testing.assert_allclose(
        pretraining_sums(model, tensors(filled)), before, rtol=1e-5
    )


def test_counts_are_of_masked_pieces_and_of_pairs():
    batch = random_batch(SMALL, rows=3)
    sums = pretraining_sums(lively_model(), tensors(batch))
    assert float(sums.mlm_count) == batch["masked_lm_weights"].sum()
    assert float(sums.sentence_count) == 3


def test_untrained_model_is_as_uncertain_as_a_uniform_guess():
    sums = pretraining_sums(AlbertPretrainer(SMALL), tensors(random_batch(SMALL)))
    assert mean_losses(sums) == pytest.approx((np.log(40), np.log(2)), abs=1e-5)


def test_model_without_sentence_task_has_neither_pooler_nor_sentence_head():
    config = dataclasses.replace(SMALL, sentence_task="none")
    model = lively_model(config)
    assert not [p for p in model.weights_by_path if "pooler" in p or "sentence" in p]
    sums = pretraining_sums(model, tensors(random_batch(config)))
    assert [float(value) for value in sums[3:]] == [0.0, 0.0, 0.0]


def test_step_loss_adds_both_tasks_each_over_the_count_of_the_step():
    sums = Sums(6.0, 0.0, 2.0, 3.0, 0.0, 1.0)
    assert float(step_loss(sums, mlm_count=4.0, sentence_count=2.0)) == 3.0


def test_bfloat16_computes_close_to_float32_and_keeps_float32_weights():
    batch = tensors(random_batch(SMALL))
    exact = mean_losses(pretraining_sums(lively_model(), batch))
    model = lively_model(precision="bfloat16")
    mlm_logits, _ = model(batch)
    assert mlm_logits.dtype == tf.bfloat16
    assert {weight.dtype for weight in model.trainable_variables} == {"float32"}
    assert mean_losses(pretraining_sums(model, batch)) == pytest.approx(exact, rel=0.02)


def test_batch_features_are_what_the_model_reads():
    assert set(random_batch(SMALL)) == set(BATCH_FEATURES)
