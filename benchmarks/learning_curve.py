"""Held-out figures of a run against its steps, as a table and a picture.

    python -m benchmarks.learning_curve RUN --every 500 --plot learning.svg

needs matplotlib (the extra `report`).
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from albert_tf.runs.metrics import read_metrics
from schemas.layout import EVAL

COLUMNS = {
    "mlm_loss": ".3f",
    "mlm_accuracy": ".2%",
    "sentence_loss": ".4f",
    "sentence_accuracy": ".2%",
}
PANELS = (
    ("mlm_accuracy", "masked pieces right"),
    ("sentence_accuracy", "sentence order right"),
)


def held_out(run: Path) -> list[dict[str, Any]]:
    """The evaluations of a run, in the order of their steps."""
    return [row for row in read_metrics(run) if row["split"] == EVAL]


def table(rows: list[dict[str, Any]], *, every: int) -> str:
    """The evaluations every `every` steps, and the last one, as Markdown."""
    lines = [
        "| step | masked-LM loss | masked pieces right | sentence loss | order right |",
        "|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        if row["step"] % every == 0 or row is rows[-1]:
            figures = (
                "–" if row[name] is None else format(row[name], shape)
                for name, shape in COLUMNS.items()
            )
            lines.append(f"| {row['step']:,} | {' | '.join(figures)} |")
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw both accuracies side by side."""
    style: dict[Any, Any] = {"svg.hashsalt": "learning", "svg.fonttype": "none"}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(9.0, 3.2), layout="constrained")
        for axes, (name, label) in zip(figure.subplots(1, 2), PANELS, strict=True):
            steps = [row["step"] for row in rows]
            axes.plot(steps, [row[name] for row in rows], marker="o", markersize=3)
            axes.set_xlabel("step")
            axes.set_title(label, loc="left")
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:.1%}")
            axes.grid(alpha=0.3)
        figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Print the table and, if asked for, draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--every", type=int, default=500, metavar="STEPS")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    arguments = parser.parse_args()
    rows = held_out(arguments.run)
    print(table(rows, every=arguments.every))
    if arguments.plot:
        draw(rows, arguments.plot)


if __name__ == "__main__":
    main()
