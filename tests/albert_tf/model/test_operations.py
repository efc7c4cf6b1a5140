"""Operations of TensorFlow against those in `keras.ops`; layers computed again."""

import dataclasses
import functools
import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.model import operations, tensorflow_operations
from albert_tf.model.encoder import SharedWeights
from albert_tf.planning.cost import activation_bytes
from albert_tf.training.run import training_steps
from albert_tf.training.steps import pretraining_counts
from schemas.config import TrainConfig
from tests.batches import random_batch
from tests.huggingface_albert import SMALL, lively_model
from tests.recompute_probe import CONFIG
from tests.tensor_memory import mebibytes_at_the_peak

RNG = np.random.default_rng(0)
ROWS, LENGTH, HEADS, WIDTH, CLASSES = 2, 6, 2, 8, 11
BIAS = np.where(np.arange(LENGTH) < [[6], [4]], 0.0, -10000.0)[:, None, None, :]
LABELS = RNG.integers(0, CLASSES, ROWS * LENGTH)


def normal(*shape):
    return RNG.normal(size=shape).astype("float32")


PROJECTED = [4 * normal(20, WIDTH), normal(WIDTH, 3), normal(3)]
CASES = {
    "gelu": (lambda using, x: using.gelu(x), [4 * normal(20, WIDTH)]),
    "linear": (lambda using, *x: using.linear(*x), PROJECTED),
    "project_activated": (
        lambda using, *x: using.project_activated(*x, activate=using.gelu),
        PROJECTED,
    ),
    "normalize": (
        lambda using, *x: using.normalize(*x, epsilon=1e-12),
        [3 + normal(20, WIDTH), normal(WIDTH), normal(WIDTH)],
    ),
    "attend": (
        lambda using, x: using.attend(x, tf.constant(BIAS.astype("float32")), heads=HEADS),
        [normal(ROWS * LENGTH, 3 * WIDTH)],
    ),
    "cross_entropy": (
        lambda using, x: using.cross_entropy(x, tf.constant(LABELS))[0],
        [3 * normal(ROWS * LENGTH, CLASSES)],
    ),
    "lowered": (
        lambda using, x: using.lowered(x, tf.linspace(0.0, 5.0, CLASSES), tf.constant(LABELS)),
        [3 * normal(ROWS * LENGTH, CLASSES)],
    ),
}


def value_and_gradients(function, arguments, dtype):
    """What the function gives and the gradients of an uneven sum of it."""
    first, *others = map(tf.constant, arguments)
    arguments = [tf.cast(first, dtype), *others]
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        value = function(*arguments)
        uneven = tf.reshape(tf.linspace(-1.0, 2.0, tf.size(value)), value.shape)
        total = tf.reduce_sum(tf.cast(value, tf.float32) * uneven)
    gradients = tape.gradient(total, arguments)
    return [tf.cast(x, tf.float32).numpy() for x in (value, *gradients)]


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 2e-6), ("bfloat16", 0.02)])
@pytest.mark.parametrize("name", CASES)
def test_fused_operation_and_gradients_are_those_of_the_formula(name, dtype, tolerance):
    function, arguments = CASES[name]
    fused, plain = (
        value_and_gradients(functools.partial(function, using), arguments, precision)
        for using, precision in ((tensorflow_operations, dtype), (operations, "float32"))
    )
    for ours, theirs in zip(fused, plain, strict=True):
        assert np.linalg.norm(ours - theirs) <= tolerance * np.linalg.norm(theirs)


@pytest.mark.parametrize("using", [operations, tensorflow_operations])
def test_of_several_highest_logits_the_first_is_the_prediction(using):
    logits = tf.constant([[1.0, 3.0, 3.0], [1.0, 3.0, 3.0], [5.0, 3.0, 3.0]])
    labels = tf.constant([1, 2, 0])
    assert using.cross_entropy(logits, labels)[1].numpy().tolist() == [1, 0, 1]


def test_bfloat16_attention_weights_add_up_to_one_over_long_rows():
    same_for_all = tf.ones((512, 3 * WIDTH), tf.bfloat16)
    bias = tf.zeros((1, 1, 1, 512))
    context = tensorflow_operations.attend(same_for_all, bias, heads=1)
    np.testing.assert_allclose(tf.cast(context, tf.float32), 1.0, atol=0.01)


