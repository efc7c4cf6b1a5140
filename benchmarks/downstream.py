"""What pretraining is worth on tasks: models beside a random start, tuned equally.

    python -m benchmarks.downstream MODEL... --output WORK --task NAME:FLAGS ...

with, say, "SST-2: --task sst-2 --data GLUE/SST-2 --steps 500" for NAME:FLAGS.

A task is a name and flags of `albert finetune`. Each model is fine-tuned on each task,
and so is the random start: the architecture and vocabulary of the first model without
its weights. Every one is trained with each of the learning rates and one seed, and with
the best of them and all other seeds. Prints the median of the seeds and all their
values, beside guessing and counting words. Stopped and started again it goes on.
"""

import argparse
import shlex
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measuring import albert
from schemas.files import read_json
from schemas.finetune_config import FineTuneConfig
from schemas.layout import TASK_EVALUATION

RANDOM = "random start"


class Start(NamedTuple):
    """What a fine-tuning begins with.

    Attributes:
        name: In the table, and of its folder.
        flags: The first of `albert finetune`.
    """

    name: str
    flags: tuple[str, ...]


class Outcome(NamedTuple):
    """What one start reached on one task.

    Attributes:
        baselines: What guessing and words reach.
    """

    metric: str
    rate: str
    values: list[float]
    baselines: dict[str, float]


def finetune(flags: Sequence[str], output: Path, *, rate: str, seed: int) -> dict[str, Any]:
    """What `eval.json` says of a model that is fine-tuned so.

    Raises:
        SystemExit: It failed, and said why.
    """
    folder = output / f"learning_rate={rate}" / f"seed-{seed}"
    settings = ("--learning-rate", rate, "--seed", str(seed), "--output", str(folder))
    done = subprocess.run(albert("finetune", *flags, *settings), check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    found: dict[str, Any] = read_json(folder / TASK_EVALUATION)
    return found


def value_of(result: dict[str, Any]) -> float:
    """The first measure of a task, which its best checkpoint was chosen by."""
    value: float = result["metrics"][result["metric"]]
    return value


def outcome(
    flags: Sequence[str], output: Path, *, rates: Sequence[str], seeds: Sequence[int]
) -> Outcome:
    """The best of the learning rates by one seed, and what it reaches with all."""
    tried = {rate: value_of(finetune(flags, output, rate=rate, seed=seeds[0])) for rate in rates}
    best = max(tried, key=lambda rate: tried[rate])
    results = [finetune(flags, output, rate=best, seed=seed) for seed in seeds]
    metric = results[0]["metric"]
    baselines = {name: measures[metric] for name, measures in results[0]["baselines"].items()}
    return Outcome(metric, best, [value_of(result) for result in results], baselines)


def row(task: str, start: str, found: Outcome) -> str:
    """A line of the table.

    >>> found = Outcome("accuracy", "0.001", [0.5, 0.75], {"words": 0.6})
    >>> row("SST-2", "run", found)
    '| SST-2, accuracy | run | **0.625** | 0.500 0.750 | 0.001 | words 0.600 |'
    """
    middle = statistics.median(found.values)
    values = " ".join(f"{value:.3f}" for value in sorted(found.values))
    baselines = ", ".join(f"{name} {v:.3f}" for name, v in found.baselines.items())
    return (
        f"| {task}, {found.metric} | {start} | **{middle:.3f}** | {values} "
        f"| {found.rate} | {baselines} |"
    )


def main() -> None:
    """Fine-tune and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="+", type=Path)
    parser.add_argument("--task", action="append", required=True, metavar="NAME:FLAGS")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--learning-rates", default="0.0001,0.0003,0.001")
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    seeds = range(FineTuneConfig.seed, FineTuneConfig.seed + arguments.seeds)
    starts = [Start(model.name, (str(model),)) for model in arguments.model]
    starts.append(Start(RANDOM, (*starts[0].flags, "--from-scratch")))
    rows = ["| task | start | median | all seeds | rate | beside |"]
    rows.append("|---|---|--:|---|--:|---|")
    for task in arguments.task:
        name, _, flags = task.partition(":")
        for start in starts:
            found = outcome(
                [*start.flags, *shlex.split(flags)],
                arguments.output / name / start.name,
                rates=arguments.learning_rates.split(","),
                seeds=seeds,
            )
            rows.append(row(name, start.name, found))
            print(rows[-1], file=sys.stderr, flush=True)
    print("\n".join(rows))


if __name__ == "__main__":
    main()
