"""What a step costs on one device and on several, the CPU divided into logical ones.

    python -m benchmarks.device_scaling --devices 1 2
    KERAS_BACKEND=jax python -m benchmarks.device_scaling

The same step each time: four micro-batches, and one update. Logical devices of a CPU
share its cores, so that no speed-up is expected where one device already uses all of
them; what shows is the cost of dividing a step and of the one reduction. Devices take
turns, each in a process of its own; the median of the rounds counts.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

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


def step_seconds(devices: int) -> list[float]:
    """Seconds of steps of `tiny`, 4 x 8 x 128, in this process."""
    split_cpu(devices)
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
    seconds = []
    for _ in range(STEPS + 2):  # the first two compile
        start = time.perf_counter()
        for micro in range(0, MICRO_BATCHES, devices):
            part = {name: v[micro : micro + devices] for name, v in batch.items()}
            steps.accumulate(part, counts=counts, step=0, micro=micro)
        steps.apply(0.001, step=0)
        seconds.append(time.perf_counter() - start)
    return seconds[2:]


def main() -> None:
    """Print a line for each number of devices."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--devices", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return print(json.dumps(step_seconds(arguments.worker)))
    found: dict[int, list[float]] = {devices: [] for devices in arguments.devices}
    command = [sys.executable, "-m", "benchmarks.device_scaling", "--worker"]
    for _ in range(arguments.rounds):
        for devices, seconds in found.items():
            done = subprocess.run(
                [*command, str(devices)],
                stdout=subprocess.PIPE,
                env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
                check=True,
                text=True,
            )
            seconds += json.loads(done.stdout.splitlines()[-1])
    first = statistics.median(found[arguments.devices[0]])
    for devices, seconds in found.items():
        median = statistics.median(seconds)
        print(f"{devices} device(s): {median:.3f} s a step, {first / median:.2f} x")


if __name__ == "__main__":
    main()
