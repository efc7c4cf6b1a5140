"""Plots are SVG that takes its colours from the page."""

import dataclasses
import re
import sys

import matplotlib
import pytest

from cli.report.plots import NUM_COLOURS, draw_plot, style_of
from schemas.report import Bars, Curve, Curves
from tests.refusals import refusal

SPANS = {"title": "Spans", "about": "How long.", "heading": "words", "unit": "share"}
BARS = Bars(**SPANS, labels=("1", "<2>"), values=(0.75, 0.25), wanted=(0.5, 0.5))
REASONS = {"title": "Reasons", "about": "Why.", "heading": "reason", "unit": "count"}
RANKING = Bars(**REASONS, labels=("a $x$ & b",), values=(7,), is_ranking=True)
CURVES = Curves(
    title="Loss",
    about="Nats.",
    unit="value",
    curves=(
        Curve(run=0, is_held_out=False, points=((1, 4.0), (2, 2.0))),
        Curve(run=9, is_held_out=True, points=((0, 5.0), (2, 3.0))),
    ),
    level=4.5,
    is_logarithmic=True,
)
ALL = (BARS, RANKING, CURVES)


def texts(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


@pytest.mark.parametrize("plot", ALL, ids=lambda plot: plot.title)
def test_every_colour_is_left_to_the_page(plot):
    assert re.findall(r"#[0-9a-f]{6}\b", draw_plot(plot, salt="a")) == []


def test_bars_have_values_and_labels_as_text_of_many_the_first_with_long_names_cut():
    assert {"75%", "25%", "1", "&lt;2&gt;", "words"} <= set(texts(draw_plot(BARS, salt="a")))
    # Names are no formulas.
    assert texts(draw_plot(RANKING, salt="a")) == ["a $x$ &amp; b", "7"]
    names = tuple(f"{'x' * 50} {i}" for i in range(20))
    many = dataclasses.replace(RANKING, labels=names, values=tuple(range(20, 0, -1)))
    found = [text for text in texts(draw_plot(many, salt="a")) if "x" in text]
    assert found == ["x" * 43 + "…"] * 12


def test_runs_are_told_apart_by_colour_and_then_by_dashes():
    svg = draw_plot(CURVES, salt="a")
    assert "var(--run-0)" in svg
    assert re.search(r"stroke-dasharray[^\"]*var\(--run-1\)", svg)
    styles = [style_of(run) for run in range(4 * NUM_COLOURS)]
    assert len(set(styles)) == len(styles)


def test_own_settings_of_matplotlib_neither_show_nor_change():
    before = draw_plot(CURVES, salt="a")
    with matplotlib.rc_context({"font.size": 30, "axes.grid": False}):
        assert draw_plot(CURVES, salt="a") == before
        assert matplotlib.rcParams["font.size"] == 30


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert refusal(draw_plot, BARS, salt="a") == (
        "albert report draws with matplotlib, which is not installed; "
        'pip install "albert-pretraining[report]" adds it.'
    )
