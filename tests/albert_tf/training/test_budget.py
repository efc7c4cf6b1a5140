"""What is chosen for a budget, and its steps counted again while a run goes."""

import dataclasses
import re
import sys
import time
from types import SimpleNamespace

import pytest

from albert_tf.planning.budget import SHAPES, best, ladder_model
from albert_tf.planning.cost import training_flops
from albert_tf.training import budget, pretraining
from albert_tf.training.budget import (
    ENDING_SECONDS,
    PAUSES,
    choose_for_budget,
    cost_ahead,
    faster_precision,
    least_steps,
    mean_example,
    models_for,
    pause_after,
    refilled,
)
from albert_tf.training.optimizers import first_bound
from albert_tf.training.pretraining import Deadline
from albert_tf.training.run import records_of
from cli.support.console import Console
from schemas.config import DataConfig, TrainConfig
from schemas.errors import SettingError
from schemas.manifest import read_manifest
from schemas.phases import mean_length, samples_of
from tests.runs import OF_DOCUMENTS, SETTINGS, final, train
from tests.training_data import TINY, resolved_run

TRAIN = TrainConfig(batch_size=32, learning_rate=0.001)

# Steps on what a run reads take so many times as long as those timed first.
FED = 1.25


@pytest.fixture
def choose(small, monkeypatch):
    """Choose on a machine of 2e11 operations a second."""
    data = small / "data"
    manifest = read_manifest(data)
    length = round(manifest.statistics["mean_length"])
    timed = []

    def seconds_of(config, train):
        work = training_flops(config, length=length, predictions=round(0.15 * length))
        return train.batch_size * work / 2e11

    def step_seconds(config, shape, train, *, length):
        timed.append((config.num_hidden_layers, config.hidden_size))
        return seconds_of(config, train)

    def fed_step_seconds(config, train, samples, records, *, seconds):
        timed.append((config.num_hidden_layers, config.hidden_size, seconds))
        return FED * seconds_of(config, train)

    monkeypatch.setattr(budget, "step_seconds", step_seconds)
    monkeypatch.setattr(budget, "fed_step_seconds", fed_step_seconds)
    monkeypatch.setattr(budget, "matrix_rate", lambda precision: 2e11)

    def choose(seconds, models=None, *, say=lambda line: None):
        choice = choose_for_budget(
            models or models_for(manifest, longest=64, changes={}),
            TRAIN,
            records_of(data, manifest, TRAIN),
            counting=5.0,
            until=time.monotonic() + seconds,
            say=say,
        )
        return choice, timed

    return choose


def test_three_shapes_are_timed_and_then_longer_the_one_that_promises_most(choose):
    choice, timed = choose(3600)
    assert timed[:3] == [(2, 128), (4, 256), (8, 512)]
    ((*shape, seconds),) = timed[3:]
    assert tuple(shape) in SHAPES
    assert seconds == pytest.approx(36.0, abs=0.5)
    assert [
        (each.config.num_hidden_layers, each.config.hidden_size) for each in choice.candidates
    ] == list(SHAPES)


def test_what_is_timed_is_said_before_with_its_number_or_time(choose):
    said = []
    choose(3600, say=said.append)
    *shapes, own = said
    assert shapes == [
        "Timing a step of 2 layers of 128, 1 of 3 shapes ...",
        "Timing a step of 4 layers of 256, 2 of 3 shapes ...",
        "Timing a step of 8 layers of 512, 3 of 3 shapes ...",
    ]
    assert re.fullmatch(
        r"Timing steps of \d+ layers of \d+ for 3[56] s, once they are compiled \.\.\.", own
    )


def test_a_shape_that_is_too_wide_for_the_time_is_not_timed(choose):
    _, timed = choose(150)
    assert [shape for shape in timed if len(shape) == 2] == [(2, 128), (4, 256)]


def test_a_slow_machine_times_nothing_in_less_than_two_minutes(choose, monkeypatch):
    monkeypatch.setattr(budget, "matrix_rate", lambda precision: 2e10)
    choice, timed = choose(100)
    assert timed == []
    assert [each.config.shape for each in choice.candidates] == ["2 layers of 128, sharing none"]
    _, length, predictions = choice.outlook.workload
    work = training_flops(choice.chosen.config, length=length, predictions=predictions)
    assert choice.chosen.step_seconds == pytest.approx(32 * work / (0.3 * 2e10))


def test_a_fast_machine_times_steps_in_any_time(choose, monkeypatch):
    monkeypatch.setattr(budget, "matrix_rate", lambda precision: 2e14)
    choice, timed = choose(100)
    assert timed[0] == (2, 128)
    assert len(choice.candidates) == len(SHAPES)


