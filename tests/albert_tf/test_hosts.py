"""Which of several hosts this is, what they share, and how they agree."""

import os
import signal

import numpy as np
import pytest

from albert_tf import hosts
from albert_tf.runs.checkpoints import Checkpoint
from albert_tf.training.signals import stop_requests
from schemas.errors import SettingError
from tests.refusals import refusal


class Host:
    """One of two: the first keeps what it shares, the second gets it."""

    number = 2

    def __init__(self, index, shared):
        self.index, self.shared = index, shared

    def share(self, content):
        if self.index == 1:
            return self.shared.pop(0)
        self.shared.append(content)
        return content


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


def test_a_checkpoint_is_shared_bit_for_bit_and_that_there_is_none_and_one_host_has_all():
    shared = []
    for checkpoint in (CHECKPOINT, None):
        hosts.shared_checkpoint(checkpoint, Host(0, shared))
    theirs, none = (hosts.shared_checkpoint(None, Host(1, shared)) for _ in range(2))
    assert (theirs.state, none) == (CHECKPOINT.state, None)
    for name in ("weights", "optimizer_state"):
        ours = {n: a.tobytes() for n, a in getattr(CHECKPOINT, name).items()}
        assert {n: a.tobytes() for n, a in getattr(theirs, name).items()} == ours
    assert hosts.shared_checkpoint(CHECKPOINT, hosts.ONE_HOST) is CHECKPOINT
    assert hosts.shared_value({"a": [1]}, hosts.ONE_HOST) == {"a": [1]}
    assert hosts.ONE_HOST.gather(np.array([1, 2])).tolist() == [[1.0, 2.0]]


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


FLAGS = {"coordinator": "a:1", "num_hosts": 2, "host_index": 1}
SLURM = {
    "SLURM_JOB_ID": "5000",
    "SLURM_STEP_NODELIST": "node[007-009],other",
    "SLURM_NTASKS": "4",
    "SLURM_PROCID": "2",
    "SLURM_LOCALID": "0",
}


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, None),
        ({"num_hosts": 1}, None),
        (FLAGS | {"num_hosts": 1}, None),
        (FLAGS, ("a:1", 2, 1, None)),
        (FLAGS | {"coordinator": "[::1]:1"}, ("[::1]:1", 2, 1, None)),
    ],
)
def test_the_flags_say_which_host_this_is(flags, expected):
    assert hosts.host_setting(**flags) == (expected and hosts.HostSetting(*expected))


@pytest.mark.parametrize(
    ("environment", "flags", "expected"),
    [
        (SLURM, {}, ("node007:62344", 4, 2, (0,))),
        (SLURM, {"coordinator": "b:2"}, ("b:2", 4, 2, (0,))),
        (SLURM | {"SLURM_NTASKS": "1", "SLURM_PROCID": "0"}, {}, None),
        # The script of a job is no step of it: nothing is started together.
        ({n: v for n, v in SLURM.items() if "STEP" not in n}, {}, None),
    ],
)
def test_what_they_leave_open_jax_knows_of_its_launcher(monkeypatch, environment, flags, expected):
    pytest.importorskip("jax")
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert hosts.host_setting(**flags) == (expected and hosts.HostSetting(*expected))


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"num_hosts": 2}, "need all of --coordinator, --num-hosts and --host-index"),
        (FLAGS | {"coordinator": "a"}, "must be HOST:PORT of the first host, not 'a'"),
        (FLAGS | {"num_hosts": 0}, "--num-hosts must be at least 1, not 0"),
        (FLAGS | {"host_index": 2}, "--host-index must be from 0 to 1"),
    ],
)
def test_a_place_that_cannot_be_is_refused(flags, sentence):
    assert sentence in refusal(hosts.host_setting, **flags, error=SettingError)


def test_a_launcher_that_jax_cannot_read_is_refused(monkeypatch):
    pytest.importorskip("jax")
    for name, value in {**SLURM, "SLURM_NTASKS": "many"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    with pytest.raises(SettingError, match=r"JAX cannot tell .* or --num-hosts 1"):
        hosts.host_setting()
