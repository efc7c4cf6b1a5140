"""Time and memory of `albert make-data` on clusters, beside the default runner's.

    python -m benchmarks.engines --wikipedia DIR --vocab DIR --megabytes 50 300 1000

A Flink of a JobManager and two TaskManagers and a Spark of a master and two workers run
on this machine as in the tests, which python -m tests.engines.install gets, with as
many Python workers as the default runner has. The documents of the text are repeated
until there are so many bytes, the words of each sentence in another order, so that none
is a near-copy. Memory is that of all processes, engines included.
"""

import argparse
import functools
import hashlib
import json
import os
import random
import tempfile
from pathlib import Path

from benchmarks.measuring import Run, run_albert
from benchmarks.reading import add_texts, find_texts, read_documents
from pipeline.core.documents import Document
from tests.engines import start

ENGINES = ("Flink", "Spark")
WORKERS = 2
TEXT_FILES = 8


def main() -> None:
    """Print a table of each size on each engine."""
    arguments = parse_arguments()
    documents = [document for file in find_texts(arguments) for document in read_documents(file)]
    print("| MB | runner | seconds | beside the default | MB of memory | |")
    print("|--:|---|--:|--:|--:|---|", flush=True)
    for megabytes in arguments.megabytes:
        with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
            scratch = Path(folder)
            write_text(scratch / "text", documents, size=int(megabytes * 1e6))
            measure(arguments, scratch, megabytes=megabytes)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_texts(parser)
    parser.add_argument("--vocab", required=True, metavar="DIR")
    parser.add_argument("--megabytes", type=float, nargs="+", default=[0.6, 50, 300])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--heap", type=int, default=1024, help="MB, of each worker")
    parser.add_argument("--tasks", type=int, default=2, help="of Spark, which hold what they make")
    parser.add_argument("--scratch", metavar="DIR", help="where all is written")
    return parser.parse_args()


def write_text(folder: Path, documents: list[Document], *, size: int) -> None:
    """JSON lines of at least so many bytes."""
    folder.mkdir()
    draws = random.Random(1)
    for number in range(TEXT_FILES):
        written = 0
        with (folder / f"{number}.jsonl").open("w", encoding="utf-8") as file:
            while written < size / TEXT_FILES:
                document = draws.choice(documents)
                text = "\n".join(shuffled(p, draws) for p in document.paragraphs)
                written += file.write(json.dumps({"text": text}) + "\n")


def shuffled(paragraph: str, draws: random.Random) -> str:
    """A paragraph with the words of each sentence in another order."""
    sentences = [sentence.split() for sentence in paragraph.split(". ")]
    for words in sentences:
        draws.shuffle(words)
    return ". ".join(map(" ".join, sentences))


def measure(arguments: argparse.Namespace, folder: Path, *, megabytes: float) -> None:
    """A row for the default runner and for each engine."""
    text = ("--text", f"{folder / 'text'}", "--vocab", arguments.vocab)
    wanted = folder / "default"
    job = ("make-data", *text, "--examples", "on-the-fly", "--output")
    default = run_albert(*job, f"{wanted}", "--workers", f"{WORKERS}")
    show(megabytes, "default", default, default)
    clusters = {
        "Flink": start.flink_cluster,
        "Spark": functools.partial(start.spark_cluster, tasks=arguments.tasks),
    }
    for name in arguments.engines:
        output = folder / name
        with (
            start.short_folder() as place,
            clusters[name](place, WORKERS, heap=arguments.heap) as engine,
            start.pool(place) as pool,
        ):
            run = run_albert(*job, f"{output}", *engine, *pool, root=os.getpid())
        same = digests(output) == digests(wanted)
        show(megabytes, name, run, default, note="same bytes" if same else "OTHER")


def digests(folder: Path) -> dict[str, str]:
    """The hash of each file of records."""
    return {
        f"{path.relative_to(folder)}": hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*.tfrecord"))
    }


def show(megabytes: float, runner: str, run: Run, default: Run, *, note: str = "") -> None:
    """A row of the table."""
    beside = run.seconds / default.seconds
    print(
        f"| {megabytes:g} | {runner} | {run.seconds:.1f} | {beside:.2f} "
        f"| {run.megabytes:,.0f} | {note} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
