"""Every format's reader behind one function: a part of a file becomes documents."""

import hashlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, cast

from pipeline.core.counts import ReadingCounts
from pipeline.core.documents import Document, Dropped, ShardDocument
from pipeline.reading import plain_text, text_rows
from pipeline.reading.bookcorpus import read_bookcorpus, starts_document
from pipeline.reading.books import read_book
from pipeline.reading.formats import Format
from pipeline.reading.inputs import InputFile
from pipeline.reading.sentences import divide, split_sentences
from pipeline.reading.splits import FilePart, Split, divide_file
from pipeline.reading.text_rows import read_rows, read_sentence_rows
from pipeline.storage import files
from pipeline.storage.byte_ranges import (
    LINE_PREFIX_BYTES,
    BlockReader,
    StartsDocument,
    read_blocks,
    read_documents,
)
from pipeline.storage.lines import decode, read_lines, read_raw_lines
from pipeline.wikipedia import extracted
from pipeline.wikipedia.mediawiki import read_pages, read_siteinfo

Documents = Iterator[Document | Dropped]


def read_file(file: InputFile, *, counts: ReadingCounts | None = None) -> Documents:
    """The documents of a whole file; for each one dropped, the reason."""
    (part,) = divide_file(file._replace(is_divisible=False), split_bytes=1 << 62)
    return read_part(part, counts=ReadingCounts() if counts is None else counts)


def read_part(part: FilePart, *, counts: ReadingCounts) -> Documents:
    """The documents that belong to a part of a file; for each one dropped, the reason.

    Args:
        part: See `pipeline.reading.splits.divide_file`.
        counts: Receives what is damaged, left out of documents, or changed.
    """
    return _READERS[part.file.format](part, counts)


def _read_mediawiki(part: FilePart, counts: ReadingCounts) -> Documents:
    head = BlockReader(read_blocks(part.file.path))
    siteinfo = read_siteinfo(cast(BinaryIO, head))
    blocks = BlockReader(_blocks(part, _starts_page, counts))
    return read_pages(cast(BinaryIO, blocks), siteinfo=siteinfo, counts=counts)


def _starts_page(line: bytes) -> bool:
    return line.lstrip().startswith((b"<page>", b"<page "))


def _read_wikiextractor(part: FilePart, counts: ReadingCounts) -> Documents:
    blocks = _blocks(part, extracted.starts_article, counts)
    lines = read_raw_lines(blocks, counts=counts)
    return extracted.read_articles(lines, counts=counts)


def _read_jsonl(part: FilePart, counts: ReadingCounts) -> Documents:
    file = part.file
    blocks = _blocks(part, _starts_any, counts)
    rows = text_rows.json_rows(blocks, key=file.text_key, counts=counts)
    return read_rows(rows, kind=file.kind, counts=counts)


def _read_jsonl_sentences(part: FilePart, counts: ReadingCounts) -> Documents:
    key = part.file.text_key
    blocks = _blocks(part, text_rows.json_sentence_starts(key), counts)
    return read_sentence_rows(text_rows.json_rows(blocks, key=key, counts=counts))


def _starts_any(line: bytes) -> bool:
    """Every line is a document."""
    return True


def _read_parquet(part: FilePart, counts: ReadingCounts) -> Documents:
    file, start, end, _ = part
    rows = text_rows.parquet_rows(file.path, key=file.text_key, start=start, end=end)
    return read_rows(rows, kind=file.kind, counts=counts)


def _read_parquet_sentences(part: FilePart, _: ReadingCounts) -> Documents:
    file, start, end = part.file, part.start, part.end
    return read_sentence_rows(
        text_rows.parquet_sentence_rows(
            file.path, key=file.text_key, start=start, end=end
        )
    )


