"""`--budget`: what is chosen is said, frozen into the run, and gone on with."""

import dataclasses
import json
import re
import shutil
import time

import pytest

from albert_tf.evaluation import counting as of_counting
from albert_tf.planning import budget
from albert_tf.planning.budget import SHAPES, Law
from albert_tf.training import pretraining, timing
from cli.commands import plan, pretrain
from cli.support import budget as advice
from cli.support.asked import Asked, resolve_model
from cli.support.budget import models_to_choose_from
from schemas.architecture import ModelConfig
from schemas.config import TrainConfig
from schemas.errors import SettingError
from schemas.files import read_json
from schemas.manifest import read_manifest
from tests.commands import LITTLE_MODEL, refused, run
from tests.refusals import refusal
from tests.runs import take_light_steps


def slow_down(monkeypatch):
    """Let so many steps fit into a budget that a test has time for."""
    for command in (plan, pretrain):
        monkeypatch.setattr(command, "STARTED", time.monotonic())
    monkeypatch.setattr(budget, "OVERHEAD_SECONDS", 0.0)
    monkeypatch.setattr(budget, "CHOOSING_SHARE", 1.0)
    monkeypatch.setattr(budget, "RUN_COMPILES", 0.0)
    monkeypatch.setattr(timing, "matrix_rate", {"bfloat16": 1e9, "float32": 1e9}.get)
    take(monkeypatch, 20.0)


def take(monkeypatch, seconds):
    monkeypatch.setattr(timing.ThisMachine, "timed", lambda *_, **__: budget.Timed(seconds, 1.0))


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    slow_down(monkeypatch)


def command_of(small, folder):
    few = ("--eval-examples", 2, "--batch-size", 2)
    return ("pretrain", "--data", small / "data", "--output", folder / "run", *few)


@pytest.fixture
def command(small, tmp_path):
    return command_of(small, tmp_path)


def config_of(folder):
    return read_json(folder / "config.json")


def planned(small, *flags, budget):
    """What is said of a plan for a budget, on the data of `small`."""
    return run("plan", "--data", small / "data", *flags, "--budget", budget)


TINY = ("--model", "tiny")


@pytest.mark.parametrize(
    ("counting", "expected", "choosing", "unknown"),
    [
        (5.0, "4 (3.4 to 4.6)", 1, "run like it was measured"),
        (None, "0.8 (0.68 to 0.92) of the loss of counting neighbours", 0, "step was timed"),
    ],
)
def test_a_loss_is_expected_in_nats_if_text_is_held_out(
    small, monkeypatch, counting, expected, choosing, unknown
):
    monkeypatch.setattr(of_counting, "loss_of_counting", lambda *_, **__: counting)
    monkeypatch.setattr(Law, "share", lambda *_, **__: 0.8)
    monkeypatch.setattr(budget, "CHOOSING_SHARE", choosing)
    lines = planned(small, *TINY, budget="80s").splitlines()
    assert f"expected: masked-LM loss about {expected}." in lines
    # What is said of the choice begins with that.
    (chosen,) = (i for i, line in enumerate(lines) if line.startswith("chosen:"))
    assert lines[chosen - 1] == f"No {unknown}, so the expected loss is a guess."
    record = json.loads(planned(small, *TINY, "--json", budget="80s"))
    assert record["loss_of_counting"] == counting
    (candidate,) = record["candidates"]
    assert candidate["expected_loss"] == (counting and 4.0)


