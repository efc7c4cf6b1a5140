"""Runs whose steps become more or fewer: by a budget while they go, or by the next command."""

import dataclasses
import json
import re
import time
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from albert_tf.training import recount, stream
from cli.support.console import Console
from schemas.architecture import ModelConfig
from schemas.config import DataConfig, TrainConfig
from schemas.errors import SettingError
from schemas.phases import first_bound
from tests.runs import OF_DOCUMENTS, SETTINGS, final, take_light_steps, train
from tests.training_data import TINY

BEGUN = dataclasses.replace(SETTINGS, steps=40, eval_every=20, schedule="constant-cooldown")
# What of the recipe for budgets depends on the number of steps, or might.
RECIPE = {"masked_lm_prob": "0.30:0.8,0.30..0.15", "unigram_bias": True, "pmi_embeddings": True}
# Twelve steps of which the last six are the cooldown, and the six before alone.
COOLED = dataclasses.replace(
    SETTINGS, schedule="constant-cooldown", cooldown_share=0.5, eval_every=12
)
TRUNK = dataclasses.replace(COOLED, steps=6, cooldown_share=0.0)
# What of a manifest the cost of a step follows from.
MANIFEST = SimpleNamespace(
    config=DataConfig(max_seq_length=128, examples="on-the-fly").resolved(input_bytes=0),
    statistics={"mean_length": 118.0},
)


@pytest.fixture(scope="module", autouse=True)
def light():
    """Steps compute nothing: what they are given is what may depend on their number."""
    with pytest.MonkeyPatch.context() as patch:
        take_light_steps(patch)
        yield


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        ("data", 52),
        pytest.param("documents", 30, marks=pytest.mark.slow),
        pytest.param("documents", 52, marks=pytest.mark.slow),
    ],
)
def test_a_run_with_other_steps_is_as_if_it_was_begun_with_them(
    kind, steps, request, tmp_path, monkeypatch, capfd
):
    """Until the last count the time left is that to the end of the budget.

    Reading goes on up to the first step that depends on the number of steps.
    """
    model, config, data = TINY, BEGUN, request.getfixturevalue(kind)
    if kind == "documents":
        model, config = OF_DOCUMENTS, dataclasses.replace(BEGUN, **RECIPE)
    monkeypatch.setattr(recount, "refilled", lambda *_, **__: (steps, steps))
    reading = Mock(wraps=stream.training_batches)
    monkeypatch.setattr(stream, "training_batches", reading)
    given = {"deadline": time.monotonic() + 7.5 * 3600, "progress": Console(quiet=False)}
    result = train(data, tmp_path / "revised", model=model, config=config, **given)
    assert (result.step, result.steps, result.finished) == (steps, steps, True)
    asked = dataclasses.replace(config, steps=steps)
    kept = json.loads((tmp_path / "revised/config.json").read_bytes())
    assert kept == {**dataclasses.asdict(asked.resolved()), "identity": {}}
    begun_at = [given.kwargs["start"] for given in reading.call_args_list]
    assert begun_at == [0, config.batch_size * min(32, asked.cooldown_start)]
    said = capfd.readouterr().err
    assert re.search(
        r"A step of .*; the steps are counted again during the run, so that it ends in "
        r"7 h \d+ min\.\n",
        said,
    )
    assert "steps left will take" not in said
    # 0.4 of the 32 steps before the cooldown.
    assert re.search(r"step 12/40, .*, 7 h \d+ min left\n", said)
    assert re.search(rf"step {steps}/{steps}, .*, 0 s left\n", said)
    train(data, tmp_path / "begun", model=model, config=asked)
    assert final(tmp_path / "revised") == final(tmp_path / "begun")


def test_a_run_killed_before_new_steps_are_kept_goes_on_with_the_old(data, tmp_path, monkeypatch):
    monkeypatch.setattr(recount, "refilled", lambda *_, **__: (30, 30))
    output = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(recount, "record_training", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            train(data, output, config=BEGUN, deadline=time.monotonic() + 60)
    # A run that goes on keeps the steps it has.
    result = train(data, output, config=BEGUN, deadline=time.monotonic() - 60)
    assert not (output / "config.json").exists()
    assert (result.step, result.steps, result.finished) == (40, 40, True)
    train(data, tmp_path / "whole", config=BEGUN)
    assert final(output) == final(tmp_path / "whole")


def test_a_run_that_a_pause_makes_the_last_step_of_is_evaluated_there(data, tmp_path, monkeypatch):
    monkeypatch.setattr(recount, "refilled", lambda *_, step, **__: (step, step))
    config = dataclasses.replace(BEGUN, cooldown_share=0.0)
    result = train(data, tmp_path, config=config, deadline=time.monotonic() + 60)
    assert (result.step, result.steps, result.finished) == (8, 8, True)
    assert [line["step"] for line in final(tmp_path)[1] if line["split"] == "eval"] == [0, 8]


def test_there_is_no_pause_where_the_first_step_depends_on_how_many_there_are(data, tmp_path):
    config = dataclasses.replace(SETTINGS, steps=40, warmup_steps=0, eval_every=40)
    result = train(data, tmp_path / "run", config=config, deadline=time.monotonic() - 60)
    assert (result.step, result.steps, result.finished) == (40, 40, True)


def test_a_lengthened_run_ends_as_one_that_was_as_long_from_the_first_step(data, tmp_path):
    longer, whole = tmp_path / "longer", tmp_path / "whole"
    for run, config in ((longer, TRUNK), (longer, COOLED), (whole, COOLED)):
        assert train(data, run, config=config).finished
    (arrays, lines), (expected, theirs) = final(longer), final(whole)
    assert arrays == expected
    # Each has evaluations of its own.
    ours, others = ([x for x in each if x["split"] == "train"] for each in (lines, theirs))
    assert ours == others


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        # Steps of 0.2 s, and a sixteenth as long for evaluations: 1.25 s after 100 each.
        (100.0 + recount.ENDING_SECONDS, (100 + 470, 100 + 470)),
        (200.0 + recount.ENDING_SECONDS, (100 + 941, 100 + 941)),
        # The cooldown of fewer would have begun.
        (-50.0, (125, 100)),
    ],
)
def test_as_many_steps_as_the_time_left_is_enough_for(seconds, expected):
    config = TrainConfig(steps=1000, schedule="constant-cooldown").resolved()
    assert config.eval_every == 100
    found = recount.refilled(
        config, ModelConfig(), MANIFEST, step=100, pace=0.2, evaluating=1.25, seconds=seconds
    )
    assert found == expected


@pytest.mark.parametrize("schedule", ["linear", "constant-cooldown"])
@pytest.mark.parametrize("warmup", [0, 1, 70])
@pytest.mark.parametrize("masked", [None, "0.30:0.5,0.15", "0.30:0.8,0.30..0.15"])
@pytest.mark.parametrize("share", recount.PAUSES)
def test_the_fewest_steps_are_those_that_leave_what_is_done(schedule, warmup, masked, share):
    config = TrainConfig(steps=1000, schedule=schedule, warmup_steps=warmup, masked_lm_prob=masked)
    step = recount.pause_after(share, config)
    least, _ = recount.refilled(
        config.resolved(), ModelConfig(), MANIFEST, step=step, pace=1.0, evaluating=0.0, seconds=0.0
    )
    assert first_bound(dataclasses.replace(config, steps=least)).step >= step
    for steps in range(max(1, least - 3), least):
        try:
            fewer = dataclasses.replace(config, steps=steps)
        except SettingError:
            continue
        assert steps < step or first_bound(fewer).step < step
