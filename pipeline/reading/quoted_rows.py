"""Rows of cells that may be quoted, and what a row means whose marks do not fit.

Not every program that writes commas or tabs between cells knows of quotation marks, and
a mark that nothing closes would take along all rows up to the next one.
"""

import copy
import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Self

from pipeline.storage.lines import MAX_RECORD_BYTES

# So many rows tell what a column holds: values, or values of a form, that are few
# where each occurs so many times on average.
_MOST_ROWS, _TIMES = 200, 3
_MOST_DIGITS = 20
_LETTERS, _DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")


class KnownRows:
    """Rows that surely are some, with the values of each column and their forms."""

    def __init__(self) -> None:
        # What each begins with, if it is a number.
        self._numbers: list[int | None] = []
        self._columns: list[tuple[set[str], set[str]]] = []

    def add(self, cells: Sequence[str]) -> None:
        """Take note of a row, which has as many cells as the others."""
        if len(self._numbers) == _MOST_ROWS:
            return
        self._numbers.append(_number_of(cells[0]))
        for seen, cell in self._seen(cells):
            seen.add(cell)

    def are_unlike(self, cells: Sequence[str]) -> bool:
        """Whether a column of few values, or of values of few forms, has no such cell.

        >>> known = KnownRows()
        >>> for row in (["r1", "Ada"], ["r2", "1.5"], ["r3", "n/a"]): known.add(row)
        >>> known.are_unlike(["r9", "Bo, it is"]), known.are_unlike(["y", "= 2"])
        (False, True)
        """
        return any(
            0 < _TIMES * len(seen) <= len(self._numbers) and cell not in seen
            for seen, cell in self._seen(cells)
        )

    def have_others(self, firsts: Sequence[str]) -> bool:
        """Whether numbers of lines are not those of new rows, where rows are in order.

        >>> known = KnownRows()
        >>> for number in "1", "2", "9": known.add([number, "So."])
        >>> known.have_others(["3", "4"]), known.have_others(["3", "1", "2"])
        (False, True)
        """
        known = {number for number in self._numbers if number is not None}
        if len(known) < _TIMES or sorted(known) != self._numbers:
            return False
        numbers = [-1 if n is None else n for n in map(_number_of, firsts)]
        is_above = all(a < b for a, b in itertools.pairwise(numbers))
        return not is_above or not known.isdisjoint(numbers)

    def _seen(self, cells: Sequence[str]) -> Iterator[tuple[set[str], str]]:
        """The values of each column and a cell, and the forms of them and its form."""
        self._columns += [(set(), set()) for _ in cells[len(self._columns) :]]
        for (values, forms), cell in zip(self._columns, cells, strict=False):
            yield values, cell
            # With words and numbers alike: "0-0-0" of "2024-01-31", "a/a.a" of "data/b.py".
            yield forms, _DIGITS.sub("0", _LETTERS.sub("a", cell))


def _number_of(cell: str) -> int | None:
    return int(cell) if cell.isdecimal() and len(cell) <= _MOST_DIGITS else None


Cells = list[str]
# The cells of a row, or what is wrong with its quotation marks.
MaybeCells = Cells | csv.Error

# A row of CSV with more cells is none.
_MAX_CELLS = 1 << 20
# White space after the mark that ends a cell.
_PADDED = re.compile(r'"[^\S\t\n]+(?=[\t,;|\n])')
# A mark that is the first inside a quoted cell begins a quotation.
_QUOTED_WHOLE = re.compile(r'(?s)"(?:[^"]*|(?:[^"]*(?<=[\s(\[{"“„«—–-]))?"(?=\S).*)"')
_DOUBLED = re.compile('""')
# Characters of a table that are read again where its marks do not fit together: of any
# table, and for each of its own.
_READ_AGAIN, _READ_AGAIN_PER_CHARACTER = 1 << 20, 4
# No text has so many lines with as many commas as a row has by chance.
_MANY_LINES = 20
# Characters in which is looked for a cell that surely is quoted.
_AHEAD = 1 << 16
_LOOKED_AT, _MOST = 100, 0.8


