"""The law of the ladder: fitted to runs, and the constant of the program."""

import dataclasses

import pytest

from albert_tf.planning.budget import FITTED, LAW, SHAPES, Law, effective_weights, ladder_model
from benchmarks.ladder import LadderRun, expected_losses, fitted_law, read_table

TRUE = Law(a=200.0, b=100_000.0, c=0.02, most_weights=1e7, most_tokens=1e8)


def ladder_run(layers, hidden, *, tokens, text=12_000_000):
    weights = effective_weights(ladder_model(layers, hidden, sharing="all"))
    return LadderRun(
        layers=layers,
        hidden=hidden,
        sharing="all",
        vocabulary=8000,
        tokens=tokens,
        counting=6.8,
        text=text,
        loss=6.8 * TRUE.share(weights=weights, tokens=tokens, text=text),
        bits=2.0,
        corpus="novels",
        language="en",
    )


RUNS = [
    ladder_run(layers, hidden, tokens=tokens, text=text)
    for layers, hidden in ((2, 128), (4, 256), (8, 512))
    for tokens in (1_000_000, 4_000_000, 16_000_000)
    for text in (300_000, 12_000_000)
]


def test_a_law_that_made_the_runs_is_found_again():
    assert fitted_law(RUNS)[:3] == pytest.approx(TRUE[:3], rel=1e-6)


def test_runs_of_other_vocabularies_and_languages_lie_on_one_curve():
    other = [
        dataclasses.replace(run, vocabulary=30_000, counting=7.4, loss=run.loss * 7.4 / 6.8)
        for run in RUNS
    ]
    assert fitted_law([*RUNS[:5], *other[5:]])[:3] == pytest.approx(TRUE[:3], rel=1e-6)


def test_the_law_of_the_program_is_the_one_fitted_to_the_table():
    assert fitted_law(read_table()) == pytest.approx(LAW, rel=1e-9)


def test_nine_of_ten_runs_end_in_the_interval_that_the_others_promise():
    runs = read_table()
    low, high = FITTED
    inside = [
        low <= run.loss / expected <= high
        for run, expected in zip(runs, expected_losses(runs), strict=True)
    ]
    assert sum(inside) >= 0.9 * len(inside)


def test_the_table_is_one_of_rungs_none_of_which_ends_worse_than_it_begins():
    runs = read_table()
    assert len(runs) >= 4
    assert all(0 < run.share < 1.1 for run in runs)
    assert {(run.layers, run.hidden) for run in runs} <= set(SHAPES)
