"""What a training step gains by leaving padding out, on real examples.

    python -m benchmarks.unpadding DATA --batch-sizes 16 32 --precisions bfloat16

A step with padding and one without take turns on the same examples of a data set; the
medians count, and that of the rounds' ratios. Steps are compiled for every size before.
The model is `tiny` with embeddings of 128 unless `--model` and `--set` say otherwise.
`--processor-time` is for a busy machine, behind `taskset -c 0`.
"""

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from albert_tf.data.input_pipeline import Records, training_batches
from albert_tf.data.step_shape import StepShape
from albert_tf.data.unpadding import unpadded
from albert_tf.model.initial_weights import initialize_weights
from albert_tf.model.pretrainer import AlbertPretrainer, Batch
from albert_tf.training.backends import training_steps
from benchmarks.timing import seconds, take_step
from cli.support.architecture import resolve_model
from schemas.config import ModelConfig, Precision, TrainConfig
from schemas.manifest import read_manifest

VARIANTS: dict[str, Callable[[Batch], Batch]] = {
    "with padding": lambda batch: batch,
    "without": unpadded,
}


def main() -> None:
    """Print a line for each batch size and precision."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--set", nargs="*", default=["embedding_size=128"])
    parser.add_argument("--batch-sizes", nargs="+", type=int, default=[16, 32])
    parser.add_argument("--precisions", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--processor-time", action="store_true")
    arguments = parser.parse_args()
    manifest = read_manifest(arguments.data)
    config = resolve_model(arguments.model, tuple(arguments.set), manifest)
    clock = time.process_time if arguments.processor_time else time.perf_counter
    for size in arguments.batch_sizes:
        records = Records(arguments.data, manifest)
        stream = training_batches(records, StepShape(size, size), seed=1)
        batches = list(itertools.islice(stream, arguments.rounds))
        for precision in arguments.precisions:
            print(f"{size} x {manifest.config.max_seq_length}, {precision}: ", end="")
            print(compared(config, batches, precision=precision, clock=clock))


def compared(
    config: ModelConfig,
    batches: list[Batch],
    *,
    precision: Precision,
    clock: Callable[[], float],
) -> str:
    """The times of a step with padding and without, and how they compare."""
    steps = {}
    for name, prepared in VARIANTS.items():
        model = AlbertPretrainer(config, precision=precision)
        initialize_weights(model, standard_deviation=0.02, seed=1)
        steps[name] = training_steps(model, TrainConfig())
        steps[name].compile([prepared(batch) for batch in batches])
        steps[name].apply(0.0, step=0)

    def turn(name: str, batch: Batch) -> float:
        prepared = VARIANTS[name]
        return seconds(lambda: take_step(steps[name], prepared(batch)), clock=clock)

    rounds = [{name: turn(name, batch) for name in VARIANTS} for batch in batches]
    shown = [
        f"{1000 * statistics.median(one[name] for one in rounds):.0f} ms {name}"
        for name in VARIANTS
    ]
    before, after = VARIANTS
    ratio = statistics.median(one[before] / one[after] for one in rounds)
    padding = 1 - np.mean([batch["input_mask"] for batch in batches])
    return f"{', '.join(shown)}: {ratio:.2f} x; {padding:.1%} is padding"


if __name__ == "__main__":
    main()
