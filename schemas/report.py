"""What a report shows, as plain data: facts, plots, tables, examples, by section."""

import dataclasses
import html
import re
from collections.abc import Iterator
from typing import Literal

from schemas.readable import aligned, printable

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

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    marked: frozenset[int] = frozenset()
    is_folded: bool = False


def text_lines(table: Table) -> Iterator[str]:
    """A table in columns, all but its first column to the right.

    >>> rows = (("the model", "2.5"), ("counting", None))
    >>> for line in text_lines(Table(title="", columns=("", "bits"), rows=rows)):
    ...     print(line)
               bits
    the model   2.5
    counting      -
    """
    rows = (table.columns, *table.rows)
    cells = [tuple("-" if cell is None else str(cell) for cell in row) for row in rows]
    yield from aligned(cells)


def markdown_lines(table: Table) -> Iterator[str]:
    """A table in Markdown, all but its first column to the right.

    >>> rows = (("the model", "2.5"), ("counting", None))
    >>> for line in markdown_lines(Table(title="", columns=("", "bits"), rows=rows)):
    ...     print(line)
    |  | bits |
    |---|--:|
    | the model | 2.5 |
    | counting |  |
    """
    yield f"| {' | '.join(table.columns)} |"
    yield f"|---|{'--:|' * (len(table.columns) - 1)}"
    for row in table.rows:
        cells = ("" if cell is None else markdown(str(cell)) for cell in row)
        yield f"| {' | '.join(cells)} |"


def markdown(text: str) -> str:
    r"""A text in a line or cell of Markdown as it is: neither markup nor HTML.

    >>> print(markdown("a|b\n\x1b[31m"), markdown("<img src=x> [a](b) `c`"))
    a\|b \\u001b\[31m &lt;img src=x&gt; \[a\](b) \`c\`
    """
    shown = html.escape(printable(text), quote=False).replace("\n", " ")
    return re.sub(r"[\\`*\[\]|]", r"\\\g<0>", shown)


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
    """A data set, or some runs.

    Attributes:
        kind: What it describes, in a word or two.
        facts: Names and values that are shown first.
        notes: Sentences shown below the facts.
        runs: The names of its runs, in the order of their colours.
    """

    title: str
    kind: str
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()
    tables: tuple[Table, ...] = ()
    examples: tuple[Example, ...] = ()
