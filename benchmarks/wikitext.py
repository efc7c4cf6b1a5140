"""Measure the wikitext stripper on real dumps.

    python -m benchmarks.wikitext DUMP...            pages, MB/s, leftovers, drops
    python -m benchmarks.wikitext --compare DUMP...  words against mwparserfromhell
    python -m benchmarks.wikitext --show N DUMP      the first N articles

Leftovers are what still looks like markup, for every 10,000 characters of output. The
comparison needs mwparserfromhell for the Python named by --python (it is no dependency
of the project); it runs in a child process that is killed when a page takes too long.
"""

import argparse
import bz2
import gzip
import json
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast
from unittest import mock

from pipeline.core.documents import Document
from pipeline.wikipedia import mediawiki
from pipeline.wikipedia.paragraphs import is_apparatus
from pipeline.wikipedia.wikitext import strip_wikitext

LEFTOVERS = ("{{", "}}", "[[", "]]", "{|", "|}", "<ref", "</", "'''", "&nbsp;")
MIN_WORDS = 10
PAGE_TIMEOUT_SECONDS = 20

# Reads one JSON line {"text", "prefixes"} per page, writes its paragraphs. Without
# files, categories, references, tables, galleries and formulas; with_templates adds
# the arguments of templates, where the words of those we keep are found.
REFERENCE = r"""
import json, sys
import mwparserfromhell
from mwparserfromhell.nodes import (
    Argument, Comment, ExternalLink, Heading, HTMLEntity, Tag, Template, Text, Wikilink)

HIDDEN = {"ref", "references", "table", "gallery", "math", "tr", "td", "th"}

def show(code, prefixes, templates):
    shown = []
    for node in code.nodes:
        if isinstance(node, Text):
            shown.append(str(node))
        elif isinstance(node, HTMLEntity):
            try:
                shown.append(node.normalize())
            except ValueError:
                pass
        elif isinstance(node, Wikilink):
            prefix, colon, _ = str(node.title).partition(":")
            if colon and prefix.strip().lower() in prefixes:
                continue
            label = node.text if node.text is not None else node.title
            shown.append(show(label, prefixes, templates))
        elif isinstance(node, ExternalLink):
            if node.title is not None:
                shown.append(show(node.title, prefixes, templates))
            elif not node.brackets:
                shown.append(str(node.url))
        elif isinstance(node, Heading):
            title = show(node.title, prefixes, False).strip()
            shown.append("\n\n\x02%d %s\n\n" % (node.level, title))
        elif isinstance(node, Tag):
            name = str(node.tag).strip().lower()
            if name in HIDDEN:
                continue
            if name == "br":
                shown.append(" ")
            elif node.wiki_markup and name in ("li", "dt", "dd"):
                shown.append("\n\n")
            elif node.contents is not None:
                shown.append(show(node.contents, prefixes, templates))
        elif isinstance(node, Template) and templates:
            for parameter in node.params:
                shown.append(" " + show(parameter.value, prefixes, True) + " ")
    return "".join(shown)

for line in sys.stdin:
    page = json.loads(line)
    code = mwparserfromhell.parse(page["text"])
    prefixes = set(page["prefixes"])
    print(json.dumps([show(code, prefixes, False), show(code, prefixes, True)]))
    sys.stdout.flush()
"""

_WORD = re.compile(r"\w+")


