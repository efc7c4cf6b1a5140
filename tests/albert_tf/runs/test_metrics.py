"""Means of sums, lines of JSON, TensorBoard cut back with them, and a collapse."""

import json

import pytest
import tensorflow as tf

from albert_tf.runs.metrics import Sums, collapse_warning, means, metrics_text, read_metrics
from albert_tf.training.evaluations import MetricsLog
from schemas.errors import AlbertError
from tests.refusals import refusal


def line(step, split="train", loss=1.0):
    return {"step": step, "split": split, "mlm_loss": loss, "sentence_loss": None}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.jsonl"


def write(run, *lines, step=0):
    log = MetricsLog(run, step=step)
    for one in lines:
        log.write(one)
    log.close()
    return log


def test_means_are_over_predictions_and_over_pairs_where_there_are_some():
    names = ("mlm_loss", "mlm_accuracy", "sentence_loss", "sentence_accuracy")
    for pairs, expected in (((3.0, 2.0, 2.0), (1.5, 1.0)), ((0.0, 0.0, 0.0), (None, None))):
        found = means(Sums(6.0, 1.0, 4.0, *pairs))
        assert found == dict(zip(names, (1.5, 0.25, *expected), strict=True))


def test_lines_are_json_objects_in_the_order_written(tmp_path, path):
    expected = [line(0, "eval"), line(1), line(1, "eval"), line(2)]
    log = write(tmp_path, *expected)
    assert [json.loads(row) for row in path.read_text().splitlines()] == expected
    assert read_metrics(tmp_path) == expected
    assert log.evaluations() == [line(0, "eval"), line(1, "eval")]
    # A line that cannot be written ends the run in a sentence.
    log = MetricsLog(tmp_path, step=0)
    path.unlink()
    path.mkdir()
    assert f"{tmp_path} cannot be written to: " in refusal(log.write, line(1))
    log.close()


def test_resuming_cuts_lines_and_tensorboard_back_to_the_step(tmp_path):
    write(tmp_path, line(1), line(2), line(3))
    log = write(tmp_path, line(3, loss=9.0), step=2)
    assert read_metrics(tmp_path) == [line(1), line(2), line(3, loss=9.0)] == log.lines
    (path,) = (tmp_path / "tensorboard").iterdir()
    events = tf.compat.v1.train.summary_iterator(str(path))
    points = [(value.tag, event.step) for event in events for value in event.summary.value]
    assert points == [("train/mlm_loss", step) for step in (1, 2, 3)]


def test_a_line_cut_off_by_a_kill_is_dropped_and_a_damaged_one_ends_a_run(tmp_path, path):
    write(tmp_path, line(1), line(2))
    path.write_text(path.read_text()[:-10])
    assert read_metrics(tmp_path) == [line(1)]
    path.write_text(path.read_text().replace("{", "", 1))
    assert refusal(MetricsLog, tmp_path, step=2) == (
        f"{path}: line 1 is not a line of metrics; remove the line and run the same command again."
    )


@pytest.mark.parametrize("size", [100_000, 100_000_000])
def test_metrics_that_no_run_has_are_refused_before_they_fill_the_memory(tmp_path, path, size):
    path.write_text("[" * size + "\n")
    with pytest.raises(AlbertError, match=r"metrics\.jsonl.*(?:line 1|larger)"):
        read_metrics(tmp_path)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, ""),
        (
            {"split": "eval", "mlm_loss": 2.0, "mlm_accuracy": 0.5},
            "masked LM 2.000 (50.0% right), perplexity 7.4",
        ),
        (
            {"mlm_loss": 2.0, "mlm_accuracy": 0.5, "sentence_loss": 0.6931}
            | {"sentence_accuracy": 0.512, "learning_rate": 0.00176, "gradient_norm": 1.234},
            "masked LM 2.000 (50.0% right), sentence task 0.693 (51.2% right), "
            "learning rate 1.76e-03, gradient 1.23",
        ),
    ],
)
def test_metrics_as_a_person_reads_them(values, text):
    assert metrics_text(values) == text


def warning(losses, accuracy=0.5):
    of_all = {"sentence_accuracy": accuracy}
    lines = [of_all | {"step": 100 * n, "mlm_loss": loss} for n, loss in enumerate(losses)]
    return collapse_warning(lines)


def test_a_loss_that_stays_at_the_frequencies_of_pieces_is_a_collapse():
    assert warning([10.3, 7.11, 7.1, 7.1, 7.105]).startswith(
        "The masked-LM loss has stayed at 7.11 since step 100: the model predicts how "
        "frequent tokens are and nothing else. --recipe small-budget has"
    )
    assert warning([10.3, 7.1, 7.1]) is None  # too early to tell
    assert warning([7.1, 7.0, 6.9, 6.8]) is None  # still falling
    assert warning([6.8, 7.4, 9.1, 12.0]) is None  # rising
    assert warning([3.1] * 4) is None  # converged
    assert warning([7.1] * 4, accuracy=0.8) is None  # the other task learns
