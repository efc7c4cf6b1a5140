"""BookCorpus: one tokenized sentence a line, and no sign of where a book ends.

So documents are made up. A line begins one if it looks like the first page of a book,
or if its hash says so, which happens about once in 500 lines. Only the line itself
decides: the same book gives the same documents in any file, duplicates can be found,
and a file can be read from anywhere.
"""

import re
import zlib
from collections.abc import Iterable, Iterator

from pipeline.core.documents import Document

# Shorter lines repeat ("he nodded ."), and longer ones are not sentences.
_MIN_START_CHARACTERS, _MAX_START_CHARACTERS = 30, 1000
# About four lines in five have these lengths, so that a document has 500 lines.
_ONE_IN = 400

# A file may repeat one line, or consist of one endless line.
_MAX_SENTENCES = 10_000
_MAX_CHARACTERS = 8 << 20

_FIRST_PAGE = re.compile(
    r"\bisbn\b|\ball rights reserved\b|\bcopyright\b.*\b(?:19|20)\d\d\b|"
    r"^chapter (?:1|one|i)\b[ .:]*$"
)
_TOKENIZED_ENDS = (" .", " ?", " !", " ''", " ...", ' "')


def starts_document(sentence: str) -> bool:
    """Whether a document begins with a sentence.

    >>> starts_document("all rights reserved ."), starts_document("he nodded .")
    (True, False)
    """
    if len(sentence) > _MAX_START_CHARACTERS:
        return False
    if (
        len(sentence) >= _MIN_START_CHARACTERS
        and zlib.crc32(sentence.encode()) % _ONE_IN == 0
    ):
        return True
    lower = sentence.lower()
    # Most lines have none of these; the pattern alone would take ten times longer.
    may_be_first_page = (
        "copyright" in lower
        or "isbn" in lower
        or "rights reserved" in lower
        or lower.startswith("chapter")
    )
    return may_be_first_page and _FIRST_PAGE.search(lower) is not None


def read_bookcorpus(sentences: Iterable[str]) -> Iterator[Document]:
    """Sentences as documents; blank ones are left out.

    >>> book = ["chapter 1", "he came .", "", "isbn 123", "she left ."]
    >>> [document.paragraphs for document in read_bookcorpus(book)]
    [('chapter 1', 'he came .'), ('isbn 123', 'she left .')]
    """
    held: list[str] = []
    characters = 0
    for sentence in sentences:
        is_full = len(held) >= _MAX_SENTENCES or characters >= _MAX_CHARACTERS
        if held and (is_full or starts_document(sentence)):
            yield Document(tuple(held), is_segmented=True)
            held, characters = [], 0
        if sentence:
            held.append(sentence)
            characters += len(sentence)
    if held:
        yield Document(tuple(held), is_segmented=True)


def is_tokenized(lines: list[str]) -> bool:
    """Whether lines are lower-case sentences with spaces around their punctuation.

    >>> is_tokenized(["he came , late .", "`` why ? ''", "she left ."])
    True
    >>> is_tokenized(["He came, late."])
    False
    """
    lines = [line for line in lines if line]
    letters = sum(map(str.isalpha, "".join(lines)))
    capitals = sum(map(str.isupper, "".join(lines)))
    tokenized = sum(line.endswith(_TOKENIZED_ENDS) for line in lines)
    return letters > 0 and capitals <= 0.01 * letters and tokenized >= 0.6 * len(lines)
