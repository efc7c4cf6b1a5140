"""A training step: accumulation, clipping, and what does not change it."""

import dataclasses

import numpy as np
import pytest

from albert_tf.model.compiling import never
from albert_tf.model.unpadding import unpadded
from albert_tf.runs.checkpoints import assign_arrays
from albert_tf.runs.metrics import Sums
from albert_tf.training import steps as of_steps
from albert_tf.training.run import training_steps
from albert_tf.training.steps import dropout_keys, pretraining_counts
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

# Compiled in less time than four layers are.
SHALLOW = dataclasses.replace(SMALL, num_hidden_layers=1, num_hidden_groups=1)
CONSISTENT = dataclasses.replace(SMALL, num_hidden_layers=2, layer_consistency_weight=2.0)


def make_steps(config=SHALLOW, **settings):
    return training_steps(lively_model(config), TrainConfig(**settings))


@pytest.fixture(scope="module")
def steps():
    """Steps that are compiled once."""
    return make_steps()


@pytest.fixture(scope="module")
def consistent():
    """The same of a model with a loss of layer consistency."""
    return make_steps(CONSISTENT)


def restarted(steps):
    """Steps that are compiled, before the first of them."""
    assign_arrays(steps.model.weights_by_path, lively_weights(steps.model))
    for moment in steps.optimizer_state.values():
        moment.assign(0 * moment)
    return steps


def accumulate(steps, batch, *, step=0, micro_batches=1):
    """Accumulate a batch cut into micro-batches; the sums of all."""
    parts = micro_batched(batch, micro_batches)
    counts = pretraining_counts(parts)
    for micro in range(micro_batches):
        part = {name: values[micro : micro + 1] for name, values in parts.items()}
        steps.accumulate(part, counts=counts, step=step, micro=micro)
    return Sums(*steps.sums().tolist()[:6])


def micro_batched(batch, number):
    """A batch `[B, ...]` as `[number, B / number, ...]`."""
    return {n: v.reshape(number, -1, *v.shape[1:]) for n, v in batch.items()}


def weights_of(steps):
    return {p: w.numpy() for p, w in steps.model.weights_by_path.items()}


def first_moments_of(steps):
    """Moments start at zero, so the first is a tenth of the clipped gradient."""
    return {path: steps.optimizer_state[f"{path}/m"].numpy() for path in weights_of(steps)}


def assert_same(ours, theirs, *, tolerance):
    """But for rounding."""
    for path in theirs:
        if not path.endswith("key/bias"):  # its gradient is rounding alone
            norm = np.linalg.norm(theirs[path]) or 1.0
            assert np.linalg.norm(ours[path] - theirs[path]) / norm < tolerance, path


def test_three_micro_batches_make_the_step_of_one_big_batch(consistent):
    """Also where the last of them is not full."""
    batch = random_batch(CONSISTENT, rows=8)
    filled = {
        name: np.concatenate([values, np.full_like(values[:1], -(name == "sentence_order_labels"))])
        for name, values in batch.items()
    }
    found = []
    for rows, micro_batches in ((batch, 1), (filled, 3)):
        sums = accumulate(restarted(consistent), rows, micro_batches=micro_batches)
        norm = float(consistent.apply(0.00176, step=0))
        found.append(([*sums, norm], weights_of(consistent), first_moments_of(consistent)))
    whole, parts = found
    assert parts[0] == pytest.approx(whole[0], rel=1e-5)
    assert_same(parts[1], whole[1], tolerance=1e-6)
    assert_same(parts[2], whole[2], tolerance=1e-5)


@pytest.mark.parametrize(
    ("config", "settings"),
    [(CONSISTENT, {}), pytest.param(SMALL, {"xla": True}, marks=pytest.mark.slow)],
)
def test_twenty_steps_without_padding_change_only_rounding(config, settings, consistent):
    plain = make_steps(config) if settings else consistent
    alone = make_steps(config, **settings) if settings else consistent
    found = []
    for steps, form in ((plain, dict), (alone, unpadded)):
        restarted(steps)
        told = []
        for step in range(20):
            batch = micro_batched(random_batch(config, rows=8, seed=step), 1)
            if not step:
                steps.compile([form(batch)], should_stop=never)
            steps.accumulate(form(batch), counts=pretraining_counts(batch), step=step, micro=0)
            told += [*steps.sums(), steps.apply(0.01, step=step)]
        found.append((told, weights_of(steps)))
    (told, weights), (told_alone, weights_alone) = found
    assert told_alone == pytest.approx(told, rel=1e-5)
    assert_same(weights_alone, weights, tolerance=1e-4)


