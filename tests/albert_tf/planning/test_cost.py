"""Operations and memory by arithmetic, and the micro-batch that fits into it."""

import dataclasses
import os
import tracemalloc

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.planning import cost
from albert_tf.training import first_weights
from schemas.architecture import PRESETS, ModelConfig, same_shape_bert
from schemas.config import TrainConfig
from tests.batches import random_batch
from tests.huggingface_albert import SMALL

SHAPE_512, SHAPE_128 = ({"length": length, "predictions": 20} for length in (512, 128))


@pytest.mark.parametrize(
    ("preset", "mega", "giga_512", "giga_128", "whole_run"),
    [
        ("base", (189.3, 169.9, 18.9, 0.31), 290.7, 67.6, 1.49e20),
        ("large", (654.9, 604.0, 50.3, 0.31), 1005.9, 237.3, 5.15e20),
        ("xlarge", (2517.4, 2415.9, 100.7, 0.32), 3866.8, 938.1, 1.98e21),
        ("xxlarge", (4934.0, 4831.8, 100.7, 0.34), 7578.6, 1866.1, 3.88e21),
    ],
)
def test_operations_of_a_token_forward_of_a_sequence_and_of_the_papers_run(
    preset, mega, giga_512, giga_128, whole_run
):
    config = PRESETS[preset]
    forward = cost.forward_flops(config, **SHAPE_512)
    parts = [forward[name] for name in ("layers", "attention_scores", "masked_lm_head")]
    found = [number / 512 / 1e6 for number in (sum(forward.values()), *parts)]
    assert found[:3] == pytest.approx(mega[:3], abs=0.05)
    assert found[3] == pytest.approx(mega[3], abs=0.005)
    sequence, short = (cost.training_flops(config, **at) for at in (SHAPE_512, SHAPE_128))
    assert sequence / 1e9 == pytest.approx(giga_512, abs=0.05)
    assert short / 1e9 == pytest.approx(giga_128, abs=0.05)
    assert 125_000 * 4096 * sequence == pytest.approx(whole_run, rel=0.005)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_hidden_groups": 2, "inner_group_num": 2},
        {"sharing": "none", "embedding_size": 16},
        {"sentence_task": "none"},
    ],
)
def test_operations_are_those_of_the_graph_that_is_computed(changes):
    config = dataclasses.replace(SMALL, **changes)
    flops = cost.forward_flops(config, length=12, predictions=4)
    model = AlbertPretrainer(config)
    batch = {n: tf.constant(v) for n, v in random_batch(config, rows=3).items()}
    # All layers one by one, or what is in a loop would count once.
    compiled = tf.function(lambda batch: model(batch, every_layer=True))
    # The segments are a look-up, though done as a product.
    total = -2 * 3 * 12 * config.type_vocab_size * config.embedding_size
    for operation in compiled.get_concrete_function(batch).graph.get_operations():
        if "MatMul" in operation.type:
            left = operation.inputs[0].shape
            transposed = operation.node_def.attr
            flag = "transpose_a" if "transpose_a" in transposed else "adj_x"
            depth = left[-2] if transposed[flag].b else left[-1]
            (result,) = operation.outputs
            total += 2 * result.shape.num_elements() * depth
    assert sum(flops.values()) == total // 3


@pytest.mark.parametrize("sharing", ["all", "attention", "ffn", "none"])
def test_sharing_saves_no_operation_and_no_activation(sharing):
    shared, other = SMALL, dataclasses.replace(SMALL, sharing=sharing)
    assert cost.training_flops(shared, **SHAPE_128) == cost.training_flops(other, **SHAPE_128)
    assert cost.activation_bytes(shared, **SHAPE_128) == cost.activation_bytes(other, **SHAPE_128)


@pytest.mark.parametrize(("albert", "bert"), [("base", "bert-base"), ("large", "bert-large")])
def test_the_bert_of_the_same_shape_is_the_preset(albert, bert):
    assert same_shape_bert(PRESETS[albert]) == PRESETS[bert]
    assert same_shape_bert(PRESETS[bert]) == PRESETS[bert]


@pytest.mark.parametrize(
    ("preset", "precision", "length", "dropout", "mebibytes"),
    [
        ("base", "float32", 512, 0.0, 272),
        ("base", "bfloat16", 512, 0.0, 130),
        ("base", "float32", 128, 0.0, 62),
        ("base", "float32", 512, 0.1, 597),
        ("large", "float32", 512, 0.0, 583),
    ],
)
def test_activations_are_near_what_was_measured(preset, precision, length, dropout, mebibytes):
    """What a sequence more in a micro-batch added to the peak memory of a step."""
    config = dataclasses.replace(
        PRESETS[preset], hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout
    )
    estimate = cost.activation_bytes(
        config, length=length, predictions=round(0.15 * length), precision=precision
    )
    assert estimate / 2**20 == pytest.approx(mebibytes, rel=0.15)


def test_recomputation_costs_a_forward_pass_and_keeps_what_enters_each_layer_and_one_whole():
    """Beside the state, which is sixteen bytes a weight."""
    config, shape = PRESETS["base"], SHAPE_512
    forward, whole = cost.forward_flops(config, **shape), cost.training_flops(config, **shape)
    extra = cost.training_flops(config, **shape, recompute=True) - whole
    assert extra == forward["layers"] + forward["attention_scores"]
    assert extra / whole == pytest.approx(1 / 3, abs=0.01)
    assert cost.state_bytes(config) == 16 * 11_813_810
    logits = 2 * 4 * 20 * 30_000
    layer = 4 * (8 * 512 * 768 + 512 * 3072)
    again = 4 * (512 * 3072 + 2 * 12 * 512 * 512)
    assert cost.activation_bytes(config, **shape) == 13 * layer + again + logits
    assert cost.activation_bytes(config, **shape, recompute=True) == (
        2 * layer + again + 12 * 4 * 512 * 768 + logits
    )


