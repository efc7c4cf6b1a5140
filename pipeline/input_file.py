"""What is known of a file before it is read."""

from typing import NamedTuple

from pipeline.files import file_name
from pipeline.formats import Format, Kind


class InputFile(NamedTuple):
    """One file to read.

    Attributes:
        kind: The flag it was given with.
        path: Where it is.
        format: How it is read.
        language: Of its sentences, an ISO code.
        bytes: Its size.
        text_bytes: Its size when decompressed, estimated.
        sha256: Hash of the file; of a remote one the checksum that its system keeps.
        text_key: Where its rows have their text; empty if it has no rows.
        is_divisible: Whether it can be read in ranges of bytes.
        group_bytes: Sizes of the row groups of a parquet file.
    """

    kind: Kind
    path: str
    format: Format
    language: str
    bytes: int
    text_bytes: int
    sha256: str
    text_key: str = ""
    is_divisible: bool = False
    group_bytes: tuple[int, ...] = ()

    def describe(self) -> dict[str, str | int]:
        """What the manifest says of it: nothing that depends on the machine."""
        described: dict[str, str | int] = {
            "name": file_name(self.path),
            "kind": self.kind,
            "format": self.format,
            "language": self.language,
            "bytes": self.bytes,
            "sha256": self.sha256,
        }
        return described | ({"text_key": self.text_key} if self.text_key else {})
