"""Checkpoints are whole or absent, and a damaged one is noticed."""

import errno
import shutil
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from albert_tf.runs import checkpoints
from tests.refusals import refusal


def checkpoint(step):
    weights = {"a/kernel": np.full((2, 3), step, "float32")}
    moments = {"a/kernel/m": np.full((2, 3), -step, "float32")}
    state = {"step": step, "examples": 8 * step, "micro_batch_size": 8}
    return checkpoints.Checkpoint(weights, moments, state)


def save(run, *steps, best=()):
    for step in steps:
        checkpoints.save_checkpoint(run, checkpoint(step), is_best=step in best)


def directories(run):
    return sorted(p.name for p in (run / "checkpoints").iterdir() if p.is_dir())


def load(run):
    """The newest checkpoint and the lines that were said."""
    lines = []
    return checkpoints.load_newest(run, lines.append), lines


def test_what_is_saved_is_loaded(tmp_path):
    save(tmp_path, 7)
    loaded, lines = load(tmp_path)
    expected = checkpoint(7)
    assert (loaded.state, lines) == (expected.state, [])
    np.testing.assert_array_equal(loaded.weights["a/kernel"], expected.weights["a/kernel"])
    moments, theirs = loaded.optimizer_state, expected.optimizer_state
    np.testing.assert_array_equal(moments["a/kernel/m"], theirs["a/kernel/m"])
    # Whoever may read the state may read the weights.
    assert len({p.stat().st_mode for p in tmp_path.glob("checkpoints/step-00000007/*")}) == 1
    # Weights are read without what only training needs.
    (tmp_path / "checkpoints/step-00000007/optimizer.safetensors").unlink()
    loaded = checkpoints.load_newest(tmp_path, print, with_optimizer=False)
    np.testing.assert_array_equal(loaded.weights["a/kernel"], expected.weights["a/kernel"])
    assert (loaded.optimizer_state, loaded.state["step"]) == ({}, 7)


def test_the_newest_few_and_the_best_are_kept(tmp_path):
    save(tmp_path, 1, 2, 3, 4, 5, 6, best=[2])
    assert checkpoints.NUM_KEPT == 3
    assert directories(tmp_path) == [f"step-0000000{n}" for n in (2, 4, 5, 6)]
    # In the order of their steps, whatever their names.
    save(tmp_path, 99_999_999, 100_000_000)
    assert load(tmp_path)[0].state["step"] == 100_000_000


def test_what_is_saved_after_damaged_checkpoints_of_later_steps_is_kept(tmp_path):
    save(tmp_path, 1, 2, 3, 4, best=[1])
    for step in (2, 3, 4):
        path = tmp_path / f"checkpoints/step-{step:08}/model.safetensors"
        path.write_bytes(path.read_bytes()[:-1])
    assert load(tmp_path)[0].state["step"] == 1
    # The run goes on from step 1.
    save(tmp_path, 2)
    assert directories(tmp_path) == ["step-00000001", "step-00000002"]
    assert load(tmp_path)[0].state["step"] == 2
    best = checkpoints.run_checkpoint(tmp_path, which="best", say=print)
    assert best.state["step"] == 1


def test_an_old_checkpoint_that_cannot_be_removed_ends_no_run(tmp_path, monkeypatch):
    save(tmp_path, 1, 2, 3)
    busy = OSError(errno.EBUSY, "Device or resource busy", "path")
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", Mock(side_effect=busy))
        save(tmp_path, 4)
    assert directories(tmp_path) == [f"step-0000000{n}" for n in (1, 2, 3, 4)]
    assert load(tmp_path)[0].state["step"] == 4
    save(tmp_path, 5)
    assert directories(tmp_path) == [f"step-0000000{n}" for n in (3, 4, 5)]


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def cut(path):
    path.write_bytes(path.read_bytes()[:-5])


def other_examples(path):
    path.write_text(path.read_text().replace('"examples": 16', '"examples": 8'))


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("model.safetensors", flip),
        ("model.safetensors", cut),
        ("model.safetensors", Path.unlink),
        ("optimizer.safetensors", flip),
        ("optimizer.safetensors", Path.unlink),
        ("state.json", cut),
        ("state.json", other_examples),
        ("state.json", Path.unlink),
    ],
)
def test_a_damaged_checkpoint_is_said_and_the_one_before_taken(tmp_path, name, harm):
    save(tmp_path, 1, 2)
    harm(tmp_path / "checkpoints/step-00000002" / name)
    loaded, (line,) = load(tmp_path)
    assert loaded.state["step"] == 1
    assert line.startswith(f"{tmp_path}/checkpoints/step-00000002 is damaged (")
    assert line.endswith("); going back to the checkpoint before it.")


def test_when_all_are_damaged_it_says_why_and_what_to_do(tmp_path):
    save(tmp_path, 10, best=[10])
    step = tmp_path / "checkpoints/step-00000010"
    flip(step / "model.safetensors")
    assert refusal(load, tmp_path) == (
        f"{tmp_path}/checkpoints has no checkpoint that can be read (step-00000010: "
        "model.safetensors is not what was written); start the run again with --overwrite."
    )
    (step / "state.json").unlink()
    said = refusal(checkpoints.run_checkpoint, tmp_path, which="best")
    assert "step-00000010 is damaged" in said


def test_what_a_kill_leaves_half_written_is_no_checkpoint(tmp_path):
    save(tmp_path, 1)
    half = tmp_path / "checkpoints/step-00000002.tmp-99"
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"half")
    loaded, lines = load(tmp_path)
    assert (loaded.state["step"], lines) == (1, [])
    save(tmp_path, 3)
    assert directories(tmp_path) == ["step-00000001", "step-00000003"]


def test_a_full_disk_leaves_the_checkpoint_before_and_says_so(tmp_path, monkeypatch):
    save(tmp_path, 1)
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr("schemas.files._flush", Mock(side_effect=full))
    assert refusal(save, tmp_path, 2) == (
        f"{tmp_path}/checkpoints/step-00000002 cannot be written: No space left on "
        "device; free some space or make the folder writable, then run the same "
        "command again: it continues from the checkpoint before."
    )
    assert directories(tmp_path) == ["step-00000001"]
    assert load(tmp_path)[0].state["step"] == 1


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("number", [1, 2])
def test_a_kill_after_a_checkpoint_has_its_name_keeps_the_best(tmp_path, monkeypatch, number):
    """Before the file of that number that names a checkpoint."""
    save(tmp_path, 1, best=[1])
    written = []

    def write_text(path, text):
        written.append(path)
        if len(written) == number:
            raise Killed
        path.write_text(text)

    monkeypatch.setattr(checkpoints, "write_text", write_text)
    with pytest.raises(Killed):
        save(tmp_path, 2, best=[2])
    monkeypatch.undo()
    assert checkpoints.run_checkpoint(tmp_path, which="best").state["step"] == 2
    save(tmp_path, 3, 4, 5, 6)
    assert checkpoints.run_checkpoint(tmp_path, which="best").state["step"] == 2


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"a": Mock(shape=(2, 2))}, "a has shape (2, 3) in the checkpoint and (2, 2) in"),
        ({}, "a has shape (2, 3) in the checkpoint and no such tensor in the model"),
        (
            {"a": Mock(shape=(2, 3)), "b": Mock(shape=(1,))},
            "b has shape no such tensor in the checkpoint and (1,) in the model",
        ),
    ],
)
def test_tensors_that_do_not_fit_are_named(variables, message):
    assert message in refusal(lambda: checkpoints.assign_arrays(variables, {"a": np.zeros((2, 3))}))
    assert not any(variable.mock_calls for variable in variables.values())
