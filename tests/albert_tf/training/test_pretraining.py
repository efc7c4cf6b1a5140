"""Training end to end: what a run leaves, and that no interruption shows in it."""

import contextlib
import dataclasses
import io
import itertools
import json
import math
import os
import re
import shutil
import signal
import types

import numpy as np
import pytest

from albert_tf.data.input_pipeline import training_batches
from albert_tf.evaluation.held_out import HeldOut
from albert_tf.model import sampled_softmax
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.runs.metrics import read_metrics
from albert_tf.runs.run_record import finished_step
from albert_tf.training import loop, pretraining
from albert_tf.training.evaluations import HeldOutEvaluations
from albert_tf.training.loop import Training
from albert_tf.training.pretraining import is_line_due, step_text, take_up
from albert_tf.training.run import RunState
from albert_tf.training.steps import StepDone
from albert_tf.training.stream import Stream
from albert_tf.training.tensorflow_steps import TensorFlowSteps
from albert_tf.training.timing import Pace
from cli.support.console import Console
from schemas.config import TrainConfig
from schemas.errors import AlbertError, SettingError
from schemas.manifest import read_manifest
from tests.refusals import refusal
from tests.runs import (
    DROPOUT,
    OF_DOCUMENTS,
    SETTINGS,
    evaluations,
    final,
    signal_at_micro_batch,
    take_light_steps,
    train,
)
from tests.training_data import TINY, resolved_run, write_dataset

# The last micro-batch of a step is not full, and the last two steps predict among all tokens.
UNEVEN = dataclasses.replace(
    SETTINGS,
    batch_size=7,
    micro_batch_size=3,
    schedule="constant-cooldown",
    cooldown_share=0.5,
    sampled_softmax=True,
)


