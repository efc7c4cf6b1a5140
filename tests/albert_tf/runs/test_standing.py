"""Where a run stands, for a person."""

import pytest

from albert_tf.runs.checkpoints import Checkpoint, save_checkpoint
from albert_tf.runs.standing import standing
from pipeline.storage.output_folder import lock
from schemas.layout import STATE, checkpoint_directory
from tests.runs import LINES, write_records


@pytest.mark.parametrize(
    ("saved", "whole", "would"),
    [
        ([5], 5, "The same command would go on from step 5."),
        ([5, 8], 5, "The same command would go on from step 5."),
        ([10], 10, "All steps are done; the same command would measure what is held out, and end."),
    ],
    ids=["stopped", "its newest checkpoint is damaged", "its last evaluation is missing"],
)
def test_a_run_stands_at_its_newest_whole_checkpoint_not_at_its_line(tmp_path, saved, whole, would):
    run = write_records(tmp_path / "run", lines=LINES[:1] if saved == [10] else LINES)
    for step in saved:
        save_checkpoint(run, Checkpoint({}, {}, {"step": step}), is_best=False)
        if step > whole:
            (run / checkpoint_directory(step) / STATE).write_text("{}", "utf-8")
    first, *_, last = standing(run)
    assert first.startswith(f"{run}: step {whole} of 10, in batches of ")
    assert last == would


def test_of_a_run_its_last_line_and_its_last_and_best_evaluation_are_shown(tmp_path):
    lines = [
        {"step": step, "split": split, "mlm_loss": loss, "mlm_accuracy": 0.25}
        for step, split, loss in ((5, "eval", 6.5), (9, "train", 6.0), (10, "eval", 7.0))
    ]
    _, *shown = standing(write_records(tmp_path / "run", lines=lines))
    assert shown[:3] == [
        "training:  masked LM 6.000 (25.0% right)",
        "held out:  masked LM 7.000 (25.0% right), perplexity 1096.6",
        "best:      masked LM 6.500 (25.0% right), perplexity 665.1",
    ]


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
