"""Where a run stands, for a person."""

import numpy as np

from albert_tf.runs.checkpoints import Checkpoint, save_checkpoint
from albert_tf.runs.standing import standing
from pipeline.storage.output_folder import lock
from tests.runs import write_records


def test_a_run_that_was_stopped_stands_at_its_checkpoint_not_at_its_last_line(tmp_path):
    run = write_records(tmp_path / "run")
    arrays = {"kernel": np.zeros(2, "float32")}
    state = {"step": 5, "micro_batch_size": 1}
    save_checkpoint(run, Checkpoint(arrays, arrays, state), is_best=False)
    first, *_, last = standing(run)
    assert first.startswith(f"{run}: step 5 of 10, in batches of ")
    assert last == "The same command would go on from step 5."


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