def test_what_timing_compiled_the_run_compiles_again(choose, monkeypatch):
    quick, _ = choose(3600)
    timed = budget.fed_step_seconds
    now = [0.0]

    def compiling(*arguments, seconds):
        now[0] += 500.0
        return timed(*arguments, seconds=seconds)

    clock = time.monotonic
    monkeypatch.setattr(budget, "fed_step_seconds", compiling)
    monkeypatch.setattr(budget, "time", SimpleNamespace(monotonic=lambda: clock() + now[0]))
    slow, _ = choose(3600)
    spent = [
        choice.candidates[0].steps * choice.candidates[0].step_seconds for choice in (quick, slow)
    ]
    # Of 500 seconds 36 were steps; the others come again, and a fifth more.
    assert spent[0] - spent[1] == pytest.approx(500 + 1.2 * 464, abs=5)


def test_a_model_that_proves_too_slow_gives_way_to_a_smaller_one(choose, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "FED", 50)
    choice, timed = choose(3600)
    *shape, _ = timed[-1]
    chosen = choice.chosen.config
    assert chosen.hidden_size < shape[1]
    assert choice.place == best(choice.candidates)
    assert choice.train.steps == choice.chosen.steps


def test_what_feeding_costs_is_counted_for_every_model(choose):
    choice, _ = choose(3600)
    _, length, predictions = choice.outlook.workload
    expected = [
        FED * 32 * training_flops(each.config, length=length, predictions=predictions)
        for each in choice.candidates
    ]
    measured = [each.step_seconds * 2e11 for each in choice.candidates]
    assert measured == pytest.approx(expected, rel=0.01)


def test_steps_fill_the_time_that_is_left(choose):
    choice, _ = choose(3600)
    # What is held out of so small a data set is evaluated on in no time.
    seconds = choice.train.steps * choice.chosen.step_seconds
    assert 3600 - 60 < seconds < 3600 - budget.OVERHEAD_SECONDS


@pytest.mark.parametrize(("rate", "precision"), [(4e11, "bfloat16"), (2.1e11, "float32")])
def test_the_number_format_that_pays_is_taken(monkeypatch, rate, precision):
    rates = {"bfloat16": rate, "float32": 2e11}
    monkeypatch.setattr(budget, "matrix_rate", rates.get)
    assert faster_precision() == precision


def test_a_model_that_is_given_is_the_only_one_timed(choose):
    model = ladder_model(4, 256, vocab_size=500)
    choice, timed = choose(3600, models=[model])
    assert timed == [(4, 256, pytest.approx(36.0, abs=0.5))]
    assert choice.chosen.config == model


@pytest.mark.parametrize(
    ("schedule", "longest", "predictions", "length"),
    [
        (None, 512, 77, 470),
        ("128", 128, 19, 118),
        ("1024", 1024, 154, 940),
        ("128:0.9,512", 166, 25, 152),
    ],
)
def test_steps_are_timed_at_the_length_of_the_run_and_not_of_its_data(
    schedule, longest, predictions, length
):
    data = DataConfig(examples="on-the-fly").resolved(input_bytes=0)
    mean = mean_example(list(samples_of(data, TrainConfig(max_seq_length=schedule))))
    assert (mean.max_seq_length, mean.max_predictions_per_seq) == (longest, predictions)
    assert mean_length(mean, data=data, length=470.0) == length


def test_a_budget_without_time_for_a_step_is_refused(choose):
    with pytest.raises(SettingError) as error:
        choose(budget.OVERHEAD_SECONDS + 0.001)
    assert str(error.value).startswith("--budget is too short: no step, which takes ")


BEGUN = dataclasses.replace(SETTINGS, steps=40, eval_every=20, schedule="constant-cooldown")
DATA = DataConfig(max_seq_length=24, examples="on-the-fly").resolved(input_bytes=0)


# What of the recipe for budgets depends on the number of steps, or might.
RECIPE = {"masked_lm_prob": "0.30:0.8,0.30..0.15", "unigram_bias": True, "pmi_embeddings": True}


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        # Steps of 0.2 s, and a sixteenth as long for evaluations.
        (100.0 + ENDING_SECONDS, (100 + 470, 100 + 470)),
        (200.0 + ENDING_SECONDS, (100 + 941, 100 + 941)),
        # The cooldown of fewer would have begun.
        (-50.0, (125, 100)),
    ],
)
def test_as_many_steps_as_the_time_left_is_enough_for(
    seconds, expected, data, tmp_path, monkeypatch
):
    monkeypatch.setattr(time, "monotonic", lambda: 5000.0)
    monkeypatch.setattr(budget, "evaluating_share", lambda *_, **__: 1 / 16)
    config = TrainConfig(steps=1000, schedule="constant-cooldown")
    run = resolved_run(data, tmp_path, config)
    found = refilled(run, step=100, pace=0.2, at=5000.0 + seconds)
    assert found == expected


