"""A report as one HTML page that needs nothing else."""

import html
from collections.abc import Sequence
from importlib import resources

from cli.report.plots import draw_plot, number, style_of
from schemas import __version__
from schemas.example import MASK, SPACE
from schemas.readable import printable
from schemas.report import Bars, Cell, Curve, Curves, Example, Plot, Section, Table, Token, spelled
from schemas.secrets import without_secrets

# The maximum number of rows in the table of a curve.
_MAX_ROWS = 25

# The policy makes a browser refuse everything that is not in the page.
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" \
content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
{contents}</header>
<main>
{sections}
</main>
<footer>Made by albert report {version} from the files of the data sets and runs.\
</footer>
</body>
</html>
"""


def page(sections: Sequence[Section]) -> str:
    """The page of some sections; the same sections give the same page."""
    title = "ALBERT: " + ", ".join(section.title for section in sections)
    links = "".join(
        f'<li><a href="#section-{i}">{_escaped(f"{s.kind}: {s.title}")}</a></li>'
        for i, s in enumerate(sections)
    )
    contents = f'<nav aria-label="Contents"><ul>{links}</ul></nav>\n'
    text = _PAGE.format(
        title=_escaped(title),
        style=resources.files("cli.report").joinpath("report.css").read_text("utf-8"),
        contents=contents if len(sections) > 1 else "",
        sections="\n".join(_section(s, number=i) for i, s in enumerate(sections)),
        version=_escaped(__version__),
    )
    return printable(text)


def _escaped(text: str) -> str:
    return html.escape(without_secrets(text), quote=True)


def _section(section: Section, *, number: int) -> str:
    name = f"section-{number}"
    facts = "".join(
        f"<div><dt>{_escaped(name)}</dt><dd>{_cell(value)}</dd></div>"
        for name, value in section.facts
    )
    parts = [
        f'<section id="{name}" aria-labelledby="{name}-title">',
        f'<h2 id="{name}-title"><span class="kind">{_escaped(section.kind)}</span> '
        f"{_escaped(section.title)}</h2>",
        f'<dl class="facts">{facts}</dl>' if facts else "",
        *(f'<p class="note">{_escaped(note)}</p>' for note in section.notes),
        *(_table(table) for table in section.tables if not table.is_folded),
        _key(section),
        '<div class="plots">',
        *(
            _figure(plot, name=f"{name}-plot-{i}", runs=section.runs)
            for i, plot in enumerate(section.plots)
        ),
        "</div>",
        _examples(section.examples),
        *(_table(table) for table in section.tables if table.is_folded),
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def _key(section: Section) -> str:
    """Which colour is which run, and which lines are training and held-out text."""
    if not section.runs:
        return ""
    runs = [
        f"<li>{_swatch(*style_of(run), width=3)} {_escaped(title)}</li>"
        for run, title in enumerate(section.runs)
        if len(section.runs) > 1
    ]
    kinds = (
        f"<li>{_swatch('ink', width=1.2)} training</li>"
        f"<li>{_swatch('ink', width=2, is_marked=True)} held out</li>"
    )
    return f'<ul class="key">{"".join(runs)}{kinds}</ul>'


def _swatch(
    colour: str, dashes: tuple[float, ...] = (), *, width: float, is_marked: bool = False
) -> str:
    pattern = ",".join(str(dash * width) for dash in dashes)
    dot = '<circle cx="14" cy="5" r="3.5"/>' if is_marked else ""
    return (
        '<svg class="swatch" viewBox="0 0 28 10" aria-hidden="true" '
        f'style="stroke: var(--{colour}); fill: var(--{colour})">'
        f'<line x1="0" y1="5" x2="28" y2="5" stroke-width="{width}" '
        f'stroke-dasharray="{pattern}"/>{dot}</svg>'
    )


def _figure(plot: Plot, *, name: str, runs: Sequence[str]) -> str:
    """A plot, what it says in words, and its values as a table."""
    drawing = draw_plot(plot, salt=name).replace(
        "<svg ", f'<svg role="img" aria-label="{_escaped(described(plot, runs))}" ', 1
    )
    table = _bars_table(plot) if isinstance(plot, Bars) else _curves_table(plot, runs)
    return (
        f"<figure><figcaption><h3>{_escaped(plot.title)}</h3>"
        f"<p>{_escaped(plot.about)}</p></figcaption>\n{drawing}\n"
        f"<details><summary>Values</summary>{_table_element(table)}</details></figure>"
    )


def described(plot: Plot, runs: Sequence[str]) -> str:
    """What a plot shows, for people who cannot see it."""
    if isinstance(plot, Bars):
        pairs = sorted(zip(plot.values, plot.labels, strict=True), reverse=True)[:5]
        said = [f"{label}: {number(value, plot.unit)}" for value, label in pairs]
        few = "" if len(plot.values) <= len(said) else "highest: "
        return f"{plot.title}. {few}{', '.join(said)}."
    said = []
    for curve in plot.curves:
        (first, start), (last, end) = curve.points[0], curve.points[-1]
        said.append(
            f"{_curve_title(curve, runs)}: {number(start, plot.unit)} at step "
            f"{first:,.0f}, {number(end, plot.unit)} at step {last:,.0f}"
        )
    return f"{plot.title}. {'; '.join(said)}."


def _curve_title(curve: Curve, runs: Sequence[str]) -> str:
    split = "held out" if curve.is_held_out else "training"
    return f"{runs[curve.run]}, {split}" if len(runs) > 1 else split


def _bars_table(plot: Bars) -> Table:
    values = {"value": plot.values} | ({"wanted": plot.wanted} if plot.wanted else {})
    rows = tuple(
        (label, *(number(value, plot.unit) for value in row))
        for label, *row in zip(plot.labels, *values.values(), strict=True)
    )
    return Table(title=plot.title, columns=(plot.heading, *values), rows=rows)


def _curves_table(plot: Curves, runs: Sequence[str]) -> Table:
    """What was measured at some steps, of each curve as many as fit."""
    measured = [dict(curve.points) for curve in plot.curves]
    steps: set[float] = set()
    for points in measured:
        own = sorted(points, reverse=True)
        steps.update(own[:: -(-len(own) * len(measured) // _MAX_ROWS)])
    rows = [
        (f"{step:,.0f}", *(number(p[step], plot.unit) if step in p else None for p in measured))
        for step in sorted(steps)
    ]
    columns = ("step", *(_curve_title(curve, runs) for curve in plot.curves))
    return Table(title=plot.title, columns=columns, rows=rows)


def _table(table: Table) -> str:
    element = _table_element(table)
    title = _escaped(table.title)
    if table.is_folded:
        return f'<details class="wide"><summary>{title}</summary>{element}</details>'
    return f"<h3>{title}</h3>{element}"


def _table_element(table: Table) -> str:
    head = "".join(f'<th scope="col">{_escaped(name)}</th>' for name in table.columns)
    rows = []
    for place, row in enumerate(table.rows):
        mark = ' class="marked"' if place in table.marked else ""
        first, *others = map(_cell, row)
        cells = "".join(f"<td>{value}</td>" for value in others)
        rows.append(f'<tr{mark}><th scope="row">{first}</th>{cells}</tr>')
    # An element that takes the focus can be scrolled with the keyboard alone.
    return (
        f'<div class="scroll" tabindex="0" role="region" '
        f'aria-label="{_escaped(table.title)}"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(value: Cell) -> str:
    return _escaped(spelled(value, nothing="–"))


def _examples(examples: Sequence[Example]) -> str:
    if not examples:
        return ""
    return (
        "<h3>Examples</h3>"
        "<p>As the model sees them; above each masked token is the original: "
        '<ruby class="hidden">[MASK]<rt>original</rt></ruby>, '
        '<ruby class="kept">kept<rt>kept</rt></ruby>, '
        '<ruby class="other">another<rt>original</rt></ruby>.</p>'
        f'<ol class="examples">{"".join(map(_example, examples))}</ol>'
    )


def _example(example: Example) -> str:
    num_masked = sum(
        token.original is not None for segment in example.segments for token in segment
    )
    texts = ["".join(map(_token, segment)).strip() for segment in example.segments]
    segments = "".join(
        f'<div class="segment"><b>{name}</b><p dir="auto">{text}</p></div>'
        for name, text in zip("AB", texts, strict=False)
    )
    return f'<li><p class="label">{_escaped(example.label)}, {num_masked} masked</p>{segments}</li>'


def _token(token: Token) -> str:
    """A token with the space before it; a masked one with its original above."""
    if token.original is None:
        return _escaped(token.shown.replace(SPACE, " "))
    space = " " if token.original.startswith(SPACE) else ""
    kind = "kept" if token.shown == token.original else "other"
    if token.shown == MASK:
        kind = "hidden"
    shown, original = (
        _escaped(text.replace(SPACE, "") or SPACE) for text in (token.shown, token.original)
    )
    return f'{space}<ruby class="{kind}">{shown}<rt>{original}</rt></ruby>'
