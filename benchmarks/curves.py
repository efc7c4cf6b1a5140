"""Draw what programs have learned after the same minutes of training.

    python -m benchmarks.quality albert-2 albert-5 bert-2 ... --data DATA --csv SCORES
    python -m benchmarks.curves SCORES --output SVG

A model of two minutes of the program `albert` is called albert-2; what has no minutes
in its name, such as counting, is drawn as a line.
"""

import argparse
import csv
import itertools
from pathlib import Path
from typing import NamedTuple

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# One of each curve's, told apart by those who see no colours by its lightness.
COLOURS = ("#0b5fa5", "#d1742a", "#4f9d69", "#9a6fb0")

STYLE = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "grid.color": "#e3e3e3",
    "font.size": 10,
    "svg.hashsalt": "curves",
}


class Score(NamedTuple):
    """Bits per character of a model, with their interval of 95 %."""

    bits: float
    low: float
    high: float


def curves_of(rows: list[list[str]]) -> dict[str, dict[int, Score]]:
    """The scores of each program by its minutes, 0 for what was not trained.

    >>> curves_of([["bert-5", "2", "1", "3"], ["bert-2", "3", "2", "4"]])
    {'bert': {2: Score(bits=3.0, low=2.0, high=4.0), \
5: Score(bits=2.0, low=1.0, high=3.0)}}
    >>> curves_of([["counting", "2", "1", "3"]])
    {'counting': {0: Score(bits=2.0, low=1.0, high=3.0)}}
    """
    curves: dict[str, dict[int, Score]] = {}
    for model, *figures in rows:
        name, _, minutes = model.rpartition("-")
        if not minutes.isdecimal():
            name, minutes = model, "0"
        curves.setdefault(name, {})[int(minutes)] = Score(*map(float, figures))
    return {name: dict(sorted(curve.items())) for name, curve in curves.items()}


def draw(curves: dict[str, dict[int, Score]]) -> Figure:
    """The curves, each with its name beside its end."""
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.add_subplot()
    colours = itertools.cycle(COLOURS)
    ends: list[tuple[float, str, str]] = []
    for name, curve in curves.items():
        scores = list(curve.values())
        bits = [score.bits for score in scores]
        if 0 in curve:
            colour = "#666666"
            axes.axhline(bits[0], color=colour, linewidth=1, linestyle="--")
        else:
            colour = next(colours)
            below = [score.bits - score.low for score in scores]
            above = [score.high - score.bits for score in scores]
            axes.errorbar(
                *(list(curve), bits, (below, above)),
                color=colour,
                linewidth=2,
                marker="o",
                capsize=3,
            )
        ends.append((bits[-1], name, colour))
    axes.set_xticks(sorted({minutes for curve in curves.values() for minutes in curve}))
    axes.set_xlim(left=0)
    axes.set_xlabel("minutes of training on one core")
    axes.set_ylabel("bits per character of held-out words")
    name_ends(axes, ends)
    return figure


def name_ends(axes: Axes, ends: list[tuple[float, str, str]]) -> None:
    """The name and the value of each end beside it, none over another."""
    low, high = axes.get_ylim()
    place = low
    for bits, name, colour in sorted(ends):
        place = max(bits, place + (high - low) / 15)
        axes.annotate(
            f"{name}, {bits:.2f}",
            (axes.get_xlim()[1], place),
            xytext=(6, 0),
            textcoords="offset points",
            color=colour,
            va="center",
        )


def main() -> None:
    """Read the arguments, write the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("scores", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    with arguments.scores.open(newline="") as file:
        curves = curves_of(list(csv.reader(file)))
    with rc_context(STYLE):
        draw(curves).savefig(arguments.output, metadata={"Date": None})


if __name__ == "__main__":
    main()
