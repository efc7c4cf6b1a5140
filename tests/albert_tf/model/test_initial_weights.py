"""First weights: distribution, independence, the same for the same seed."""

import numpy as np
import pytest

from albert_tf.model.initial_weights import initialize_weights, truncated_normal
from albert_tf.model.pretrainer import AlbertPretrainer
from tests.huggingface_albert import SMALL


def initialized(**kwargs):
    model = AlbertPretrainer(SMALL)
    initialize_weights(model, **kwargs)
    return {path: weight.numpy() for path, weight in model.weights_by_path.items()}


def test_values_are_normal_and_cut_at_two():
    values = truncated_normal((300, 300), path="a", seed=1)
    assert np.abs(values).max() <= 2
    # Variance of the standard normal distribution cut at 2.
    assert values.std() == pytest.approx(0.8796, abs=0.01)
    assert values.mean() == pytest.approx(0.0, abs=0.01)


def test_paths_and_seeds_give_different_values():
    drawn = [truncated_normal((3,), path=p, seed=s) for p in "ab" for s in (1, 2)]
    assert len({tuple(values.tolist()) for values in drawn}) == 4


def test_kernels_are_drawn_biases_zero_and_scales_one():
    weights = initialized(standard_deviation=0.02, seed=1)
    for path, values in weights.items():
        if values.ndim > 1:
            assert 0 < values.std() < 0.03
        else:
            assert set(values.tolist()) == {float(path.endswith("gamma"))}


def test_same_seed_gives_the_same_weights():
    first, second = (initialized(standard_deviation=0.02, seed=3) for _ in range(2))
    assert all((first[path] == second[path]).all() for path in first)