class RowLines:
    """Lines, as many at a time as one row may have; more are an error of the row.

    Attributes:
        row: The lines that were read since the row began.
        is_spaced: Whether a space stands after each delimiter.
        is_quoted: Whether marks surely are of a program that quotes, for they hold
            lines together that are no rows; None before lines ahead were looked at.
        known: Rows of a line each without a mark.
        width: How many cells each row has, 0 before the first was read.
        escape: What stands before a mark inside a quoted cell, if it is not doubled.
    """

    is_quoted: bool | None = None

    width = 0

    def __init__(
        self,
        lines: Iterable[str],
        delimiter: str,
        *,
        is_spaced: bool = False,
        escape: str | None = None,
    ) -> None:
        self._lines = iter(lines)
        self._waiting: list[str] = []
        self._spare = _READ_AGAIN
        self.known = KnownRows()
        self.delimiter, self.is_spaced, self.escape = delimiter, is_spaced, escape
        self.begin_row()

    def begin_row(self) -> None:
        """Forget the lines of the row before."""
        self.row: list[str] = []
        self._characters = self._cells = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        if self._waiting:
            line = self._waiting.pop()
        else:
            line = next(self._lines)
            self._spare += _READ_AGAIN_PER_CHARACTER * len(line)
        self.row.append(line)
        self._characters += len(line)
        self._cells += line.count(self.delimiter)
        if self._characters > MAX_RECORD_BYTES or self._cells > _MAX_CELLS:
            raise csv.Error("row too long")
        return line

    def has_cells(self, line: str) -> bool:
        """Whether a line has as many delimiters as a row."""
        return line.count(self.delimiter) == self.width - 1

    def ahead(self) -> Self:
        """The next lines, which are read again after."""
        ahead = self._waiting[::-1]
        left = _AHEAD - sum(map(len, ahead))
        while left > 0 and (line := next(self._lines, "")):
            ahead.append(line)
            left -= len(line)
        self._waiting = ahead[::-1]
        copied = copy.copy(self)
        copied._lines, copied._waiting = iter(ahead), []
        return copied

    def can_go_back(self) -> bool:
        """Whether lines may be read again, so that no table takes time without end."""
        return self._spare > 0

    def go_back(self, *, kept: int = 0) -> None:
        """Read the lines of the row again, after the first `kept` of them."""
        kept_lines, again = self.row[:kept], self.row[kept:]
        self._spare -= sum(map(len, again))
        self._waiting += reversed(again)
        self.begin_row()
        self.row = kept_lines


def quoted_rows(
    lines: RowLines, start: int, *, is_strict: bool
) -> Iterator[tuple[int, MaybeCells]]:
    """The rows in some lines that are not blank, each with the number of its first.

    Args:
        start: The number of the first line.
        is_strict: Whether a row whose marks do not fit together is an error.
    """
    number = start
    reader = _reader(lines, lines.escape)
    while (cells := _next_row(reader, lines)) is not None:
        if lines.width and not is_strict:
            cells = _as_meant(cells, lines)
        elif isinstance(cells, csv.Error) and not is_strict and lines.can_go_back():
            cells = _read_again(lines, lines.escape, is_strict=False)
        # After an error the next line begins a row.
        if cells:
            yield number, cells
            lines.width = lines.width or (0 if isinstance(cells, csv.Error) else len(cells))
        number += len(lines.row)


def _reader(lines: RowLines, escape: str | None, *, is_strict: bool = True) -> Iterator[Cells]:
    return csv.reader(
        lines,
        delimiter=lines.delimiter,
        escapechar=escape,
        skipinitialspace=lines.is_spaced,
        strict=is_strict,
    )


def _next_row(reader: Iterator[Cells], lines: RowLines) -> MaybeCells | None:
    lines.begin_row()
    try:
        return next(reader, None)
    except csv.Error as error:
        return error


def _as_meant(cells: MaybeCells, lines: RowLines) -> MaybeCells:
    r"""The cells of a row that was just read, if need be with its marks as text.

    Where the marks do not fit together, or take along lines that are rows themselves,
    the row is read in the first way in which it has the cells of the header.

    >>> text = ["a,b\n", '1,"Yes" it is\n', '2,"No\n', "3,So\n", '4,"He "came"."\n']
    >>> lines = RowLines(text, ",")
    >>> rows = quoted_rows(lines, 1, is_strict=False)
    >>> [cells for _, cells in rows][1:]
    [['1', '"Yes" it is'], ['2', '"No'], ['3', 'So'], ['4', 'He "came".']]
    """
    if not lines.can_go_back():
        return cells
    if isinstance(cells, csv.Error):
        for meant in _other_readings(lines):
            if isinstance(meant, list) and len(meant) == lines.width:
                return meant
        cells = _read_again(lines, lines.escape, is_strict=False)
        takes_along = _takes_rows_along(lines)
    elif _holds_lines(cells, lines):
        lines.is_quoted = True
        return cells
    elif len(lines.row) == 1:
        _note_row(lines)
        return cells
    else:
        takes_along = _are_all_rows(lines)
    if not takes_along:
        return cells
    lines.go_back(kept=1)
    return unquoted_cells(lines.row[0], lines.delimiter, escape=lines.escape)


def _other_readings(lines: RowLines) -> Iterator[MaybeCells]:
    """The row with a mark inside a cell after a backslash, and with its marks as text."""
    if not lines.escape and any('\\"' in line for line in lines.row):
        yield _read_again(lines, "\\", is_strict=True)
    line = lines.row[0]
    if len(lines.row) == 1 and not _PADDED.search(line):
        cells = unquoted_cells(line, lines.delimiter, escape=lines.escape)
        # A mark alone ends a cell that began in a line before.
        if '"' not in cells:
            yield cells


def _read_again(lines: RowLines, escape: str | None, *, is_strict: bool) -> MaybeCells:
    lines.go_back()
    reader = _reader(lines, escape, is_strict=is_strict)
    return _next_row(reader, lines) or []


