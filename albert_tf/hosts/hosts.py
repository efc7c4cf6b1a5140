"""Several hosts that train together: which of them this is, and what they share."""

import json
import os
import re
import warnings
from typing import Any, NamedTuple, Protocol

import numpy as np
import safetensors.numpy

from albert_tf.runs.checkpoints import Arrays, Checkpoint
from schemas.errors import SettingError

Array = np.ndarray[Any, Any]

# How long the first host waits for the others, and they for it.
JOIN_SECONDS = 300


class Hosts(Protocol):
    """The processes of one training; every call is made by all of them together.

    Attributes:
        number: H, how many there are.
        index: Which one this is; the first, 0, alone writes the run.
    """

    number: int
    index: int

    def gather(self, values: Array) -> Array:
        """The values `[n]` of all hosts, as float64 `[H, n]`, the same on each."""

    def share(self, content: bytes | None) -> bytes:
        """What the first host gives, on each; the others' is not looked at."""


class OneHost:
    """The `Hosts` of a process that trains alone."""

    number, index = 1, 0

    def gather(self, values: Array) -> Array:
        """See `Hosts.gather`."""
        return np.asarray(values, np.float64)[None]

    def share(self, content: bytes | None) -> bytes:
        """See `Hosts.share`."""
        assert content is not None, "the first host gives something"
        return content


ONE_HOST = OneHost()


def shared_value(value: Any, hosts: Hosts) -> Any:
    """What the first host has, anything that JSON can say."""
    return json.loads(hosts.share(json.dumps(value).encode()))


def shared_arrays(arrays: Arrays, hosts: Hosts) -> Arrays:
    """Those of the first host, bit for bit."""
    content = safetensors.numpy.save(arrays) if hosts.index == 0 else None
    shared: Arrays = safetensors.numpy.load(hosts.share(content))
    return shared


def shared_checkpoint(checkpoint: Checkpoint | None, hosts: Hosts) -> Checkpoint | None:
    """That of the first host, None if it has none."""
    if hosts.number == 1 or not shared_value(checkpoint is not None, hosts):
        return checkpoint
    ours = checkpoint or Checkpoint({}, {}, {})
    return Checkpoint(
        shared_arrays(ours.weights, hosts),
        shared_arrays(ours.optimizer_state, hosts),
        shared_value(ours.state, hosts),
    )


class HostSetting(NamedTuple):
    """This process among those that train together.

    Attributes:
        coordinator: `HOST:PORT`, where the first one listens.
        num_hosts: How many there are, at least two.
        host_index: Which one this is, from 0.
        local_devices: The numbers of the devices that it computes on; None for all.
    """

    coordinator: str
    num_hosts: int
    host_index: int
    local_devices: tuple[int, ...] | None = None


def host_setting(
    *, coordinator: str | None = None, num_hosts: int | None = None, host_index: int | None = None
) -> HostSetting | None:
    """The place of this process among several; None if it is alone.

    What the flags leave open, JAX finds out from the launcher that started the process.
    """
    if num_hosts == 1:
        return None
    given = (coordinator, num_hosts, host_index)
    local_devices = None
    if None in given and os.environ.get("KERAS_BACKEND") == "jax":
        coordinator, num_hosts, host_index, local_devices = _found_by_jax(*given)
    if given == (None, None, None) and num_hosts in (None, 1):
        return None
    if coordinator is None or num_hosts is None or host_index is None:
        raise SettingError(
            "Several hosts need all of --coordinator, --num-hosts and --host-index, "
            "unless JAX knows the launcher that started them."
        )
    if not re.fullmatch(r"(\[.+\]|[^:\s]+):\d{1,5}", coordinator):
        raise SettingError(
            f"--coordinator must be HOST:PORT of the first host, not {coordinator!r}."
        )
    if num_hosts < 1:
        raise SettingError(f"--num-hosts must be at least 1, not {num_hosts}.")
    if not 0 <= host_index < num_hosts:
        raise SettingError(
            f"--host-index must be from 0 to {num_hosts - 1} with --num-hosts "
            f"{num_hosts}, not {host_index}."
        )
    return HostSetting(coordinator, num_hosts, host_index, local_devices)


def _found_by_jax(
    coordinator: str | None, num_hosts: int | None, host_index: int | None
) -> tuple[str | None, int | None, int | None, tuple[int, ...] | None]:
    """The three flags and the devices, completed as `jax.distributed.initialize` does.

    JAX has no public name for what it knows of Slurm, Open MPI, TPUs and Kubernetes.
    """
    from jax._src.clusters import ClusterEnv

    try:
        # It warns inside any pod of Kubernetes.
        with warnings.catch_warnings(action="ignore"):
            *found, devices = ClusterEnv.auto_detect_unset_distributed_params(
                coordinator or os.environ.get("JAX_COORDINATOR_ADDRESS"),
                num_hosts,
                host_index,
                None,
                None,
                JOIN_SECONDS,
            )
    except Exception as error:
        raise SettingError(
            "JAX cannot tell which of several hosts this is "
            f"({type(error).__name__}: {error}); give --coordinator, --num-hosts and "
            "--host-index, or --num-hosts 1 to train alone."
        ) from error
    return (*found, devices and tuple(devices))
