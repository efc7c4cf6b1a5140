"""The stripper: golden cases, invariants on any text, and linear work."""

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.documents import ReadingCounts
from pipeline.wikipedia import paragraphs
from pipeline.wikipedia.wikitext import strip_wikitext
from pipeline.wikipedia.word_lists import HIDDEN_PREFIXES

GOLDEN = sorted((Path(__file__).parent / "golden" / "wikitext").glob("*.txt"))
SEPARATOR = "\n# output\n"

MARKUP = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|<ref|</|'''|&nbsp;|\x01")

FRAGMENTS = [
    *("{{", "}}", "{{{", "}}}", "{", "}", "|", "{|", "|}", "|-", "[[", "]]", "[", "]"),
    *("<ref>", "</ref>", "<ref name=x/>", "<ref", "<!--", "-->", "<nowiki>", "<br>"),
    *("</nowiki>", "<math>", "</math>", "<table>", "</table>", "<p>", "</p", "<", ">"),
    *("'", "''", "'''", "\n", "\n\n", "\n== A ==\n", "\n==References==\n", "\n* ", "="),
    *("&nbsp;", "&amp;amp;", "&#1;", "&", "__NOTOC__", "-{", "}-", "http://a.b", "//"),
    *("File:a.jpg", "lang|fr|mot", "nowrap", "convert|5|km", "IPA|x", *"(),;"),
    *("Ada wrote many long programs.", "word", "写", " ", "\x00", "\x01", "\u200e"),
]
any_wikitext = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=4))).map("".join)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_case(path: Path) -> None:
    source, _, expected = path.read_text(encoding="utf-8").partition(SEPARATOR)
    assert "\n\n".join(strip_wikitext(source)) == expected.strip()


@given(any_wikitext)
@settings(max_examples=300, deadline=None)
def test_any_text_gives_clean_paragraphs(text: str) -> None:
    for paragraph in strip_wikitext(text):
        assert paragraph
        assert paragraph == " ".join(paragraph.split())
        assert not re.search("[\x00-\x1f\x7f\ufffd]", paragraph)


def _table(content: str) -> str:
    return "so\n{| class=x\n! a !! b\n|-\n| " + content + " || c\n|}\nso"


words = st.sampled_from(["Ada", "wrote", "a long", "program", "écrit", "in 1843"])
well_formed = st.recursive(
    words,
    lambda inner: st.one_of(
        st.builds(lambda a, b: f"{a} {b}", inner, inner),
        inner.map(lambda text: "{{nowrap|" + text + "}}"),
        inner.map(lambda text: "[[Target (page)|" + text + "]]"),
        inner.map(lambda text: "said<ref name='n'>" + text + "</ref>"),
        inner.map(lambda text: f"'''{text}''' and ''{text}''"),
        inner.map(lambda text: "[[File:A b.jpg|thumb|" + text + "]]"),
        inner.map(lambda text: "{{Infobox\n| a = " + text + "\n|}}"),
        inner.map(lambda text: f"<span class='x'>{text}</span>&nbsp;<!-- {text} -->"),
        inner.map(lambda text: f"[https://example.org/?a=b {text}]"),
    ),
    max_leaves=12,
)


@given(st.lists(st.one_of(well_formed, well_formed.map(_table)), max_size=4))
@settings(max_examples=200, deadline=None)
def test_well_formed_text_leaves_no_markup(parts: list[str]) -> None:
    text = "\n\n".join(f"The lady wrote and wrote {part} again." for part in parts)
    paragraphs = strip_wikitext(text)
    assert not [p for p in paragraphs if MARKUP.search(p)]
    assert sum(p.count("The lady wrote and wrote") for p in paragraphs) == len(parts)


@given(st.lists(st.lists(words, min_size=6).map(" ".join), min_size=1))
def test_plain_prose_is_untouched(paragraphs: list[str]) -> None:
    assert strip_wikitext("\n\n".join(paragraphs)) == paragraphs


def test_prefixes_of_the_wiki_hide_its_files() -> None:
    text = "[[Bildur:Turn|thumb|Ein Turm]] The tower has stood here for long."
    prefixes = HIDDEN_PREFIXES | {"bildur"}
    assert strip_wikitext(text, prefixes=prefixes) == ["The tower has stood here for long."]


def _calls(function: Callable[[], object]) -> int:
    """Count the calls, Python's and C's, that a function makes."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


NESTED = [*("{{", "{{a|", "[[", "[[a|", "\n{|", "<ref>", "<!--", "<table>", "{{[[", "({{a}},")]


@pytest.mark.parametrize("unit", NESTED)
def test_work_grows_no_faster_than_the_text(unit: str) -> None:
    closing = "}}]]|}</ref>"
    short, long = (unit * n + "text" + closing * n for n in (500, 2000))
    assert _calls(lambda: strip_wikitext(long)) <= 4.2 * _calls(lambda: strip_wikitext(short))


def test_a_heading_of_combining_marks_is_never_normalized(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = []

    def record(form: str, text: str) -> str:
        lengths.append(len(text))
        return text

    monkeypatch.setattr(paragraphs, "normalize", record)
    marks = "\u0323\u0301" * 1_000_000
    text = f"Ada wrote many long programs.\n== {marks} ==\n=={marks}\n{marks}\n;{marks}"
    assert strip_wikitext(text) == ["Ada wrote many long programs."]
    assert max(lengths, default=0) <= 300


HOSTILE = [
    *("{{", "}}", "{{a|b}}", "{{{", "{{nowrap|", "[[", "]]", "[[a", "[[a:b|", "<"),
    *("[http://a ", "[http://", "<ref", "<ref>", "<ref name=a/>", "<!--", "<table>"),
    *("</table>", "\n{|", "\n|}", "\n==", "\n*", "'''", "a'''a ", "&amp;", "&#"),
    *("(", "( ", "(,", ",", ", ", " ,", "__", "__A", "-{", "-{a", "\n", "({{a}},"),
    *("(a {{a}} ", "{{a\n", "（", "[[[a]]]", "<nowiki>", "<br", "|", "{{a\n|"),
    *("\n\n[[a", "[[File:a|", "#redirect [", "=== Quellen ===\n", "({{a}}, {{b}} "),
]


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_megabyte_of_hostile_text_takes_seconds_at_most(unit: str) -> None:
    start = time.process_time()
    strip_wikitext(unit * (1_000_000 // len(unit)))
    # Quadratic work on a megabyte takes minutes; linear work took 1.5 s at most.
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    "text",
    [
        "{{a" * 340_000 + "}}" * 340_000,
        "{" * 1_000_000 + "}" * 1_000_000,
        # Each pair shows the text in it, once without its function.
        "{" * 250_000 + "lc:" * 125_000 + "}} " * 125_000,
    ],
    ids=["templates", "braces", "closed two at a time"],
)
def test_megabytes_of_nested_braces_take_linear_time(text: str) -> None:
    start = time.process_time()
    assert strip_wikitext(text) == [] or "lc:" in text
    assert time.process_time() - start < 20


def test_a_number_of_any_length_is_shown_as_it_stands() -> None:
    digits = "1" * 5000
    assert strip_wikitext(f"Ada was born {{{{birth date|1815|{digits}}}}}.") == [
        f"Ada was born {digits} 1815."
    ]


def test_words_that_are_lost_are_counted_wherever_they_stood() -> None:
    counts = ReadingCounts()
    text = "He saw {{x|a}} and, {{x|b}} too, the sea.{{cn}} {{clarify me}}"
    assert strip_wikitext(text, counts=counts) == ["He saw and, too, the sea."]
    assert counts.changed == {paragraphs.LOST_WORDS: 2}
