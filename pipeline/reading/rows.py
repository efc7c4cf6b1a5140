"""Rows of tables with a text: of articles, books, other documents, or sentences."""

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pipeline.core.documents import NO_TEXT, Document, Dropped
from pipeline.reading.bookcorpus import read_bookcorpus
from pipeline.reading.books import book_document
from pipeline.reading.formats import Kind
from pipeline.reading.languages import language_of_record
from pipeline.reading.plain_text import prose_document
from pipeline.wikipedia.extracted import article_document

# Where the text is unless --text-key says; the second is json-wikipedia's.
TEXT_KEYS = ("text", "paragraphs")

# Texts are looked for in nested objects up to this depth.
_MAX_KEY_DEPTH = 10

# Texts of about this length are sentences, not documents.
_MAX_SENTENCE_CHARACTERS = 200


class Row(NamedTuple):
    """The text of a row, and its title and language if it names them."""

    text: str
    title: str = ""
    language: str = ""


def find_text(record: Any, key: str) -> str | None:
    r"""The text under a key; ``a.b`` is b in a. Paragraphs in a list are joined.

    >>> find_text({"body": {"text": ["One.", "Two."]}}, "body.text")
    'One.\n\nTwo.'
    >>> find_text({"id": 1}, "text") is None
    True
    """
    for part in [key] if isinstance(record, dict) and key in record else key.split("."):
        record = record.get(part) if isinstance(record, dict) else None
    if isinstance(record, list) and all(isinstance(part, str) for part in record):
        return "\n\n".join(record)
    return record if isinstance(record, str) else None


def list_keys(
    record: dict[str, Any], prefix: str = "", *, depth: int = _MAX_KEY_DEPTH
) -> Iterator[str]:
    """The keys that hold a text, for a person to choose from.

    Args:
        record: Of a file.
        prefix: The keys above it, with a dot after each.
        depth: How many keys deep a text is looked for.

    >>> list(list_keys({"id": 1, "title": "A", "body": {"text": "B"}}))
    ['title', 'body.text']
    """
    for key, value in record.items():
        if isinstance(value, dict):
            if depth > 1:
                yield from list_keys(value, f"{prefix}{key}.", depth=depth - 1)
        elif find_text(record, key) is not None and value:
            yield prefix + key


def are_sentences(texts: list[str]) -> bool:
    r"""Whether the texts of rows are a sentence each.

    >>> are_sentences(["he came .", "she left ."]), are_sentences(["One.\nTwo."])
    (True, False)
    """
    if not texts or any("\n" in text.strip() for text in texts):
        return False
    return statistics.median(map(len, texts)) < _MAX_SENTENCE_CHARACTERS


def row_document(row: Row, *, kind: Kind, dropped: Counter[str]) -> Document | Dropped:
    """A row as a document of its kind."""
    if kind == "wikipedia":
        document = article_document(
            row.text.split("\n"), title=row.title, dropped=dropped
        )
    elif kind == "books":
        document = book_document(row.text)
    else:
        document = prose_document(row.text)
    if isinstance(document, Document) and row.language:
        return document._replace(language=row.language)
    return document


def read_rows(
    rows: Iterable[Row | Dropped], *, kind: Kind, dropped: Counter[str]
) -> Iterator[Document | Dropped]:
    """A document from each row.

    Args:
        rows: Of a table.
        kind: What the rows hold.
        dropped: Receives what is left out of a document.
    """
    for row in rows:
        if isinstance(row, Dropped):
            yield row
        else:
            yield row_document(row, kind=kind, dropped=dropped)


def read_sentence_rows(rows: Iterable[Row | Dropped]) -> Iterator[Document | Dropped]:
    """Documents made up of rows of one sentence, as in BookCorpus."""
    lost: list[Dropped] = []

    def sentences() -> Iterator[str]:
        for row in rows:
            if isinstance(row, Dropped):
                lost.append(row)
            else:
                yield " ".join(row.text.split())

    for document in read_bookcorpus(sentences()):
        yield from lost
        lost.clear()
        yield document
    yield from lost


def clean_text(text: str) -> str:
    r"""A text without zero characters and half surrogates.

    >>> clean_text("a\0b\ud800")
    'ab?'
    """
    text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", errors="replace").decode()
    return text


def row_of(record: Any, key: str) -> Row | Dropped:
    """The row that a record holds; dropped if it has no text."""
    text = find_text(record, key)
    if not text:
        return NO_TEXT
    return Row(text, find_text(record, "title") or "", language_of_record(record))
