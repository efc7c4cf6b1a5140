"""Where a run stands, for a person."""

import numpy as np

from albert_tf.runs.checkpoints import Checkpoint, save_checkpoint
from albert_tf.runs.standing import standing
from pipeline.storage.output_folder import lock
from schemas.layout import STATE, checkpoint_directory
from tests.runs import LINES, write_records


def test_a_run_that_was_stopped_stands_at_its_checkpoint_not_at_its_last_line(tmp_path):
    run = write_records(tmp_path / "run")
    arrays = {"kernel": np.zeros(2, "float32")}
    state = {"step": 5, "micro_batch_size": 1}
    save_checkpoint(run, Checkpoint(arrays, arrays, state), is_best=False)
    first, *_, last = standing(run)
    assert first.startswith(f"{run}: step 5 of 10, in batches of ")
    assert last == "The same command would go on from step 5."


def test_a_run_goes_on_from_the_newest_checkpoint_that_is_whole(tmp_path):
    run = write_records(tmp_path / "run")
    for step in (5, 8):
        save_checkpoint(run, Checkpoint({}, {}, {"step": step}), is_best=False)
    (run / checkpoint_directory(8) / STATE).write_text("{}", "utf-8")
    assert list(standing(run))[-1] == "The same command would go on from step 5."


def test_a_run_that_was_stopped_before_its_last_evaluation_has_that_to_do(tmp_path):
    run = write_records(tmp_path / "run", lines=LINES[:1])
    save_checkpoint(run, Checkpoint({}, {}, {"step": 10}), is_best=False)
    assert list(standing(run))[-1] == (
        "All steps are done; the same command would measure what is held out, and end."
    )


def test_a_run_that_runs_stands_at_its_last_line_and_says_so(tmp_path):
    run = write_records(tmp_path / "run")
    with lock(run):
        first, *_, last = standing(run)
    assert first.startswith(f"{run}: running, step ")
    assert last == (
        "No checkpoint is whole: the same command would begin at the first step if it were killed."
    )
    first, *_, last = standing(run)
    assert "running" not in first
    assert last == "No checkpoint is whole: the same command would begin at the first step."