@pytest.fixture(scope="module", autouse=True)
def half_of_a_small_vocabulary():
    """Where a run samples its softmax, there are 36 candidates of 64 tokens."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampled_softmax, "LEAST_DRAWN", 8)
        patch.setattr(sampled_softmax, "MOST_CANDIDATES", 1.0)
        yield


@pytest.fixture
def light(monkeypatch):
    """Steps compute nothing; all that is around them is as ever."""
    take_light_steps(monkeypatch)


def whole(data, run, **given):
    """Train a model with dropout to the end, from wherever it is."""
    return train(data, run, model=DROPOUT, config=UNEVEN, **given)


@pytest.fixture(scope="module")
def run_and_said(data, tmp_path_factory):
    run, said = tmp_path_factory.mktemp("undisturbed"), io.StringIO()
    with contextlib.redirect_stderr(said), Console(quiet=False) as console:
        result = whole(data, run, progress=console)
    assert (result.step, result.finished, result.reason) == (12, True, "finished")
    return run, said.getvalue()


@pytest.fixture(scope="module")
def undisturbed(run_and_said):
    """A run that trained a model with dropout without interruption."""
    return run_and_said[0]


def test_a_finished_run_has_the_files_of_the_contract(undisturbed, data):
    run = undisturbed
    files = sorted(str(p.relative_to(run)) for p in run.rglob("*") if p.is_file())
    events = [name for name in files if name.startswith("tensorboard/")]
    assert len(events) == 1
    checkpoint = ["model.safetensors", "optimizer.safetensors", "state.json"]
    named = ((run / "checkpoints" / name).read_text() for name in ("latest", "best"))
    kept = {line for text in named for line in text.split()}
    assert "step-00000012" in kept
    for name in kept:
        assert sorted(os.listdir(run / "checkpoints" / name)) == checkpoint
    rest = [n for n in files if not n.startswith(("tensorboard/", "checkpoints/step"))]
    assert rest == [
        *("checkpoints/best", "checkpoints/latest", "data_manifest.json", "metrics.jsonl"),
        *("model.json", "spiece.model"),
    ]
    assert (run / "data_manifest.json").read_bytes() == (data / "manifest.json").read_bytes()


def test_metrics_have_the_keys_of_the_contract_and_the_steps_asked_for(undisturbed):
    run = undisturbed
    lines = read_metrics(run)
    masked, sentences = ("mlm_loss", "mlm_accuracy"), ("sentence_loss", "sentence_accuracy")
    sampled = [f"sampled_{name}" for name in masked]
    rates = ("learning_rate", "gradient_norm", "sequences_per_second", "seconds")
    intervals = ("mlm_loss_error", "sentence_loss_error", "mlm_count", "sentence_count", "examples")
    bits = ("bits_per_character", "bits_per_character_error")
    assert {(line["split"], *line) for line in lines} == {
        ("train", "step", "split", *sentences, *sampled, *rates),
        ("train", "step", "split", *masked, *sentences, *rates),
        ("eval", "step", "split", *masked, *sentences, *intervals, *bits, *rates),
    }
    assert [line["step"] for line in lines if "sampled_mlm_loss" in line] == list(range(1, 11))
    assert [line["step"] for line in lines if line["split"] == "train"] == list(range(1, 13))
    assert [line["step"] for line in evaluations(run)] == [0, 5, 10, 12]


def test_a_stopped_run_goes_on_as_if_nothing_had_happened(undisturbed, data, tmp_path, monkeypatch):
    """Not even the attempt before, on other data, which ended before its first checkpoint."""
    run, other = tmp_path / "run", tmp_path / "other"
    write_dataset(other, seed=1)
    with monkeypatch.context() as patch:
        take_light_steps(patch)
        signal_at_micro_batch(patch, 1)
        result = train(other, run, config=dataclasses.replace(SETTINGS, seed=7))
    assert (result.step, result.finished, result.reason) == (0, False, "terminated")
    assert len(read_metrics(run)) == 1
    with monkeypatch.context() as patch:
        signal_at_micro_batch(patch, 22, which=signal.SIGINT)
        result = whole(data, run)
    # In the cooldown. A step is three micro-batches; the one begun is given up.
    assert (result.step, result.finished, result.reason) == (7, False, "interrupted")
    assert finished_step(run) is None
    assert whole(data, run).finished
    assert final(run) == final(undisturbed)
    for name in ("data_manifest.json", "model.json", "spiece.model"):
        assert (run / name).read_bytes() == (undisturbed / name).read_bytes()


@pytest.mark.usefixtures("light")
def test_a_signal_while_a_step_is_compiled_ends_the_run_before_it(data, tmp_path, monkeypatch):
    compiled = TensorFlowSteps.compile

    def signalled(self, parts, **kwargs):
        os.kill(os.getpid(), signal.SIGTERM)
        return compiled(self, parts, **kwargs)

    monkeypatch.setattr(TensorFlowSteps, "compile", signalled)
    monkeypatch.setattr(TensorFlowSteps, "accumulate", lambda *_, **__: 1 / 0)
    result = train(data, tmp_path)
    assert (result.step, result.reason) == (0, "terminated")
    assert not read_metrics(tmp_path)


@pytest.mark.usefixtures("light")
def test_a_run_that_has_no_time_does_a_step_at_every_call_and_ends_as_any_other(data, tmp_path):
    config = dataclasses.replace(SETTINGS, steps=2, warmup_steps=1, eval_every=1)
    run, alone = tmp_path / "run", tmp_path / "alone"
    calls = [train(data, run, config=config, max_seconds=0.0) for _ in range(3)]
    # The evaluation after the last step is for the call after it.
    ended = [(call.step, call.reason) for call in calls]
    assert ended == [(1, "max-time"), (2, "max-time"), (2, "finished")]
    train(data, alone, config=config)
    assert final(run) == final(alone)


@pytest.mark.usefixtures("light")
def test_an_evaluation_for_which_the_time_is_too_short_is_not_begun(data, tmp_path, monkeypatch):
    monkeypatch.setattr(HeldOutEvaluations, "seconds", lambda *_, **__: 1000.0)
    result = train(data, tmp_path, max_seconds=600.0)
    assert (result.step, result.reason) == (5, "max-time")
    assert [line["step"] for line in evaluations(tmp_path)] == [0]


def test_the_damaged_last_checkpoint_is_made_again(data, tmp_path, capfd, light):
    assert whole(data, tmp_path).finished
    before = final(tmp_path)
    weights = tmp_path / "checkpoints/step-00000012/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    assert finished_step(tmp_path) is None
    assert whole(data, tmp_path, progress=Console(quiet=False)).finished
    said = capfd.readouterr().err
    assert f"{weights.parent} is damaged (model.safetensors is not what was" in said
    assert final(tmp_path) == before


def test_a_finished_run_is_left_as_it_is(undisturbed, data):
    files = {p: p.read_bytes() for p in (undisturbed / "checkpoints").rglob("*.json")}
    result = whole(data, undisturbed)
    assert (result.step, result.reason) == (12, "finished")
    assert finished_step(undisturbed) == 12
    assert [line["step"] for line in evaluations(undisturbed)] == [0, 5, 10, 12]
    assert {path: path.read_bytes() for path in files} == files


@pytest.mark.usefixtures("light")
def test_a_run_starts_from_a_shallower_one_and_goes_on_without_it(undisturbed, data, tmp_path):
    run, source = tmp_path / "run", shutil.copytree(undisturbed, tmp_path / "source")
    given = {
        "model": dataclasses.replace(DROPOUT, num_hidden_layers=2),
        # The rate of the only step is 0.
        "config": dataclasses.replace(SETTINGS, steps=1, warmup_steps=1),
        "init_from": source,
    }
    assert train(data, run, **given).step == 1
    ours, theirs = final(run)[0], final(undisturbed)[0]
    for name, values in ours.items():
        if not name.endswith(("/m", "/v")):
            assert values == theirs[name]
    shutil.rmtree(source)
    assert train(data, run, **given).finished


def test_without_an_eval_split_it_says_so_and_goes_on(tmp_path, capfd, light):
    write_dataset(tmp_path / "data", eval_examples=0)
    console = Console(quiet=False)
    result = train(tmp_path / "data", tmp_path / "run", progress=console)
    assert result.finished
    assert evaluations(tmp_path / "run") == []
    assert finished_step(tmp_path / "run") == 12
    assert (
        f"{tmp_path}/data has no held-out examples: training goes on without held-out "
        "losses." in capfd.readouterr().err
    )


def test_it_says_beforehand_how_long_it_will_take(run_and_said):
    said = run_and_said[1].splitlines()
    (estimate,) = [line for line in said if line.startswith("A step of")]
    number = r"[\d.,]+ "
    assert re.fullmatch(
        rf"A step of 7 sequences \(3 x 3\) takes about {number}s "
        rf"\(MFU \d+% of {number}.?FLOP/s\); the 12 steps left will take about "
        rf"{number}s\.",
        estimate,
    )
    assert said[-1].startswith("Held out, step 12: masked LM ")
    assert re.fullmatch(
        rf"step 12/12, masked LM {number[:-1]}, SOP {number[:-1]}, {number}seq/s.*, "
        "0 s left",
        said[-2],
    )


def refused(data, folder, **given):
    """What is said of a run that cannot work, before anything is written."""
    said = refusal(train, data, folder, **given)
    assert not folder.exists()
    return said


def test_another_vocabulary_and_other_data_under_a_run_are_refused(undisturbed, data, tmp_path):
    said = refused(data, tmp_path / "run", model=dataclasses.replace(TINY, vocab_size=65))
    assert "a vocabulary of 64 tokens and the model's vocab_size is 65" in said
    write_dataset(tmp_path / "other", seed=1)
    assert "is not the data set" in refusal(whole, tmp_path / "other", undisturbed)


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (
            lambda data: (data / "spiece.model").unlink(),
            "/data/spiece.model is missing; make the data again.",
        ),
        (
            lambda data: (data / "spiece.model").write_bytes(b"other pieces"),
            "/data/spiece.model is not the vocabulary that the data was made with",
        ),
        (lambda data: write_dataset(data, examples=0), "has no training examples"),
    ],
)
def test_data_that_cannot_be_trained_on_are_refused(data, tmp_path, harm, says):
    shutil.copytree(data, tmp_path / "data")
    harm(tmp_path / "data")
    assert says in refused(tmp_path / "data", tmp_path / "run")


def test_what_was_done_is_saved_when_an_evaluation_fails(data, tmp_path, monkeypatch, light):
    measured = HeldOut.measure

    def measure(self, **settings):
        if (tmp_path / "run/metrics.jsonl").read_text():
            raise AlbertError("a held-out shard is damaged.")
        return measured(self, **settings)

    monkeypatch.setattr(HeldOut, "measure", measure)
    config = dataclasses.replace(SETTINGS, eval_every=3, checkpoint_every=None)
    assert "a held-out shard is damaged" in refusal(train, data, tmp_path / "run", config=config)
    assert (tmp_path / "run/checkpoints/step-00000003/state.json").is_file()


def test_a_run_goes_on_with_its_micro_batch_unless_asked_and_never_with_padding(
    undisturbed, data, tmp_path, monkeypatch
):
    run, said = shutil.copytree(undisturbed, tmp_path / "run"), []

    def gone_on_with(size):
        config = dataclasses.replace(UNEVEN, micro_batch_size=size)
        resolved = resolved_run(data, run, config, model_config=DROPOUT)
        return take_up(resolved, AlbertPretrainer(DROPOUT), say=said.append)[1].micro_batch_size

    monkeypatch.setattr("albert_tf.planning.cost.free_memory_bytes", lambda: 0)
    assert gone_on_with(None) == 3
    assert said == [f"Continuing {run} after step 12."]
    assert gone_on_with(2) == 2
    assert said[-1] == (
        "Micro-batches of 2 instead of 3: this changes only rounding, and what dropout leaves out."
    )
    path = run / "checkpoints/step-00000012/state.json"
    state = json.loads(path.read_text())
    assert state.pop("unpadded") is True
    del state["sha256"]["state.json"]
    path.write_text(json.dumps(state))
    assert refusal(gone_on_with, None) == (
        f"{run} was begun with padding, which is no longer computed; start a new "
        f"run with --init-from {run} --output NEW."
    )


SUMS = np.array([60.0, 1.0, 10.0, 2.0, 3.0, 4.0])


@pytest.fixture
def begun(data, tmp_path):
    """Makes a state of a run after a step, and what it reads."""

    def make(*, steps=4, step=1, **model):
        config = TrainConfig(steps=steps, batch_size=4)
        model_config = dataclasses.replace(TINY, **model)
        run, state = resolved_run(data, tmp_path, config, model_config=model_config), RunState(4)
        state.step = step
        return state, Stream(run, state, num_devices=1)

    return make


def done(sums):
    return StepDone(sums, learning_rate=1e-3, norm=2.0)


def test_steps_to_come_count_in_those_of_the_moment_and_longer_ones_are_expected(monkeypatch):
    """Of four, the last two cost three times as much."""
    nothing = dict.fromkeys(("saver", "stop", "progress", "evaluations"))
    config, steps = TrainConfig(steps=4).resolved(), types.SimpleNamespace(sums=lambda _: SUMS)
    given = {"config": config, "state": RunState(4, step=1), "costs": [(0.5, 100), (0.5, 300)]}
    training = Training(steps=steps, **given, **nothing)
    assert training.steps_left() == pytest.approx(1 + 2 * 3)
    monkeypatch.setattr(loop.time, "perf_counter", lambda: 1.0)
    _, seconds = training._ended(loop.Begun(0.0, 0.0, [], learning_rate=1e-3, norm=2.0))
    assert (seconds, training.state.step, training.pace.step_seconds) == (1.0, 2, 3.0)


@pytest.mark.parametrize(
    ("given", "sums", "text"),
    [
        ({}, [60.0, 1.0, 10.0, 2.0, 3.0, 4.0], "step 1/4, masked LM 6.000, SOP 0.500"),
        # A loss that is not of the paper.
        (
            {"sentence_task": "none"},
            [60.0, 1.0, 10.0, 0.0, 0.0, 0.0, 0.3133],
            "step 1/4, masked LM 6.000, layer consistency 0.3133",
        ),
    ],
)
def test_a_step_is_told_in_one_short_line(begun, given, sums, text):
    state, stream = begun(**given)
    assert step_text(stream, 1, np.array(sums)) == text
    state.add(done(np.array(sums)), 1.0, examples=4)
    line = state.take_line(done(sums), batch_size=4, is_sampled=False)
    assert not [name for name in line if "consistency" in name]


@pytest.mark.parametrize(
    ("steps", "step", "batch_size", "seconds", "waited", "left", "columns"),
    [
        (125_000, 100_000, 4096, 3.3, 0.0, "12 d 10 h", 80),
        # An hour's run that waits.
        (5794, 2000, 32, 1.1, 0.2, "1 h 44 min", 98),
    ],
)
def test_a_line_fits_a_terminal(begun, steps, step, batch_size, seconds, waited, left, columns):
    (_, stream), pace = begun(steps=steps), Pace(batch_size=batch_size)
    pace.add(seconds, waited=waited)
    line = f"{step_text(stream, step, SUMS)}, {pace.text()}, {left} left"
    assert line.startswith(f"step {step}/{steps}, masked LM 6.000, SOP 0.500, ")
    assert (", 29.1 seq/s, 18% waiting for data, 1 h 44 min left" in line) == bool(waited)
    assert len(f"|#| {line}") <= columns


def test_in_a_long_run_a_line_of_metrics_is_the_mean_of_several_steps(begun):
    state, stream = begun(steps=2000)
    state.add(done(SUMS), 1.0, examples=4)
    assert not is_line_due(state, stream)
    state.step = 2
    state.add(done(3 * SUMS), 3.0, examples=4)
    assert is_line_due(state, stream)
    assert state.take_line(done(3 * SUMS), batch_size=4, is_sampled=False) == {
        "step": 2,
        "split": "train",
        "mlm_loss": pytest.approx(6.0),
        "mlm_accuracy": pytest.approx(0.1),
        "sentence_loss": pytest.approx(0.5),
        "sentence_accuracy": pytest.approx(0.75),
        "learning_rate": 1e-3,
        "gradient_norm": 2.0,
        "sequences_per_second": 2.0,
        "seconds": 4.0,
    }
    assert (state.window_steps, state.examples) == (0, 8)


@pytest.mark.parametrize(
    ("saved", "advice"),
    [
        (
            1,
            "the checkpoints in {run} are kept; start a run with another --output, "
            "a lower --learning-rate or more --warmup-steps and --init-from {run}.",
        ),
        (
            0,
            "start again with a lower --learning-rate or more --warmup-steps; what was "
            "measured is in {run}/metrics.jsonl.",
        ),
    ],
)
def test_an_overflow_ends_a_run_and_its_reading_with_cause_and_what_was_measured(
    data, tmp_path, monkeypatch, saved, advice
):
    """The first step is too early for a line of metrics."""
    begun = []

    def noted(*given, **settings):
        begun.append(training_batches(*given, **settings))
        return begun[-1]

    take_light_steps(monkeypatch)
    monkeypatch.setattr(pretraining, "NUM_LINES", 1)
    monkeypatch.setattr("albert_tf.training.stream.training_batches", noted)
    sums = iter([SUMS, math.nan * SUMS])
    monkeypatch.setattr(TensorFlowSteps, "apply", lambda self, *_, **__: self.discard() or 1.0)
    monkeypatch.setattr(TensorFlowSteps, "sums", lambda *_: next(sums))
    every = 1 if saved else 12
    config = dataclasses.replace(SETTINGS, checkpoint_every=every, eval_every=12)
    assert refusal(train, data, tmp_path, config=config) == (
        "the loss of step 2 is nan: the learning rate is most likely too high for this "
        f"batch size; {advice.format(run=tmp_path)}"
    )
    lines = read_metrics(tmp_path)
    assert [line["step"] for line in lines if line["split"] == "train"] == [1]
    kept = [path.name for path in (tmp_path / "checkpoints").glob("step-*")]
    assert kept == ["step-00000001"] * saved
    (batches,) = begun
    assert batches.gi_frame is None


def test_the_candidates_of_a_step_do_not_depend_on_its_micro_batches(data, tmp_path):
    found = []
    for size in (2, 6):
        config = dataclasses.replace(UNEVEN, batch_size=6, micro_batch_size=size)
        stream = Stream(resolved_run(data, tmp_path, config), RunState(size), num_devices=1)
        with contextlib.closing(stream.steps()) as steps:
            parts = [step.parts for step in itertools.islice(steps, 3)]
        assert {len(of_step) for of_step in parts} == {6 // size}
        found.append([{candidates_of(part) for part in of_step} for of_step in parts])
    assert found[0] == found[1]
    # One set for all micro-batches of a step, another for each step.
    assert len(set().union(*found[0])) == 3


def candidates_of(part):
    """The tokens that a micro-batch is predicted among, with their offsets."""
    return part["candidates"].tobytes(), part["offsets"].tobytes()


ON_THE_FLY = TrainConfig(batch_size=960, micro_batch_size=480, steps=3, eval_examples=7)


@pytest.mark.slow
def test_a_run_on_documents_ends_as_one_on_stored_copies(small, documents, tmp_path, monkeypatch):
    examples = read_manifest(documents).num_examples("train")
    assert examples < ON_THE_FLY.steps * ON_THE_FLY.batch_size < 2 * examples
    train(small / "data", tmp_path / "s", model=OF_DOCUMENTS, config=ON_THE_FLY)
    train(documents, tmp_path / "whole", model=OF_DOCUMENTS, config=ON_THE_FLY)
    assert final(tmp_path / "whole") == final(tmp_path / "s")
    # The third step is in the second epoch.
    signal_at_micro_batch(monkeypatch, 5)
    stopped = train(documents, tmp_path / "cut", model=OF_DOCUMENTS, config=ON_THE_FLY)
    assert (stopped.step, stopped.finished) == (2, False)
    state = tmp_path / "cut/checkpoints/step-00000002/state.json"
    assert json.loads(state.read_text())["landmark"] == [1, 0, examples]
    monkeypatch.undo()
    train(documents, tmp_path / "cut", model=OF_DOCUMENTS, config=ON_THE_FLY)
    assert final(tmp_path / "cut") == final(tmp_path / "whole")


def test_a_shard_of_documents_that_was_cut_is_refused_before_anything_is_done(documents, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(documents, data)
    shard = max(read_manifest(data).shard_files("train", 0), key=lambda s: s.bytes)
    path = data / shard.name
    path.write_bytes(path.read_bytes()[:-9])
    assert refusal(train, data, tmp_path / "run", model=OF_DOCUMENTS, config=ON_THE_FLY) == (
        f"{path} has {shard.bytes - 9} bytes and not {shard.bytes}, as manifest.json says; run the "
        "same albert make-data again: it makes the file anew, byte for byte."
    )


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (
            *("documents", {"max_seq_length": "64"}),
            "--max-seq-length 64 is more than the model's max_position_embeddings of 32; give "
            "--set max_position_embeddings=64, or shorter sequences.",
        ),
        (
            *("documents", {"max_seq_length": "16:0.5"}),
            "--max-seq-length '16:0.5' is neither a value nor a schedule; give something like 512 "
            "or 128:0.9,512.",
        ),
        (
            *("documents", {"sentence_task": "nsp"}),
            "--sentence-task nsp: the held-out examples of {data} are made for sop; leave it out, "
            "or make data with --sentence-task nsp.",
        ),
        (
            *("data", {"masked_lm_prob": "0.3", "max_seq_length": "24"}),
            "{data} has stored examples, which cannot be changed: leave --max-seq-length, "
            "--masked-lm-prob out, or make data with --examples on-the-fly.",
        ),
        (
            *("data", {"xla": True, "recompute": True}),
            "--xla undoes --recompute on TensorFlow; leave one of them out.",
        ),
    ],
)
def test_settings_that_do_not_fit_the_run_are_refused(kind, settings, message, request, tmp_path):
    data = request.getfixturevalue(kind)
    model = OF_DOCUMENTS if kind == "documents" else TINY
    given = {"model": model, "config": dataclasses.replace(ON_THE_FLY, **settings)}
    said = refused(data, tmp_path / "run", **given, error=SettingError)
    assert said == message.format(data=data)
