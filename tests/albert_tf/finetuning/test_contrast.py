"""The loss of vectors: its gradient, and micro-batches that change nothing."""

import dataclasses
import functools
import itertools
from array import array

import numpy as np
import pytest

from albert_tf.finetuning.batches import task_batches
from albert_tf.finetuning.contrast import cosine_losses, ranking_losses, with_gradients
from albert_tf.finetuning.finetune import finetune, step_counts, steps_of
from albert_tf.finetuning.job import TuningState
from albert_tf.model.compiling import Compiled
from albert_tf.model.task_model import task_loss
from albert_tf.runs.checkpoints import load_newest
from albert_tf.runs.metrics import QUIET
from albert_tf.training.run import training_steps
from albert_tf.training.steps import TrainingLoss
from schemas.task import EncodedExample, TokenSequence
from tests.albert_tf.finetuning.test_finetune import QUICK, job_of, trained
from tests.runs import take_light_steps


def batch_of_vectors(rows=6, options=3, width=80, seed=0):
    """Vectors `[B, O, H]` and a batch that has them, the last row without weight."""
    rng = np.random.default_rng(seed)
    batch = {
        "input_ids": rng.integers(5, 1000, (rows, options, 4)),
        "input_mask": np.ones((rows, options, 4), np.int32),
        "segment_ids": np.zeros((rows, options, 4), np.int32),
        "option_mask": np.ones((rows, options), np.int32),
        "targets": rng.uniform(size=rows).astype(np.float32),
        "weights": np.array([1] * (rows - 1) + [0], np.float32),
    }
    batch["option_mask"][1, 2:] = 0
    return rng.normal(size=(rows, options, width)), batch


def test_a_partner_is_told_from_all_texts_of_the_batch_but_the_same_text_again():
    """As sentence-transformers: cross-entropy of 20 times the cosines."""
    vectors, batch = batch_of_vectors(options=2)
    batch["weights"][:] = 1
    units = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    before, _ = ranking_losses(units, batch)
    scores = 20 * units[:, 0] @ units[:, 1].T
    expected = np.log(np.exp(scores).sum(axis=1)) - np.diag(scores)
    np.testing.assert_allclose(before, expected)
    batch["input_ids"][3, 1] = batch["input_ids"][2, 1]
    after, _ = ranking_losses(units, batch)
    assert np.flatnonzero(after < before).tolist() == [2, 3]


@pytest.mark.parametrize("is_scored", [False, True])
def test_gradients_are_those_of_the_mean_loss_over_all_prefixes(is_scored):
    vectors, batch = batch_of_vectors(options=2 if is_scored else 3)

    def result(values):
        given = with_gradients(
            batch | {"vectors": values},
            lambda part: values[: len(part["input_ids"])],
            size=6,
            is_scored=is_scored,
        )
        mean = (given["losses"].astype(float) * batch["weights"]).sum() / batch["weights"].sum()
        return mean, given["gradients"]

    _, gradients = result(vectors)
    rng = np.random.default_rng(1)
    for _ in range(3):
        step = rng.normal(size=vectors.shape)
        ends = [result(vectors + sign * 1e-3 * step)[0] for sign in (1, -1)]
        assert (ends[0] - ends[1]) / 2e-3 == pytest.approx((gradients * step).sum(), rel=2e-2)
    # Neither a row without weight nor a text that is not there has one.
    assert not gradients[-1].any()
    assert is_scored or not gradients[1, 2].any()


def test_scored_pairs_are_regressed_on_their_cosine():
    units = np.array([[[1.0, 0.0], [0.6, 0.8]]])
    batch = {"targets": np.array([0.5]), "weights": np.array([1.0])}
    losses, gradients = cosine_losses(units, batch)
    assert losses == pytest.approx([0.01])
    assert gradients[0].tolist() == pytest.approx(np.array([[0.12, 0.16], [0.2, 0.0]]))


def test_a_step_does_not_depend_on_the_size_of_micro_batches(tmp_path):
    job = job_of("embed", tmp_path / "run", epochs=1, **QUICK)
    state, found = TuningState.of(job), []
    model = job.new_model(state)
    vectors = Compiled(lambda of, batch: of(batch), model)
    loss = TrainingLoss(functools.partial(task_loss, smoothing=0.0), step_counts)
    steps = training_steps(model, job.config.training(), loss=loss)
    for size in (16, 4):
        config = dataclasses.replace(job.config, micro_batch_size=size)
        of_size = dataclasses.replace(job, config=config)
        counts, parts = next(steps_of(of_size, steps, state, vectors))
        for number, part in enumerate(parts):
            steps.accumulate(part, counts=counts, step=0, micro=number)
        sums = steps.sums()
        # Of the gradients of all weights, none of which changes.
        norm = steps.apply(0.0, step=0)
        found.append([*sums, norm])
    np.testing.assert_allclose(*found, rtol=1e-5)


def test_rows_are_drawn_anew_in_each_epoch_and_the_same_after_a_stop(tmp_path):
    job = job_of("embed", tmp_path / "run", epochs=3)

    def redraw(number, epoch):
        ids = array("i", [2, 10 + epoch, 20 + number, 3])
        sequence = TokenSequence(ids, first_length=4)
        return EncodedExample(example=number, sequences=(sequence, sequence), target=1.0)

    job = dataclasses.replace(job, redraw=redraw)
    state = TuningState.of(job)
    steps = len(job.train.rows) // job.config.batch_size
    batches = list(itertools.islice(task_batches(job, state), 2 * steps + 1))
    drawn = [set(batch["input_ids"][:, 0, 1].tolist()) for batch in batches[steps:]]
    assert drawn == [{11}] * steps + [{12}]
    numbers = np.concatenate([each["input_ids"][:, 0, 2] for each in batches[steps:-1]])
    assert sorted(numbers) == [20 + number for number in range(len(job.train.rows))]
    state.step = steps + 1
    again = next(task_batches(job, state))
    np.testing.assert_array_equal(again["input_ids"], batches[steps + 1]["input_ids"])


def test_vectors_are_measured_beside_words_and_training_out_of_time_goes_on(tmp_path, monkeypatch):
    take_light_steps(monkeypatch)
    job = job_of("embed", tmp_path / "run", epochs=4, eval_every=8, **QUICK)
    vocabulary = tmp_path / "spiece.model"
    vocabulary.write_bytes(b"a model")
    assert finetune(job, vocabulary=vocabulary, progress=QUIET, max_seconds=0.0) is None
    assert not (job.run / "eval.json").exists()
    assert load_newest(job.run, QUIET.say).state["step"] == 1
    result = trained(job)
    assert (result["metric"], result["training_examples"]) == ("recall_at_1", 64)
    assert set(result["baselines"]) == {"tf-idf", "bm25"}
    assert load_newest(job.run, QUIET.say).state["step"] == 16
    assert dataclasses.asdict(job.record)["spec"]["kind"] == "embed"
