"""A crawl whose noise is labelled as it is made, and what the look and each flag see.

    python -m benchmarks.crawl FOLDER MEGABYTES --books ENGLISH --wikipedia OTHER

Text of two languages is made by chains of words of the given texts. One document in so
many is a near-copy, a list, has HTML or letters of a wrong encoding; sites put the same
banners into their pages. The crawl is read, looked at and cleaned as make-data does,
and compared with the labels: precision and recall of each sign and flag, and the shares
of the look. Near-copies are those of `--near-duplicates drop`.
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pipeline.core.documents import Document, ReadingCounts
from pipeline.job.repeats import lines_of
from pipeline.noise.describe import sum_up
from pipeline.noise.filters import is_installed, language_of, line_number
from pipeline.noise.look import Looker, bounds_for, html_remnants, is_list, misread
from pipeline.noise.near_copies import (
    are_near,
    pairs_to_check,
    signature,
    which_go,
    word_hashes,
)
from pipeline.reading.formats import KINDS
from pipeline.reading.inputs import find_inputs
from pipeline.reading.read import FilePart, read_part

# One document in so many.
OTHER_LANGUAGE, NEAR_COPY, HTML, MISREAD, LIST = 3, 6, 20, 30, 25
# Pages of a site, and its banners.
PAGES, BANNERS = (15, 400), (1, 4)
MORE_THAN = 10
SOURCE_CHARACTERS = 3_000_000
TAGS = ("<br/>", "<p>", "</div>", "&nbsp;", "&amp;", '<a href="/more">', "&#8217;")

Labelled = dict[str, Any]


class Chain:
    """Sentences of words, each drawn after the two before it."""

    def __init__(self, paragraphs: Iterable[str], draws: random.Random) -> None:
        self._draws = draws
        self._next: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._starts: list[tuple[str, str]] = []
        for paragraph in paragraphs:
            words = paragraph.split()
            if len(words) > 5:
                self._starts.append((words[0], words[1]))
                for a, b, c in zip(words, words[1:], words[2:], strict=False):
                    self._next[a, b].append(c)

    def sentence(self) -> str:
        """A sentence of at most 30 words."""
        words = list(self._draws.choice(self._starts))
        while len(words) < 30 and words[-1][-1] not in ".!?":
            after = self._next.get((words[-2], words[-1]))
            if not after:
                break
            words.append(self._draws.choice(after))
        return " ".join(words).rstrip(" ,;:.") + "."

    def paragraph(self) -> str:
        """One to six sentences."""
        return " ".join(self.sentence() for _ in range(self._draws.randint(1, 6)))


def read_all(**given: tuple[str, ...]) -> Iterator[Document]:
    """The documents of inputs, in the order of their files."""
    files = find_inputs(dict.fromkeys(KINDS, ()) | given)
    for file in files:
        whole = FilePart(file, 0, None, file.text_bytes)
        for document in read_part(whole, counts=ReadingCounts()):
            if isinstance(document, Document):
                yield document


def source(draws: random.Random, **given: tuple[str, ...]) -> Chain:
    """A chain of the first text of an input."""
    paragraphs: list[str] = []
    for document in read_all(**given):
        paragraphs += document.paragraphs
        if sum(map(len, paragraphs)) > SOURCE_CHARACTERS:
            break
    return Chain(paragraphs, draws)


def crawl(chains: dict[str, Chain], size: int, draws: random.Random) -> list[Labelled]:
    """Pages with their labels, of about so many characters."""
    pages: list[Labelled] = []
    while size > 0:
        language = "other" if draws.random() < 1 / OTHER_LANGUAGE else "main"
        chain = chains[language]
        banners = [chain.sentence() for _ in range(draws.randint(*BANNERS))]
        for _ in range(draws.randint(*PAGES)):
            page = make_page(chain, pages, draws)
            page |= {"language": language, "banners": banners}
            page["lines"] = [banners[0], *page["lines"], *banners[1:]]
            pages.append(page)
            size -= sum(map(len, page["lines"]))
    return pages


def make_page(chain: Chain, pages: list[Labelled], draws: random.Random) -> Labelled:
    """A page of a site without its banners."""
    page: Labelled = {"html": False, "misread": False, "list": False, "copy_of": None}
    kind = draws.random()
    if kind < 1 / NEAR_COPY and pages and not pages[-1]["list"]:
        number = len(pages) - 1
        lines = pages[number]["lines"][1 : -len(pages[number]["banners"]) + 1 or None]
        words = sum(len(line.split()) for line in lines)
        if pages[number]["copy_of"] is None and words > 150:
            lines = [changed(line, chain, draws) for line in lines]
            labels = {name: pages[number][name] for name in ("html", "misread")}
            return page | labels | {"lines": lines, "copy_of": number}
    if draws.random() < 1 / LIST:
        items = [chain.sentence().split() for _ in range(draws.randint(8, 40))]
        lines = [" ".join(one[: draws.randint(1, 5)]).rstrip(".!?") for one in items]
        return page | {"lines": lines, "list": True}
    lines = [chain.paragraph() for _ in range(draws.randint(3, 12))]
    place = draws.randrange(len(lines))
    if draws.random() < 1 / HTML:
        words = lines[place].split()
        words.insert(draws.randrange(len(words)), draws.choice(TAGS))
        lines[place], page["html"] = " ".join(words), True
    if draws.random() < 1 / MISREAD:
        encoding = draws.choice(("cp1252", "cp1251", "latin-1"))
        wrong = "".join(
            bytes([byte]).decode(encoding, errors="ignore") or chr(byte)
            for byte in (lines[place] + " — «café» ’").encode()
        )
        lines[place], page["misread"] = " ".join(wrong.split()), True
    return page | {"lines": lines}


def changed(line: str, chain: Chain, draws: random.Random) -> str:
    """A line of which a word in two hundred is another."""
    other = chain.sentence().split()[0]
    return " ".join(other if draws.random() < 0.005 else w for w in line.split())


def show(name: str, found: set[Any], true: set[Any]) -> None:
    """Print precision and recall."""
    hits = len(found & true)
    precision, recall = hits / max(1, len(found)), hits / max(1, len(true))
    print(f"{name:34} precision {precision:.4f}  recall {recall:.4f}  of {len(true):,}")


def compare(documents: list[Document], pages: list[Labelled]) -> None:
    """Each sign and flag beside the labels."""
    numbers = range(len(pages))
    signs = {
        "html": lambda d: html_remnants("\n".join(d.paragraphs)),
        "misread": lambda d: misread("\n".join(d.paragraphs)),
        "list": lambda d: is_list(d.paragraphs),
    }
    for name, sign in signs.items():
        found = {n for n in numbers if sign(documents[n])}
        show(f"sign: {name}", found, {n for n in numbers if pages[n][name]})
    if is_installed():
        main = {n for n in numbers if pages[n]["language"] == "main"}
        texts = ["\n".join(document.paragraphs) for document in documents]
        found = {n for n in numbers if language_of(texts[n]) != "en"}
        show("--keep-languages", found, main)
    show("--max-line-repeats", repeated(documents), banner_lines(pages))
    copies = {n for n in numbers if pages[n]["copy_of"] is not None}
    originals = {pages[n]["copy_of"] for n in copies}
    gone = near_copies(documents)
    sets = {pages[n]["copy_of"] if n in copies else n for n in gone}
    show("--near-duplicates drop", sets, originals)


def repeated(documents: list[Document]) -> set[int]:
    """The lines of more documents than allowed."""
    counts: dict[int, int] = defaultdict(int)
    for line, _ in lines_of(enumerate(documents)):
        counts[line] += 1
    return {line for line, count in counts.items() if count > MORE_THAN}


def banner_lines(pages: list[Labelled]) -> set[int]:
    """Those that were made to be repeated."""
    counts: dict[int, int] = defaultdict(int)
    for page in pages:
        for banner in set(page["banners"]):
            counts[line_number(banner)] += 1
    return {line for line, count in counts.items() if count > MORE_THAN}


def near_copies(documents: list[Document]) -> set[int]:
    """The documents that go, by their places."""
    signatures = [signature(word_hashes("\n".join(d.paragraphs))) for d in documents]
    bands: dict[int, list[int]] = defaultdict(list)
    for number, one in enumerate(signatures):
        for key in one.bands.tolist() if one else ():
            bands[key].append(number)
    pairs = {
        pair
        for ids in bands.values()
        if len(ids) > 1
        for pair in pairs_to_check(ids, "drop", is_held_out=bool)
    }
    near = (p for p in pairs if are_near(*(signatures[n].sketch for n in p)))  # type: ignore[union-attr]
    return which_go(near, "drop")


def compare_look(documents: list[Document], pages: list[Labelled], size: int) -> None:
    """The shares of the look beside those of the labels."""
    bounds = bounds_for(size)
    looker = Looker(bounds)
    draws = random.Random(5)
    for document in documents:
        looker.see(draws.getrandbits(64), document)
    look = sum_up(
        [looker.result()],
        bounds,
        is_held_out=lambda _: False,
        language_of=language_of if is_installed() else None,
    )
    lines = banner_lines(pages)
    total = sum(len(line) for d in documents for line in d.paragraphs)
    banners = sum(
        len(line)
        for d in documents
        for line in d.paragraphs
        if line_number(line) in lines
    )
    english = sum(
        len(line)
        for document, page in zip(documents, pages, strict=True)
        for line in document.paragraphs
        if page["language"] == "other"
    )
    rows = [
        (name, look[f"{sign}_share"], sum(p[label] for p in pages) / len(pages))
        for name, sign, label in (
            ("documents with HTML", "html", "html"),
            ("documents read wrongly", "mojibake", "misread"),
            ("documents that are lists", "list", "list"),
        )
    ]
    rows.append(("text in repeated lines", look["repeated_share"], banners / total))
    rows.append(("text in English", look["languages"].get("en", 0), english / total))
    print(f"look at {look['sampled_documents']:,} of {look['documents']:,} documents")
    for name, seen, true in rows:
        print(f"{name:34} look {seen:.4f}  labels {true:.4f}  off {seen - true:+.4f}")


def main() -> None:
    """Make a crawl and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("megabytes", type=float)
    parser.add_argument("--books", required=True, help="English text")
    parser.add_argument("--wikipedia", required=True, help="text of another language")
    options = parser.parse_args()
    draws = random.Random(1)
    chains = {
        "other": source(draws, books=(options.books,)),
        "main": source(draws, wikipedia=(options.wikipedia,)),
    }
    # A letter of Cyrillic takes two bytes.
    pages = crawl(chains, int(options.megabytes * 1e6 / 1.6), draws)
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / "crawl.jsonl"
    with path.open("w") as file:
        for page in pages:
            row = {"text": "\n".join(page["lines"]), "labels": page}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    documents = list(read_all(text=(str(path),)))
    if len(documents) != len(pages):
        raise SystemExit(f"{len(pages)} pages were read as {len(documents)}")
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, {len(pages):,} pages")
    compare(documents, pages)
    compare_look(documents, pages, path.stat().st_size)


if __name__ == "__main__":
    main()
