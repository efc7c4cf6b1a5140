"""Every format's reader behind one function: a part of a file becomes documents."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import BinaryIO, cast

from pipeline import jsonl, wikiextractor
from pipeline.bookcorpus import read_bookcorpus, starts_document
from pipeline.books import read_book
from pipeline.byte_ranges import (
    BlockReader,
    ByteRange,
    StartsDocument,
    read_blocks,
    read_documents,
)
from pipeline.documents import Document, Dropped, ShardDocument
from pipeline.formats import Format
from pipeline.input_file import InputFile
from pipeline.lines import decode, read_lines, read_raw_lines
from pipeline.mediawiki import read_pages, read_siteinfo
from pipeline.plain_text import read_prose, read_sentences, starts_after_blank
from pipeline.rows import read_rows, read_sentence_rows
from pipeline.sentences import divide, split_sentences
from pipeline.splits import FilePart, Split, divide_file

Documents = Iterator[Document | Dropped]


def read_file(file: InputFile, *, counts: Counter[str] | None = None) -> Documents:
    """The documents of a whole file; what is damaged or left out has a reason."""
    (part,) = divide_file(file._replace(is_divisible=False), split_bytes=1 << 62)
    return read_part(part, counts=Counter() if counts is None else counts)


def read_part(part: FilePart, *, counts: Counter[str]) -> Documents:
    """The documents that belong to a part of a file, or why there is none.

    Args:
        part: See `pipeline.splits.divide_file`.
        counts: Receives what was read otherwise than it stands there.
    """
    return _READERS[part.file.format](part, counts)


def _read_mediawiki(part: FilePart, counts: Counter[str]) -> Documents:
    head = BlockReader(read_blocks(ByteRange(part.file.path), counts=Counter()))
    siteinfo = read_siteinfo(cast(BinaryIO, head))
    blocks = BlockReader(_blocks(part, _starts_page, counts))
    return read_pages(cast(BinaryIO, blocks), siteinfo=siteinfo, counts=counts)


def _starts_page(line: bytes) -> bool:
    return line.lstrip().startswith((b"<page>", b"<page "))


def _read_wikiextractor(part: FilePart, counts: Counter[str]) -> Documents:
    blocks = _blocks(part, wikiextractor.starts_article, counts)
    return wikiextractor.read_articles(read_raw_lines(blocks, counts=counts))


def _read_jsonl(part: FilePart, counts: Counter[str]) -> Documents:
    file = part.file
    blocks = _blocks(part, jsonl.starts_any, counts)
    rows = jsonl.read_records(blocks, key=file.text_key, counts=counts)
    return read_rows(rows, kind=file.kind)


def _read_jsonl_sentences(part: FilePart, counts: Counter[str]) -> Documents:
    key = part.file.text_key
    blocks = _blocks(part, jsonl.sentence_starts(key), counts)
    return read_sentence_rows(jsonl.read_records(blocks, key=key, counts=counts))


def _read_parquet(part: FilePart, counts: Counter[str]) -> Documents:
    # PyArrow takes a moment to import and is needed for nothing else.
    from pipeline.parquet import read_groups

    file, start, end, _ = part
    rows = read_groups(file.path, key=file.text_key, start=start, end=end)
    return read_rows(rows, kind=file.kind)


def _read_parquet_sentences(part: FilePart, counts: Counter[str]) -> Documents:
    from pipeline.parquet import read_sentence_groups

    file, start, end, _ = part
    rows = read_sentence_groups(file.path, key=file.text_key, start=start, end=end)
    return read_sentence_rows(rows)


def _read_book(part: FilePart, counts: Counter[str]) -> Documents:
    return read_book(_whole_file(part, counts), counts=counts)


def _read_prose(part: FilePart, counts: Counter[str]) -> Documents:
    return read_prose(_whole_file(part, counts), counts=counts)


def _read_sentences(part: FilePart, counts: Counter[str]) -> Documents:
    blocks = _blocks(part, starts_after_blank, counts)
    return read_sentences(read_lines(blocks, counts=counts))


def _read_bookcorpus(part: FilePart, counts: Counter[str]) -> Documents:
    blocks = _blocks(part, _starts_sentence, counts)
    yield from read_bookcorpus(read_lines(blocks, counts=counts))


def _starts_sentence(line: bytes) -> bool:
    return starts_document(" ".join(decode(line, counts=Counter()).split()))


_READERS: dict[Format, Callable[[FilePart, Counter[str]], Documents]] = {
    "mediawiki": _read_mediawiki,
    "wikiextractor": _read_wikiextractor,
    "jsonl": _read_jsonl,
    "jsonl-sentences": _read_jsonl_sentences,
    "parquet": _read_parquet,
    "parquet-sentences": _read_parquet_sentences,
    "book": _read_book,
    "prose": _read_prose,
    "sentences": _read_sentences,
    "bookcorpus": _read_bookcorpus,
}


def _blocks(
    part: FilePart, starts: StartsDocument, counts: Counter[str]
) -> Iterator[bytes]:
    owned = ByteRange(part.file.path, part.start, part.end)
    return read_documents(owned, starts, counts=counts)


def _whole_file(part: FilePart, counts: Counter[str]) -> Iterator[bytes]:
    return read_blocks(ByteRange(part.file.path), counts=counts)


def read_split(split: Split, *, counts: Counter[str]) -> Iterator[ShardDocument]:
    """The documents of a split with their sentences, long ones divided.

    Args:
        split: The parts of files to read.
        counts: Receives how many documents were read, and left out by reason.
    """
    for part in split.parts:
        for document in read_part(part, counts=counts):
            if isinstance(document, Dropped):
                counts[document.reason] += 1
            else:
                counts["read"] += 1
                yield from shard_documents(document, language=part.file.language)


def shard_documents(document: Document, *, language: str) -> Iterator[ShardDocument]:
    """A document, or the parts of a long one, under ids that follow from its text."""
    text = "\n".join(document.paragraphs).encode("utf-8", errors="replace")
    document_id = hashlib.blake2b(text, digest_size=16).digest()
    parts = divide(split_sentences(document, language=language))
    for number, sentences in enumerate(parts):
        # The first eight bytes stay those of the whole: they decide the split.
        tail = hashlib.blake2b(document_id + number.to_bytes(4, "big"), digest_size=8)
        part_id = document_id[:8] + (tail.digest() if number else document_id[8:])
        yield ShardDocument(part_id, "\n".join(sentences))