def test_batches_of_all_sizes_are_one_graph_and_longer_ones_another_without_padding(steps):
    plain, alone = restarted(steps), make_steps()
    names, batches = ("input_ids", "input_mask", "segment_ids"), []
    for length, width in ((12, 12), (8, 12), (16, 16)):
        batch = random_batch(SMALL, rows=40, length=length)
        more = [(0, 0), (0, width - length)]
        batch |= {name: np.pad(batch[name], more) for name in names}
        batches.append(micro_batched(batch, 1))
    without = [unpadded(batch) for batch in batches]
    assert [batch["row_places"].shape for batch in without[:2]] == [(1, 384), (1, 256)]
    alone.compile(without[:1], should_stop=never)
    for batch, part, number in zip(batches, without, (0, 1, 2), strict=True):
        counts = {"counts": pretraining_counts(batch), "step": 0, "micro": 0}
        plain.accumulate(batch, **counts)
        alone.accumulate(part, **counts)
        # The first micro-batch of a step replaces what was added up before; it may be the only one.
        graphs = [alone._accumulate[is_first] for is_first in (True, False)]
        assert [each.experimental_get_tracing_count() for each in graphs] == [1, number]
    assert alone.sums() == pytest.approx(plain.sums(), rel=1e-5)
    norm = plain.apply(0.01, step=0)
    assert alone.apply(0.01, step=0) == pytest.approx(norm, rel=1e-5)


def test_apply_clips_the_sum_to_norm_one(steps):
    restarted(steps)
    accumulate(steps, random_batch(SMALL))
    assert float(steps.apply(0.0, step=0)) > 1
    moments = first_moments_of(steps).values()
    clipped = np.sqrt(sum((10 * moment**2).sum() * 10 for moment in moments))
    assert clipped == pytest.approx(1.0, rel=1e-4)


def test_sums_are_those_since_the_last_step_and_rate_zero_changes_no_weight(steps):
    batch, before = random_batch(SMALL), weights_of(steps)
    first = accumulate(steps, batch)
    assert accumulate(steps, batch).mlm_count == 2 * first.mlm_count
    steps.apply(0.0, step=0)
    assert all((before[p] == after).all() for p, after in weights_of(steps).items())
    assert accumulate(steps, batch) == first
    expected = steps.apply(0.0, step=0)
    # What is discarded is in no step.
    accumulate(steps, random_batch(SMALL, seed=1))
    steps.discard()
    assert not steps.sums().any()
    assert accumulate(steps, batch) == first
    assert steps.apply(0.0, step=0) == expected


def test_two_micro_batches_tell_how_long_a_step_of_many_sizes_takes(steps, monkeypatch):
    computed, now = [], [100.0]

    def accumulate(self, batch, **_):
        computed.append(batch["input_ids"].shape[2])
        now[0] += 7.0 if len(computed) == 1 else 1.0

    monkeypatch.setattr(type(steps), "_trace", lambda *_, **__: None)
    monkeypatch.setattr(type(steps), "accumulate", accumulate)
    monkeypatch.setattr(of_steps.time, "perf_counter", lambda: now[0])
    parts = [
        micro_batched(random_batch(SMALL, rows=2, length=length), 1)
        for length in (8, 6, 12, 14, 20)
    ]
    seconds = steps.compile(parts, should_stop=never)
    assert computed == [12, 12]
    assert seconds == pytest.approx(60 / 12)


def test_compiling_changes_nothing_and_ends_after_at_most_a_micro_batch(steps):
    before, parts = weights_of(restarted(steps)), [micro_batched(random_batch(SMALL), 1)] * 2
    for asked in range(4):
        answers = iter([False] * asked + [True] * 9)
        assert steps.compile(parts, should_stop=lambda answers=answers: next(answers)) is None
        assert not steps.sums().any()
    assert steps.compile(parts[:1], should_stop=never) > 0
    assert not steps.sums().any()
    assert not any(v.numpy().any() for v in steps.optimizer_state.values())
    assert all((before[p] == after).all() for p, after in weights_of(steps).items())