@pytest.mark.parametrize("margin", [0, 4, 8, 12, 16])
def test_attention_gradients_in_bfloat16_are_exact_however_confident_a_head_is(margin):
    """All queries prefer key 0 by so many nats."""
    length, width = 128, 64
    query, key, value, dcontext = RNG.normal(size=(4, length, width))
    query, key[0] = query / 4, np.eye(width)[0]
    query[:, 0], key[1:, 0] = margin * width**0.5, 0
    rows = tf.constant(np.hstack([query, key, value]), tf.bfloat16)
    dcontext = tf.constant(dcontext, tf.bfloat16)

    def gradients(attend, rows, dcontext):
        with tf.GradientTape() as tape:
            tape.watch(rows)
            context = attend(rows)
        gradient = tape.gradient(context, rows, output_gradients=dcontext)
        return tf.split(tf.cast(gradient, tf.float64), 3, axis=1)

    def attend(rows):
        return tensorflow_operations.attend(rows, tf.zeros((1, 1, 1, length)), heads=1)

    def formula(rows):
        query, key, value = tf.split(rows, 3, axis=1)
        scores = tf.matmul(query, key, transpose_b=True) / width**0.5
        return tf.nn.softmax(scores) @ value

    wide = (tf.cast(x, tf.float64) for x in (rows, dcontext))
    exact = gradients(formula, *wide)
    for ours, theirs in zip(gradients(attend, rows, dcontext), exact, strict=True):
        assert tf.norm(ours - theirs) <= 0.05 * tf.norm(theirs)


@pytest.mark.parametrize("using", [operations, tensorflow_operations])
def test_gradients_of_the_uses_of_a_weight_are_added_up_in_float32(using):
    weight = tf.constant([1.0])
    with tf.GradientTape() as tape:
        tape.watch(weight)
        shared = SharedWeights([weight], dtype="bfloat16", operations=using)
        uses = [shared.copy() for _ in range(3)]
        factors = tf.constant([256.0, 1.0, 0.5], tf.bfloat16)
        total = sum(x[0] * y for (x,), y in zip(uses, factors, strict=True))
    assert [x.dtype for (x,) in uses] == [tf.bfloat16] * 3
    # In bfloat16, whose next number after 256 is 258, it would be 256.
    assert tape.gradient(total, weight).numpy() == [257.5]


def test_gradients_of_the_rounds_of_a_loop_are_added_up_in_float32():
    factors = tf.constant([256.0, 1.0, 0.5], tf.bfloat16)

    @tf.function
    def gradient(weight):
        with tf.GradientTape() as tape:
            tape.watch(weight)
            shared = SharedWeights([weight], dtype="bfloat16", operations=tensorflow_operations)

            def layer(number, total):
                return total + shared.copy()[0] * factors[number]

            total = tensorflow_operations.repeat(layer, tf.zeros(1, tf.bfloat16), range(3))
        return tape.gradient(total, weight)

    assert gradient(tf.constant([1.0])).numpy() == [257.5]


def test_few_attention_weights_are_kept_and_give_the_same_gradients(monkeypatch):
    function, arguments = CASES["attend"]
    function = functools.partial(function, tensorflow_operations)
    kept = value_and_gradients(function, arguments, "bfloat16")
    monkeypatch.setattr(tensorflow_operations, "MOST_KEPT", 0)
    again = value_and_gradients(function, arguments, "bfloat16")
    assert all(map(np.array_equal, kept, again))


def test_many_attention_weights_of_earlier_layers_are_not_kept_for_the_gradient(monkeypatch):
    monkeypatch.setattr(tensorflow_operations, "MOST_KEPT", 0)
    bias, layers = tf.zeros((1, 1, 1, 256)), 12

    def gradient(rows):
        with tf.GradientTape() as tape:
            tape.watch(rows)
            x = rows
            for _ in range(layers):
                x = tensorflow_operations.attend(tf.concat([x] * 3, axis=1), bias, heads=8)
            total = tf.reduce_sum(x)
        return tape.gradient(total, rows)

    weights = layers * 8 * 256 * 256 * 4 / 2**20
    assert mebibytes_at_the_peak(gradient, tf.ones((256, 16))) < weights / 2


def test_the_gelu_of_earlier_layers_is_not_kept_for_the_gradient():
    layers = 12

    def gradient(rows, kernel, bias):
        with tf.GradientTape() as tape:
            tape.watch(rows)
            x = rows
            for _ in range(layers):
                x = tensorflow_operations.project_activated(
                    tf.repeat(x, 512, axis=1), kernel, bias, activate=tensorflow_operations.gelu
                )
            total = tf.reduce_sum(x)
        return tape.gradient(total, rows)

    arguments = tf.ones((1024, 1)), tf.ones((512, 1)), tf.zeros(1)
    each = 1024 * 512 * 4 / 2**20
    assert mebibytes_at_the_peak(gradient, *arguments) < 1.5 * layers * each


