"""The plots of a report as SVG, in colours that the page chooses; and of layers."""

import importlib.util
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.errors import AlbertError, SettingError
from schemas.files import Values, whole_file
from schemas.readable import percent, rounded
from schemas.report import Bars, Curves, Plot, Unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from albert_tf.evaluation.held_out import LayerSimilarity

# Colours stand in the drawing as numbers and become properties of the style sheet, so
# that one drawing serves light, dark and paper.
NUM_COLOURS = 8
_PROPERTIES = ("ink", "muted", "grid", *(f"run-{i}" for i in range(NUM_COLOURS)))
_COLOURS = {name: f"#abcd{number:02x}" for number, name in enumerate(_PROPERTIES)}
# Once all colours are taken, the next runs have the same ones with other dashes.
DASHES = ((), (5, 2), (1.5, 1.5), (6, 2, 1.5, 2))

# Inches; a plot is about as wide as a phone.
_WIDTH, _HEIGHT, _LINE = 4.0, 2.5, 0.4
# The maximum number of names that are drawn, and of letters in one; the table has all.
_MAX_NAMES, _MAX_LETTERS = 12, 44
# How many letters fit below the bars of classes.
_LETTERS_OF_LINE = 42

_STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": _COLOURS["grid"],
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": _COLOURS["muted"],
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9.5,
    "grid.color": _COLOURS["grid"],
    "grid.linewidth": 0.7,
    "lines.solid_capstyle": "round",
    "svg.fonttype": "none",
    "text.color": _COLOURS["ink"],
    "text.parse_math": False,
    "xtick.color": _COLOURS["muted"],
    "ytick.color": _COLOURS["muted"],
    "ytick.left": False,
}


# Of an SVG, and what stays of it.
_NOT_NEEDED = {
    r'<svg [^>]*(viewBox="[^"]*")[^>]*>': r"<svg \1>",
    r"(?s)<style.*?</style>": "",
    # An element needs a name only where another refers to it, and those are hashes.
    r'(<g) id="[^"]*"': r"\1",
    r'font-family: [^;"]*;? ?': "",
    r' transform="rotate\(-0 [^"]*"': "",
}


def style_of(run: int) -> tuple[str, tuple[float, ...]]:
    """The style-sheet property and the dashes of a run."""
    return f"run-{run % NUM_COLOURS}", DASHES[run // NUM_COLOURS % len(DASHES)]


def draw_plot(plot: Plot, *, salt: str) -> str:
    """A plot as an `<svg>` element whose text is text.

    Args:
        salt: Differs between the plots of a page, as the names inside them must.
    """
    _check_matplotlib("albert report")
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        # The user's own matplotlibrc has no influence.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE | {"svg.hashsalt": salt})
        height = _HEIGHT
        if isinstance(plot, Bars) and plot.is_ranking:
            height = 0.1 + _LINE * min(len(plot.labels), _MAX_NAMES)
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        axes = figure.add_subplot()
        if isinstance(plot, Curves):
            _draw_curves(axes, plot)
        elif plot.is_ranking:
            _draw_ranking(axes, plot)
        else:
            _draw_bars(axes, plot)
        file = io.StringIO()
        nothing: Values = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    # The element alone, without what a page does not need.
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    for pattern, shorter in _NOT_NEEDED.items():
        svg = re.sub(pattern, shorter, svg)
    svg = re.sub(r' d="([^"]*)"', lambda match: f' d="{_shorter(match[1])}"', svg)
    for name, colour in _COLOURS.items():
        svg = svg.replace(colour, f"var(--{name})")
    return svg.replace("xlink:href", "href").strip()


def _check_matplotlib(what: str) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        raise AlbertError(
            f"{what} draws with matplotlib, which is not installed; "
            'pip install "albert-pretraining[report]" adds it.'
        )


def _draw_curves(axes: "Axes", plot: Curves) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator

    if plot.level is not None:
        axes.axhline(plot.level, color=_COLOURS["muted"], linewidth=1, dashes=(3, 3))
    has_both = any(curve.is_held_out for curve in plot.curves)
    # Held-out curves are drawn last, on top of the others.
    for curve in sorted(plot.curves, key=lambda curve: curve.is_held_out):
        steps, values = zip(*curve.points, strict=True)
        colour, dashes = style_of(curve.run)
        is_faint = has_both and not curve.is_held_out
        (line,) = axes.plot(
            steps,
            values,
            color=_COLOURS[colour],
            alpha=0.55 if is_faint else 1.0,
            linewidth=1.0 if is_faint else 1.7,
            marker="o" if curve.is_held_out or len(steps) == 1 else None,
            markersize=3,
        )
        if dashes:
            line.set_dashes(dashes)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("step")
    if plot.is_logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=6))
        axes.yaxis.set_minor_locator(LogLocator(subs=()))
    axes.yaxis.set_major_formatter(lambda value, _: number(value, plot.unit))


