"""`albert pretrain`: what it leaves when it fails, how long it takes, what it says."""

import contextlib
import json
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import click
import pytest

from albert_tf.hosts import HostSetting
from albert_tf.planning import budget, cost
from albert_tf.runs.checkpoints import Checkpoint, save_checkpoint
from albert_tf.training.pretraining import TrainResult
from albert_tf.training.tensorflow_steps import TensorFlowSteps
from cli.commands import pretrain
from cli.main import cli
from cli.support import asked
from cli.support.asked import RECIPES, Asked, apply_recipe
from cli.support.console import Console
from schemas.config import TrainConfig
from schemas.errors import SettingError
from schemas.files import read_json, write_json
from schemas.layout import DATA_MANIFEST, MANIFEST, METRICS
from tests.commands import LITTLE_MODEL, refused, run
from tests.exported_runs import SMALL_RUN, write_run
from tests.runs import eval_line, take_light_steps
from tests.training_data import resolved_run, write_dataset


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_a_file_of_settings_wins_over_a_recipe_and_flags_over_both(tmp_path, order):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"learning_rate": 0.003, "batch_size": 8}))
    given = [
        *(["--recipe", "small-budget"], ["--config", str(config)]),
        *(["--batch-size", "16"], ["--data", str(tmp_path)], ["--output", "out"]),
    ]
    flags = [word for flag in given[order] for word in flag]
    # Under the group, as when it is called: click keeps the first names of --help it
    # sees, and the next test in this process may print the help.
    group = click.Context(cli, **cli.context_settings)
    with pretrain.pretrain_command.make_context("pretrain", flags, parent=group) as context:
        settings, recipe = context.params, RECIPES[context.params["recipe"]]
        given = apply_recipe(TrainConfig, settings, recipe=recipe)
    assert given == {"learning_rate", "batch_size"}
    assert settings["batch_size"] == 16
    assert settings["learning_rate"] == 0.003
    assert settings["initializer"] == "positional-heads"
    assert settings["steps"] == TrainConfig.steps


def config_of(folder):
    return read_json(folder / "config.json")


@pytest.fixture
def command(small, tmp_path):
    few = ("--steps", 2, "--batch-size", 2, "--eval-examples", 2)
    places = ("--data", small / "data", "--output", tmp_path / "run")
    return ("pretrain", *places, *LITTLE_MODEL, *few)


