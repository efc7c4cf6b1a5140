"""What rows of a table have in common, by which a line is seen to be none of them."""

import re
from collections.abc import Iterator, Sequence

# So many rows tell what a column holds: values, or values of a form, that are few
# where each occurs so many times on average.
_MOST_ROWS, _TIMES = 200, 3
_LETTERS, _DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")


class KnownRows:
    """Rows that surely are some, with the values of each column and their forms."""

    def __init__(self) -> None:
        self._number = 0
        self._columns: list[tuple[set[str], set[str]]] = []

    def add(self, cells: Sequence[str]) -> None:
        """Take note of a row, which has as many cells as the others."""
        if self._number == _MOST_ROWS:
            return
        self._number += 1
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
            0 < _TIMES * len(seen) <= self._number and cell not in seen
            for seen, cell in self._seen(cells)
        )

    def _seen(self, cells: Sequence[str]) -> Iterator[tuple[set[str], str]]:
        """The values of each column and a cell, and the forms of them and its form."""
        self._columns += [(set(), set()) for _ in cells[len(self._columns) :]]
        for (values, forms), cell in zip(self._columns, cells, strict=False):
            yield values, cell
            yield forms, _form_of(cell)


def _form_of(cell: str) -> str:
    """A cell with its words and numbers alike.

    >>> _form_of("2024-01-31"), _form_of("data/b.py")
    ('0-0-0', 'a/a.a')
    """
    return _DIGITS.sub("0", _LETTERS.sub("a", cell))
