"""The learning rate, at the published settings and at the edges."""

import pytest

from albert_tf.training.schedule import learning_rate, peak_learning_rate
from schemas.config import TrainConfig


@pytest.mark.parametrize(
    ("step", "rate"),
    [
        (0, 0.0),
        (1, 0.00176 / 3125),
        (3124, 0.00176 * 3124 / 3125),
        (3125, 0.00176 * 0.975),
        (62_500, 0.00088),
        (124_999, 0.00176 / 125_000),
        (125_000, 0.0),
    ],
)
def test_paper_schedule(step, rate):
    paper = {"peak": 0.00176, "warmup_steps": 3125, "steps": 125_000}
    assert learning_rate(step, **paper) == pytest.approx(rate, rel=1e-12)


def test_without_warm_up_the_first_step_has_the_peak_rate():
    assert learning_rate(0, peak=0.5, warmup_steps=0, steps=10) == 0.5


def test_rate_is_scaled_by_the_root_of_the_batch_when_asked():
    assert peak_learning_rate(TrainConfig(batch_size=256)) == 0.00176
    config = TrainConfig(batch_size=256, scale_lr_to_batch=True)
    assert peak_learning_rate(config) == pytest.approx(0.00044)
