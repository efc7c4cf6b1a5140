"""The types of arrays that every room speaks of, and tables with a column each."""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
# Ids of tokens: four bytes are enough for any vocabulary.
Ids = npt.NDArray[np.int32]
# What random draws derive from, and the bits that are drawn.
Keys = npt.NDArray[np.uint64]


def columns_of(table: Any) -> list[npt.NDArray[Any]]:
    """The arrays of a dataclass that has no other attributes, in their order.

    Args:
        table: With columns of R rows each.
    """
    return [getattr(table, field.name) for field in dataclasses.fields(table)]