def _read_csv(part: FilePart, counts: ReadingCounts) -> Documents:
    file, blocks = part.file, _pieces(part, counts)
    rows = text_rows.csv_rows(
        blocks, key=file.text_key, counts=counts, is_quoted=file.is_quoted
    )
    return read_rows(rows, kind=file.kind, counts=counts)


def _read_book(part: FilePart, counts: ReadingCounts) -> Documents:
    blocks = _pieces(part, counts)
    return read_book(blocks, counts=counts, is_start=part.start == 0)


def _read_prose(part: FilePart, counts: ReadingCounts) -> Documents:
    return plain_text.read_prose(_pieces(part, counts), counts=counts)


def _read_marked(part: FilePart, counts: ReadingCounts) -> Documents:
    blocks = _blocks(part, _if_whole(plain_text.is_marker), counts)
    return plain_text.read_marked(blocks, counts=counts)


def _read_lines(part: FilePart, counts: ReadingCounts) -> Documents:
    blocks = _blocks(part, _starts_any, counts)
    return plain_text.read_line_documents(blocks, counts=counts)


def _read_sentences(part: FilePart, counts: ReadingCounts) -> Documents:
    blocks = _blocks(part, plain_text.starts_after_blank, counts)
    return plain_text.read_sentences(read_lines(blocks, counts=counts))


def _read_bookcorpus(part: FilePart, counts: ReadingCounts) -> Documents:
    blocks = _blocks(part, _if_whole(_starts_sentence), counts)
    yield from read_bookcorpus(read_lines(blocks, counts=counts))


def _starts_sentence(line: bytes) -> bool:
    # A carriage return ends a line too, but a part of a file begins after line feeds.
    first = decode(line).partition("\n")[0]
    return starts_document(" ".join(first.split()))


def _if_whole(starts: StartsDocument) -> StartsDocument:
    """The same for lines that are seen whole; no document begins with a longer one."""
    return lambda line: len(line) < LINE_PREFIX_BYTES and starts(line)


_READERS: dict[Format, Callable[[FilePart, ReadingCounts], Documents]] = {
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
    "lines": _read_lines,
    "marked": _read_marked,
    "csv": _read_csv,
}


def _blocks(
    part: FilePart, starts: StartsDocument, counts: ReadingCounts
) -> Iterator[bytes]:
    return read_documents(
        part.file.path, starts, start=part.start, end=part.end, counts=counts
    )


def _pieces(part: FilePart, counts: ReadingCounts) -> Iterator[bytes]:
    """A part of a file that is known to begin and end with its documents."""
    return read_blocks(part.file.path, start=part.start, end=part.end, counts=counts)


def read_split(split: Split, *, counts: ReadingCounts) -> Iterator[ShardDocument]:
    """The documents of a split with their sentences, long ones divided.

    Args:
        split: The parts of files to read.
        counts: Receives how many documents were read, and what was left out.
    """
    for part in split.parts:
        files.remember(part.file.path, size=part.file.bytes, sha256=part.file.sha256)
        for document in read_part(part, counts=counts):
            if isinstance(document, Dropped):
                counts.dropped[document.reason] += 1
            else:
                counts.documents += 1
                is_own = document.language and part.file.language_from != "flag"
                language = document.language if is_own else part.file.language
                yield from shard_documents(document, language=language)


def shard_documents(document: Document, *, language: str) -> Iterator[ShardDocument]:
    """A document, or the parts of a long one, under ids that follow from its text."""
    text = "\n".join(document.paragraphs).encode("utf-8", errors="replace")
    document_id = hashlib.blake2b(text, digest_size=16).digest()
    parts = divide(split_sentences(document, language=language))
    for number, sentences in enumerate(parts):
        # The first eight bytes stay those of the whole: they decide the split.
        tail = hashlib.blake2b(document_id + number.to_bytes(4, "big"), digest_size=8)
        part_id = document_id[:8] + (tail.digest() if number else document_id[8:])
        yield ShardDocument(part_id, "\n".join(sentences), is_first=number == 0)
