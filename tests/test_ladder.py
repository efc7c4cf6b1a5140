"""The law of the ladder: fitted to runs, and the constant of the program."""

import dataclasses

import pytest

from albert_tf.planning.budget import LAW, SHAPES, Law, effective_weights, ladder_model
from benchmarks.ladder import LadderRun, fitted_law, read_table

TRUE = Law(a=200.0, b=100_000.0, most_weights=1e7, most_tokens=1e8)


def ladder_run(layers, hidden, *, tokens, error=1.0):
    weights = effective_weights(ladder_model(layers, hidden, sharing="all"))
    return LadderRun(
        layers=layers,
        hidden=hidden,
        sharing="all",
        vocabulary=8000,
        tokens=tokens,
        counting=6.8,
        loss=6.8 * error * TRUE.share(weights=weights, tokens=tokens),
        bits=2.0,
        corpus="novels",
        language="en",
    )


RUNS = [
    ladder_run(layers, hidden, tokens=tokens)
    for layers, hidden in ((2, 128), (4, 256), (8, 512))
    for tokens in (1_000_000, 4_000_000, 16_000_000)
]


def test_a_law_that_made_the_runs_is_found_again():
    found = fitted_law(RUNS)
    assert found[:2] == pytest.approx(TRUE[:2], rel=1e-6)


def test_runs_of_other_vocabularies_and_languages_lie_on_one_curve():
    other = [
        dataclasses.replace(
            run, vocabulary=30_000, counting=7.4, loss=run.loss * 7.4 / 6.8
        )
        for run in RUNS
    ]
    found = fitted_law([*RUNS[:5], *other[5:]])
    assert found[:2] == pytest.approx(TRUE[:2], rel=1e-6)


def test_the_law_of_the_program_is_the_one_fitted_to_the_table():
    assert fitted_law(read_table()) == pytest.approx(LAW, rel=1e-9)


def test_the_table_is_one_of_runs_that_learnt():
    runs = read_table()
    assert len(runs) >= 4
    assert all(0 < run.loss < run.counting for run in runs)
    assert {(run.layers, run.hidden) for run in runs} <= set(SHAPES)
