"""Curves of metrics have few enough points to draw, and the same range."""

from statistics import fmean

from hypothesis import given
from hypothesis import strategies as st

from albert_tf.reporting.learning_curves import thin


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=60), st.integers(1, 70))
def test_thinning_keeps_the_last_step_and_the_range(values, size):
    points = list(enumerate(values))
    thinned = thin(points, size=size, combine=fmean)
    assert len(thinned) == -(-len(points) // size)
    assert thinned[-1][0] == points[-1][0]
    assert all(min(values) - 1e-9 <= y <= max(values) + 1e-9 for _, y in thinned)