def first_moments(config, *, precision="float32", **changes):
    """A tenth of the clipped gradients of a step, by name, and its sums."""
    settings = TrainConfig(precision=precision, **changes)
    model = lively_model(config, precision=precision, recompute=settings.recompute)
    steps = training_steps(model, settings)
    batch = {name: v[None] for name, v in random_batch(config).items()}
    steps.accumulate(batch, counts=pretraining_counts(batch), step=0, micro=0)
    sums = steps.sums()
    steps.apply(0.01, step=0)
    state = steps.optimizer_state.items()
    return {"sums": sums} | {n: np.asarray(v) for n, v in state if n.endswith("/m")}


def assert_same(ours, theirs, *, tolerance):
    assert ours.keys() == theirs.keys()
    for name in ours:
        if "/key/bias" not in name:  # its gradient is rounding alone
            difference = np.linalg.norm(ours[name] - theirs[name])
            assert difference <= tolerance * np.linalg.norm(theirs[name]), name


def test_gradients_are_the_same_when_layers_are_computed_again():
    """With dropout too: it draws the same masks again."""
    shape = {"sharing": "none", "num_hidden_layers": 2, "layer_consistency_weight": 1.0}
    rates = {"hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.2}
    config = dataclasses.replace(SMALL, **shape, **rates)
    plain, again = (first_moments(config, recompute=recompute) for recompute in (False, True))
    assert_same(again, plain, tolerance=1e-5)


@pytest.mark.slow
def test_gradients_in_bfloat16_are_as_exact_when_layers_are_computed_again():
    """Products fused with what follows round elsewhere, so they are not the same."""
    exact = first_moments(SMALL)
    plain = first_moments(SMALL, precision="bfloat16")
    again = first_moments(SMALL, precision="bfloat16", recompute=True)
    plain_error, error = (
        np.sqrt(sum(np.sum((moments[n] - exact[n]) ** 2) for n in exact))
        for moments in (plain, again)
    )
    assert error <= 1.5 * plain_error


def probe(path, mode):
    command = [sys.executable, "-m", "tests.recompute_probe", str(path), mode]
    subprocess.run(command, check=True)
    return dict(np.load(path))


@pytest.mark.slow
def test_computing_layers_again_saves_the_memory_that_a_plan_tells(tmp_path):
    """Most of it at least, which would all be gone if TensorFlow undid it."""
    again, kept = (probe(tmp_path / f"{mode}.npz", mode) for mode in ("recompute", "keep"))
    kept_bytes, again_bytes = (
        8 * activation_bytes(CONFIG, length=256, predictions=4, recompute=recompute)
        for recompute in (False, True)
    )
    assert kept.pop("bytes") - again.pop("bytes") > 0.6 * (kept_bytes - again_bytes)
    assert_same(again, kept, tolerance=1e-4)


JAX_PROGRAM = """
import sys
import jax, numpy as np
from albert_tf.model.operations import recomputed

x = np.array([0.3, -2.0], "float32")
f = lambda x: jax.numpy.tanh(x) ** 3
again = jax.jit(jax.grad(lambda x: recomputed(f, x).sum()))
kept = jax.jit(jax.grad(lambda x: f(x).sum()))
np.testing.assert_allclose(again(x), kept(x), rtol=1e-6)
barriers = [g.lower(x).as_text().count("optimization_barrier") for g in (again, kept)]
sys.stdout.write(f"{min(barriers[0], 1)} {barriers[1]} {jax.default_backend()}\\n")

from albert_tf.training.run import check_can_recompute
from schemas.config import TrainConfig
from schemas.errors import SettingError
try:
    check_can_recompute(TrainConfig(recompute=True))
except SettingError as error:
    sys.stdout.write(str(error))
"""


@pytest.mark.slow
def test_jax_is_told_to_compute_again_and_refused_on_a_cpu_which_would_not():
    pytest.importorskip("jax")
    done = subprocess.run(
        [sys.executable, "-c", JAX_PROGRAM],
        check=True,
        env=os.environ | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.stdout == (
        "1 0 cpu\n"
        "--recompute saves nothing with JAX on a CPU; leave it out, or unset "
        "KERAS_BACKEND."
    )
