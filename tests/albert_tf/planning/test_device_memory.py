"""A micro-batch fits into the memory of the device that computes it."""

import pytest

from albert_tf.planning import device_memory
from albert_tf.planning.device_memory import room_of
from albert_tf.planning.micro_batch import Room, derive_micro_batch_size
from schemas.config import TrainConfig
from schemas.presets import PRESETS

GIB = 1 << 30


def stats(*, limit, used, **others):
    """What a device says of its memory, in GiB."""
    return {"bytes_limit": limit * GIB, "bytes_in_use": used * GIB, **others}


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ([stats(limit=80, used=2, peak_bytes_in_use=70)], Room(78 * GIB, 65536)),
        # The fullest decides, since all compute micro-batches of one size.
        ([stats(limit=80, used=2), stats(limit=80, used=40)], Room(80 * GIB, 65536)),
        ([stats(limit=8, used=9)], Room(0, 65536)),
        ([None], Room(5 * GIB, 4096)),
        ([None, None], Room(5 * GIB, 4096)),
        ([{}], Room(5 * GIB, 4096)),
    ],
)
def test_room_is_that_of_the_devices_or_of_the_machine(monkeypatch, devices, expected):
    monkeypatch.setattr(device_memory, "free_memory_bytes", lambda: 5 * GIB)
    assert room_of(devices) == expected


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
    room = room_of([stats(limit=limit, used=1)] * devices)
    size = derive_micro_batch_size(
        TrainConfig(batch_size=4096, precision="bfloat16"),
        PRESETS[preset],
        length=512,
        predictions=77,
        room=room,
        devices=devices,
    )
    assert size == expected
