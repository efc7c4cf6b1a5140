"""Divergence and collapse are said in words."""

import math

import pytest

from albert_tf.training.health import collapse_warning, diverged


def evaluations(losses, accuracy=0.5):
    return [
        {"step": 100 * n, "mlm_loss": loss, "sentence_accuracy": accuracy}
        for n, loss in enumerate(losses)
    ]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_no_number_ends_the_run_with_its_likely_cause(tmp_path, value):
    error = diverged(value, "loss", step=7, run=tmp_path, is_saved=True)
    assert str(error) == (
        f"the loss of step 7 is {value}: the learning rate is most likely too high "
        f"for this batch size; the checkpoints in {tmp_path} are kept; start a new run "
        f"with a lower --learning-rate or more --warmup-steps and --init-from "
        f"{tmp_path}."
    )


def test_where_no_checkpoint_was_saved_the_metrics_are_named(tmp_path):
    error = diverged(math.nan, "gradient", step=7, run=tmp_path, is_saved=False)
    assert str(error) == (
        "the gradient of step 7 is nan: the learning rate is most likely too high for "
        "this batch size; start again with a lower --learning-rate or more "
        f"--warmup-steps; what was measured is in {tmp_path}/metrics.jsonl."
    )


def test_a_loss_that_stays_at_the_frequencies_of_pieces_is_a_collapse():
    warning = collapse_warning(evaluations([10.3, 7.11, 7.1, 7.1, 7.105]))
    assert warning.startswith(
        "The masked-LM loss has stayed at 7.11 since step 100: the model predicts how "
        "frequent tokens are and nothing else; most likely the learning rate"
    )


@pytest.mark.parametrize(
    "healthy",
    [
        evaluations([10.3, 7.1, 7.1]),  # too early to tell
        evaluations([7.1, 7.0, 6.9, 6.8]),  # still falling
        evaluations([3.1, 3.1, 3.1, 3.1]),  # converged
        evaluations([7.1, 7.1, 7.1, 7.1], accuracy=0.8),  # the other task learns
    ],
)
def test_no_collapse(healthy):
    assert collapse_warning(healthy) is None


def test_a_loss_that_rises_has_not_stayed():
    assert collapse_warning(evaluations([6.8, 7.4, 9.1, 12.0])) is None
