"""Every format's reader behind one function: a file becomes documents."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, cast

from pipeline.books import read_book
from pipeline.compression import open_decompressed
from pipeline.documents import Document, Dropped
from pipeline.inputs import InputFile
from pipeline.lines import read_lines
from pipeline.mediawiki import read_pages, read_siteinfo
from pipeline.plain_text import read_prose, read_sentences
from pipeline.sentences import divide, split_sentences
from pipeline.shards import ShardDocument
from pipeline.splits import Split


def read_file(file: InputFile) -> Iterator[Document | Dropped]:
    """The documents of a file; what is damaged or left out has a reason."""
    with open_decompressed(file.path) as source:
        stream = cast(BinaryIO, source)
        if file.format == "mediawiki":
            with open_decompressed(file.path) as head:
                siteinfo = read_siteinfo(cast(BinaryIO, head))
            yield from read_pages(stream, siteinfo=siteinfo)
        elif file.format == "book":
            yield from read_book(read_lines(stream))
        elif file.format == "prose":
            yield from read_prose(read_lines(stream))
        else:
            yield from read_sentences(read_lines(stream))
        if source.damage:
            yield Dropped("rest of a damaged file")


def read_split(split: Split, *, counts: Counter[str]) -> Iterator[ShardDocument]:
    """The documents of a split with their sentences, long ones divided.

    Args:
        split: The files to read.
        counts: Receives how many documents were read, and left out by reason.
    """
    for file in split.files:
        for document in read_file(file):
            if isinstance(document, Dropped):
                counts[document.reason] += 1
            else:
                counts["read"] += 1
                yield from shard_documents(document, language=file.language)


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
