"""Measure `albert make-data` and `albert vocab`: time and memory.

    python -m benchmarks.make_data --books DIR
    python -m benchmarks.make_data --books DIR --vocab DIR --workers 1,2
    python -m benchmarks.make_data --wikipedia DIR --books DIR --vocab DIR --scale

The defaults of both commands are measured: 512 tokens, 77 predictions, 10 copies;
30,000 pieces from a million sentences. Each table is followed by the same as a line of
JSON. Beside each job runs one of a few sentences; what exceeds its time is *marginal*.

Without `--vocab` the vocabulary is trained first, and measured. With `--scale` jobs
over a tenth of the files, chosen by hash, are compared to jobs over all of them.
"""

import argparse
import hashlib
import json
import tempfile
from pathlib import Path

from benchmarks.measuring import Run, run_albert
from benchmarks.reading import add_texts, find_texts, flags_of
from cli.support.inputs import describe_inputs
from pipeline.core.machine import usable_cores
from pipeline.reading.inputs import InputFile
from schemas.manifest import read_manifest

# Of the bytes of the files, what a scaled down job reads.
SMALL_SHARE = 0.1
# Sentences to sample when the sample is to be full with a tenth of the files already.
FIXED_SAMPLE = 50_000
FEW_SENTENCES = "He came late. She had left.\n\nWhy did it rain? Nobody knew.\n" * 20


def main() -> None:
    """Measure what is asked for and print it."""
    arguments = parse_arguments()
    files = find_texts(arguments)
    for line in describe_inputs(files):
        print(line)
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
        scratch = Path(folder)
        vocab = arguments.vocab
        if vocab is None:
            vocab = scratch / "vocab"
            show("vocab", measure_vocab(files, vocab, workers=arguments.workers[-1]))
        if arguments.scale:
            for workers in arguments.workers:
                figures = measure_scale(files, vocab, scratch, workers=workers)
                show(f"scale, {workers} workers", figures)
            return
        marginal = {}
        for workers in arguments.workers:
            output = scratch / f"data-{workers}"
            figures = measure_data(files, vocab, output, workers=workers)
            marginal[workers] = figures["marginal seconds"]
            show(f"make-data, {workers} workers", figures)
        if len(marginal) > 1:
            slow, fast = marginal[min(marginal)], marginal[max(marginal)]
            show("workers", {"marginal speed-up": slow / fast})


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_texts(parser)
    parser.add_argument("--vocab", type=Path, metavar="DIR")
    parser.add_argument(
        "--workers",
        type=lambda text: [int(count) for count in text.split(",")],
        default=[usable_cores()],
        metavar="N,N",
    )
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--scratch", metavar="DIR", help="where data is written")
    return parser.parse_args()


def show(title: str, figures: dict[str, float]) -> None:
    """Print a table and a line of JSON."""
    print(f"\n{title}")
    for name, value in figures.items():
        digits = 0 if abs(value) >= 10_000 else 2 if abs(value) >= 1 else 4
        print(f"  {name:44}{value:>14,.{digits}f}")
    rounded = {name: round(value, 4) for name, value in figures.items()}
    print(json.dumps({"what": title, **rounded}), flush=True)


def run_data(files: list[InputFile], vocab: Path, output: Path, *, workers: int) -> tuple[Run, Run]:
    """Run `make-data`, and the same over a few sentences."""
    settings = ("--vocab", str(vocab), "--workers", str(workers), "--quiet")
    few = output.with_name(f"{output.name}-few.txt")
    few.write_text(FEW_SENTENCES)
    empty_output = str(output.with_name(f"{output.name}-empty"))
    empty = run_albert("make-data", "--text", str(few), "--output", empty_output, *settings)
    run = run_albert("make-data", *flags_of(files), "--output", str(output), *settings)
    return run, empty


def measure_data(
    files: list[InputFile], vocab: Path, output: Path, *, workers: int
) -> dict[str, float]:
    """Time and memory of `make-data`."""
    run, empty = run_data(files, vocab, output, workers=workers)
    manifest = read_manifest(output)
    rows = sum(shard.examples for shard in manifest.shards)
    tokens = sum(copy["tokens"] for split in manifest.splits.values() for copy in split["copies"])
    megabytes = sum(file.text_bytes for file in files) / 1e6
    written = sum(shard.bytes for shard in manifest.shards)
    return {
        "rows": rows,
        "MB of text": megabytes,
        "seconds": run.seconds,
        "seconds of an empty job": empty.seconds,
        "marginal seconds": run.seconds - empty.seconds,
        "processor seconds": run.processor,
        "processor seconds of an empty job": empty.processor,
        "milliseconds a row": 1e3 * run.seconds / rows,
        "microseconds a written token": 1e6 * run.seconds / tokens,
        "rows a second": rows / run.seconds,
        "MB of text a second": megabytes / run.seconds,
        "bytes a row": written / rows,
        "peak memory of all processes, MB": run.megabytes,
    }


def measure_vocab(files: list[InputFile], output: Path, *, workers: int) -> dict[str, float]:
    """Time and memory of `vocab`."""
    run = run_vocab(files, output, workers=workers)
    megabytes = sum(file.text_bytes for file in files) / 1e6
    return {
        "MB of text": megabytes,
        "seconds": run.seconds,
        "processor seconds": run.processor,
        "MB of text a second": megabytes / run.seconds,
        "peak memory of all processes, MB": run.megabytes,
    }


def run_vocab(files: list[InputFile], output: Path, *extra: str, workers: int) -> Run:
    """Run `vocab`."""
    settings = ("--output", str(output), "--workers", str(workers), "--quiet")
    return run_albert("vocab", *flags_of(files), *settings, *extra)


def measure_scale(
    files: list[InputFile], vocab: Path, scratch: Path, *, workers: int
) -> dict[str, float]:
    """Time and memory over a tenth of the files and over all of them."""
    figures: dict[str, float] = {}
    small = sample_files(files)
    for name, part in (("small", small), ("whole", files)):
        megabytes = sum(file.text_bytes for file in part) / 1e6
        output = scratch / f"{name}-{workers}"
        run, empty = run_data(part, vocab, output, workers=workers)
        marginal = run.seconds - empty.seconds
        sampled = run_vocab(
            part,
            scratch / f"vocab-{name}-{workers}",
            *("--sample-sentences", str(FIXED_SAMPLE), "--vocab-size", "8000"),
            workers=workers,
        )
        figures |= {
            f"{name}: MB of text": megabytes,
            f"{name}: seconds": run.seconds,
            f"{name}: seconds of an empty job": empty.seconds,
            f"{name}: marginal seconds a MB": marginal / megabytes,
            f"{name}: processor seconds a MB": run.processor / megabytes,
            f"{name}: peak memory, MB": run.megabytes,
            f"{name}: peak memory of vocab, MB": sampled.megabytes,
        }
    for what in ("marginal seconds a MB", "peak memory, MB", "peak memory of vocab, MB"):
        figures[f"whole to small: {what}"] = figures[f"whole: {what}"] / figures[f"small: {what}"]
    return figures


def sample_files(files: list[InputFile]) -> list[InputFile]:
    """A tenth of the text, in whole files, chosen by the hash of their names."""
    room = SMALL_SHARE * sum(file.text_bytes for file in files)
    chosen: list[InputFile] = []
    for file in sorted(files, key=lambda file: _hash(Path(file.path).name)):
        if file.text_bytes <= room:
            chosen.append(file)
            room -= file.text_bytes
    return chosen


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


if __name__ == "__main__":
    main()
