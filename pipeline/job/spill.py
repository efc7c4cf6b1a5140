"""Documents that wait on disk for their shard, on one machine.

Reading a chunk leaves one file: blocks, each of which has its documents sorted by shard
after a table of where each shard's are. Building a shard reads its stretch of every
block. So memory grows neither with the corpus nor with a file that cannot be divided,
and only numbers of chunks go through the runner. The files lie in the data set, or for
one on storage in a folder of this machine.
"""

import contextlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from pipeline.core.documents import ShardDocument
from pipeline.dataset.shard import ShardPlan
from schemas.errors import AlbertError
from schemas.files import whole_file
from schemas.layout import chunk_file

# Text that is held in memory before it is written as a block.
BLOCK_BYTES = 16 << 20

# A block begins with the place of its end in the file, and for each shard the places
# where its documents start and end.
_END = struct.Struct("<Q")
_STRETCH = struct.Struct("<QQ")
# A document: its id, the length of its text in bytes, whether it is the whole or the
# first part of one, its text.
_HEAD = struct.Struct("<16sI?")


class Spill:
    """The file of a chunk that is being read."""

    def __init__(self, file: BinaryIO, plan: ShardPlan) -> None:
        self._file, self._plan = file, plan
        self._shards = [bytearray() for _ in plan.shard_numbers()]
        self._held_bytes = self.bytes = 0

    def add(self, document: ShardDocument) -> None:
        """Hold a document; write what is held once it is a block."""
        text = document.text.encode("utf-8", errors="replace")
        shard = self._shards[self._plan.shard_of(document.id)]
        shard += _HEAD.pack(document.id, len(text), document.is_first)
        shard += text
        self._held_bytes += len(text)
        if self._held_bytes >= BLOCK_BYTES:
            self.write_block()

    def write_block(self) -> None:
        """Write what is held of each shard, and let go of it."""
        end = self._file.tell() + _END.size + _STRETCH.size * len(self._shards)
        table = []
        for shard in self._shards:
            start, end = end, end + len(shard)
            table.append(_STRETCH.pack(start, end))
        self._file.write(_END.pack(end))
        self._file.writelines(table)
        for shard in self._shards:
            self._file.write(shard)
            shard.clear()
        self._held_bytes, self.bytes = 0, end


@contextlib.contextmanager
def new_spill(chunk: int, *, plan: ShardPlan, output: Path) -> Iterator[Spill]:
    """Write the documents of a chunk, to a file that is there when it is whole."""
    with whole_file(output / chunk_file(chunk, "documents")) as file:
        spill = Spill(file, plan)
        yield spill
        spill.write_block()


def read_spills(chunks: int, shard: int, *, output: Path) -> Iterator[ShardDocument]:
    """The documents of a shard, from the files of all chunks."""
    for chunk in range(chunks):
        path = output / chunk_file(chunk, "documents")
        try:
            with path.open("rb") as file:
                size, block = file.seek(0, os.SEEK_END), 0
                while block < size or size == 0:
                    file.seek(block)
                    (block_end,) = _END.unpack(file.read(_END.size))
                    file.seek(shard * _STRETCH.size, os.SEEK_CUR)
                    start, end = _STRETCH.unpack(file.read(_STRETCH.size))
                    file.seek(start)
                    data = file.read(end - start)
                    if block_end > size or len(data) < end - start:
                        raise EOFError
                    place = 0
                    while place < len(data):
                        document_id, text_bytes, is_first = _HEAD.unpack_from(data, place)
                        place += _HEAD.size
                        text = data[place : place + text_bytes].decode("utf-8")
                        yield ShardDocument(document_id, text, is_first)
                        place += text_bytes
                    block = block_end
        except OSError as error:
            raise AlbertError(f"{path} cannot be read: {error.strerror}.") from error
        except (EOFError, struct.error):
            raise AlbertError(f"{path} is cut off; run the same command again.") from None