def test_steps_are_counted_again_as_a_run_shows_its_pace_and_kept(command, tmp_path, monkeypatch):
    take_light_steps(monkeypatch)
    # The budget is over at the first pause, so that nothing but the cooldown is left.
    over, whole = time.monotonic() - 3600, pretraining.pretrain
    monkeypatch.setattr(
        pretraining, "pretrain", lambda *run, **given: whole(*run, **given | {"deadline": over})
    )
    take(monkeypatch, 0.4)
    given = (*command, *LITTLE_MODEL, "--budget", "60s")
    said = run(*given)
    config = config_of(tmp_path / "run")
    first = config["began"]["steps"]
    # 60 s less what was spent before, at 0.4 s a step; little is held out.
    assert 80 <= first <= int(60 / 0.4)
    assert f", {first} steps of 2 sequences" in said
    # A fifth of the four fifths before the cooldown; a twentieth is too few to tell.
    pause = int(0.2 * (first - round(0.2 * first)))
    steps = config["steps"]
    assert steps - round(0.2 * steps) == pause
    assert (
        f"At the pace so far {pause} steps fit in the budget, not {first}; at least "
        f"{steps} are needed now, so it will end late.\n"
    ) in said
    assert config["identity"]["steps"] == steps
    assert config["warmup_steps"] == first // 40
    assert run(*given).splitlines()[-1].endswith("is finished already; nothing to do.")


@pytest.fixture(scope="module")
def begun(small, tmp_path_factory):
    """A run of a budget of which a step is done, to be copied; what was said of it."""
    folder = tmp_path_factory.mktemp("begun")
    with pytest.MonkeyPatch.context() as patch:
        slow_down(patch)
        budget_flags = ("--budget", "80s", "--recipe", "small-budget", "--max-time", "1s")
        said = run(*command_of(small, folder), *LITTLE_MODEL, *budget_flags)
    return folder / "run", said


@pytest.fixture
def folder(begun, tmp_path):
    return shutil.copytree(begun[0], tmp_path / "run")


def test_the_choice_is_frozen_so_that_the_same_command_goes_on(begun, folder, command, untrained):
    assert "chosen: 1 layer of 32, sharing none, 3 steps of 2 sequences" in begun[1]
    config = config_of(folder)
    assert (config["steps"], config["batch_size"]) == (3, 2)
    assert (config["optimizer"], config["initializer"]) == ("muon", "positional-heads")
    assert config["chosen_for_budget"]["seconds"] == 80.0
    given = (*command, *LITTLE_MODEL, "--recipe", "small-budget", "--budget")
    assert "chosen:" not in run(*given, "80s")
    assert config_of(folder)["identity"] == config["identity"]
    assert refused(*given, "2h") == (
        f"Error: {folder} was begun with --budget 80s; give the same to go on, or begin another "
        f"run with its weights: another --output with --init-from {folder}.\n"
    )


def test_a_run_of_a_budget_goes_on_with_the_flags_that_may_change(folder, command, untrained):
    """And keeps its record when it goes on without a budget."""
    given = (*command, *LITTLE_MODEL, "--budget", "80s")
    holds = f"Error: {folder} holds a run with other settings:"
    for flag, value in (("--learning-rate", 0.5), ("--set", "hidden_size=64")):
        assert holds in refused(*given, flag, value)
    run(*given, "--micro-batch-size", 1)
    config = config_of(folder)
    assert (config["steps"], config["micro_batch_size"]) == (3, 1)
    run("pretrain", "--config", folder / "config.json", "--output", folder)
    assert config_of(folder)["chosen_for_budget"] == config["chosen_for_budget"] is not None


def test_what_is_refused_later_is_refused_before_anything_is_timed(command, tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "choose", None)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/letter.txt").write_text("Dear reader")
    assert refused(*command, "--budget", "80s") == (
        f"Error: --output: {tmp_path}/run holds other files; give a new or empty folder.\n"
    )
    (tmp_path / "run/letter.txt").unlink()
    said = refused(*command, "--budget", "80s", "--masked-lm-prob", 0.3)
    assert "has stored examples, which cannot be changed" in said
    plan = ("plan", *command[1:3], "--budget", "80s")
    for given in (command, plan):
        said = refused(*given, "--budget", "80s", "--set", "max_position_embeddings=16")
        assert "tokens and the model's max_position_embeddings is 16; give" in said
    assert "leave one of them out" in refused(*command, "--budget", "80s", "--recompute", "--xla")


