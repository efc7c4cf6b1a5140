"""What rows of a table have in common, by which a line is seen to be none of them."""

import itertools
import re
from collections.abc import Iterator, Sequence

# So many rows tell what a column holds: values, or values of a form, that are few
# where each occurs so many times on average.
_MOST_ROWS, _TIMES = 200, 3
_MOST_DIGITS = 20
_LETTERS, _DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")


class KnownRows:
    """Rows that surely are some, with the values of each column and their forms."""

    def __init__(self) -> None:
        self._number = 0
        # The numbers that rows begin with, and whether each is above the one before.
        self._numbers: list[int] = []
        self._are_in_order = True
        self._columns: list[tuple[set[str], set[str]]] = []

    def add(self, cells: Sequence[str]) -> None:
        """Take note of a row, which has as many cells as the others."""
        if self._number == _MOST_ROWS:
            return
        self._number += 1
        number = _number_of(cells[0])
        if number is None or (self._numbers and number <= self._numbers[-1]):
            self._are_in_order = False
        else:
            self._numbers.append(number)
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

    def have_others(self, firsts: Sequence[str]) -> bool:
        """Whether numbers of lines are not those of new rows, where rows are in order.

        >>> known = KnownRows()
        >>> for number in "1", "2", "9": known.add([number, "So."])
        >>> known.have_others(["3", "4"]), known.have_others(["3", "1", "2"])
        (False, True)
        """
        if not self._are_in_order or len(self._numbers) < _TIMES:
            return False
        numbers = [-1 if n is None else n for n in map(_number_of, firsts)]
        is_above = all(a < b for a, b in itertools.pairwise(numbers))
        return not is_above or not {*numbers}.isdisjoint(self._numbers)

    def _seen(self, cells: Sequence[str]) -> Iterator[tuple[set[str], str]]:
        """The values of each column and a cell, and the forms of them and its form."""
        self._columns += [(set(), set()) for _ in cells[len(self._columns) :]]
        for (values, forms), cell in zip(self._columns, cells, strict=False):
            yield values, cell
            yield forms, _form_of(cell)


def _number_of(cell: str) -> int | None:
    return int(cell) if cell.isdecimal() and len(cell) <= _MOST_DIGITS else None


def _form_of(cell: str) -> str:
    """A cell with its words and numbers alike.

    >>> _form_of("2024-01-31"), _form_of("data/b.py")
    ('0-0-0', 'a/a.a')
    """
    return _DIGITS.sub("0", _LETTERS.sub("a", cell))
