"""What is chosen for a budget, on a machine whose steps take what they are told."""

import sys

import pytest

from albert_tf.planning.budget import SHAPES, best, ladder_model
from albert_tf.planning.cost import training_flops
from albert_tf.training import budget_choice
from albert_tf.training.budget_choice import (
    choose_for_budget,
    mean_example,
    models_for,
)
from schemas.config import DataConfig, TrainConfig
from schemas.errors import AlbertError, SettingError
from schemas.manifest import read_manifest
from schemas.phases import mean_length, samples_of
from tests.training_data import write_dataset

TRAIN = TrainConfig(batch_size=32, learning_rate=0.001)

# Steps on what a run reads take so many times as long as those timed first.
FED = 1.25


@pytest.fixture
def choose(small, monkeypatch):
    """Choose on a machine of 2e11 operations a second, twice that in bfloat16."""
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

    monkeypatch.setattr(budget_choice, "step_seconds", step_seconds)
    monkeypatch.setattr(budget_choice, "fed_step_seconds", fed_step_seconds)
    monkeypatch.setattr(
        budget_choice, "matrix_rate", {"bfloat16": 4e11, "float32": 2e11}.get
    )

    def choose(seconds, train=TRAIN, models=None, *, precision_is_given=False):
        choice = choose_for_budget(
            seconds,
            train,
            data=data,
            manifest=manifest,
            models=models or models_for(manifest, longest=64, changes={}),
            precision_is_given=precision_is_given,
            count=lambda: 5.0,
            say=lambda line: None,
        )
        return choice, timed

    return choose


def test_three_shapes_are_timed_and_then_longer_the_one_that_promises_most(choose):
    choice, timed = choose(3600)
    assert timed[:3] == [(2, 128), (4, 256), (8, 512)]
    ((*shape, seconds),) = timed[3:]
    assert tuple(shape) in SHAPES
    assert seconds == 36.0
    assert [
        (each.config.num_hidden_layers, each.config.hidden_size)
        for each in choice.candidates
    ] == list(SHAPES)


def test_a_shape_that_is_too_wide_for_the_time_is_not_timed(choose):
    _, timed = choose(150)
    assert [shape for shape in timed if len(shape) == 2] == [(2, 128), (4, 256)]


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
    _, length, predictions = choice.workload
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
    assert 3600 - 60 < seconds < 3600 - budget_choice.OVERHEAD_SECONDS


def test_the_faster_number_format_is_taken_unless_one_is_given(choose):
    assert choose(3600)[0].train.precision == "bfloat16"
    kept, _ = choose(3600, precision_is_given=True)
    assert kept.train.precision == "float32"


def test_a_model_that_is_given_is_the_only_one_timed(choose):
    model = ladder_model(4, 256, vocab_size=500)
    choice, timed = choose(3600, models=[model])
    assert timed == [(4, 256, 36.0)]
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
        choose(budget_choice.OVERHEAD_SECONDS + 0.001)
    assert str(error.value).startswith(
        "--budget is too short: starting takes about 45 s and a step "
    )


def test_a_budget_for_data_without_training_examples_is_refused(tmp_path):
    manifest = write_dataset(tmp_path / "data", examples=0)
    with pytest.raises(AlbertError) as error:
        choose_for_budget(
            3600,
            TRAIN,
            data=tmp_path / "data",
            manifest=manifest,
            models=[],
            precision_is_given=True,
            count=lambda: None,
            say=lambda line: None,
        )
    assert str(error.value) == (
        f"{tmp_path}/data has no training examples; make data from more text or with a "
        "smaller --eval-fraction."
    )
