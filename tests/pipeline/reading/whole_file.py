"""A whole file read for a test."""

from pipeline.core.documents import ReadingCounts
from pipeline.reading.read import divide_file, read_part


def read_file(file):
    """The documents of a whole file, and why others were dropped."""
    (part,) = divide_file(file._replace(is_divisible=False), chunk_bytes=1 << 62)
    return read_part(part, counts=ReadingCounts())
