"""The law of the ladder: fitted to runs, and the constant of the program."""

import dataclasses

import pytest

from albert_tf.planning.budget import FITTED, LAW, SHAPES, Law, effective_weights, ladder_model
from benchmarks.ladder import LadderRun, expected_losses, fitted_law, read_table

TRUE = Law(a=200.0, b=100_000.0, c=0.02, most_weights=1e7, most_tokens=1e8)


def ladder_run(layers, hidden, *, tokens, text=12_000_000):
    weights = effective_weights(ladder_model(layers, hidden, sharing="all"))
    loss = 6.8 * TRUE.share(weights=weights, tokens=tokens, text=text)
    shape = {"layers": layers, "hidden": hidden, "sharing": "all", "vocabulary": 8000}
    measured = {"counting": 6.8, "loss": loss, "bits": 2.0, "corpus": "novels", "language": "en"}
    return LadderRun(**shape, tokens=tokens, text=text, **measured)


RUNS = [
    ladder_run(layers, hidden, tokens=tokens, text=text)
    for layers, hidden in ((2, 128), (4, 256), (8, 512))
    for tokens in (1_000_000, 4_000_000, 16_000_000)
    for text in (300_000, 12_000_000)
]


def test_a_law_that_made_the_runs_is_found_again():
    """Also from runs of another vocabulary or language, which lie on the same curve."""
    other = [
        dataclasses.replace(run, vocabulary=30_000, counting=7.4, loss=run.loss * 7.4 / 6.8)
        for run in RUNS
    ]
    for runs in (RUNS, [*RUNS[:5], *other[5:]]):
        assert fitted_law(runs)[:3] == pytest.approx(TRUE[:3], rel=1e-6)


def test_the_law_of_the_program_is_the_one_fitted_to_the_table():
    assert fitted_law(read_table()) == pytest.approx(LAW, rel=1e-9)


def test_nine_of_ten_runs_end_in_the_interval_that_the_others_promise():
    """They are of rungs, and none ends worse than it begins."""
    runs = read_table()
    low, high = FITTED
    expected = expected_losses(runs)
    inside = [low <= run.loss / each <= high for run, each in zip(runs, expected, strict=True)]
    assert sum(inside) >= 0.9 * len(inside)
    assert len(runs) >= 4
    assert all(0 < run.share < 1.1 for run in runs)
    assert {(run.layers, run.hidden) for run in runs} <= set(SHAPES)
