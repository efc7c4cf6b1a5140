"""The law of the ladder: fitted to runs, and what it says of others."""

import dataclasses

import pytest

from albert_tf.planning.ladder import (
    SHAPES,
    LadderRun,
    Terms,
    best_terms,
    effective_weights,
    fitted_law,
    ladder_model,
    law,
    read_table,
)
from schemas.config import ModelConfig

TRUE = Terms(a=200.0, b=100_000.0)


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
    found = best_terms(RUNS)
    assert found == pytest.approx(TRUE, rel=1e-6)


def test_runs_of_other_vocabularies_and_languages_lie_on_one_curve():
    other = [
        dataclasses.replace(
            run, vocabulary=30_000, counting=7.4, loss=run.loss * 7.4 / 6.8
        )
        for run in RUNS
    ]
    assert best_terms([*RUNS[:5], *other[5:]]) == pytest.approx(TRUE, rel=1e-6)


def test_runs_that_lie_beside_the_curve_widen_the_interval():
    shaken = [
        dataclasses.replace(run, loss=run.loss * (1.06 if place % 2 else 0.94))
        for place, run in enumerate(RUNS)
    ]
    assert fitted_law(RUNS).margin == 0.05
    assert fitted_law(shaken).margin > 0.1


def test_a_run_far_beyond_those_measured_is_told_from_one_among_them():
    found = fitted_law(RUNS)
    assert not found.is_outside(weights=1e6, tokens=32_000_000)
    assert found.is_outside(weights=1e6, tokens=33_000_000)
    assert found.is_outside(weights=1e9, tokens=1_000_000)


def test_the_table_that_comes_with_the_program_is_one_of_runs_that_learnt():
    runs = read_table()
    assert len(runs) >= 4
    assert all(0 < run.loss < run.counting for run in runs)
    assert {(run.layers, run.hidden) for run in runs} <= set(SHAPES)


@pytest.mark.parametrize(
    ("changes", "worth"),
    [
        ({}, 12),
        ({"intermediate_size": 512}, 8),
        ({"sharing": "all"}, 12 * 4**-0.54),
        ({"sharing": "all", "num_hidden_groups": 4}, 12),
        ({"sharing": "all", "num_hidden_groups": 2}, 12 * 2**-0.54),
        ({"sharing": "attention"}, 4 * 4**-0.54 + 8),
        ({"sharing": "ffn"}, 4 + 8 * 4**-0.54),
    ],
)
def test_weights_count_for_what_they_are_worth(changes, worth):
    model = ladder_model(4, 256, **changes)
    assert effective_weights(model) == pytest.approx(4 * 256 * 256 * worth)


def test_more_weights_and_more_tokens_never_promise_less():
    found = law().terms
    at = [found.share(weights=1e6, tokens=tokens) for tokens in (1e6, 1e7, 1e8)]
    assert at == sorted(at, reverse=True)
    of = [found.share(weights=weights, tokens=1e7) for weights in (1e5, 1e6, 1e7)]
    assert of == sorted(of, reverse=True)


def test_the_widest_rung_is_albert_base_without_sharing():
    assert ladder_model(*SHAPES[-1]) == ModelConfig(sharing="none")


def test_every_rung_has_a_head_for_each_neighbour():
    models = [ladder_model(*shape) for shape in SHAPES]
    assert min(model.num_attention_heads for model in models) == 4
