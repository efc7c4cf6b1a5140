"""What a report shows, as plain data by section, and as text and Markdown.

`cli.report` draws the same as a page of HTML.
"""

import dataclasses
import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from schemas.readable import printable
from schemas.secrets import without_secrets

Unit = Literal["count", "share", "value"]
Cell = str | int | float | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bars:
    """A bar for each of some names or classes.

    Attributes:
        wanted: The heights that the settings ask for, if they do.
        is_ranking: Whether the bars are horizontal, one a line, as suits names; else
            they are vertical, as suits the classes of a histogram.
    """

    title: str
    about: str
    heading: str
    labels: tuple[str, ...]
    values: tuple[float, ...]
    unit: Unit
    wanted: tuple[float, ...] | None = None
    is_ranking: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Curve:
    """One quantity of one run.

    Attributes:
        is_held_out: Measured on held-out text and not in training.
        points: (step, value), by step.
    """

    run: int
    is_held_out: bool
    points: tuple[tuple[float, float], ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Curves:
    """A quantity over the steps of one or more runs."""

    title: str
    about: str
    unit: Unit
    curves: tuple[Curve, ...]
    level: float | None = None
    is_logarithmic: bool = False


Plot = Bars | Curves


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under headings."""

    title: str = ""
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    marked: frozenset[int] = frozenset()
    is_folded: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Token:
    """A token of an example as the model sees it."""

    shown: str
    original: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Example:
    """A row of a data set.

    Attributes:
        segments: One or two, without the special tokens around them.
    """

    label: str
    segments: tuple[tuple[Token, ...], ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Section:
    """A data set, a model, some runs, or a part of what is said of one.

    Attributes:
        kind: What it describes, in a word or two.
        facts: Names and values that are shown first.
        parts: Paragraphs and tables, in their order; what is None or empty is not shown.
        runs: The names of its runs, in the order of their colours.
    """

    title: str = ""
    kind: str = ""
    facts: Sequence[tuple[str, Cell]] = ()
    parts: Sequence[str | Table | None] = ()
    runs: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()
    examples: tuple[Example, ...] = ()

    @property
    def notes(self) -> list[str]:
        """Its paragraphs."""
        return [part for part in self.parts if isinstance(part, str) and part]

    @property
    def tables(self) -> list[Table]:
        """Its tables."""
        return [part for part in self.parts if isinstance(part, Table)]


def as_facts(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Settings by name, as they are written."""
    return [(name, str(value)) for name, value in values.items()]


def spelled(cell: Cell, *, nothing: str) -> str:
    """A cell for a person.

    >>> [spelled(cell, nothing="-") for cell in (None, 0.5, 1234.5, 1234, "one")]
    ['-', '0.5000', '1,234', '1,234', 'one']
    """
    if cell is None:
        return nothing
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:#.4g}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def as_text(section: Section) -> str:
    """A section for a terminal: paragraphs, and tables in columns.

    >>> rows = (("the model", "2.5"), ("counting", None))
    >>> print(as_text(Section(parts=("So:", Table(columns=("", "bits"), rows=rows)))))
    So:
    <BLANKLINE>
               bits
    the model   2.5
    counting      -
    """
    blocks = (
        part if isinstance(part, str) else "\n".join(text_lines(part))
        for part in section.parts
        if part
    )
    return without_secrets("\n\n".join(blocks))


def text_lines(table: Table) -> Iterator[str]:
    """A table in columns, all but its first column to the right."""
    rows = [table.columns, *([spelled(cell, nothing="-") for cell in row] for row in table.rows)]
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    for label, *cells in rows:
        figures = (cell.rjust(width) for cell, width in zip(cells, others, strict=True))
        yield "  ".join([label.ljust(first), *figures]).rstrip()


def as_markdown(sections: Iterable[Section]) -> str:
    """Sections as a page of Markdown, of which the first has the title.

    >>> rows = (("the model", "2.5"), ("counting", None))
    >>> table = Table(columns=("", "bits"), rows=rows)
    >>> print(as_markdown([Section(title="A card", parts=("So:", table))]), end="")
    # A card
    <BLANKLINE>
    So:
    <BLANKLINE>
    | | bits |
    |---|--:|
    | the model | 2.5 |
    | counting | |
    """
    blocks = []
    for level, section in enumerate(sections):
        blocks += [f"{'##' if level else '#'} {section.title}"] if section.title else []
        facts = [Table(columns=("", ""), rows=section.facts)] if section.facts else []
        blocks += [
            part if isinstance(part, str) else "\n".join(_markdown_lines(part))
            for part in (*facts, *section.parts)
            if part
        ]
    return "\n\n".join(blocks) + "\n"


def _markdown_lines(table: Table) -> Iterator[str]:
    """A table whose columns of figures are at the right."""
    rows = [[_escaped(spelled(cell, nothing="")) for cell in row] for row in table.rows]
    columns = zip(table.columns, *rows, strict=True)
    begun = ("".join(cell[:1] for cell in column) for _, *column in columns)
    lines = ("--:" if digits.isdigit() else "---" for digits in begun)
    head, *body = (
        "|".join(f" {cell} " if cell else " " for cell in row) for row in (table.columns, *rows)
    )
    yield from (f"|{row}|" for row in (head, "|".join(lines), *body))


def _escaped(text: str) -> str:
    r"""A text in a cell of Markdown as it is: neither markup nor HTML.

    >>> print(_escaped("a|b\n\x1b[31m"), _escaped("<img src=x> [a](b) `c`"))
    a\|b \\u001b\[31m &lt;img src=x&gt; \[a\](b) \`c\`
    """
    shown = html.escape(printable(text), quote=False).replace("\n", " ")
    return re.sub(r"[\\`*\[\]|]", r"\\\g<0>", shown)
