"""Files as they are recognised and read for a test."""

from pipeline.core.documents import Document, ReadingCounts
from pipeline.reading.inputs import find_inputs
from pipeline.reading.read import divide_file, read_part


def find(path, kind="text", **settings):
    (file,) = find_inputs({kind: (str(path),)}, **settings)
    return file


def read_file(file):
    """The documents of a whole file, and why others were dropped."""
    (part,) = divide_file(file._replace(is_divisible=False), chunk_bytes=1 << 62)
    return read_part(part, counts=ReadingCounts())


def documents_of(file):
    return [each for each in read_file(file) if isinstance(each, Document)]