def _draw_bars(axes: "Axes", plot: Bars) -> None:
    from matplotlib.ticker import MaxNLocator

    places = range(len(plot.values))
    axes.bar(places, plot.values, width=0.82, color=_COLOURS["run-0"])
    if len(plot.values) <= 6:
        for place, value in enumerate(plot.values):
            text = number(value, plot.unit)
            top = max(value, plot.wanted[place]) if plot.wanted else value
            axes.text(place, top, text, ha="center", va="bottom", fontweight="bold")
    if plot.wanted is not None:
        for place, value in enumerate(plot.wanted):
            ends = (place - 0.46, place + 0.46)
            axes.plot(ends, (value, value), color=_COLOURS["ink"], linewidth=1.6)
    letters = sum(len(label) + 2 for label in plot.labels)
    every = -(-letters // _LETTERS_OF_LINE)
    shown = list(places)[::-1][::every][::-1]
    axes.set_xticks(shown, [plot.labels[place] for place in shown])
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel(plot.heading)
    axes.margins(y=0.14)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(lambda value, _: number(value, plot.unit))


def _draw_ranking(axes: "Axes", plot: Bars) -> None:
    """Each name stands above its bar, so that long names fit on a phone."""
    values, labels = plot.values[:_MAX_NAMES], plot.labels[:_MAX_NAMES]
    places = range(len(values))
    axes.barh(places, values, height=0.3, color=_COLOURS["run-0"])
    for place, (label, value) in enumerate(zip(labels, values, strict=True)):
        is_long = len(label) > _MAX_LETTERS
        name = label[: _MAX_LETTERS - 1] + "…" if is_long else label
        axes.text(0, place - 0.24, name, ha="left", va="bottom")
        axes.annotate(
            number(value, plot.unit),
            (value, place),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontweight="bold",
        )
    axes.set_xlim(0, max(values, default=1) * 1.25)
    axes.set_ylim(len(values) - 0.75, -0.8)
    axes.set_axis_off()


def number(value: float, unit: Unit) -> str:
    """A value as it stands in plots and tables.

    >>> number(0.5454, "share"), number(12345.0, "count"), number(0.0001234, "value")
    ('54.5%', '12,345', '0.0001234')
    """
    if unit == "share":
        return percent(value).replace(".0%", "%")
    if unit == "count":
        return f"{value:,.0f}"
    return rounded(value, digits=4)


def _shorter(path: str) -> str:
    """A path with its numbers rounded to a tenth of a point.

    >>> _shorter("M 1.23456 2  L 3.96 4 ")
    'M 1.2 2 L 4.0 4'
    """
    rounded = re.sub(r"\d+\.\d+", lambda match: f"{float(match[0]):.1f}", path)
    return " ".join(rounded.split())


# The paper's Figure 1, what each layer does to its input: its files and its panels.
FORMATS = (".svg", ".png")
_PANELS = (("l2_distance", "L2 distance"), ("degrees", "Cosine similarity (degrees)"))
# A circle and a square, for a model each.
_MARKERS = "os"

# Text stays text, a dollar sign is not mathematics, and the same figure gives the same
# file.
_LAYERS_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "layers",
    "text.parse_math": False,
}


def check_can_draw(plot: Path) -> None:
    """Refuse a plot that could not be written, before anything is measured."""
    if plot.suffix.lower() not in FORMATS:
        raise SettingError(f"--plot: {plot} must end in {' or '.join(FORMATS)}.")
    _check_matplotlib("--plot")


def draw_layers(measured: "dict[Path, list[LayerSimilarity]]", plot: Path) -> None:
    """Draw the layers of one or two models, distance and angle side by side."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    with matplotlib.rc_context(_LAYERS_STYLE):
        figure = Figure(figsize=(9.0, 3.6), layout="constrained")
        for axes, (name, label) in zip(figure.subplots(1, 2), _PANELS, strict=True):
            for (path, rows), marker in zip(measured.items(), _MARKERS, strict=False):
                layers = [row.layer for row in rows]
                values = [getattr(row, name) for row in rows]
                axes.plot(layers, values, marker=marker, markersize=4, label=str(path))
            axes.set_xlabel("layer")
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.grid(alpha=0.3)
            axes.legend()
        kind = plot.suffix[1:].lower()
        metadata = {"Date": None} if kind == "svg" else {}
        with whole_file(plot) as file:
            figure.savefig(file, format=kind, dpi=150, metadata=metadata)
