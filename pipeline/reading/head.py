"""The first of a file, by which its format is known."""

from contextlib import closing
from dataclasses import dataclass
from functools import cached_property

from pipeline.core.documents import ReadingCounts
from pipeline.reading.formats import Kind
from pipeline.storage.lines import MAX_RECORD_BYTES, read_blocks, read_lines
from schemas.errors import AlbertError

# A format is recognised by this much of a file, decompressed.
HEAD_BYTES = 1 << 16


class UnusableFile(AlbertError):
    """A file that holds no text we can read; in a folder it is passed over."""


def without_lead(head: bytes) -> bytes:
    r"""The first bytes of a file without the mark and white space before its text.

    >>> without_lead(b"\xef\xbb\xbf\n <page>")
    b'<page>'
    """
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()


@dataclass(frozen=True)
class Head:
    """The first of a file, by which its format is known."""

    kind: Kind
    path: str
    data: bytes

    @cached_property
    def start(self) -> bytes:
        """Its bytes without the mark and white space before its text."""
        return without_lead(self.data)

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the file."""
        return len(self.data) < HEAD_BYTES

    @cached_property
    def whole_lines(self) -> bytes:
        """Its bytes without a last line that may be cut."""
        end = len(self.data) if self.is_whole else self.data.rfind(b"\n") + 1
        return self.data[: end or len(self.data)]

    @cached_property
    def lines(self) -> list[str]:
        """Its whole lines, with single spaces and none at their ends."""
        return list(read_lines([self.whole_lines]))


def read_head(path: str) -> bytes:
    """The first `HEAD_BYTES` of a file, decompressed; the first line of JSON whole."""
    counts, head, end = ReadingCounts(), b"", HEAD_BYTES
    with closing(read_blocks(path, counts=counts, block_bytes=HEAD_BYTES)) as blocks:
        for block in blocks:
            head += block
            if len(head) < HEAD_BYTES:
                continue
            start = len(head) - len(without_lead(head))
            is_json = head.startswith(b"{", start)
            line_end = head.find(b"\n", start) + 1 if is_json else HEAD_BYTES
            end = max(HEAD_BYTES, line_end or len(head))
            if line_end or len(head) >= MAX_RECORD_BYTES:
                break
    if not head:
        what = "damaged; copy it again" if counts.dropped else "empty"
        raise UnusableFile(f"{path} is {what}.")
    return head[:end]
