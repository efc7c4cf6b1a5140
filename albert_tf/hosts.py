"""Several hosts that train together: which of them this is, and what they share.

JAX joins them; it is imported where that is done. Its own service, on the first host,
receives a heartbeat of every process. A process that waits for one that has died finds the
connection broken, or is ended by JAX once the heartbeat is missed: with a C++ dump, which a
sentence replaces here.
"""

import contextlib
import ctypes
import json
import os
import re
import signal
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import safetensors.numpy

from albert_tf.runs.checkpoints import Arrays, Checkpoint
from schemas.errors import AlbertError, SettingError

Array = np.ndarray[Any, Any]

# How long the first host waits for the others, and they for it.
JOIN_SECONDS = 300
# A process that was not heard of for this long is lost; all are ended soon after.
HEARTBEAT_SECONDS = 15
# Bytes that are shared at a time.
PORTION = 1 << 26

LOST = (
    "Another host was lost, or failed and says why; run the same command on all hosts "
    "again to continue from the newest checkpoint."
)

# What errors of JAX say when a peer is gone.
_OF_A_LOST_HOST = ("Gloo", "NCCL", "UNAVAILABLE", "coordination", "heartbeat", "Socket")

_HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_int)
# Kept for as long as the process may be aborted.
_handlers: list[Any] = []


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


class JaxHosts:
    """The `Hosts` that `jax.distributed` has joined."""

    def __init__(self) -> None:
        import jax

        self.number, self.index = jax.process_count(), jax.process_index()

    def gather(self, values: Array) -> Array:
        """See `Hosts.gather`; the bits of float64 travel as integers."""
        from jax.experimental import multihost_utils

        bits = np.asarray(values, np.float64).view(np.uint32)
        gathered: Array = np.asarray(multihost_utils.process_allgather(bits))
        return np.ascontiguousarray(gathered).view(np.float64)

    def share(self, content: bytes | None) -> bytes:
        """See `Hosts.share`."""
        from jax.experimental import multihost_utils

        given = content if content is not None and self.index == 0 else b""
        size = int(self.gather(np.array([len(given)]))[0, 0])
        parts = []
        for first in range(0, size, PORTION):
            part = given[first : first + PORTION] or bytes(min(PORTION, size - first))
            shared = multihost_utils.broadcast_one_to_all(
                np.frombuffer(part, np.uint8), is_source=not self.index
            )
            parts.append(np.asarray(shared, np.uint8).tobytes())
        return b"".join(parts)


@contextlib.contextmanager
def joined(setting: HostSetting, *, say_last: Callable[[str], None]) -> Iterator[Hosts]:
    """Train together with other hosts while the block runs.

    Nothing may have been computed with JAX before. After an error the process has to
    be ended without `sys.exit`, which would wait for the others.
    """
    import jax

    end_in_words_when_aborted(lambda: say_last(_not_found(setting)))
    # It would take SIGTERM for itself.
    jax.config.update("jax_enable_preemption_service", False)
    # Only the first process writes to the cache of programs. Where it finds one there that
    # another has to compile, that one waits up to a day for the trials of its share
    # (--xla_gpu_shard_autotuning). Without the trials being shared programs may differ.
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        jax.distributed.initialize(
            setting.coordinator,
            setting.num_hosts,
            setting.host_index,
            local_device_ids=setting.local_devices,
            cluster_detection_method="deactivate",
            initialization_timeout=JOIN_SECONDS,
            heartbeat_timeout_seconds=HEARTBEAT_SECONDS,
        )
    except RuntimeError as error:
        why = str(error).splitlines()[0]
        raise AlbertError(_not_found(setting, why=f" ({why:.200})")) from error
    end_in_words_when_aborted(lambda: say_last(LOST))
    try:
        hosts = JaxHosts()
        devices = hosts.gather(np.array([jax.local_device_count()]))[:, 0]
        if len(set(devices)) > 1:
            raise SettingError(
                f"The hosts have {', '.join(f'{n:.0f}' for n in devices)} devices; "
                "give each the same number (CUDA_VISIBLE_DEVICES hides some)."
            )
        yield hosts
        # The first may still be saving.
        hosts.gather(np.zeros(1))
    except (ValueError, RuntimeError) as error:
        if any(word in str(error) for word in _OF_A_LOST_HOST):
            raise AlbertError(LOST) from error
        raise
    jax.distributed.shutdown()


def _not_found(setting: HostSetting, *, why: str = "") -> str:
    return (
        f"Host {setting.host_index} of {setting.num_hosts} did not find the others at "
        f"{setting.coordinator} within {JOIN_SECONDS} s{why}; start the command on all "
        "of them, with --host-index 0 on the host that --coordinator names."
    )


def end_in_words_when_aborted(say: Callable[[], None]) -> None:
    """Have a process that native code aborts say something and exit with 1.

    Python's own handlers run between two of its operations, and so never after abort().
    """

    @_HANDLER
    def ended(number: int) -> None:
        say()
        os._exit(1)

    _handlers.append(ended)
    set_handler = ctypes.CDLL(None).signal
    set_handler.argtypes = [ctypes.c_int, _HANDLER]
    set_handler.restype = ctypes.c_void_p
    set_handler(signal.SIGABRT, ended)
