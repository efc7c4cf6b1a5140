"""One file is recognised from its content, whatever it is called."""

import json
from collections import Counter
from contextlib import closing
from itertools import islice
from typing import BinaryIO, cast

from pipeline import files
from pipeline.byte_ranges import BlockReader, ByteRange, read_blocks
from pipeline.bz2_streams import is_multistream
from pipeline.compression import recognise_compression
from pipeline.formats import (
    FORMATS_OF,
    HEAD_BYTES,
    Format,
    Kind,
    UnusableFile,
    language_of,
    recognise,
    refuse_binary,
)
from pipeline.input_file import InputFile
from pipeline.jsonl import MOST_RECORD_BYTES, parse
from pipeline.lines import decode
from pipeline.mediawiki import read_siteinfo
from pipeline.rows import TEXT_KEYS, Row, are_sentences, find_text, list_keys
from schemas.errors import AlbertError

# Compressed text counts so many times its size where sizes are estimated.
_COMPRESSION_RATIO = 4
# Formats whose documents can be told apart from anywhere in a file.
_DIVISIBLE: frozenset[Format] = frozenset(
    {
        "mediawiki",
        "wikiextractor",
        "jsonl",
        "jsonl-sentences",
        "sentences",
        "bookcorpus",
    }
)
_SAMPLE_ROWS = 100


def inspect(
    kind: Kind,
    path: str,
    *,
    input_format: Format | None = None,
    text_key: str | None = None,
) -> InputFile:
    """Recognise one file from its content; its language is empty if it names none.

    Raises:
        AlbertError: It is unreadable, or has no text under the key.
        UnusableFile: It is empty, or of no format that its kind allows.
    """
    head = read_head(path)
    if not head.startswith(b"PAR1"):
        refuse_binary(head, path=path)
    is_forced = input_format in FORMATS_OF[kind]
    found = cast(Format, input_format) if is_forced else _recognise(kind, head, path)
    size = files.file_size(path)
    file = InputFile(
        kind=kind,
        path=path,
        format=found,
        language=_own_language(found, head, path=path),
        bytes=size,
        text_bytes=size,
        sha256=files.file_hash(path),
    )
    if found.startswith("parquet"):
        return _inspect_parquet(file, text_key, is_forced=is_forced)
    if found.startswith("jsonl"):
        file = _inspect_jsonl(file, head, text_key, is_forced=is_forced)
    return _inspect_compression(file)


def _recognise(kind: Kind, head: bytes, path: str) -> Format:
    return recognise(kind, head[:HEAD_BYTES], path=path)


def read_head(path: str) -> bytes:
    """The first bytes of a file, decompressed, and for JSON lines the first line.

    Raises:
        AlbertError: It cannot be read.
        UnusableFile: There are none.
    """
    counts = Counter[str]()
    with closing(read_blocks(ByteRange(path), counts=counts)) as blocks:
        reader = BlockReader(blocks)
        head = b""
        while len(head) < HEAD_BYTES and (data := reader.read(HEAD_BYTES - len(head))):
            head += data
        if head.startswith(b"{"):
            while b"\n" not in head and len(head) < MOST_RECORD_BYTES:
                data = reader.read(HEAD_BYTES * 16)
                if not data:
                    break
                head += data
    if not head:
        raise UnusableFile(f"{path} is {'damaged' if counts else 'empty'}.")
    return head


def _own_language(found: Format, head: bytes, *, path: str) -> str:
    if found == "mediawiki":
        blocks = read_blocks(ByteRange(path), counts=Counter())
        return read_siteinfo(cast(BinaryIO, BlockReader(blocks))).language or ""
    return language_of(head) if found in ("wikiextractor", "jsonl") else ""


def _inspect_compression(file: InputFile) -> InputFile:
    """Say how large the text is, and whether the file can be read in ranges."""
    with closing(files.open_binary(file.path)) as stream:
        compression = recognise_compression(stream.read(6))
        is_seekable = compression == "none" or (
            compression == "bz2" and is_multistream(stream)
        )
    ratio = 1 if compression == "none" else _COMPRESSION_RATIO
    return file._replace(
        text_bytes=file.bytes * ratio,
        is_divisible=is_seekable and file.format in _DIVISIBLE,
    )


def _inspect_jsonl(
    file: InputFile, head: bytes, text_key: str | None, *, is_forced: bool
) -> InputFile:
    """Find where the records of a file have their text.

    Raises:
        AlbertError: No record has one there.
    """
    lines = decode(head, counts=Counter()).split("\n")
    records = [record for line in lines if (record := parse(line))][:_SAMPLE_ROWS]
    if not records:
        raise UnusableFile(f"{file.path} is JSON, but not one record a line.")
    keys = sorted({key for record in records for key in list_keys(record)})
    key = _choose_key(file, keys, text_key, name="key")
    texts = [text for record in records if (text := find_text(record, key))]
    found: Format = file.format
    if not is_forced and file.kind == "books" and are_sentences(texts):
        found = "jsonl-sentences"
    return file._replace(format=found, text_key=key)


def _inspect_parquet(
    file: InputFile, text_key: str | None, *, is_forced: bool
) -> InputFile:
    """Find the column of the text, and the sizes of the row groups.

    Raises:
        AlbertError: It is damaged or has no such column.
    """
    from pipeline.parquet import Table

    with closing(Table(file.path)) as table:
        key = _choose_key(file, table.columns, text_key, name="column")
        sizes = tuple(table.group_bytes)
        texts = []
        if sizes:
            rows = islice(table.rows(0, key=key), _SAMPLE_ROWS)
            texts = [row.text for row in rows if isinstance(row, Row)]
    found: Format = file.format
    if not is_forced and file.kind == "books" and are_sentences(texts):
        found = "parquet-sentences"
    return file._replace(
        format=found, text_key=key, text_bytes=sum(sizes), group_bytes=sizes
    )


def _choose_key(
    file: InputFile, keys: list[str], text_key: str | None, *, name: str
) -> str:
    for key in [text_key] if text_key else TEXT_KEYS:
        if key in keys:
            return key
    wanted = text_key or TEXT_KEYS[0]
    found = f"its {name}s of text are {', '.join(keys)}" if keys else "nor any text"
    raise AlbertError(
        f"--{file.kind}: {file.path} has no {name} {json.dumps(wanted)}, {found}; "
        f"say with --text-key where the text is."
    )
