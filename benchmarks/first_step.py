"""From raw text to the first optimizer step: seconds, disk, memory, by several ways.

    python -m benchmarks.first_step --wikipedia DIR --books DIR --vocab VOCAB
    python -m benchmarks.first_step --books DIR --vocab VOCAB --ways stored on-the-fly

The ways take turns, each with nothing but the text and a vocabulary:

    on-the-fly, stored   `albert make-data --examples ...`, then `albert pretrain` up to
                         the line of its first step: measuring the machine, compiling
                         and the evaluation before that step are in it.
    tokens, words        `benchmarks.huggingface_way`: lines as they stand, encoded by
                         the same vocabulary, masked by tokens or by whole words.

So ours also finds documents and sentences, drops markup and copies, and masks n-grams;
Hugging Face's reads plain files only. Seconds are those of all programs of a way one
after the other, disk what lies there at the first step, memory the most that all
processes of the way had together (PSS).
"""

import argparse
import functools
import importlib.metadata
import importlib.util
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.huggingface_way import has_datasets
from benchmarks.job import albert, run_watched
from benchmarks.texts import add_texts, find_texts, flags_of
from pipeline.core.cores import usable_cores
from pipeline.reading.recognise import InputFile
from schemas.presets import PRESETS

# In the line that every way says once it has made its first step.
FIRST_STEP = "step 1/1"

# The commands of a way, which write into a folder.
Way = Callable[[list[InputFile], Path, argparse.Namespace], list[list[str]]]


def main() -> None:
    """Measure every way and print a table."""
    arguments = parse_arguments()
    files = find_texts(arguments)
    print(
        f"{sum(file.text_bytes for file in files) / 1e6:,.1f} MB in {len(files)} files"
    )
    ways = ways_here(arguments.ways)
    for file in files:
        # So that the first way finds them where the others do.
        Path(file.path).read_bytes()
    if arguments.scratch:
        os.makedirs(arguments.scratch, exist_ok=True)
    measured: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    for _ in range(arguments.rounds):
        for name in ways:
            with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
                commands = WAYS[name](files, Path(folder), arguments)
                measured[name].append(figures_of(commands, Path(folder)))
    print(f"{'':14}{'seconds':>10}{'processor':>11}{'disk, MB':>10}{'memory, MB':>12}")
    medians = {
        name: {
            what: statistics.median(figures[what] for figures in rounds)
            for what in rounds[0]
        }
        for name, rounds in measured.items()
    }
    for name, figures in medians.items():
        seconds, processor, disk, memory = figures.values()
        print(f"{name:14}{seconds:10.1f}{processor:11.1f}{disk:10.1f}{memory:12.0f}")
    print(json.dumps(medians))


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_texts(parser)
    parser.add_argument("--vocab", type=Path, required=True, metavar="DIR")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--model", choices=PRESETS, default="tiny")
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=usable_cores(), metavar="N")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--scratch", metavar="DIR", help="where data is written")
    return parser.parse_args()


def ways_here(names: list[str]) -> list[str]:
    """The ways that can be gone here; says what Hugging Face's reads with."""
    others = [name for name in names if name in ("tokens", "words")]
    missing = [
        package
        for package in ("torch", "transformers")
        if importlib.util.find_spec(package) is None
    ]
    if others and missing:
        print(f"Left out for want of {' and '.join(missing)}: {', '.join(others)}.")
        return [name for name in names if name not in others]
    if others and has_datasets():
        version = importlib.metadata.version("datasets")
        print(f"Hugging Face's way reads with datasets {version}.")
    elif others:
        print(
            "datasets is not installed: Hugging Face's way reads lines plainly and "
            "keeps its rows in memory."
        )
    return names


def figures_of(commands: list[list[str]], folder: Path) -> dict[str, float]:
    """What the commands of a way take up to the first step."""
    runs = [run_watched(command) for command in commands[:-1]]
    runs.append(run_watched(commands[-1], until=FIRST_STEP))
    stored = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {
        "seconds": sum(run.seconds for run in runs),
        "processor seconds": sum(run.processor for run in runs),
        "disk, MB": stored / 1e6,
        "memory, MB": max(run.megabytes for run in runs),
    }


def ours(
    files: list[InputFile],
    folder: Path,
    arguments: argparse.Namespace,
    *,
    examples: str,
) -> list[list[str]]:
    """Data and then training, by the commands of albert."""
    data = ("--data", str(folder / "data"))
    return [
        albert(
            *("make-data", *flags_of(files), "--vocab", str(arguments.vocab)),
            *("--output", data[1], "--examples", examples),
            *("--max-seq-length", str(arguments.length)),
            *("--workers", str(arguments.workers), "--quiet"),
        ),
        albert(
            *("pretrain", *data, "--output", str(folder / "run"), "--steps", "1"),
            *("--model", arguments.model, "--batch-size", str(arguments.batch_size)),
        ),
    ]


def theirs(
    files: list[InputFile],
    folder: Path,
    arguments: argparse.Namespace,
    *,
    masks: Sequence[str],
) -> list[list[str]]:
    """All in one program, by Hugging Face's libraries."""
    return [
        [
            *(sys.executable, "-m", "benchmarks.huggingface_way", *masks),
            *("--vocab", str(arguments.vocab), "--cache", str(folder)),
            *("--model", arguments.model, "--length", str(arguments.length)),
            *("--batch-size", str(arguments.batch_size)),
            *("--workers", str(arguments.workers)),
            *(file.path for file in files),
        ]
    ]


WAYS: dict[str, Way] = {
    "on-the-fly": functools.partial(ours, examples="on-the-fly"),
    "stored": functools.partial(ours, examples="stored"),
    "tokens": functools.partial(theirs, masks=()),
    "words": functools.partial(theirs, masks=("--whole-words",)),
}


if __name__ == "__main__":
    main()
