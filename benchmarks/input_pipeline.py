"""How many rows a second training can be fed with, without a model, on one core.

    python -m benchmarks.input_pipeline DATA --cores 1 --seconds 20

Reads the training batches of a data set as `albert pretrain` does: records in shuffled
order, parsed, padded, everything derived that the model needs. The first second, in
which files are opened, is left out.
"""

import argparse
import os
import time
from pathlib import Path

from schemas.manifest import read_manifest

MICRO_BATCH = 16
WARM_UP_SECONDS = 1.0


def rows_per_second(data: Path, *, seconds: float) -> tuple[float, float]:
    """Rows a second of time on the wall, and of processor time."""
    # Imported here, so that TensorFlow sees the cores it is given.
    from albert_tf.data.input_pipeline import Records, training_batches
    from albert_tf.data.step_shape import StepShape

    records = Records(data, read_manifest(data))
    shape = StepShape(MICRO_BATCH, MICRO_BATCH)
    batches = training_batches(records, shape, seed=1)
    begin = time.perf_counter()
    while time.perf_counter() < begin + WARM_UP_SECONDS:
        next(batches)
    rows, wall, processor = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() < wall + seconds:
        rows += len(next(batches)["input_ids"][0])
    return rows / (time.perf_counter() - wall), rows / (time.process_time() - processor)


def main() -> None:
    """Print both rates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.cores])
    wall, processor = rows_per_second(arguments.data, seconds=arguments.seconds)
    length = read_manifest(arguments.data).config.max_seq_length
    print(
        f"{length} pieces, {arguments.cores} core(s): {wall:,.0f} rows a second, "
        f"{processor:,.0f} a second of processor time"
    )


if __name__ == "__main__":
    main()
