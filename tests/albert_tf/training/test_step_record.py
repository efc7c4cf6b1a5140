"""What is shown and logged of the steps."""

import numpy as np
import pytest

from albert_tf.runs.metrics import read_metrics
from albert_tf.training.metrics_log import MetricsLog
from albert_tf.training.pace import Pace
from albert_tf.training.run_state import RunState
from albert_tf.training.step_record import StepRecord
from schemas.config import ModelConfig, TrainConfig

OF_STEP = {"learning_rate": 1e-3, "gradient_norm": 2.0}
SUMS = np.array([60.0, 1.0, 10.0, 2.0, 3.0, 4.0])


def make_record(run, *, steps=4, step=1, **model):
    state = RunState(4, step=step)
    log = MetricsLog(run, step=step)
    config = TrainConfig(steps=steps, batch_size=4)
    return StepRecord(config, ModelConfig(**model), state, log), state


def test_a_step_is_told_in_one_short_line(tmp_path):
    record, _ = make_record(tmp_path)
    text = record.add(SUMS, 1.0, **OF_STEP)
    assert text == "step 1/4, masked LM 6.000, SOP 0.500"


def test_the_longest_usual_line_fits_a_terminal_of_80_columns_with_its_bar(tmp_path):
    record, _ = make_record(tmp_path, steps=125_000, step=100_000)
    pace = Pace(batch_size=4096, steps=1, seconds=3.3)
    line = f"{record.add(SUMS, 3.3, **OF_STEP)}, {pace.text()}, 12 d 10 h left"
    assert len(f"|#| {line}") <= 80


def test_a_loss_that_is_not_of_the_paper_is_shown_too(tmp_path):
    record, _ = make_record(tmp_path, sentence_task="none")
    text = record.add(
        np.array([60.0, 1.0, 10.0, 0.0, 0.0, 0.0, 0.3133]), 1.0, **OF_STEP
    )
    assert text == "step 1/4, masked LM 6.000, layer consistency 0.3133"


def test_in_a_long_run_a_line_of_metrics_is_the_mean_of_several_steps(tmp_path):
    record, state = make_record(tmp_path, steps=2000)
    record.add(SUMS, 1.0, **OF_STEP)
    assert read_metrics(tmp_path) == []
    state.step = 2
    record.add(3 * SUMS, 3.0, **OF_STEP)
    assert read_metrics(tmp_path) == [
        {
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
    ]


def test_what_was_not_logged_yet_can_be_logged_early(tmp_path):
    record, state = make_record(tmp_path, steps=2000)
    record.log_window()
    assert read_metrics(tmp_path) == []
    record.add(SUMS, 1.0, **OF_STEP)
    record.log_window()
    assert [line["step"] for line in read_metrics(tmp_path)] == [1]
    assert state.window_steps == 0
