"""The texts that a program measures with: flags for them, and the files they name."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.reading.formats import KINDS
from pipeline.reading.inputs import InputFile, find_inputs


def add_texts(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each kind of text, as the commands of albert have them."""
    for kind in KINDS:
        parser.add_argument(f"--{kind}", nargs="*", default=[], metavar="PATH")


def find_texts(arguments: argparse.Namespace, **settings: Any) -> list[InputFile]:
    """The files that the flags name; says which are passed over.

    Args:
        arguments: With the flags of `add_texts`.
        settings: Of `find_inputs`.
    """
    given = {kind: tuple(getattr(arguments, kind)) for kind in KINDS}
    return find_inputs(given, on_passed_over=print, **settings)


def flags_of(files: Sequence[InputFile]) -> Iterator[str]:
    """The flags by which a command reads these files."""
    for file in files:
        yield from (f"--{file.kind}", file.path)
