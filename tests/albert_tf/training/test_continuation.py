"""Runs that go on: longer, in another run, with other micro-batches."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from albert_tf.model.initial_weights import initialize_weights
from albert_tf.model.positional_heads import begin_with_positional_heads
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.runs.run_record import recorded_settings, recorded_training
from albert_tf.training.continuation import check_steps_may_change, continued
from cli.support.console import Console
from schemas.config import TrainConfig
from schemas.errors import SettingError
from schemas.json_file import write_json
from tests.albert_tf.training.test_train import (
    CONFIG,
    final,
    signal_at_micro_batch,
    train,
)
from tests.run_folder import write_run
from tests.training_data import TINY, write_dataset

# Twelve steps of which the last six are the cooldown, and the six before alone.
COOLED = dataclasses.replace(
    CONFIG,
    schedule="constant-cooldown",
    cooldown_share=0.5,
    bias_correction=True,
    beta2=0.98,
)
TRUNK = dataclasses.replace(COOLED, steps=6, cooldown_share=0.0)


@pytest.mark.parametrize(
    ("begun", "longer", "examples"),
    [
        ({}, {}, 672),
        ({"eval_examples": 10_000}, {}, 10_000),
        ({}, {"eval_examples": 50}, 50),
    ],
)
def test_a_longer_run_is_evaluated_on_as_many_examples_as_before_unless_asked(
    begun, longer, examples
):
    settings = {"batch_size": 16, "schedule": "constant-cooldown"}
    before = TrainConfig(steps=7000, **settings, **begun)
    after = continued(TrainConfig(steps=14_000, **settings, **longer), before)
    assert after.resolved().eval_examples == examples


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    write_dataset(root)
    return root


@pytest.fixture(scope="module")
def cooled(data, tmp_path_factory):
    """A run of all twelve steps."""
    run = tmp_path_factory.mktemp("cooled")
    train(data, run, config=COOLED)
    return run


@pytest.fixture(scope="module")
def trunk(data, tmp_path_factory):
    """A run of the first six steps."""
    run = tmp_path_factory.mktemp("trunk")
    train(data, run, config=TRUNK)
    write_json(run / "config.json", {"command": "pretrain"} | vars(TRUNK))
    return run


def state_of(run, step):
    return json.loads((run / f"checkpoints/step-{step:08}/state.json").read_text())


def training_lines(run):
    return [line for line in final(run)[1] if line["split"] == "train"]


def test_a_run_that_stops_in_its_cooldown_goes_on_as_if_nothing_had_happened(
    cooled, data, tmp_path, monkeypatch
):
    with monkeypatch.context() as patch:
        signal_at_micro_batch(patch, 17)
        assert train(data, tmp_path, config=COOLED).step == 8
    assert train(data, tmp_path, config=COOLED).finished
    assert final(tmp_path) == final(cooled)


def test_a_lengthened_run_ends_as_one_that_was_as_long_from_the_first_step(
    trunk, cooled, data, tmp_path
):
    run = tmp_path / "run"
    shutil.copytree(trunk, run)
    assert train(data, run, config=COOLED).finished
    assert final(run)[0] == final(cooled)[0]
    assert training_lines(run) == training_lines(cooled)


def test_another_micro_batch_changes_a_run_by_rounding_alone(
    trunk, cooled, data, tmp_path, capfd
):
    run = tmp_path / "run"
    shutil.copytree(trunk, run)
    config = dataclasses.replace(COOLED, micro_batch_size=2)
    train(data, run, config=config, progress=Console(quiet=False))
    assert (
        "Micro-batches of 2 instead of 4: this changes only rounding, and what dropout "
        "leaves out.\n" in capfd.readouterr().err
    )
    assert state_of(run, 12)["micro_batch_size"] == 2
    ours, theirs = (
        safetensors.numpy.load_file(
            folder / "checkpoints/step-00000012/model.safetensors"
        )
        for folder in (run, cooled)
    )
    for path, expected in theirs.items():
        if not path.endswith("key/bias"):  # its gradient is rounding alone
            np.testing.assert_allclose(ours[path], expected, atol=1e-4, err_msg=path)


def test_first_weights_by_width_and_the_tokens_frequencies_are_those_asked_for(
    data, tmp_path
):
    # The only step has rate 0.
    config = dataclasses.replace(
        CONFIG, steps=1, warmup_steps=1, initializer="width", unigram_bias=True
    )
    plain = dataclasses.replace(config, initializer="range", unigram_bias=False)
    weights = []
    for name, asked in (("run", config), ("plain", plain)):
        train(data, tmp_path / name, config=asked)
        (file,) = (tmp_path / name).glob("checkpoints/*/model.safetensors")
        weights.append(safetensors.numpy.load_file(file))
    ours, theirs = weights
    bias = ours.pop("albert/masked_lm_head/output_bias")
    assert not theirs.pop("albert/masked_lm_head/output_bias").any()
    # TINY has width 16.
    scale = np.sqrt(2 / (5 * 16)) / 0.02
    for path, values in theirs.items():
        expected = values * scale if values.ndim > 1 else values
        np.testing.assert_allclose(ours[path], expected, rtol=1e-6, err_msg=path)
    counts = label_counts(data)
    np.testing.assert_allclose(
        np.exp(bias), (counts + 0.5) / (counts + 0.5).sum(), rtol=1e-5
    )


def test_a_run_begins_with_the_positional_heads_asked_for(data, tmp_path):
    # The only step has rate 0.
    config = dataclasses.replace(
        CONFIG, steps=1, warmup_steps=1, initializer="positional-heads"
    )
    train(data, tmp_path / "run", config=config)
    (file,) = (tmp_path / "run").glob("checkpoints/*/model.safetensors")
    model = AlbertPretrainer(TINY)
    initialize_weights(
        model, standard_deviation=np.sqrt(2 / (5 * 16)), seed=config.seed
    )
    begin_with_positional_heads(model.encoder)
    for path, values in safetensors.numpy.load_file(file).items():
        expected = model.weights_by_path[path].numpy()
        np.testing.assert_allclose(values, expected, rtol=1e-6, err_msg=path)


def label_counts(data):
    """How often each token is a label in all training examples, by TensorFlow."""
    counts = np.zeros(TINY.vocab_size)
    files = map(str, sorted(data.glob("train/*/*.tfrecord")))
    for record in tf.data.TFRecordDataset(list(files)).as_numpy_iterator():
        feature = tf.train.Example.FromString(record).features.feature
        for token in feature["masked_lm_ids"].int64_list.value:
            counts[token] += 1
    return counts


# What may change, told from the files of a run.

STEPS_100 = TrainConfig(steps=100, schedule="constant-cooldown", cooldown_share=0.2)


WARMING_100 = TrainConfig(
    steps=100, warmup_steps=10, masked_lm_prob="0.3:0.2,0.30..0.15"
)


@pytest.mark.parametrize(
    ("before", "step", "changes"),
    [
        (STEPS_100, 0, {"steps": 10}),
        (STEPS_100, 80, {"steps": 101}),
        (STEPS_100, 80, {"cooldown_share": 0.0}),
        (STEPS_100, 40, {"steps": 50}),
        (STEPS_100, 99, {"micro_batch_size": 1}),
        # Which a linear schedule has no use for.
        (TrainConfig(steps=100, warmup_steps=10), 50, {"cooldown_share": 0.5}),
        (WARMING_100, 10, {"steps": 50}),
        (WARMING_100, 10, {"steps": 200}),
    ],
)
def test_other_steps_are_taken_while_no_step_so_far_depends_on_them(
    tmp_path, before, step, changes
):
    (tmp_path / f"checkpoints/step-{step:08}").mkdir(parents=True)
    now = dataclasses.replace(before, **changes)
    check_steps_may_change(tmp_path, before, now)


@pytest.mark.parametrize(
    ("before", "step", "changes", "reason"),
    [
        (
            TrainConfig(steps=100, warmup_steps=10),
            11,
            {"steps": 200},
            "is at step 11 of 100 and cannot change --steps: after step 10 its "
            "learning rates depend on them",
        ),
        (
            dataclasses.replace(STEPS_100, max_seq_length="128:0.5,512"),
            51,
            {"steps": 200},
            "is at step 51 of 100 and cannot change --steps: after step 50 the "
            "settings of its examples depend on them",
        ),
        (
            dataclasses.replace(STEPS_100, masked_lm_prob="0.30..0.15"),
            1,
            {"steps": 200},
            "is at step 1 of 100 and cannot change --steps: after step 0 the "
            "settings of its examples depend on them",
        ),
        (
            STEPS_100,
            81,
            {"steps": 200},
            "is at step 81 of 100 and cannot change --steps: after step 80 its "
            "learning rates depend on them",
        ),
        (
            STEPS_100,
            81,
            {"cooldown_share": 0.1},
            "is at step 81 of 100 and cannot change --cooldown-share: after step 80 "
            "its learning rates depend on it",
        ),
        (
            STEPS_100,
            41,
            {"steps": 50},
            "is at step 41 of 100 and cannot change --steps: after step 40 its "
            "learning rates depend on them",
        ),
    ],
)
def test_other_steps_are_refused_where_a_step_so_far_depends_on_them(
    tmp_path, before, step, changes, reason
):
    (tmp_path / f"checkpoints/step-{step:08}").mkdir(parents=True)
    with pytest.raises(SettingError) as caught:
        check_steps_may_change(tmp_path, before, dataclasses.replace(before, **changes))
    kept = {"steps": "--steps 100", "cooldown_share": "--cooldown-share 0.2"}
    (changed,) = changes
    assert str(caught.value) == (
        f"{tmp_path} {reason}; keep {kept[changed]}, or begin another run with its "
        f"weights: another --output with --init-from {tmp_path}."
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"micro_batch_size": 4, "warmup_steps": None}),
        ({"micro_batch_size": 2}, {"micro_batch_size": 2}),
        ({"batch_size": 3}, {"micro_batch_size": None}),
        ({"steps": 800}, {"warmup_steps": 10}),
        ({"steps": 800, "warmup_steps": 20}, {"warmup_steps": 20}),
        ({"steps": 8}, {"warmup_steps": None}),
    ],
)
def test_what_is_left_out_stays_as_a_run_has_it(tmp_path, given, expected):
    begun = {"batch_size": 8, "micro_batch_size": 4, "steps": 400, "warmup_steps": 10}
    run = write_run(tmp_path / "run", **begun)
    recorded = recorded_training(run, recorded_settings(run))
    ours = continued(TrainConfig(**{"batch_size": 8, "steps": 400} | given), recorded)
    assert dataclasses.asdict(ours).items() >= expected.items()
