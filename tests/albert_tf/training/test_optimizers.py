"""LAMB and AdamW against NumPy written from the published code, Muon against torch."""

from typing import get_args, get_type_hints

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.training import optimizers
from albert_tf.training.optimizers import Role, Rule, Scales, optimizer_of, orthogonal
from schemas.config import TrainConfig

# Settings other than the published ones, each of them.
OTHERS = {"beta1": 0.8, "beta2": 0.98, "epsilon": 1e-4, "weight_decay": 0.1}
OTHERS |= {"bias_correction": True}


def numpy_steps(weight, gradients, rates, *, role, config):
    """google-research/albert `lamb_optimizer.py`, `apply_gradients`, in float64.

    With bias correction as in Adam (1412.6980, algorithm 1) and LAMB (1904.00962,
    algorithm 2).
    """
    beta1, beta2 = config.beta1, config.beta2
    m = v = np.zeros_like(weight)
    for t, (gradient, rate) in enumerate(zip(gradients, rates, strict=True), start=1):
        m = beta1 * m + (1 - beta1) * gradient
        v = beta2 * v + (1 - beta2) * gradient**2
        m_hat, v_hat = m, v
        if config.bias_correction:
            m_hat, v_hat = m / (1 - beta1**t), v / (1 - beta2**t)
        update = m_hat / (np.sqrt(v_hat) + config.epsilon)
        ratio = 1.0
        if role is not Role.EXCLUDED:
            update = update + config.weight_decay * weight
            w_norm, u_norm = np.linalg.norm(weight), np.linalg.norm(update)
            if config.optimizer == "lamb" and w_norm > 0 and u_norm > 0:
                ratio = w_norm / u_norm
        weight = weight - ratio * rate * update
    return weight, m, v


def our_steps(weight, gradients, rates, *, role, config):
    """The same with the optimizer of a run of such settings."""
    optimizer = optimizer_of(config)
    kept = optimizer.of_kernel if role is Role.KERNEL else optimizers.MOMENTS
    zeros = [0 * weight for _ in kept]
    state = tuple(tf.constant(x, tf.float32) for x in (weight, *zeros))
    for step, (gradient, rate) in enumerate(zip(gradients, rates, strict=True)):
        weight_then, *moments = state
        scales = optimizer.scales(rate, step=step)
        tensors = Scales(*(tf.constant(value, tf.float32) for value in scales))
        rule, given = Rule(optimizer.config, tensors, role), tf.constant(gradient, tf.float32)
        weight_next, moments = optimizer.update(weight_then, given, tuple(moments), rule)
        state = (weight_next, *moments)
    return state


def random_steps():
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(7, 5))
    gradients = rng.normal(size=(50, 7, 5)) * np.geomspace(1e-6, 10, 5)
    return weight, gradients, np.linspace(0.0, 0.1, 50)


def test_the_published_settings_are_the_defaults_and_every_optimizer_asked_for_is_there():
    config = TrainConfig()
    assert (config.beta1, config.beta2, config.epsilon) == (0.9, 0.999, 1e-6)
    assert (config.weight_decay, config.bias_correction) == (0.01, False)
    assert {*optimizers.OPTIMIZERS} == {*get_args(get_type_hints(TrainConfig)["optimizer"])}


@pytest.mark.parametrize("settings", [{}, OTHERS], ids=["published", "others"])
@pytest.mark.parametrize("role", [Role.TABLE, Role.KERNEL, Role.EXCLUDED])
@pytest.mark.parametrize("name", ["lamb", "adamw"])
def test_fifty_steps_equal_the_published_algorithm(name, role, settings):
    given = {"role": role, "config": TrainConfig(optimizer=name, **settings)}
    ours = our_steps(*random_steps(), **given)
    expected = numpy_steps(*random_steps(), **given)
    for value, exact in zip(ours, expected, strict=True):
        assert np.linalg.norm(value - exact) <= 1e-5 * np.linalg.norm(exact)


@pytest.mark.parametrize(
    ("weight", "direction", "ratio"),
    [([3.0, 4.0], [0.0, 2.0], 2.5), ([0.0], [1.0], 1.0), ([1.0], [0.0], 1.0)],
)
def test_trust_ratio_is_one_where_a_norm_is_zero(weight, direction, ratio):
    assert float(optimizers.trust_ratio(tf.constant(weight), tf.constant(direction))) == ratio