def test_counting_which_tokens_are_near_which_takes_the_memory_told(monkeypatch):
    config = ModelConfig(vocab_size=4000, embedding_size=128)
    rng = np.random.default_rng(0)
    # What is needed for some rows at a time is little where there are many rows.
    monkeypatch.setattr(first_weights, "ROWS_AT_ONCE", 64)
    monkeypatch.setattr(cost, "COUNTED_EXAMPLES", 20_000)
    tracemalloc.start()
    texts = [rng.integers(config.vocab_size, size=(500, 64), dtype=np.int32) for _ in range(40)]
    first_weights.pmi_vectors(texts, vocab_size=config.vocab_size, columns=config.embedding_size)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert cost.counting_bytes(config, length=64) == pytest.approx(peak, rel=0.2)


GIB = 1 << 30


def micro_batch_size(preset, *, limit, length=512, devices=1, **settings):
    train = TrainConfig(**{"batch_size": 4096} | settings)
    shape = {"length": length, "predictions": length * 15 // 100}
    return cost.derive_micro_batch_size(
        train, PRESETS[preset], **shape, limit=limit, devices=devices
    )


@pytest.mark.parametrize(
    ("preset", "free_gib", "settings", "expected"),
    [
        ("base", 64, {}, 8),  # 8 x 512 tokens are enough for a CPU
        ("base", 64, {"length": 128}, 32),
        ("base", 4, {}, 7),  # memory decides
        ("xxlarge", 1, {}, 1),  # nothing fits: try one
        ("xxlarge", 8, {}, 2),
        ("xxlarge", 8, {"recompute": True}, 8),
        ("base", 64, {"batch_size": 6}, 6),
        ("base", 64, {"batch_size": 7, "length": 128}, 7),
        ("base", 64, {"batch_size": 11}, 6),  # 6 + 5
        ("base", 64, {"batch_size": 257, "length": 128}, 29),  # eight times 29, and 25
    ],
)
def test_a_micro_batch_is_as_memory_and_batch_allow(preset, free_gib, settings, expected):
    limit = cost.MemoryLimit(free_gib * GIB)
    assert micro_batch_size(preset, limit=limit, **settings) == expected


@given(
    batch_size=st.integers(1, 5000), free_bytes=st.integers(0, 100 * GIB), devices=st.integers(1, 8)
)
def test_rounds_are_as_few_as_fit_and_no_row_more_than_they_need(batch_size, free_bytes, devices):
    given = {"length": 64, "limit": cost.MemoryLimit(free_bytes), "devices": devices}
    size, largest = (
        micro_batch_size("tiny", batch_size=rows, **given) for rows in (batch_size, 10**6 * devices)
    )
    rounds = -(-batch_size // (largest * devices))
    assert rounds * devices * size >= batch_size
    assert rounds * devices * (size - 1) < batch_size
    assert size <= largest


def test_where_a_machine_does_not_say_what_is_free_half_of_all_is_taken(tmp_path, monkeypatch):
    assert cost.free_memory_bytes() > 1 << 20
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2000}.get)
    assert cost.free_memory_bytes(tmp_path, tmp_path / "meminfo") == 1000 * 4096


@pytest.mark.parametrize(
    ("limit", "current", "expected"),
    [
        ("10000000", 6_000_000, 5_000_000),
        ("10000000", 12_000_000, 0),
        ("max", 6_000_000, 1 << 30),
        (str(1 << 40), 6_000_000, 1 << 30),
    ],
)
def test_a_container_has_what_its_limit_leaves(tmp_path, limit, current, expected):
    # Not only what is free: pages that cache files are given back.
    (tmp_path / "meminfo").write_text(f"MemFree: 100 kB\nMemAvailable: {1 << 20} kB\n")
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text(f"{current}\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 1000000\n")
    assert cost.free_memory_bytes(tmp_path, tmp_path / "meminfo") == expected


def stats(*, limit, used, **others):
    return {"bytes_limit": limit * GIB, "bytes_in_use": used * GIB, **others}


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ([stats(limit=80, used=2, peak_bytes_in_use=70)], cost.MemoryLimit(78 * GIB, 65536)),
        # The fullest decides, since all compute micro-batches of one size.
        ([stats(limit=80, used=2), stats(limit=80, used=40)], cost.MemoryLimit(80 * GIB, 65536)),
        ([stats(limit=8, used=9)], cost.MemoryLimit(0, 65536)),
        ([None], cost.MemoryLimit(5 * GIB, 4096)),
        ([None, None], cost.MemoryLimit(5 * GIB, 4096)),
        ([{}], cost.MemoryLimit(5 * GIB, 4096)),
    ],
)
def test_the_limit_is_that_of_the_devices_or_of_the_machine(monkeypatch, devices, expected):
    monkeypatch.setattr(cost, "free_memory_bytes", lambda: 5 * GIB)
    assert cost.memory_limit(devices) == expected


@pytest.mark.parametrize(
    ("preset", "limit", "devices", "expected"),
    [
        ("base", 8, 1, 25),
        ("base", 80, 1, 128),  # 65,536 tokens
        ("base", 80, 2, 128),
        ("xxlarge", 80, 1, 56),
    ],
)
def test_a_gpu_is_given_as_much_as_it_holds(preset, limit, devices, expected):
    given = {"limit": cost.memory_limit([stats(limit=limit, used=1)] * devices), "devices": devices}
    assert micro_batch_size(preset, precision="bfloat16", **given) == expected
