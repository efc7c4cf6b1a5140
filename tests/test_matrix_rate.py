"""The machine's rate in matrix products, and what it says of bfloat16."""

import pytest

from albert_tf import matrix_rate
from albert_tf.compute_cost import flops_text
from albert_tf.training_loop import Pace


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_rate_is_the_operations_of_a_product_over_its_time(precision, monkeypatch):
    seconds = iter([9.0, 0.5, 0.4, 0.25, 0.3])
    shapes = []

    def product_seconds(rows, kernel):
        shapes.append((tuple(rows.shape), tuple(kernel.shape)))
        assert precision in str(rows.dtype)
        return next(seconds)

    monkeypatch.setattr(matrix_rate, "_product_seconds", product_seconds)
    monkeypatch.setattr(matrix_rate, "REPEAT_SECONDS", 0.0)
    monkeypatch.setattr(matrix_rate, "LEAST_REPEATS", 3)
    assert matrix_rate.matrix_rate(precision) == 2 * 4096 * 1024 * 1024 / 0.25
    assert set(shapes) == {((4096, 1024), (1024, 1024))}


def test_products_are_made_wider_on_a_machine_that_is_fast(monkeypatch):
    monkeypatch.setattr(matrix_rate, "WIDTH", 8)
    monkeypatch.setattr(matrix_rate, "MAX_WIDTH", 32)
    monkeypatch.setattr(matrix_rate, "REPEAT_SECONDS", 0.0)
    monkeypatch.setattr(matrix_rate, "_product_seconds", lambda rows, _: 1e-6)
    assert matrix_rate.matrix_rate("float32") == 8 * 32**3 / 1e-6


def test_this_machine_multiplies_matrices(monkeypatch):
    monkeypatch.setattr(matrix_rate, "REPEAT_SECONDS", 0.0)
    assert 1e8 < matrix_rate.matrix_rate("float32") < 1e16


def test_a_run_in_bfloat16_that_does_not_pay_is_told_so(monkeypatch):
    rates = {"float32": 4e11, "bfloat16": 1e11}
    monkeypatch.setattr(matrix_rate, "matrix_rate", rates.__getitem__)
    said = []
    assert matrix_rate.rate_for_training("float32", said.append) == 4e11
    assert said == []
    assert matrix_rate.rate_for_training("bfloat16", said.append) == 1e11
    assert said == [
        "bfloat16 makes matrix products 4.0 times slower on this machine, which has no "
        "instructions for it; --precision float32 is faster here."
    ]


def test_the_pace_of_a_run_names_the_share_of_the_machine_that_it_uses():
    pace = Pace(steps=2, seconds=4.0, waiting_seconds=0.04, pieces=9000.0)
    assert pace.text(batch_size=2000, steps_left=30) == (
        "1000.0 seq/s, 2250 tokens/s, data 1%, 1 min 0 s left"
    )
    pace.sequence_flops, pace.matrix_rate = 100_000_000, 4e11
    assert pace.text(batch_size=2000, steps_left=30) == (
        "1000.0 seq/s, 2250 tokens/s, 25% of 400 GFLOP/s, data 1%, 1 min 0 s left"
    )


@pytest.mark.parametrize(
    ("flops", "text"),
    [(0, "0 FLOP"), (999, "999 FLOP"), (999.7, "1 kFLOP"), (1.98e21, "1.98 ZFLOP")],
)
def test_operations_as_a_person_reads_them(flops, text):
    assert flops_text(flops) == text