def test_a_budget_chooses_the_steps_instead_of_a_file(begun, tmp_path, monkeypatch, untrained):
    # However busy the machine is, a run before takes no step of the budget.
    take(monkeypatch, 2000.0)
    given = ("--config", begun[0] / "config.json", "--output", tmp_path / "other")
    run("pretrain", *given, "--budget", "5500s")
    steps = [config_of(folder)["steps"] for folder in (begun[0], tmp_path / "other")]
    assert steps == [3, 2]


def test_a_budget_that_is_over_before_the_first_step_is_refused_at_once(command, monkeypatch):
    monkeypatch.setattr(budget, "OVERHEAD_SECONDS", 10.0)
    monkeypatch.setattr(budget, "RUN_COMPILES", 3.6)
    assert refused(*command, "--budget", "20s") == (
        "Error: --budget is too short: starting and finishing alone take about 24 s; "
        "give more time.\n"
    )


def test_the_model_of_other_weights_has_its_steps_counted(command, models, tmp_path, untrained):
    said = run(*command, "--init-from", models / "run", "--budget", "80s")
    assert "chosen: 4 layers of 16" in said
    # The table is of models that began anew.
    assert "expected:" not in said
    assert "albert import" not in said
    chosen = ModelConfig(**config_of(tmp_path / "run")["identity"]["model"])
    assert dataclasses.asdict(chosen) == read_json(models / "run/model.json")


def choices(small, *overrides, config=None):
    given = {"overrides": overrides, "config": config or TrainConfig(), "data": small / "data"}
    asked = Asked(model="base", is_model_given=False, started=0.0, **given)
    return models_to_choose_from(asked, read_manifest(small / "data"))


def test_fields_that_are_set_and_what_follows_are_those_of_every_model_to_choose_from(small):
    models = choices(small, "sharing=all", "sentence_task=none")
    assert [(each.num_hidden_layers, each.hidden_size) for each in models] == list(SHAPES)
    assert {(each.sharing, each.sentence_task) for each in models} == {("all", "none")}
    manifest = read_manifest(small / "data")
    for model, each in models.items():
        assert resolve_model(each.model, each.overrides, manifest) == model
    # Two rungs that a field makes alike are one model.
    two = choices(small, "num_hidden_layers=2")
    assert len(two) == len({hidden for _, hidden in SHAPES})

    models = choices(small, "hidden_size=192")
    assert [each.num_hidden_layers for each in models] == [2, 4, 6, 8, 12]
    shapes = {(m.hidden_size, m.num_attention_heads, m.intermediate_size) for m in models}
    assert shapes == {(192, 4, 768)}
    # The longest examples of a run are read.
    models = choices(small, config=TrainConfig(max_seq_length="128:0.9,1024"))
    assert {each.max_position_embeddings for each in models} == {1024}


def test_rungs_that_cannot_have_what_is_set_are_not_to_choose_from(small):
    widths = {each.hidden_size for each in choices(small, "num_attention_heads=12")}
    assert widths == {192, 384, 768}
    said = refusal(choices, small, "num_attention_heads=7", error=SettingError)
    assert "must divide hidden_size 128, and 7" in said


def take_shares(monkeypatch, *smallest):
    """Let the two smallest models end at these shares of the loss of counting, the others worse."""
    shares = dict(zip((393_216, 786_432), smallest, strict=True))
    monkeypatch.setattr(Law, "share", lambda _, *, weights, **__: shares.get(weights, 0.9))


def test_the_models_beside_the_one_chosen_are_said_with_it(small, monkeypatch):
    take_shares(monkeypatch, 0.805, 0.8)
    monkeypatch.setattr(of_counting, "loss_of_counting", lambda *_, **__: 5.0)
    monkeypatch.setattr(Law, "is_fitted", lambda *_, **__: True)
    said = planned(small, budget="20h").splitlines()
    assert not any(line.startswith("No run like it") for line in said)
    (expected,) = (i for i, line in enumerate(said) if line.startswith("expected:"))
    assert said[expected] == "expected: masked-LM loss 4.00 (3.84 to 4.16)."
    assert said[expected + 1].startswith("next smaller: 2 layers of 128, sharing none, ")
    assert said[expected + 1].endswith(", loss 4.03 (3.86 to 4.19).")
    assert said[expected + 2].startswith("next larger: 4 layers of 192, sharing none, ")