def test_a_run_failing_before_a_checkpoint_keeps_what_it_measured(command, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    # However slow the machine is, no checkpoint is due before it fails.
    overflowing = ("--learning-rate", 9e18, "--warmup-steps", 0, "--checkpoint-every", 9)
    said = refused(*command, *overflowing, code=1)
    assert said.endswith(f"; what was measured is in {folder}/metrics.jsonl.\n")
    assert config_of(folder)["learning_rate"] == 9e18
    first, *_ = (folder / "metrics.jsonl").read_text().splitlines()
    assert json.loads(first)["split"] == "eval"
    # It is no run to continue, so other settings may take its place.
    monkeypatch.setattr(pretrain, "train", lambda *_, **__: None)
    said = run(*command)
    assert said.startswith(
        f"{folder} was begun and has no checkpoint yet: it begins again at the first step.\n"
    )
    assert config_of(folder)["learning_rate"] == 0.00176


@pytest.mark.parametrize(
    ("name", "held_out", "text", "export"),
    [
        ("run", 1, "--data data", "run --to hf --output run-hf"),
        ("run", 0, "--text FILE", "run --to hf --output run-hf"),
        # A name that is taken is not the next one.
        ("'my run'", 1, "--data data", "'my run' --to hf --output 'my run-hf-2'"),
    ],
)
def test_what_is_said_next_can_be_done(tmp_path, monkeypatch, capsys, name, held_out, text, export):
    monkeypatch.chdir(tmp_path)
    Path("my run-hf").mkdir()
    run = Path(name.strip("'"))
    write_dataset(run, copies=1, shards=1, examples=1, eval_examples=held_out)
    (run / MANIFEST).rename(run / DATA_MANIFEST)
    asked = SimpleNamespace(data_as_given="data", output=run)
    pretrain.say_end(TrainResult(3, 3, "finished"), asked, Console(quiet=False))
    assert capsys.readouterr().err.splitlines() == [
        f"{run}: finished, 3 steps",
        f"Next:  albert evaluate {name} {text}",
        f"       albert fill-mask {name} 'A sentence with a [MASK] in it.'",
        f"       albert report data {name}",
        f"       albert finetune {name} --task classify --train FILE --output tuned",
        f"       albert export {export}",
    ]


def done(command, *arguments):
    """The folder of a run of a command whose two steps are done, none of them computed."""
    run(*command, *arguments)
    data, folder = command[2], command[4]
    shutil.copy(data / MANIFEST, folder / DATA_MANIFEST)
    (folder / METRICS).write_text(json.dumps(eval_line(2)) + "\n")
    save_checkpoint(folder, Checkpoint({}, {}, {"step": 2}), is_best=False)
    return folder


def test_a_run_becomes_longer(command, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    take_light_steps(monkeypatch)
    constant = ("--schedule", "constant-cooldown", "--cooldown-share", 0)
    said = run(*command, *constant, "--warmup-steps", 1)
    assert "--scale-lr-to-batch gives 3.9e-05 for 2, by the square-root rule." in said
    assert said.splitlines()[-6] == f"{folder}: finished, 2 steps"
    assert said.splitlines()[-5].startswith(f"Next:  albert evaluate {folder} --data ")
    assert "began" not in config_of(folder)

    # Its warm-up stays: that of three steps would be none. A run that goes on is not
    # asked about, however long it takes.
    monkeypatch.setattr(cost, "LONG_SECONDS", 0.0)
    said = run(*command, *constant, "--steps", 3, "--micro-batch-size", 1)
    assert f"Continuing {folder} after step 2." in said
    assert said.splitlines()[-6] == f"{folder}: finished, 3 steps"
    config = config_of(folder)
    assert (config["steps"], config["warmup_steps"]) == (3, 1)
    assert config["began"] == {"steps": 2, "micro_batch_size": None}
    again = run(*command, *constant, "--steps", 3)
    assert again == f"{folder} is finished already; nothing to do.\n"
    assert config_of(folder) == config

    monkeypatch.undo()
    said = refused(*command, *constant, "--steps", 2)
    assert f"{folder} is at step 3 of 3 and cannot change --steps" in said


def test_a_run_keeps_how_long_the_sequences_of_its_first_weights_were(small, tmp_path, untrained):
    first, other = tmp_path / "run", tmp_path / "other"
    write_run(first, SMALL_RUN, small)
    # As of an import of which nothing says it.
    (first / "data_manifest.json").unlink()
    given = ("--data", small / "data", "--batch-size", 2, "--eval-examples", 2)
    run("pretrain", *given, "--steps", 1, "--output", other, "--init-from", first)
    assert config_of(other)["length_before"] == SMALL_RUN.max_position_embeddings


def test_a_run_keeps_its_settings_and_an_older_one_its_release(command, tmp_path, untrained):
    done(command)
    said = refused(*command, "--beta2", 0.98)
    assert "--beta2 was 0.999 and is 0.98; give another --output" in said
    said = refused(*command, "--steps", 300)
    assert said.endswith(
        f"{tmp_path}/run is at step 2 of 2 and cannot change --steps: after step 0 "
        "its learning rates depend on them; keep --steps 2, or begin another run with "
        f"its weights: another --output with --init-from {tmp_path}/run.\n"
    )
    record = config_of(tmp_path / "run") | {"albert_version": "0.2.0"}
    del record["identity"]["beta2"]
    write_json(tmp_path / "run/config.json", record)
    said = refused(*command)
    assert f"{tmp_path}/run holds a run of albert 0.2.0, which has other settings" in said


def test_a_run_of_before_the_recipe_had_a_setting_goes_on_without_it(command, documents, untrained):
    command = (*command[:2], documents, *command[3:], "--recipe", "small-budget")
    folder = done(command, "--no-sampled-softmax")
    record = config_of(folder)
    for name in ("sampled_softmax", "kept_share", "masked_words"):
        del record[name]
        record["identity"].pop(name, None)
    write_json(folder / "config.json", record)
    assert "finished already" in run(*command)
    for flag in (["--sampled-softmax"], ["--kept-share", "0.2"], ["--masked-words", "by-rarity"]):
        assert flag[0] in refused(*command, *flag)


def test_the_time_allowed_counts_from_when_the_command_was_entered(small, monkeypatch, tmp_path):
    train = Mock()
    monkeypatch.setattr("albert_tf.training.pretraining.pretrain", train)
    monkeypatch.setattr(pretrain.time, "monotonic", lambda: 150.0)
    run = resolved_run(small / "data", tmp_path / "run", TrainConfig())
    given = {"model": "tiny", "is_model_given": True, "overrides": (), "config": TrainConfig()}
    for max_time, left in ((60.0, 10.0), (None, None)):
        asked = Asked(**given, data=small / "data", max_time=max_time, started=100.0)
        pretrain.train(run, asked, console=Console(quiet=True))
        assert train.call_args.kwargs["max_seconds"] == left


def test_a_long_run_is_asked_about_before_its_first_step(command, tmp_path, monkeypatch):
    monkeypatch.setattr(cost, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(budget, "least_seconds", lambda *_, **__: 0.0)
    monkeypatch.setattr(cost, "ACCELERATORS", ("/dev/null",))
    monkeypatch.setattr(TensorFlowSteps, "compile", lambda *_, **__: 1.0)
    said = refused(*command)
    assert "Note: the CPU trains: this machine has a GPU or TPU that " in said
    assert "give --yes to start it all the same" in said
    assert not (tmp_path / "run/config.json").exists()


LONG = "this run would take 8 d 0 h or more on this machine; "
SHORTER = "with --budget 1h, and without --model, --recipe and --steps, it is what suits"


@pytest.mark.parametrize(
    ("is_alone", "said"),
    [
        (True, f"{LONG}give --yes to start it all the same; {SHORTER}"),
        (False, f"Note: {LONG}{SHORTER}"),
    ],
)
def test_a_run_of_more_than_a_week_is_not_begun_without_a_word(is_alone, said):
    found = []
    try:
        cost.check_duration(8 * 86_400, is_alone=is_alone, say=found.append)
    except SettingError as error:
        found.append(str(error).removesuffix("."))
    assert [each.removesuffix(".") for each in found] == [f"{said} an hour"]
    cost.check_duration(6 * 86_400, is_alone=is_alone, say=pytest.fail)


@pytest.mark.parametrize("flags", [["--yes"], ["--max-time", "1h"]])
def test_a_long_run_that_was_meant_needs_no_question(command, monkeypatch, untrained, flags):
    monkeypatch.setattr(budget, "least_seconds", lambda *_, **__: 8 * 86_400)
    done(command, *flags)


@pytest.mark.parametrize(("cores", "years"), [(1, 1), (2, 0)])
def test_a_run_of_years_ends_before_anything_is_timed(cores, years, small, tmp_path, monkeypatch):
    monkeypatch.setattr(cost.os, "cpu_count", lambda: cores)
    monkeypatch.setattr(pretrain, "train", None)
    given = ("--data", small / "data", "--output", tmp_path / "run", "--steps", 800_000)
    said = refused("pretrain", *given)
    assert re.match(rf"Error: this run would take {'1 y' if years else '2.. d'} \d", said)


@pytest.mark.parametrize(
    ("environment", "installed", "driver", "backend"),
    [
        ({}, ["jax-cuda13-plugin"], 580, "jax"),
        ({}, ["jax-cuda13-plugin"], 575, "tensorflow"),
        ({"KERAS_BACKEND": "tensorflow"}, ["jax-cuda13-plugin"], 580, "tensorflow"),
        ({"CUDA_VISIBLE_DEVICES": ""}, ["jax-cuda13-plugin"], 580, "tensorflow"),
        ({"CUDA_VISIBLE_DEVICES": "0"}, ["jax-cuda13-plugin"], 580, "jax"),
        # TensorFlow finds these libraries too.
        ({}, ["jax-cuda12-plugin", "nvidia-cudnn-cu12"], 535, "jax"),
        ({}, ["jax"], 580, "tensorflow"),
    ],
)
def test_jax_computes_where_it_has_a_plugin_for_the_gpu_and_nobody_chose(
    environment, installed, driver, backend, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(cost, "ACCELERATORS", ("/dev/null",))
    (tmp_path / "version").write_text(f"NVRM version: NVIDIA UNIX x86_64  {driver}.65.06  2025\n")
    monkeypatch.setattr(asked, "_DRIVER", tmp_path / "version")
    found = [SimpleNamespace(name=name) for name in installed]
    monkeypatch.setattr(asked.importlib.metadata, "distributions", lambda: found)
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    asked.take_jax(Console(quiet=False))
    assert os.environ.get("KERAS_BACKEND", "tensorflow") == backend
    said = capsys.readouterr().err
    assert ("JAX computes: it has a plugin for the GPU" in said) == (backend == "jax")
    assert ("is too old for CUDA 13; install jax[cuda12]" in said) == (driver == 575)


def test_a_recipe_leaves_out_what_has_no_use_here(command, small, tmp_path, untrained):
    run(*command, "--recipe", "small-budget")
    config = config_of(tmp_path / "run")
    # Examples that are stored are masked already.
    assert config["masked_lm_prob"] is None
    assert "length_before" not in config
    assert config["pmi_embeddings"] is config["unigram_bias"] is True

    first, other = tmp_path / "first", tmp_path / "other"
    write_run(first, SMALL_RUN, small)
    start = ("pretrain", "--data", small / "data", "--steps", 2, "--batch-size", 2)
    start = (*start, "--output", other, "--init-from", first)
    run(*start, "--recipe", "small-budget")
    config = config_of(other)
    assert config["pmi_embeddings"] is config["unigram_bias"] is False
    assert config["optimizer"] == "muon"

    said = refused(*start, "--overwrite", "--pmi-embeddings")
    assert said.startswith("Error: --pmi-embeddings sets first weights and --init-from")


def test_what_is_said_last_does_nothing_to_a_terminal(monkeypatch, capsys):
    pytest.importorskip("jax")
    from albert_tf import hosts

    def lost(place, *, say_last):
        say_last(f"{place.coordinator} was lost.")
        return contextlib.nullcontext()

    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setattr(hosts, "joined", lost)
    with pretrain.together(HostSetting("host\x1b[2J:1234", 2, 0), debug=True):
        pass
    assert capsys.readouterr().err == "Error: host\\u001b[2J:1234 was lost.\n"
