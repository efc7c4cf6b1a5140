"""Clean pages of books, and the same pages as a crawl would have them.

    python -m benchmarks.noisy_pages FOLDER --books BOOK... --wikipedia DUMP

writes clean.jsonl and noisy.jsonl. In the noisy text three tenths of the pages stand up
to four times more, with one word in 200 changed, and so do those of articles in another
language; each page has the banners of its site, a tenth HTML and a sixteenth letters of
a wrong encoding; lists stand between.
"""

import argparse
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.reading import add_texts, find_texts, read_documents
from pipeline.core.documents import Document

TAGS = ("<br/>", "<p>", "</div>", "&nbsp;", "&amp;", '<a href="/more">', "&#8217;")
PAGE_CHARACTERS = (1500, 8000)
OTHER_CHARACTERS = 3_500_000
COPIED, COPIES, CHANGED_WORDS = 0.3, 4, 0.005
HTML, MISREAD, LISTS = 1 / 10, 1 / 16, 1 / 25
PAGES_OF_SITE, BANNERS, BANNER_WORDS = (15, 400), (2, 4), (4, 14)

Page = list[str]


def main() -> None:
    """Write both texts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    add_texts(parser)
    arguments = parser.parse_args()
    files = sorted(find_texts(arguments), key=lambda file: file.path)
    draws = random.Random(1)
    books = [
        page
        for file in files
        if file.kind == "books"
        for document in read_documents(file)
        for page in pages_of(document, draws)
    ]
    draws.shuffle(books)
    write(arguments.folder / "clean.jsonl", books)
    others: list[Page] = []
    for file in files:
        for document in read_documents(file) if file.kind != "books" else ():
            if characters(others) <= OTHER_CHARACTERS:
                others += pages_of(document, draws)
    words = [w for page in books for line in page for w in line.split() if w.isalpha()]
    write(arguments.folder / "noisy.jsonl", Noise(words, draws).crawl(books + others))


def pages_of(document: Document, draws: random.Random) -> Iterator[Page]:
    """The paragraphs of a document, some thousand characters of them each."""
    page: Page = []
    wanted = draws.randint(*PAGE_CHARACTERS)
    for paragraph in document.paragraphs:
        page.append(paragraph)
        if characters([page]) > wanted:
            yield page
            page, wanted = [], draws.randint(*PAGE_CHARACTERS)
    if page:
        yield page


def characters(pages: Iterable[Page]) -> int:
    """How long pages are."""
    return sum(len(line) for page in pages for line in page)


def write(path: Path, pages: Iterable[Page]) -> None:
    """Write a record for each page."""
    with path.open("w", encoding="utf-8") as file:
        for page in pages:
            text = "\n".join(page)
            file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")


class Noise:
    """What a crawl does to pages, by random draws; it adds words of a list."""

    def __init__(self, words: Sequence[str], draws: random.Random) -> None:
        self._words, self._draws = words, draws

    def crawl(self, pages: Iterable[Page]) -> Iterator[Page]:
        """Pages, their copies and lists, in any order, with the banners of sites."""
        draws, found = self._draws, []
        for page in pages:
            copies = draws.randint(1, COPIES) if draws.random() < COPIED else 0
            found.append(self._spoilt(page))
            for _ in range(copies):
                found.append(self._spoilt([self._changed(line) for line in page]))
            if draws.random() < LISTS:
                found.append(self._list())
        draws.shuffle(found)
        left, banners = 0, [""]
        for page in found:
            if not left:
                count = draws.randint(*BANNERS)
                banners = [self._banner() for _ in range(count)]
                left = draws.randint(*PAGES_OF_SITE)
            left -= 1
            yield [banners[0], *page, *banners[1:]]

    def _changed(self, line: str) -> str:
        draws = self._draws
        return " ".join(
            draws.choice(self._words) if draws.random() < CHANGED_WORDS else word
            for word in line.split()
        )

    def _spoilt(self, page: Page) -> Page:
        """A page with HTML or letters of a wrong encoding, or as it is."""
        page, draws = list(page), self._draws
        # Not used; without it the text would not be that of the published figures.
        draws.randrange(len(page))
        if draws.random() < HTML:
            for _ in range(draws.randint(1, 4)):
                place = draws.randrange(len(page))
                words = page[place].split()
                words.insert(draws.randrange(len(words) + 1), draws.choice(TAGS))
                page[place] = " ".join(words)
        return [*map(misread, page)] if draws.random() < MISREAD else page

    def _list(self) -> Page:
        draws = self._draws
        words = [draws.choice(self._words) for _ in range(200)]
        places = range(0, draws.randint(30, 160), 5)
        return [
            " ".join(words[place : place + draws.randint(1, 4)]).capitalize() for place in places
        ]

    def _banner(self) -> str:
        count = self._draws.randint(*BANNER_WORDS)
        words = (self._draws.choice(self._words) for _ in range(count))
        return " ".join(words).capitalize() + "."


def misread(line: str) -> str:
    """A line of UTF-8 read as Windows-1252."""
    data = (line.replace("'", "\u2019").replace('"', "\u201c") + " \u2014").encode()
    codes = (bytes([code]) for code in data)
    shown = (code.decode("cp1252", errors="ignore") or chr(code[0]) for code in codes)
    return " ".join("".join(shown).split())


if __name__ == "__main__":
    main()
