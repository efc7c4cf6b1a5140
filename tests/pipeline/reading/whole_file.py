"""A whole file read for a test."""

from pipeline.core.counts import ReadingCounts
from pipeline.reading.read import read_part
from pipeline.reading.splits import divide_file


def read_file(file):
    """The documents of a whole file, and why others were dropped."""
    (part,) = divide_file(file._replace(is_divisible=False), split_bytes=1 << 62)
    return read_part(part, counts=ReadingCounts())
