"""Rows become batches of like length, the same for the same seed."""

import keras
import numpy as np
import pytest

from albert_tf.finetuning.batches import batch_of, batch_width, epoch_batches, micro_batches
from tests.albert_tf.finetuning.task_rows import random_rows, spec_of

LENGTHS = np.random.default_rng(0).integers(5, 100, 1000).tolist()


def test_an_epoch_has_every_row_once_in_batches_of_like_lengths_and_depends_on_its_number():
    batches, again, other = (
        epoch_batches(LENGTHS, batch_size=32, seed=1, epoch=epoch) for epoch in (0, 0, 1)
    )
    assert len(batches) == 32
    assert sorted(row for batch in batches for row in batch) == list(range(1000))
    assert np.mean([np.ptp(np.take(LENGTHS, batch)) for batch in batches]) < 5
    assert all(map(np.array_equal, batches, again))
    assert not all(map(np.array_equal, batches, other))


@pytest.mark.parametrize("devices", [1, 2])
def test_micro_batches_are_filled_up_with_rows_of_no_weight(devices):
    rows = random_rows("classify", number=10).rows
    batch = batch_of(rows, spec_of("classify"), size=10, longest=32)
    parts = list(micro_batches(batch, size=4, devices=devices))
    assert {part["input_ids"].shape for part in parts} == {(devices, 4, 32)}
    weights = np.concatenate([part["weights"].ravel() for part in parts])
    assert weights.tolist() == [1.0] * 10 + [0.0] * (len(weights) - 10)


def test_weights_of_labels_are_those_of_the_rows_in_the_loss():
    rows = random_rows("classify", number=6).rows
    batch = batch_of(rows, spec_of("classify"), size=8, longest=32, label_weights=(1.0, 3.0))
    expected = [1.0 + 2.0 * row.target for row in rows] + [0.0, 0.0]
    assert batch["weights"].tolist() == expected


def test_few_widths_are_compiled_under_jax(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    lengths = (3, 64, 65, 130, 300, 512)
    assert [batch_width(n, longest=512) for n in lengths] == [64, 64, 128, 256, 512, 512]
    assert [batch_width(n, longest=100) for n in lengths[:3]] == [64, 64, 100]
