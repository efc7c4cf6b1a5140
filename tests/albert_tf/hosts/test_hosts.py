"""Several hosts agree, and share what only the first one has."""

import os
import signal

import numpy as np
import pytest

from albert_tf.hosts.hosts import ONE_HOST
from albert_tf.hosts.shared_state import shared_checkpoint, shared_value
from albert_tf.runs.checkpoints import Checkpoint
from albert_tf.training.interruption import stop_requests


class First:
    """The first of two hosts; keeps what it shares."""

    number, index = 2, 0

    def __init__(self):
        self.shared = []

    def share(self, content):
        self.shared.append(content)
        return content


class Second:
    """The second of two hosts, which gets what the first has shared."""

    number, index = 2, 1

    def __init__(self, first):
        self.shared = iter(first.shared)

    def share(self, content):
        return next(self.shared)


class Others:
    """Hosts of which this is the first and the others say something."""

    index = 0

    def __init__(self, *said):
        self.said, self.number = said, len(said) + 1

    def gather(self, values):
        return np.stack([values, *([said] * len(values) for said in self.said)])


CHECKPOINT = Checkpoint(
    {"w": np.array([[-0.0, np.nan], [1e-40, 3.0]], np.float32)},
    {"w/m": np.arange(3, dtype=np.float32)},
    {"step": 3, "window": [0.1, 0.2]},
)


@pytest.mark.parametrize("checkpoint", [CHECKPOINT, None])
def test_a_checkpoint_is_shared_bit_for_bit(checkpoint):
    first = First()
    shared_checkpoint(checkpoint, first)
    theirs = shared_checkpoint(None, Second(first))
    if checkpoint is None:
        assert theirs is None
        return
    assert theirs.state == checkpoint.state
    for name in ("weights", "optimizer_state"):
        ours = {n: a.tobytes() for n, a in getattr(checkpoint, name).items()}
        assert {n: a.tobytes() for n, a in getattr(theirs, name).items()} == ours


def test_one_host_shares_nothing_and_has_all():
    assert shared_checkpoint(CHECKPOINT, ONE_HOST) is CHECKPOINT
    assert shared_value({"a": [1]}, ONE_HOST) == {"a": [1]}
    assert ONE_HOST.gather(np.array([1, 2])).tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    ("own", "others", "expected"),
    [
        (None, (0.0, 0.0), None),
        (None, (0.0, 3.0), "terminated"),
        (signal.SIGTERM, (0.0, 2.0), "terminated"),
        (signal.SIGINT, (1.0, 0.0), "interrupted"),
        (None, (1.0, 0.0), "max-time"),
    ],
)
def test_hosts_stop_for_the_same_reason_once_they_have_agreed(own, others, expected):
    with stop_requests(hosts=Others(*others)) as stop:
        if own:
            os.kill(os.getpid(), own)
        assert stop.reason is None
        assert stop.agree() == expected
        assert stop.reason == expected
