"""The types of arrays that every room speaks of."""

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
# Ids of tokens: four bytes are enough for any vocabulary.
Ids = npt.NDArray[np.int32]
# What random draws derive from, and the bits that are drawn.
Keys = npt.NDArray[np.uint64]
