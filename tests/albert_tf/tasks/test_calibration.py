"""One temperature for probabilities."""

import numpy as np
import pytest

from albert_tf.tasks import calibration


def test_a_temperature_repairs_logits_that_are_too_sure():
    rng = np.random.default_rng(5)
    logits = rng.normal(0, 1, (4000, 3))
    shares = calibration.softmax(logits).cumsum(axis=1)
    true = (rng.random(4000)[:, None] > shares).sum(axis=1)
    assert calibration.best_temperature(logits * 4, true) == pytest.approx(4, rel=0.1)
    sure = calibration.calibration_error(calibration.softmax(logits * 4), true)
    right = calibration.calibration_error(calibration.softmax(logits), true)
    assert sure > 0.2
    assert right < 0.04
