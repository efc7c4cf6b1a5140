"""What a training step costs with examples of several data sets, reading included.

    python -m benchmarks.fed_step STORED MADE --model tiny --batch-size 32

Takes turns: some steps with the examples of one data set, as many with those of the
next, each as `albert pretrain` reads them, and only one is read at a time. The medians
of the rounds count, and that of their ratios. The model and its padded batches are the
same for all, so that what differs is what reading costs.
"""

import argparse
import statistics
from collections.abc import Iterator
from pathlib import Path

from albert_tf.data.input_pipeline import Records, training_batches
from albert_tf.data.step_shape import StepShape
from albert_tf.model.initial_weights import initialize_weights
from albert_tf.model.pretrainer import AlbertPretrainer, Batch
from albert_tf.training.backends import training_steps
from albert_tf.training.steps import TrainingSteps
from benchmarks.timing import seconds, take_step
from cli.support.architecture import resolve_model
from schemas.config import TrainConfig
from schemas.manifest import read_manifest


def seconds_a_step(
    steps: TrainingSteps, batches: Iterator[Batch], *, number: int
) -> float:
    """Seconds of each of some steps, with what reading their examples takes."""

    def read_and_step() -> None:
        for _ in range(number):
            take_step(steps, next(batches))

    return seconds(read_and_step) / number


def main() -> None:
    """Print a line for each data set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--set", nargs="*", default=[])
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20, help="of a turn")
    arguments = parser.parse_args()
    manifests = [read_manifest(data) for data in arguments.data]
    config = resolve_model(arguments.model, tuple(arguments.set), manifests[0])
    model = AlbertPretrainer(config, precision=arguments.precision)
    initialize_weights(model, standard_deviation=0.02, seed=1)
    steps = training_steps(model, TrainConfig())
    size = arguments.batch_size
    streams = {
        data: training_batches(Records(data, manifest), StepShape(size, size), seed=1)
        for data, manifest in zip(arguments.data, manifests, strict=True)
    }
    for batches in streams.values():
        seconds_a_step(steps, batches, number=2)  # compiles, and fills what waits
    rounds = [
        [seconds_a_step(steps, it, number=arguments.steps) for it in streams.values()]
        for _ in range(arguments.rounds)
    ]
    first = arguments.data[0]
    for place, data in enumerate(arguments.data):
        milliseconds = 1000 * statistics.median(one[place] for one in rounds)
        ratio = statistics.median(one[place] / one[0] for one in rounds)
        print(f"{data}: {milliseconds:.1f} ms a step, {ratio:.3f} x {first}")


if __name__ == "__main__":
    main()