def test_dropout_depends_on_seed_step_and_micro_batch():
    pairs = [(seed, step) for seed in (1, 2) for step in (0, 1)]
    keys = {tuple(key) for pair in pairs for key in dropout_keys(*pair, 0, number=2).tolist()}
    assert len(keys) == 8
    config = dataclasses.replace(SHALLOW, hidden_dropout_prob=0.5)
    batch = random_batch(config)
    steps = make_steps(config)
    losses = []
    for step in (0, 1, 0):
        losses.append(accumulate(steps, batch, step=step).mlm_loss)
        steps.discard()
    assert losses[0] == losses[2] != losses[1]


def test_optimizers_take_different_steps(steps):
    lamb, adamw = restarted(steps), make_steps(optimizer="adamw")
    accumulate(lamb, random_batch(SMALL))
    for path, total in lamb._replicas[0].totals.items():
        adamw._replicas[0].totals[path].assign(total)
    for each in (lamb, adamw):
        each.apply(0.01, step=0)
    ours, theirs = weights_of(lamb), weights_of(adamw)
    pooler = "albert/encoder/pooler"
    assert (ours[f"{pooler}/kernel"] != theirs[f"{pooler}/kernel"]).any()
    assert (ours[f"{pooler}/bias"] == theirs[f"{pooler}/bias"]).all()


@pytest.mark.slow
def test_a_step_that_xla_compiles_as_a_whole_is_the_same():
    plain, compiled = make_steps(), make_steps(xla=True)
    batch = random_batch(SMALL)
    sums = [accumulate(steps, batch) for steps in (plain, compiled)]
    assert sums[1] == pytest.approx(sums[0], rel=1e-5)
    norms = [steps.apply(0.01, step=0) for steps in (plain, compiled)]
    assert norms[1] == pytest.approx(norms[0], rel=1e-5)
    assert_same(weights_of(compiled), weights_of(plain), tolerance=1e-5)


def torch_lamb_step(parameters, moments, rate):
    """LAMB as `lamb_optimizer.py` has it, after clipping, in torch."""
    import torch

    torch.nn.utils.clip_grad_norm_(parameters.values(), 1.0)
    with torch.no_grad():
        for name, weight in parameters.items():
            m, v = moments[name]
            m.mul_(0.9).add_(weight.grad, alpha=0.1)
            v.mul_(0.999).add_(weight.grad**2, alpha=0.001)
            update = m / (v.sqrt() + 1e-6)
            if "LayerNorm" not in name and "layer_norm" not in name and ("bias" not in name):
                update = update + 0.01 * weight
                w_norm, u_norm = weight.norm(), update.norm()
                if w_norm > 0 and u_norm > 0:
                    update = update * (w_norm / u_norm)
            weight.sub_(rate * update)
            weight.grad = None


@pytest.mark.slow
def test_steps_have_the_losses_of_transformers_with_a_torch_lamb():
    # Not 200: by then the rounding of any operation has grown a thousandfold.
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    steps = make_steps(SMALL)
    theirs = huggingface_model(SMALL, weights_of(steps))
    names = to_huggingface(weights_of(steps))
    parameters = {n: p for n, p in theirs.named_parameters() if n in names}
    moments = {n: (torch.zeros_like(p), torch.zeros_like(p)) for n, p in parameters.items()}
    losses = []
    for step in range(160):
        batch = random_batch(SMALL, rows=8, seed=step % 20)
        rate = 0.01 * min(1.0, step / 20)
        sums = accumulate(steps, batch, step=step, micro_batches=2)
        steps.apply(rate, step=step)
        *_, mlm_loss, sentence_loss = huggingface_losses(theirs, batch)
        (mlm_loss + sentence_loss).backward()
        torch_lamb_step(parameters, moments, rate)
        ours = (sums.mlm_loss / sums.mlm_count, sums.sentence_loss / 8)
        expected = (mlm_loss.item(), sentence_loss.item())
        assert ours == pytest.approx(expected, abs=1e-4), step
        losses.append(ours[0])
    assert losses[-1] < losses[0] - 0.5, "these steps did learn"
