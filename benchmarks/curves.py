"""Draw what a run and its peers learn in the same time.

    python -m benchmarks.curves albert=RUN "BERT of transformers=PEER" ... --output SVG

A run of `albert pretrain` has its losses in metrics.jsonl, a model of
`benchmarks.peers` in curve.csv: each on its own masks in training, against the minutes
of its steps.
"""

import argparse
import csv
import itertools
import json
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from benchmarks.peers import CURVE_FILE, Point
from schemas.layout import METRICS, TRAIN

# Means of this many parts of the time are drawn.
PARTS = 60

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


def curve_of(folder: Path) -> list[Point]:
    """The losses in training of a run or of a peer."""
    if not (folder / CURVE_FILE).exists():
        lines = map(json.loads, (folder / METRICS).read_text().splitlines())
        return [
            Point(line["seconds"], line["mlm_loss"])
            for line in lines
            if line["split"] == TRAIN
        ]
    with (folder / CURVE_FILE).open(newline="") as file:
        return [Point(*map(float, row.values())) for row in csv.DictReader(file)]


def smoothed(curve: list[Point]) -> np.ndarray:
    """The means `[N, 2]` of the parts of a curve that have points.

    >>> smoothed([Point(1.0, 4.0), Point(1.5, 2.0), Point(600.0, 1.0)]).tolist()
    [[1.25, 3.0], [600.0, 1.0]]
    """
    points = np.array(curve)
    ends = np.linspace(0, points[-1, 0], PARTS + 1)[1:]
    parts = np.searchsorted(ends, points[:, 0])
    return np.array([points[parts == part].mean(axis=0) for part in np.unique(parts)])


def draw(curves: dict[str, list[Point]]) -> Figure:
    """The curves, each with its name beside its end."""
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    axes = figure.add_subplot()
    for (name, curve), colour in zip(
        curves.items(), itertools.cycle(COLOURS), strict=False
    ):
        minutes, losses = (smoothed(curve) / (60.0, 1.0)).T
        axes.plot(minutes, losses, color=colour, linewidth=2)
        axes.annotate(
            f"{name}, {losses[-1]:.2f}",
            (minutes[-1], losses[-1]),
            xytext=(6, 0),
            textcoords="offset points",
            color=colour,
            va="center",
        )
    axes.set_xlabel("minutes of training")
    axes.set_ylabel("loss on its own masks, nats")
    return figure


def main() -> None:
    """Read the arguments, write the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("curves", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    named = (text.rsplit("=", 1) for text in arguments.curves)
    curves = {name: curve_of(Path(folder)) for name, folder in named}
    with rc_context(STYLE):
        draw(curves).savefig(arguments.output, metadata={"Date": None})


if __name__ == "__main__":
    main()
