"""Measure how fast text is read, by stage, in one process.

    python -m benchmarks.reading --books DIR
    python -m benchmarks.reading --wikipedia DUMP... --repeat 5

A table of MB of decompressed text per second of processor time, and a JSON line. The
stages are measured one inside the other: `open` decompresses, `read` also finds the
documents and cleans them, `segment` also divides them into sentences.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.measuring import seconds
from cli.support.inputs import describe_inputs
from pipeline.core.documents import Document, ReadingCounts
from pipeline.reading.formats import FORMATS, KINDS, FilePart
from pipeline.reading.inputs import InputFile, find_inputs
from pipeline.reading.read import Chunk, plan_chunks, read_part, read_shard_documents
from pipeline.storage.lines import read_blocks


def add_texts(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each kind of text, as the commands of albert have them."""
    for kind in KINDS:
        parser.add_argument(f"--{kind}", nargs="*", default=[], metavar="PATH")


def find_texts(arguments: argparse.Namespace, **settings: Any) -> list[InputFile]:
    """The files that the flags name; says which are passed over."""
    given = {kind: tuple(getattr(arguments, kind)) for kind in KINDS}
    return find_inputs(given, on_passed_over=print, **settings)


def read_documents(file: InputFile) -> Iterator[Document]:
    """The documents of a file."""
    whole = FilePart(file, 0, None, file.text_bytes)
    for document in read_part(whole, counts=ReadingCounts()):
        if isinstance(document, Document):
            yield document


def flags_of(files: Sequence[InputFile]) -> Iterator[str]:
    """The flags by which a command reads these files."""
    for file in files:
        yield from (f"--{file.kind}", file.path)


def main() -> None:
    arguments = parse_arguments()
    files = find_texts(arguments, input_format=arguments.input_format, text_key=arguments.text_key)
    for line in describe_inputs(files):
        print(line)
    chunks = plan_chunks(files)
    stages: dict[str, Callable[[], int]] = {
        "open": lambda: open_all(files),
        "read": lambda: read_all(chunks),
        "segment": lambda: segment_all(chunks),
    }
    megabytes = open_all(files) / 1e6
    result: dict[str, float] = {"megabytes": round(megabytes, 1)}
    print(f"{'stage':<10}{'seconds':>10}{'MB/s':>10}")
    for name, run in stages.items():
        least = min(seconds(run, clock=time.process_time) for _ in range(arguments.repeat))
        result[name] = round(megabytes / least, 1)
        print(f"{name:<10}{least:>10.2f}{megabytes / least:>10.1f}")
    print(json.dumps(result))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_texts(parser)
    parser.add_argument("--input-format", choices=FORMATS)
    parser.add_argument("--text-key")
    parser.add_argument("--repeat", type=int, default=3)
    return parser.parse_args()


def open_all(files: list[InputFile]) -> int:
    """Decompress all files; returns their bytes. Parquet counts as it is said to."""
    total = 0
    for file in files:
        if file.group_bytes:
            total += file.text_bytes
            continue
        blocks = read_blocks(file.path)
        total += sum(map(len, blocks))
    return total


def read_all(chunks: list[Chunk]) -> int:
    """Read and clean all documents; returns how many."""
    counts = ReadingCounts()
    parts = (part for chunk in chunks for part in chunk.parts)
    return sum(1 for part in parts for _ in read_part(part, counts=counts))


def segment_all(chunks: list[Chunk]) -> int:
    """Divide all documents into sentences too; returns how many parts there are."""
    counts = ReadingCounts()
    return sum(1 for chunk in chunks for _ in read_shard_documents(chunk, counts=counts))


if __name__ == "__main__":
    main()
