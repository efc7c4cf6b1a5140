"""ALBERT beside the BERT of its shape: what sharing weights saves, and what not.

    python -m benchmarks.beside_bert
    python -m benchmarks.beside_bert --models base --shapes 32x128x19 --rounds 1

A table for each shape, and a JSON line. A training step is one micro-batch and one LAMB
update, both tasks, no dropout; inference computes the last states of the same batch.
Each model has a process of its own for each of the two, in turns; the median of the
rounds counts. Memory is the peak of the process beyond its imports and the batch.
"""

import argparse
import dataclasses
import json
import statistics
from collections.abc import Callable
from typing import Any

from albert_tf.planning.compute_cost import same_shape_bert
from benchmarks.step_frameworks import Arrays, Cell, Ours, random_arrays
from benchmarks.step_speed import resident_megabytes
from benchmarks.timing import seconds
from benchmarks.worker import ask
from schemas.config import ModelConfig

WORK = ("training", "inference")

Answer = dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Side(Cell):
    """One of the two: an ALBERT, or the BERT of its shape."""

    is_bert: bool

    @property
    def config(self) -> ModelConfig:
        """The architecture."""
        albert = super().config
        return same_shape_bert(albert) if self.is_bert else albert

    @property
    def name(self) -> str:
        """The name of the side in the table."""
        return f"{'BERT' if self.is_bert else 'ALBERT'}-{self.model}"


def main() -> None:
    """Print a table for each shape."""
    arguments = parse_arguments()
    if arguments.worker:
        side, work = arguments.worker["side"], arguments.worker["work"]
        return print(json.dumps(measured(Side(**side), work)))
    results = []
    for shape in arguments.shapes:
        rows, length, predictions = map(int, shape.split("x"))
        sides = [
            Side(
                precision=arguments.precision,
                rows=rows,
                length=length,
                predictions=predictions,
                model=model,
                is_bert=is_bert,
            )
            for model in arguments.models
            for is_bert in (False, True)
        ]
        print(f"{rows} x {length} (P = {predictions}), {arguments.precision}")
        results.append({"shape": shape, "sides": of_sides(sides, arguments.rounds)})
        print(table(results[-1]["sides"], rows=rows), flush=True)
    return print(json.dumps(results))


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", nargs="+", default=["base", "large"])
    parser.add_argument("--shapes", nargs="+", default=["32x128x19", "8x512x77"])
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args()


def of_sides(sides: list[Side], rounds: int) -> dict[str, Answer]:
    """What each side has, and takes in the median of some rounds, by its name."""
    answers: dict[tuple[str, str], list[Answer]] = {}
    for _ in range(rounds):
        for side in sides:
            for work in WORK:
                question = {"side": dataclasses.asdict(side), "work": work}
                answer = ask("benchmarks.beside_bert", question)
                answers.setdefault((side.name, work), []).append(answer)
    return {
        side.name: {"parameters": answers[side.name, WORK[0]][0]["parameters"]}
        | {
            work: {
                what: statistics.median(one[what] for one in answers[side.name, work])
                for what in ("seconds", "megabytes")
            }
            for work in WORK
        }
        for side in sides
    }


def measured(side: Side, work: str) -> Answer:
    """What one of the two kinds of work takes, in this process."""
    from albert_tf.model.parameters import count_parameters

    ours, arrays = Ours(), random_arrays(side)
    before = resident_megabytes("VmRSS")
    once = (
        training(ours, side, arrays) if work == "training" else inference(side, arrays)
    )
    once()  # Compiles.
    return {
        "seconds": statistics.median(seconds(once) for _ in range(3)),
        "megabytes": resident_megabytes("VmHWM") - before,
        "parameters": sum(count_parameters(side.config).values()),
    }


def training(ours: Ours, side: Side, arrays: Arrays) -> Callable[[], None]:
    """A step of training, to be taken: loss, gradients and the optimizer."""
    ours.prepare(side, arrays)

    def step() -> None:
        ours.accumulate()
        ours.apply()

    return step


def inference(side: Side, arrays: Arrays) -> Callable[[], Any]:
    """An inference, to be made: the last states of a batch."""
    from keras import ops

    from albert_tf.evaluation.compiled import compiled
    from albert_tf.model.initial_weights import initialize_weights
    from albert_tf.model.pretrainer import AlbertPretrainer, Batch

    def mean_state(model: Any, batch: Batch) -> Any:
        ids, mask, segments = (
            batch[name] for name in ("input_ids", "input_mask", "segment_ids")
        )
        return ops.mean(model.encoder(ids, mask, segments))

    model = AlbertPretrainer(side.config, precision=side.precision)
    initialize_weights(model, standard_deviation=0.02, seed=1)
    mean_of = compiled(mean_state, model)
    return lambda: mean_of(arrays)


def table(sides: dict[str, Answer], *, rows: int) -> str:
    """A line for each side: what it has, and what its work takes."""
    lines = [
        f"{'':<14}{'parameters':>12}{'training':>12}{'memory':>10}"
        f"{'inference':>13}{'memory':>10}"
    ]
    for name, side in sides.items():
        line = f"{name:<14}{side['parameters']:>12,}"
        for work, width in zip(WORK, (6, 7), strict=True):
            rate = rows / side[work]["seconds"]
            line += f"{rate:>{width}.2f} seq/s{side[work]['megabytes']:>7.0f} MB"
        lines.append(line)
    return "\n".join(lines)


if __name__ == "__main__":
    main()
