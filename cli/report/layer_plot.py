"""The paper's Figure 1 as a picture: what each layer does to its input."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.errors import AlbertError, SettingError
from schemas.files import whole_file

if TYPE_CHECKING:
    from albert_tf.evaluation.held_out import LayerSimilarity

FORMATS = (".svg", ".png")

# The panels, as in the figure.
_PANELS = (
    ("l2_distance", "L2 distance"),
    ("degrees", "Cosine similarity (degrees)"),
)
_MARKERS = "os"

# Text stays text, a dollar sign is not mathematics, and the same figure gives the same
# file.
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "layers",
    "text.parse_math": False,
}


def check_can_draw(plot: Path) -> None:
    """Refuse a plot that could not be written, before anything is measured."""
    if plot.suffix.lower() not in FORMATS:
        raise SettingError(f"--plot: {plot} must end in {' or '.join(FORMATS)}.")
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise AlbertError(
            "--plot draws with matplotlib, which is not installed; "
            'pip install "albert-pretraining[report]" adds it.'
        ) from None


def draw_layers(measured: "dict[Path, list[LayerSimilarity]]", plot: Path) -> None:
    """Draw the layers of one or two models, distance and angle side by side."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    with matplotlib.rc_context(_STYLE):
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