@pytest.mark.parametrize("schedule", ["linear", "constant-cooldown"])
@pytest.mark.parametrize("warmup", [0, 1, 70])
@pytest.mark.parametrize("masked", [None, "0.30:0.5,0.15", "0.30:0.8,0.30..0.15"])
@pytest.mark.parametrize("share", PAUSES)
def test_the_fewest_steps_are_those_of_which_none_that_is_done_would_be_another(
    schedule, warmup, masked, share
):
    config = TrainConfig(steps=1000, schedule=schedule, warmup_steps=warmup, masked_lm_prob=masked)
    step = pause_after(share, config)
    least = least_steps(config, step=step)
    assert first_bound(dataclasses.replace(config, steps=least)).step >= step
    for steps in range(max(1, least - 3), least):
        try:
            fewer = dataclasses.replace(config, steps=steps)
        except SettingError:
            continue
        assert steps < step or first_bound(fewer).step < step


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        # The share of the steps, tokens in an example, and those to predict.
        ({}, [(1.0, 20, 3)]),
        ({"masked_lm_prob": "0.30:0.1,0.30..0.15"}, [(0.1, 20, 6), (0.45, 20, 5), (0.45, 20, 4)]),
        ({"max_seq_length": "24:0.9,48"}, [(0.9, 20, 3), (0.1, 40, 6)]),
    ],
)
def test_steps_ahead_cost_what_their_examples_do(settings, parts):
    config = TrainConfig(steps=2000, warmup_steps=200, **settings)
    costs = [
        training_flops(TINY, length=length, predictions=predictions)
        for _, length, predictions in parts
    ]
    whole = sum(share * cost for (share, *_), cost in zip(parts, costs, strict=True))
    # A twentieth of the steps is done, at the first cost.
    expected = (whole - 0.05 * costs[0]) / (0.95 * costs[0])
    ahead = cost_ahead(config, TINY, DATA, step=100, length=20.0)
    assert ahead == pytest.approx(expected)


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        ("data", 52),
        pytest.param("documents", 30, marks=pytest.mark.slow),
        pytest.param("documents", 52, marks=pytest.mark.slow),
    ],
)
def test_a_run_with_other_steps_is_as_if_it_was_begun_with_them(
    kind, steps, request, tmp_path, monkeypatch
):
    model, config, data = TINY, BEGUN, request.getfixturevalue(kind)
    if kind == "documents":
        model, config = OF_DOCUMENTS, dataclasses.replace(BEGUN, **RECIPE)
    monkeypatch.setattr(pretraining, "refilled", lambda *_, **__: (steps, steps))
    told = []
    deadline = Deadline(time.monotonic() + 60, told.append)
    result = train(data, tmp_path / "revised", model=model, config=config, deadline=deadline)
    assert (result.step, result.steps, result.finished) == (steps, steps, True)
    asked = dataclasses.replace(config, steps=steps)
    assert told == [asked.resolved()]
    train(data, tmp_path / "begun", model=model, config=asked)
    assert final(tmp_path / "revised") == final(tmp_path / "begun")


def test_a_run_that_is_killed_before_its_new_steps_are_kept_goes_on_with_the_old_ones(
    data, tmp_path, monkeypatch
):
    monkeypatch.setattr(pretraining, "refilled", lambda *_, **__: (30, 30))

    def killed(config):
        raise KeyboardInterrupt

    output = tmp_path / "run"
    deadline = Deadline(time.monotonic() + 60, killed)
    with pytest.raises(KeyboardInterrupt):
        train(data, output, config=BEGUN, deadline=deadline)
    # A run that goes on keeps the steps it has.
    deadline = Deadline(time.monotonic() - 60, pytest.fail)
    result = train(data, output, config=BEGUN, deadline=deadline)
    assert (result.step, result.steps, result.finished) == (40, 40, True)
    train(data, tmp_path / "whole", config=BEGUN)
    assert final(output) == final(tmp_path / "whole")


def test_until_the_last_count_the_time_left_is_that_to_the_end_of_the_budget(
    data, tmp_path, monkeypatch, capfd
):
    monkeypatch.setattr(pretraining, "refilled", lambda *_, **__: (30, 30))
    deadline = Deadline(time.monotonic() + 7.5 * 3600, lambda config: None)
    progress = Console(quiet=False)
    train(data, tmp_path, config=BEGUN, deadline=deadline, progress=progress)
    said = capfd.readouterr().err
    assert re.search(
        r"A step of .*; the steps are counted again during the run, so that it ends in "
        r"7 h \d+ min\.\n",
        said,
    )
    assert "steps left will take" not in said
    # 0.4 of the 32 steps before the cooldown.
    assert re.search(r"step 12/40, .*, 7 h \d+ min left\n", said)
    assert re.search(r"step 30/30, .*, 0 s left\n", said)


def test_there_is_no_pause_where_the_first_step_depends_on_how_many_there_are(data, tmp_path):
    config = dataclasses.replace(SETTINGS, steps=40, warmup_steps=0, eval_every=40)
    deadline = Deadline(time.monotonic() - 60, pytest.fail)
    result = train(data, tmp_path / "r", config=config, deadline=deadline)
    assert (result.step, result.steps) == (40, 40)
