import time

import pytest

from pipeline.core.documents import NO_TEXT
from pipeline.reading.books import find_books, find_footer, read_book, remove_marks

FOOTERS = [
    "*** END OF THE PROJECT GUTENBERG EBOOK EMMA ***",
    "*** END OF THIS PROJECT GUTENBERG EBOOK EMMA ***",
    "***END OF THE PROJECT GUTENBERG EBOOK EMMA***",
    "End of the Project Gutenberg EBook of Emma, by Jane Austen",
    "End of Project Gutenberg's Emma, by Jane Austen",
    "End of The Project Gutenberg Etext of Emma",
    "Ende dieses Projekt Gutenberg Etextes Emma",
    "  End of this Project Gutenberg Etext",
]
HEADERS = [
    "*** START OF THE PROJECT GUTENBERG EBOOK EMMA ***",
    "***START OF THE PROJECT GUTENBERG EBOOK EMMA***",
    "*** START OF THIS PROJECT GUTENBERG EBOOK EMMA, A NOVEL IN\nTHREE VOLUMES ***",
    "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*",
    "*END THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*",
]


@pytest.mark.parametrize("footer", FOOTERS)
def test_the_text_ends_before_the_footer(footer):
    text = "She was clever.\n\nThe End of the road.\n\n"
    assert find_footer(f"{text}{footer}\nLicence\n{footer}") == len(text)


BOOK = f"{HEADERS[0]}\nShe was clever.\n{FOOTERS[0]}\n"
MENTION = "This edition is not that of Project Gutenberg. The end came late."
CLEVER = ("She was clever.",)
SECOND = [CLEVER, "book after the first of its file"]
# Files of books, and what is read: the text, or why it was dropped.
BOOKS = {
    **{
        f"a header: {header:.30}": (f"Title: Emma\n{header}\nShe was clever.", [CLEVER])
        for header in HEADERS
    },
    "a mention of Project Gutenberg is text": (MENTION, [(MENTION,)]),
    "a licence alone": (f"{FOOTERS[0]}\nLicence", ["no text"]),
    "two books": (f"{BOOK}{BOOK}", SECOND),
    "two, far from each other": (BOOK + "Licence\n" * 300_000 + BOOK, SECOND),
}


@pytest.mark.parametrize(("content", "expected"), BOOKS.values(), ids=BOOKS)
def test_the_first_book_of_a_file_is_read_from_behind_its_header(content, expected):
    assert [found[0] for found in read_book([content.encode()])] == expected


def test_a_book_of_many_megabytes_loses_header_and_footer_once():
    chapter = b"She was clever, handsome and rich.\n\n" * 30_000
    book = b"x\n%s\n%s\n%s\nLicence" % (HEADERS[0].encode(), chapter * 10, FOOTERS[0].encode())
    documents = list(read_book([book]))
    assert len(documents) == 2
    paragraphs = [p for document in documents for p in document.paragraphs]
    assert paragraphs == ["She was clever, handsome and rich."] * 300_000


@pytest.mark.parametrize("marker", [b"</s>\n", b"\n<|endoftext|>\n", b"[SEP]\n</s>"])
def test_a_file_that_is_all_markers_has_no_text(marker):
    assert list(read_book([marker])) == [NO_TEXT]
    assert list(find_books([marker])) == [0]


@pytest.mark.parametrize(
    ("marked", "clean"),
    [
        ("_Emma_ is _very_ clever", "Emma is very clever"),
        ("“_Why_?”", "“Why?”"),
        ("snake_case_name and a_b", "snake_case_name and a_b"),
        ("a blank ____ to fill", "a blank ____ to fill"),
        ("[Illustration: “She _was_ clever.”] She read.", "She read."),
        ("[Illustration]", ""),
        ("[Footnote 1: Nesh; tender.]", "[Footnote 1: Nesh; tender.]"),
    ],
)
def test_marks_of_italics_and_pictures_are_left_out(marked, clean):
    assert remove_marks(marked) == clean


@pytest.mark.parametrize("unit", ["Gutenberg ", "End of Project Gutenberg ", "End, "])
def test_megabytes_of_one_hostile_line_take_seconds_at_most(unit):
    start = time.process_time()
    hostile = "x" + unit * (8_000_000 // len(unit))
    assert find_footer(hostile) == len(hostile)
    assert time.process_time() - start < 10