def test_biases_and_layer_norms_are_excluded_and_the_matrices_of_layers_are_kernels():
    paths = {
        "albert/encoder/embeddings/word_embeddings": Role.TABLE,
        "albert/encoder/embeddings/position_embeddings": Role.TABLE,
        "albert/encoder/embeddings/projection/kernel": Role.KERNEL,
        "albert/encoder/embeddings/layer_norm/gamma": Role.EXCLUDED,
        "albert/encoder/embeddings/layer_norm/beta": Role.EXCLUDED,
        "albert/encoder/group_0_inner_0_attention/query/kernel": Role.KERNEL,
        "albert/encoder/group_0_inner_0_attention/query/bias": Role.EXCLUDED,
        "albert/masked_lm_head/output_bias": Role.EXCLUDED,
        "albert/sentence_head/classifier/kernel": Role.KERNEL,
        "albert/sentence_head/classifier/bias": Role.EXCLUDED,
    }
    assert {path: optimizers.role_of(path) for path in paths} == paths


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", [(7, 5), (5, 7), (64, 256)])
def test_an_orthogonal_matrix_has_the_directions_of_its_own_and_sizes_near_one(shape, precision):
    matrix = np.random.default_rng(0).normal(size=shape)
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    found = orthogonal(tf.constant(matrix, tf.float32), precision=precision).numpy()
    sizes = np.diag(left.T @ found @ right.T)
    assert sizes.min() > 0.6
    assert sizes.max() < 1.3
    assert np.abs(left.T @ found @ right.T - np.diag(sizes)).max() < 0.05


@pytest.mark.parametrize("rank", [1, 2, 30])
@pytest.mark.parametrize("shape", [(2, 128), (128, 128), (128, 512)])
def test_a_matrix_of_few_directions_stays_bounded_in_bfloat16(shape, rank):
    for seed in range(10):
        random = np.random.default_rng(seed)
        factors = random.normal(size=(shape[0], rank)), random.normal(size=(rank, shape[1]))
        matrix = tf.constant(factors[0] @ factors[1], tf.float32)
        found = orthogonal(matrix, precision="bfloat16").numpy()
        assert np.linalg.norm(found, 2) < 1.35


def test_muon_steps_as_adamw_where_a_weight_is_no_kernel():
    for role in (Role.TABLE, Role.EXCLUDED):
        configs = (TrainConfig(optimizer=name, **OTHERS) for name in ("muon", "adamw"))
        muon, adamw = (our_steps(*random_steps(), role=role, config=config) for config in configs)
        assert all(map(np.array_equal, muon, adamw))


@pytest.mark.slow
def test_fifty_steps_of_muon_are_those_of_torch_with_its_polynomial(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(optimizers, "POLYNOMIALS", ((3.4445, -4.7750, 2.0315),) * 5)
    weight, gradients, rates = random_steps()
    theirs = torch.nn.Parameter(torch.tensor(weight, dtype=torch.float32))
    muon = torch.optim.Muon([theirs], lr=0.1, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    for gradient, rate in zip(gradients, rates, strict=True):
        muon.param_groups[0]["lr"] = rate
        theirs.grad = torch.tensor(gradient, dtype=torch.float32)
        muon.step()
    config = TrainConfig(optimizer="muon", **OTHERS)
    ours, *_ = our_steps(weight, gradients, rates, role=Role.KERNEL, config=config)
    difference = np.linalg.norm(ours - theirs.detach().numpy())
    assert difference < 0.03 * np.linalg.norm(ours - weight)


def test_muon_keeps_the_momentum_of_a_kernel_and_two_moments_of_all_else():
    muon = optimizer_of(TrainConfig(optimizer="muon"))
    paths = ("pooler/kernel", "pooler/bias", "embeddings/word_embeddings")
    assert [muon.state_paths(path) for path in paths] == [
        ["pooler/kernel/m"],
        ["pooler/bias/m", "pooler/bias/v"],
        ["embeddings/word_embeddings/m", "embeddings/word_embeddings/v"],
    ]


@pytest.mark.parametrize(
    ("clip_norm", "scale"), [(1.0, 0.2), (0.5, 0.1), (5.0, 1.0), (9.0, 1.0), (0.0, 1.0)]
)
def test_gradients_above_the_norm_are_clipped_together(clip_norm, scale):
    weights = {"a/kernel": tf.zeros([1]), "b/bias": tf.zeros([1])}
    gradients = {"a/kernel": tf.constant([3.0]), "b/bias": tf.constant([4.0])}
    optimizer = optimizer_of(TrainConfig(optimizer="adamw", clip_norm=clip_norm))
    zeros, scales = optimizer.zeros(weights, tf.zeros_like), optimizer.scales(1.0, step=0)
    norm, _, state = optimizer.step(weights, gradients, zeros, scales=scales)
    assert float(norm) == 5.0
    of_each = {"a/kernel": 3 * scale, "b/bias": 4 * scale}
    expected = {f"{path}/m": 0.1 * clipped for path, clipped in of_each.items()}
    expected |= {f"{path}/v": 0.001 * clipped**2 for path, clipped in of_each.items()}
    found = {path: float(value[0]) for path, value in state.items()}
    assert found == pytest.approx(expected, rel=1e-4)
