"""Whether a run is finished, from its files alone."""

import json
import subprocess
import sys

import numpy as np

from albert_tf.runs.checkpoints import Checkpoint, save_checkpoint
from albert_tf.runs.finished import finished_step
from schemas.json_file import write_json
from tests.runs import manifest_of


def save_run(run, *, step=12, evaluated=12, held_out=1):
    """A run of one checkpoint with one evaluation."""
    arrays = {"kernel": np.zeros(2, "float32")}
    state = {"step": step, "micro_batch_size": 1}
    save_checkpoint(run, Checkpoint(arrays, arrays, state), is_best=False)
    write_json(run / "data_manifest.json", manifest_of(held_out).to_dict())
    line = {"step": evaluated, "split": "eval"}
    (run / "metrics.jsonl").write_text(json.dumps(line) + "\n")


def test_the_step_of_the_newest_checkpoint(tmp_path):
    save_run(tmp_path)
    assert finished_step(tmp_path) == 12


def test_no_run_and_a_run_without_checkpoint_have_none(tmp_path):
    assert finished_step(tmp_path / "run") is None
    save_run(tmp_path)
    (tmp_path / "checkpoints").rename(tmp_path / "elsewhere")
    assert finished_step(tmp_path) is None


def test_a_last_evaluation_that_is_missing_is_left_to_do(tmp_path):
    save_run(tmp_path, evaluated=10)
    assert finished_step(tmp_path) is None


def test_without_held_out_examples_no_evaluation_is_missing(tmp_path):
    save_run(tmp_path, evaluated=0, held_out=0)
    assert finished_step(tmp_path) == 12


def test_damaged_files_are_left_to_training(tmp_path):
    for name in (
        "metrics.jsonl",
        "data_manifest.json",
        "checkpoints/step-00000012/state.json",
        "checkpoints/step-00000012/model.safetensors",
    ):
        save_run(tmp_path)
        (tmp_path / name).write_text("{\n")
        assert finished_step(tmp_path) is None


def test_it_needs_neither_tensorflow_nor_keras():
    program = (
        "import sys, albert_tf.runs.finished\n"
        "print(sorted({'keras', 'tensorflow'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