def _are_all_rows(lines: RowLines) -> bool:
    """Whether each line of a row is one itself: surely between tabs, or if many are."""
    if len(lines.row) < (2 if lines.delimiter == "\t" else _MANY_LINES) or lines.width == 1:
        return False
    first, *between, last = lines.row
    if not (lines.has_cells(first) and lines.has_cells(last)) or not all(
        _is_unmarked_row(each, lines) for each in between
    ):
        return False
    if lines.is_quoted is None:
        # Whether a program that quotes wrote the table shows in the rows ahead.
        ahead = lines.ahead()
        lines.is_quoted = any([_holds_lines(cells, ahead) for cells in _strict_rows(ahead)])
    if not _are_alike(lines.row, lines):
        return False
    return not lines.is_quoted or first.partition(lines.delimiter)[0].isdecimal()


def _are_alike(row: list[str], lines: RowLines) -> bool:
    """Whether the lines of a row all begin as one, and are like known rows."""
    # Lines of code or verse in a cell begin with tabs, or unlike the number of a row.
    firsts = [line.partition(lines.delimiter)[0] for line in row]
    is_empty = lines.delimiter == "\t" and not all(firsts)
    if is_empty or len({cell.isdecimal() for cell in firsts}) > 1:
        return False
    if lines.known.have_others(firsts):
        return False
    return not any(lines.known.are_unlike(_plain_cells(line, lines)) for line in row)


def _strict_rows(lines: RowLines) -> Iterator[MaybeCells]:
    """All rows as they are if marks are of a program that quotes; these are noted."""
    reader = _reader(lines, lines.escape)
    while (cells := _next_row(reader, lines)) is not None:
        _note_row(lines)
        yield cells


def hold_together(lines: Iterable[str], delimiter: str, *, width: int) -> bool:
    r"""Whether quoted cells surely hold together what is no row, or no cell, by itself.

    Args:
        width: How many cells each row has.

    >>> hold_together(['1\t"It\n', 'is\tso."\n'], "\t", width=2)
    True
    >>> hold_together(['1\t"It\tis so."\n'], "\t", width=2)
    True
    >>> hold_together(['1\t"It\n', '2\tis so."\n'], "\t", width=2)
    False
    """
    of_rows = RowLines(lines, delimiter)
    of_rows.width = width
    fit, joined = [], list[list[str]]()
    for cells in _strict_rows(of_rows):
        fit.append(isinstance(cells, list) and len(cells) == width)
        if fit[-1] and not all(map(of_rows.has_cells, of_rows.row)):
            return True
        if fit[-1] and len(of_rows.row) > 1:
            joined.append(of_rows.row)
    # The last row may be cut.
    return all(fit[:-1]) and not all(_are_alike(row, of_rows) for row in joined)


def _note_row(lines: RowLines) -> None:
    """Remember a row of one line, by which others are known."""
    if len(lines.row) == 1 and _is_unmarked_row(lines.row[0], lines):
        lines.known.add(_plain_cells(lines.row[0], lines))


def _plain_cells(line: str, lines: RowLines) -> Cells:
    return line.removesuffix("\n").split(lines.delimiter)


def _holds_lines(cells: MaybeCells, lines: RowLines) -> bool:
    """Whether the lines of a row, or some of them, are none by themselves."""
    is_one = len(lines.row) > 1 and isinstance(cells, list) and len(cells) == lines.width
    return is_one and not all(map(lines.has_cells, lines.row))


def _takes_rows_along(lines: RowLines) -> bool:
    """Whether the lines of a row that is amiss are rows themselves, after its first."""
    *between, last = lines.row[1:] or [""]
    if lines.width == 1 and len(between) < _MANY_LINES:
        return False
    looked_at = between[:_LOOKED_AT]
    rows = sum(_is_unmarked_row(line, lines) for line in looked_at)
    if between:
        return rows >= _MOST * len(looked_at)
    # The mark that seems to close a cell may open one.
    return last != "" and (lines.has_cells(last) or f'{lines.delimiter}"' in last)


def _is_unmarked_row(line: str, lines: RowLines) -> bool:
    """Whether a line inside a quoted cell has the cells of a row, and no mark."""
    return '"' not in line and lines.has_cells(line)


def unquoted_cells(line: str, delimiter: str, *, escape: str | None) -> Cells:
    r"""The cells of a line in which marks are text, but around a whole cell.

    A cell that begins and ends with a mark is quoted, unless a quotation in it ends
    before another begins.

    >>> unquoted_cells('"He "came".";"Yes," he said. "No."\n', ";", escape=None)
    ['He "came".', '"Yes," he said. "No."']
    """
    cells = line.removesuffix("\n").split(delimiter)
    if escape:
        reader = csv.reader([line], delimiter=delimiter, escapechar=escape, quoting=csv.QUOTE_NONE)
        cells = next(reader, [])
    return [
        _DOUBLED.sub('"', cell[1:-1]) if _QUOTED_WHOLE.fullmatch(cell) else cell for cell in cells
    ]
