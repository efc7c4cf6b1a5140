"""The micro-batch fits into memory, and as few as can be make up the batch."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.planning import cost
from albert_tf.planning.cost import (
    MemoryLimit,
    derive_micro_batch_size,
    free_memory_bytes,
    memory_limit,
)
from schemas.architecture import PRESETS
from schemas.config import TrainConfig

GIB = 1 << 30


@pytest.mark.parametrize(
    ("preset", "batch_size", "length", "free_gib", "expected"),
    [
        ("base", 4096, 512, 64, 8),  # 8 x 512 tokens are enough for a CPU
        ("base", 4096, 128, 64, 32),
        ("base", 4096, 512, 4, 7),  # memory decides
        ("xxlarge", 4096, 512, 1, 1),  # nothing fits: try one
        ("base", 6, 512, 64, 6),
        ("base", 7, 128, 64, 7),
        ("base", 11, 512, 64, 6),  # 6 + 5
        ("base", 257, 128, 64, 29),  # eight times 29, and 25
    ],
)
def test_derived_size(preset, batch_size, length, free_gib, expected):
    size = derive_micro_batch_size(
        TrainConfig(batch_size=batch_size),
        PRESETS[preset],
        length=length,
        predictions=length * 15 // 100,
        limit=MemoryLimit(free_gib * GIB),
    )
    assert size == expected


def sizes_at_512(preset, *, free_gib, settings):
    """The micro-batch of a preset at 512 tokens with each of some settings."""
    return [
        derive_micro_batch_size(
            TrainConfig(batch_size=4096, **setting),
            PRESETS[preset],
            length=512,
            predictions=77,
            limit=MemoryLimit(free_gib * GIB),
        )
        for setting in settings
    ]


def test_layers_computed_again_take_less_memory():
    settings = [{"recompute": False}, {"recompute": True}]
    sizes = sizes_at_512("xxlarge", free_gib=8, settings=settings)
    assert sizes == [2, 8]


def test_bfloat16_takes_less_memory():
    settings = [{"precision": "float32"}, {"precision": "bfloat16"}]
    sizes = sizes_at_512("base", free_gib=3, settings=settings)
    assert sizes == [5, 8]


@given(
    batch_size=st.integers(1, 5000),
    free_bytes=st.integers(0, 100 * GIB),
    devices=st.integers(1, 8),
)
def test_rounds_are_as_few_as_fit_and_no_row_more_is_computed_than_they_need(
    batch_size, free_bytes, devices
):
    size, largest = (
        derive_micro_batch_size(
            TrainConfig(batch_size=rows),
            PRESETS["tiny"],
            length=64,
            predictions=9,
            limit=MemoryLimit(free_bytes),
            devices=devices,
        )
        for rows in (batch_size, 10**6 * devices)
    )
    rounds = -(-batch_size // (largest * devices))
    assert rounds * devices * size >= batch_size
    assert rounds * devices * (size - 1) < batch_size
    assert size <= largest


def test_machine_has_free_memory():
    assert free_memory_bytes() > 1 << 20


def test_where_free_pages_are_not_counted_half_of_all_is_taken(tmp_path, monkeypatch):
    def absent(name):
        if name == "SC_AVPHYS_PAGES":
            raise ValueError("unrecognized configuration name")
        return {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2000}[name]

    monkeypatch.setattr(os, "sysconf", absent)
    assert free_memory_bytes(tmp_path) == 1000 * 4096


@pytest.mark.parametrize(
    ("limit", "current", "expected"),
    [
        ("10000000", 6_000_000, 5_000_000),
        ("10000000", 12_000_000, 0),
        ("max", 6_000_000, 1 << 30),
        (str(1 << 40), 6_000_000, 1 << 30),
    ],
)
def test_a_container_has_what_its_limit_leaves(
    tmp_path, monkeypatch, limit, current, expected
):
    pages = {"SC_PAGE_SIZE": 4096, "SC_AVPHYS_PAGES": (1 << 30) // 4096}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__)
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text(f"{current}\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 1000000\n")
    assert free_memory_bytes(tmp_path) == expected


def stats(*, limit, used, **others):
    """What a device says of its memory, in GiB."""
    return {"bytes_limit": limit * GIB, "bytes_in_use": used * GIB, **others}


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ([stats(limit=80, used=2, peak_bytes_in_use=70)], MemoryLimit(78 * GIB, 65536)),
        # The fullest decides, since all compute micro-batches of one size.
        (
            [stats(limit=80, used=2), stats(limit=80, used=40)],
            MemoryLimit(80 * GIB, 65536),
        ),
        ([stats(limit=8, used=9)], MemoryLimit(0, 65536)),
        ([None], MemoryLimit(5 * GIB, 4096)),
        ([None, None], MemoryLimit(5 * GIB, 4096)),
        ([{}], MemoryLimit(5 * GIB, 4096)),
    ],
)
def test_the_limit_is_that_of_the_devices_or_of_the_machine(
    monkeypatch, devices, expected
):
    monkeypatch.setattr(cost, "free_memory_bytes", lambda: 5 * GIB)
    assert memory_limit(devices) == expected


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
    free = memory_limit([stats(limit=limit, used=1)] * devices)
    size = derive_micro_batch_size(
        TrainConfig(batch_size=4096, precision="bfloat16"),
        PRESETS[preset],
        length=512,
        predictions=77,
        limit=free,
        devices=devices,
    )
    assert size == expected