def open_dump(path: Path) -> BinaryIO:
    if path.suffix == ".bz2":
        return cast(BinaryIO, bz2.open(path))
    return cast(BinaryIO, gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def articles(path: Path) -> Iterator[str]:
    """Yield the wikitext of each article, as the reader hands it to the stripper."""
    texts: list[str] = []

    def keep(text: str, *, prefixes: frozenset[str]) -> list[str]:
        texts.append(text)
        return ["x"]

    with open_dump(path) as stream:
        siteinfo = mediawiki.read_siteinfo(stream)
    with (
        open_dump(path) as stream,
        mock.patch.object(mediawiki, "strip_wikitext", keep),
    ):
        for _ in mediawiki.read_pages(stream, siteinfo=siteinfo):
            yield from texts
            texts.clear()


def measure(path: Path) -> dict[str, Any]:
    with open_dump(path) as stream:
        siteinfo = mediawiki.read_siteinfo(stream)
    dropped: Counter[str] = Counter()
    with open_dump(path) as stream:
        for page in mediawiki.read_pages(stream, siteinfo=siteinfo):
            if not isinstance(page, Document):
                dropped[page.reason] += 1
    texts = list(articles(path))
    prefixes = siteinfo.hidden_prefixes
    start = time.perf_counter()
    stripped = ["\n".join(strip_wikitext(text, prefixes=prefixes)) for text in texts]
    seconds = time.perf_counter() - start
    characters = sum(map(len, stripped))
    found = Counter(
        {mark: sum(text.count(mark) for text in stripped) for mark in LEFTOVERS}
    )
    return {
        "file": path.name,
        "articles": len(texts),
        "wikitext_mb": sum(len(text.encode()) for text in texts) / 1e6,
        "seconds": seconds,
        "characters": characters,
        "leftovers_per_10k": 1e4 * found.total() / max(characters, 1),
        "leftovers": {mark: count for mark, count in found.items() if count},
        "dropped": dict(dropped),
    }


def print_measures(paths: list[Path]) -> None:
    print(f"{'file':48} articles     MB  MB/s  characters  leftovers/10k  dropped")
    worst = 0.0
    total_mb = total_seconds = 0.0
    for path in paths:
        row = measure(path)
        speed = row["wikitext_mb"] / max(row["seconds"], 1e-9)
        total_mb += row["wikitext_mb"]
        total_seconds += row["seconds"]
        worst = max(worst, row["leftovers_per_10k"])
        print(
            f"{row['file'][:48]:48} {row['articles']:8} {row['wikitext_mb']:6.2f} "
            f"{speed:5.1f} {row['characters']:11} {row['leftovers_per_10k']:14.3f}  "
            f"{row['leftovers'] or ''} {row['dropped']}"
        )
    summary = {
        "wikitext_mb": round(total_mb, 3),
        "mb_per_second": round(total_mb / max(total_seconds, 1e-9), 2),
        "worst_leftovers_per_10k": round(worst, 3),
    }
    print(json.dumps(summary))


class Reference:
    """The parser in a child process that can be killed."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._start()

    def _start(self) -> None:
        self._child = subprocess.Popen(
            [self._python, "-c", REFERENCE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def read(self, text: str, prefixes: list[str]) -> tuple[str, str] | None:
        """Return the page's text without and with template arguments, None if slow."""
        timer = threading.Timer(PAGE_TIMEOUT_SECONDS, self._child.kill)
        timer.start()
        try:
            assert self._child.stdin
            assert self._child.stdout
            self._child.stdin.write(
                json.dumps({"text": text, "prefixes": prefixes}) + "\n"
            )
            self._child.stdin.flush()
            line = self._child.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            self.close()
            self._start()
            return None
        plain, full = json.loads(line)
        return plain, full

    def close(self) -> None:
        """End the child process."""
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe:
                pipe.close()


def without_apparatus(text: str) -> list[str]:
    """Return the paragraphs of the reference outside apparatus sections."""
    kept = []
    hidden_level = 0
    for paragraph in re.split(r"\n\s*\n", text):
        heading = re.fullmatch(r"\s*\x02(\d) (.*)\s*", paragraph)
        if heading:
            level = int(heading[1])
            if not hidden_level or level <= hidden_level:
                hidden_level = level if is_apparatus(heading[2]) else 0
        elif not hidden_level:
            kept.append(paragraph)
    return kept


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def compare(path: Path, reference: Reference, *, verbose: bool) -> Counter[str]:
    """Count words of both sides, and those that only one has."""
    with open_dump(path) as stream:
        prefixes = mediawiki.read_siteinfo(stream).hidden_prefixes
    counts: Counter[str] = Counter()
    for text in articles(path):
        found = reference.read(text, sorted(prefixes))
        if found is None:
            counts["pages the parser failed on"] += 1
            continue
        ours = [
            words(paragraph) for paragraph in strip_wikitext(text, prefixes=prefixes)
        ]
        counts += compare_order(found[0], ours, verbose=verbose)
        counts += compare_origin(found[1], ours, verbose=verbose)
        counts["pages"] += 1
    return counts


def compare_order(theirs: str, ours: list[list[str]], *, verbose: bool) -> Counter[str]:
    """Count the words of their long paragraphs that ours have in the same order."""
    paragraphs = map(words, without_apparatus(theirs))
    expected = [w for words_ in paragraphs if len(words_) >= MIN_WORDS for w in words_]
    matcher = SequenceMatcher(None, expected, list(chain(*ours)), autojunk=False)
    for tag, start, end, _, _ in matcher.get_opcodes():
        if verbose and tag in ("delete", "replace") and end - start > 1:
            print("  LOST", " ".join(expected[start:end])[:300])
    matched = sum(block.size for block in matcher.get_matching_blocks())
    return Counter({"theirs": len(expected), "in order": matched})


def compare_origin(
    theirs: str, ours: list[list[str]], *, verbose: bool
) -> Counter[str]:
    """Count the words of our long paragraphs that their tree does not have at all."""
    own = Counter(w for words_ in ours if len(words_) >= MIN_WORDS for w in words_)
    absent = own - Counter(words(theirs))
    if verbose and absent:
        print("  ABSENT", dict(absent.most_common(12)))
    return Counter({"ours": own.total(), "absent": absent.total()})


def print_comparison(paths: list[Path], python: str, *, verbose: bool) -> None:
    reference = Reference(python)
    total: Counter[str] = Counter()
    for path in paths:
        counts = compare(path, reference, verbose=verbose)
        total += counts
        print_shares(path.name, counts)
    print_shares("all", total)
    print(json.dumps(total))
    reference.close()


def print_shares(name: str, counts: Counter[str]) -> None:
    recall = counts["in order"] / max(counts["theirs"], 1)
    absent = counts["absent"] / max(counts["ours"], 1)
    print(
        f"{name[:48]:48} {counts['pages']:5} pages  "
        f"kept in order {recall:8.3%}  absent there {absent:7.3%}  "
        f"parser failed on {counts['pages the parser failed on']}"
    )


def show(path: Path, number: int) -> None:
    with open_dump(path) as stream:
        siteinfo = mediawiki.read_siteinfo(stream)
    with open_dump(path) as stream:
        for page in mediawiki.read_pages(stream, siteinfo=siteinfo):
            if isinstance(page, Document):
                number -= 1
                print("\n\n".join(page.paragraphs), end="\n\n" + "-" * 72 + "\n")
                if not number:
                    return


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="print differing words")
    parser.add_argument("--show", type=int, default=0, metavar="N")
    parser.add_argument(
        "--python", default=sys.executable, help="a Python that has mwparserfromhell"
    )
    arguments = parser.parse_args()
    if arguments.compare:
        print_comparison(arguments.paths, arguments.python, verbose=arguments.verbose)
    elif arguments.show:
        show(arguments.paths[0], arguments.show)
    else:
        print_measures(arguments.paths)


if __name__ == "__main__":
    main()
