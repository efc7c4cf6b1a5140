"""A report is one page that needs nothing else, for whoever reads it."""

import dataclasses
import re
from html.parser import HTMLParser

import pytest

from cli.report.page import described, page
from schemas.report import Curve, Curves, Example, Section, Table, Token
from tests.cli.report.test_plots import BARS, CURVES, RANKING

HOSTILE = "<script>alert('x')</script>&\"$x$"

SECTION = Section(
    title=HOSTILE,
    kind="Data set",
    facts=((HOSTILE, HOSTILE),),
    runs=tuple(f"{HOSTILE} {i}" for i in range(10)),
    plots=(BARS, RANKING, CURVES),
    parts=(
        HOSTILE,
        Table(title=HOSTILE, columns=("a", HOSTILE), rows=((HOSTILE, HOSTILE),)),
        Table(title="Folded", columns=("a",), rows=(("x",),), is_folded=True),
    ),
    examples=(
        Example(
            label=HOSTILE, segments=((Token(shown="▁<b>", original=HOSTILE), Token(shown="</p>")),)
        ),
    ),
)


class Elements(HTMLParser):
    """The elements of a page as (tag, attributes), and whether all are closed."""

    VOID = frozenset({"meta"})

    def __init__(self, text):
        super().__init__()
        self.found, self._open = [], []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def of(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module")
def text():
    return page([SECTION, SECTION])


@pytest.fixture(scope="module")
def elements(text):
    return Elements(text)


def loss(*curves):
    """A plot of curves: of each its run, whether it is of held-out text, and its points."""
    named = [Curve(run=run, is_held_out=is_eval, points=points) for run, is_eval, points in curves]
    return Curves(title="Loss", about="", unit="value", curves=tuple(named))


def rows_beside(plot):
    section = Section(title="run", kind="Run", runs=("run",), plots=(plot,))
    (table,) = re.findall(r"<tbody>(.*?)</tbody>", page([section]))
    return [re.findall(r"<t[hd][^>]*>([^<]*)<", row) for row in table.split("<tr>")[1:]]


def test_nothing_is_fetched_and_whatever_comes_from_files_is_shown_as_text(text, elements):
    policy = next(m for m in elements.of("meta") if "http-equiv" in m)
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"
    fetching = {"script", "link", "img", "iframe", "object", "embed", "image"}
    assert fetching.isdisjoint(tag for tag, _ in elements.found)
    assert all("src" not in attributes for _, attributes in elements.found)
    links = [a["href"] for _, a in elements.found if "href" in a]
    assert links
    assert all(link.startswith("#") for link in links)
    assert "@import" not in text
    assert all(target.startswith("#") for target in re.findall(r"url\((.)", text))
    assert "<script" not in text
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp;&quot;$x$" in text


def test_every_name_in_a_page_is_there_once(elements):
    names = [a["id"] for _, a in elements.found if "id" in a]
    assert len(names) == len(set(names))
    links = {a["href"][1:] for _, a in elements.found if "href" in a}
    assert links <= set(names)


def test_every_plot_is_said_in_words_and_has_its_values_in_a_table(text):
    figures = re.findall(r"<figure>.*?</figure>", text, re.DOTALL)
    assert len(figures) == 6
    for figure in figures:
        (drawing,) = Elements(figure).of("svg")
        assert drawing["role"] == "img"
        assert drawing["aria-label"]
        assert len(Elements(figure).of("table")) == 1


def test_plots_in_words_begin_with_the_highest_bar_or_say_where_curves_begin_and_end():
    assert described(BARS, ()) == "Spans. 1: 75%, <2>: 25%."
    many = dataclasses.replace(RANKING, labels=tuple("abcdef"), values=(1, 2, 3, 4, 5, 6))
    assert described(many, ()) == "Reasons. highest: f: 6, e: 5, d: 4, c: 3, b: 2."
    plot = loss((1, True, ((0, 3.0), (1000, 2.5))))
    assert described(plot, ("a", "b")) == "Loss. b, held out: 3 at step 0, 2.5 at step 1,000."


def test_the_table_of_curves_has_what_was_measured_and_of_a_long_one_points_and_its_last():
    training, held_out = ((1, 4.0), (2, 3.0), (3, 2.0)), ((0, 5.0), (2, 1.0))
    assert rows_beside(loss((0, False, training), (0, True, held_out))) == [
        *(["0", "–", "5"], ["1", "4", "–"]),
        *(["2", "3", "1"], ["3", "2", "–"]),
    ]
    training = tuple((float(step), 2.0) for step in range(1, 1001))
    held_out = tuple((step + 0.5, 3.0) for step, _ in training[::100])
    rows = rows_beside(loss((0, False, training), (0, True, held_out)))
    assert [row[2] for row in rows].count("3") == 10
    assert rows[-1] == ["1,000", "2", "–"]
    assert len(rows) <= 25


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [
        (
            (Token(shown="▁he"), Token(shown="[MASK]", original="▁came")),
            'he <ruby class="hidden">[MASK]<rt>came</rt></ruby>',
        ),
        (
            (Token(shown="▁he", original="▁he"), Token(shown="▁tree", original="ed")),
            '<ruby class="kept">he<rt>he</rt></ruby><ruby class="other">tree<rt>ed</rt></ruby>',
        ),
    ],
    ids=["masked", "kept, and another"],
)
def test_a_token_has_the_original_above_it_and_is_told_from_others(tokens, shown):
    example = Example(label="in order", segments=(tokens,))
    text = page([Section(title="data", kind="Data set", examples=(example,))])
    assert re.search(r'<b>A</b><p dir="auto">(.*?)</p>', text)[1] == shown


def test_cells_are_spelled_for_people_and_a_name_that_is_no_text_is_still_written():
    row = ("x", 12345, 0.25, 31441.2, None)
    table = Table(title="t", columns=tuple("abcde"), rows=(row,))
    text = page([Section(title="s \udcff", kind="Run", parts=(table,))])
    assert re.findall(r"<td>([^<]*)", text) == ["12,345", "0.2500", "31,441", "–"]
    assert r"s \udcff" in text


def test_every_colour_of_a_plot_has_a_value_in_light_and_in_dark(text):
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert "@media screen and (prefers-color-scheme: dark)" in style
    assert "@media print" in style
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", text))
    light, dark = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    for theme in (light, dark):
        assert used <= set(re.findall(r"(--[a-z0-9-]+):", theme))
