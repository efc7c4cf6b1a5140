"""The machine's rate in matrix products, and what it says of bfloat16."""

import pytest

from albert_tf.training import matrix_rate
from schemas.readable import prefixed


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_rate_is_that_of_the_fastest_product_in_its_best_time(
    precision, monkeypatch
):
    times = {
        ((32, 8), (8, 8)): iter([9.0, 0.5, 0.4, 0.5] * 2),
        ((32, 8), (8, 32)): iter([9.0, 1.3, 1.25, 1.3]),
        ((32, 32), (32, 8)): iter([9.0, 2.0, 3.0, 2.0]),
    }

    def product_seconds(rows, kernel):
        assert precision in str(rows.dtype)
        return next(times[tuple(rows.shape), tuple(kernel.shape)])

    monkeypatch.setattr(matrix_rate, "_product_seconds", product_seconds)
    monkeypatch.setattr(matrix_rate, "WIDTH", 8)
    assert matrix_rate.matrix_rate(precision) == 2 * 32 * 8 * 32 / 1.25


def test_products_are_made_wider_on_a_machine_that_is_fast(monkeypatch):
    monkeypatch.setattr(matrix_rate, "WIDTH", 8)
    monkeypatch.setattr(matrix_rate, "MAX_WIDTH", 32)
    monkeypatch.setattr(matrix_rate, "REPEAT_SECONDS", 0.0)
    monkeypatch.setattr(matrix_rate, "_product_seconds", lambda rows, _: 1e-6)
    assert matrix_rate.matrix_rate("float32") == pytest.approx(4 * 8 * 32**3 / 1e-6)


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


@pytest.mark.parametrize(
    ("flops", "text"),
    [(0, "0 FLOP"), (999, "999 FLOP"), (999.7, "1 kFLOP"), (1.98e21, "1.98 ZFLOP")],
)
def test_operations_as_a_person_reads_them(flops, text):
    assert prefixed(flops, "FLOP") == text
