"""What a step costs on one device and on several, and on several hosts.

    python -m benchmarks.device_scaling --devices 1 2
    KERAS_BACKEND=jax python -m benchmarks.device_scaling
    KERAS_BACKEND=jax python -m benchmarks.device_scaling --devices 1 --hosts 1 2

The same step each time: four micro-batches, and one update. Logical devices of a CPU
share its cores, so that no speed-up is expected where one device already uses all of
them; what shows is the cost of dividing a step and of the one reduction. Hosts are
processes with a core each, which exchange gradients as those of a network. All take
turns, each in processes of its own; the median of the rounds counts.
"""

import argparse
import contextlib
import json
import os
import socket
import statistics
import sys
from typing import TYPE_CHECKING, Any

from benchmarks.timing import seconds
from benchmarks.worker import answer_of, ask, start

if TYPE_CHECKING:
    from albert_tf.hosts.hosts import Hosts

PROGRAM = "benchmarks.device_scaling"
MICRO_BATCHES = 4
STEPS = 5  # that are timed in a process


def split_cpu(devices: int) -> None:
    """Have this backend see the CPU as several devices, before it looks."""
    import keras

    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        (cpu,) = tf.config.list_physical_devices("CPU")
        parts = [tf.config.LogicalDeviceConfiguration() for _ in range(devices)]
        tf.config.set_logical_device_configuration(cpu, parts)
    else:
        os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"


def step_seconds(devices: int, place: list[Any]) -> list[float]:
    """Seconds of steps of `tiny`, 4 x 8 x 128, in this process.

    Args:
        devices: Of this process.
        place: Coordinator, number and index among several hosts; empty if there is one.
    """
    split_cpu(devices)
    from albert_tf.hosts.host_setting import HostSetting
    from albert_tf.hosts.hosts import ONE_HOST
    from albert_tf.training.backends import joined_hosts

    if not place:
        return seconds_of_steps(devices, ONE_HOST)
    with joined_hosts(HostSetting(*place), say_last=sys.exit) as hosts:
        return seconds_of_steps(devices, hosts)


def seconds_of_steps(devices: int, hosts: "Hosts") -> list[float]:
    """Seconds of steps as `step_seconds` takes them, once the hosts are joined."""
    import numpy as np

    from albert_tf.model.initial_weights import initialize_weights
    from albert_tf.model.pretrainer import AlbertPretrainer
    from albert_tf.training.backends import training_steps
    from albert_tf.training.steps import step_counts
    from benchmarks.step_frameworks import Cell, random_arrays
    from schemas.config import TrainConfig
    from schemas.presets import PRESETS

    cell = Cell(precision="float32", rows=8, length=128, predictions=19)
    model = AlbertPretrainer(PRESETS["tiny"])
    initialize_weights(model, standard_deviation=0.02, seed=1)
    steps = training_steps(model, TrainConfig())
    assert steps.num_devices == devices
    batch = {
        name: np.tile(values, (MICRO_BATCHES, *[1] * values.ndim))
        for name, values in random_arrays(cell).items()
    }
    counts = step_counts(batch)
    first, every = hosts.index * devices, hosts.number * devices

    def step() -> None:
        for micro in range(first, MICRO_BATCHES, every):
            part = {name: v[micro : micro + devices] for name, v in batch.items()}
            steps.accumulate(part, counts=counts, step=0, micro=micro)
        steps.sums()
        steps.apply(0.001, step=0)

    return [seconds(step) for _ in range(STEPS + 2)][2:]  # the first two compile


def main() -> None:
    """Print a line for each number of devices."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--devices", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--hosts", type=int, nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worker", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return print(json.dumps(step_seconds(*arguments.worker)))
    found: dict[tuple[int, str], list[float]] = {
        (number, what): []
        for what in ("devices", "hosts")
        for number in getattr(arguments, what)
    }
    for _ in range(arguments.rounds):
        for (number, what), times in found.items():
            of_some = of_devices if what == "devices" else of_hosts
            times += of_some(number)
    first = statistics.median(next(iter(found.values())))
    for (number, what), times in found.items():
        median = statistics.median(times)
        print(f"{number} {what}: {median:.3f} s a step, {first / median:.2f} x")


def of_devices(devices: int) -> list[float]:
    """Seconds of steps on devices of one process, which has all cores."""
    found: list[float] = ask(PROGRAM, [devices, []])
    return found


def of_hosts(number: int) -> list[float]:
    """Seconds of steps of several processes, each with a core of its own."""
    with socket.socket() as listening:
        listening.bind(("localhost", 0))
        coordinator = f"localhost:{listening.getsockname()[1]}"
    cores = sorted(os.sched_getaffinity(0))[:number]
    with contextlib.ExitStack() as stack:
        processes = []
        for index, core in enumerate(cores):
            place = [coordinator, number, index] if number > 1 else []
            pinned = ("taskset", "--cpu-list", str(core))
            process = start(PROGRAM, [1, place], before=pinned)
            processes.append(stack.enter_context(process))
        first, *_ = [answer_of(process) for process in processes]
    return first


if __name__ == "__main__":
    main()
