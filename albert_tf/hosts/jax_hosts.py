"""Several hosts joined by JAX, and what becomes of them when one is lost.

JAX's own service, on the first host, receives a heartbeat of every process. A process
that waits for one that has died finds the connection broken, or is ended by JAX once
the heartbeat is missed: with a C++ dump, which a sentence replaces here.
"""

import contextlib
import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from albert_tf.hosts.hosts import JOIN_SECONDS, Array, Hosts, HostSetting
from schemas.errors import AlbertError, SettingError

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


class JaxHosts:
    """The `Hosts` that `jax.distributed` has joined."""

    def __init__(self) -> None:
        self.number, self.index = jax.process_count(), jax.process_index()

    def gather(self, values: Array) -> Array:
        """See `Hosts.gather`; the bits of float64 travel as integers."""
        bits = np.asarray(values, np.float64).view(np.uint32)
        gathered: Array = np.asarray(multihost_utils.process_allgather(bits))
        return np.ascontiguousarray(gathered).view(np.float64)

    def share(self, content: bytes | None) -> bytes:
        """See `Hosts.share`."""
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