def test_a_text_that_would_be_read_very_often_is_told(small, monkeypatch):
    take(monkeypatch, 5.0)
    sentence = "what more than 8 times are worth depends on the text"
    told = [sentence in planned(small, *TINY, budget=budget) for budget in ("24h", "1m")]
    assert told == [True, False]


def test_little_time_to_train_in_is_told_with_what_would_help(small, monkeypatch):
    monkeypatch.setattr(budget, "OVERHEAD_SECONDS", 200.0)
    take(monkeypatch, 3.0)
    said = planned(small, *TINY, budget="5m").splitlines()
    (line,) = (line for line in said if line.startswith("Of 5 min 0 s only "))
    assert line.endswith(
        "left to train in: starting, choosing, compiling and evaluating take the rest. A longer "
        "--budget helps most; a machine that does nothing else or a smaller --model helps too."
    )


# The size that suits a text, by its tokens and those of the whole, and what is told.
SUITED = {
    "half as large": (lambda text, tokens: 200, ["200"]),
    "a little smaller": (lambda text, tokens: 300, []),
    "as it is": (lambda text, tokens: 400, []),
    "a little larger": (lambda text, tokens: 600, []),
    "twice as large": (lambda text, tokens: 800, ["800"]),
    "as it is for the whole text": (lambda text, tokens: 400 if text > 1.5 * tokens else 100, []),
    "as it is for a part": (lambda text, tokens: 400 if text < tokens / 1.4 else 2000, []),
}


@pytest.mark.parametrize(("suited", "told"), SUITED.values(), ids=SUITED)
def test_a_vocabulary_that_does_not_suit_the_text_is_told(small, monkeypatch, suited, told):
    tokens = read_manifest(small / "data").splits["train"]["copies"][0]["tokens"]

    def suited_size(text, *, characters):
        assert 30 < characters < 100
        return suited(text, tokens)

    monkeypatch.setattr(advice, "suited_vocab_size", suited_size)
    take(monkeypatch, 0.1)
    said = planned(small, *TINY, budget="1m")
    assert re.findall("The vocabulary has 400 pieces; about (.+) suit a text of ", said) == told


def test_a_model_that_no_run_was_like_is_not_chosen_for_the_less_that_it_promises(
    small, monkeypatch
):
    take_shares(monkeypatch, 0.8, 0.85)
    monkeypatch.setattr(Law, "is_outside", lambda _, *, weights, tokens: weights == 393_216)
    assert "chosen: 4 layers of 128, " in planned(small, budget="20h")


def test_a_plan_tells_the_ladder_and_the_command_with_the_flags_given(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = planned(small, budget="1h")
    rungs = [line for line in said.splitlines() if line[:1].isdigit()]
    assert [line.split(",")[0] for line in rungs] == [
        f"{layers} layers of {hidden}" for layers, hidden in SHAPES
    ]
    assert said.count("  chosen\n") == 1
    assert said.endswith(f"Next:  albert pretrain --budget 1h --data {small}/data --output run\n")
    assert planned(small, *TINY, "--set", "sharing=all", "--batch-size", 8, budget="1h").endswith(
        "Next:  albert pretrain --budget 1h --model tiny --set sharing=all "
        f"--batch-size 8 --data {small}/data --output run\n"
    )


def test_a_number_format_that_is_given_is_kept(small, monkeypatch):
    monkeypatch.setattr(timing, "matrix_rate", {"bfloat16": 2e9, "float32": 1e9}.get)
    assert ", bfloat16; " in planned(small, *TINY, budget="80s")
    assert ", float32; " in planned(small, *TINY, "--precision", "float32", budget="80s")
