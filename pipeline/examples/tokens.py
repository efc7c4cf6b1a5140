"""The documents of a shard become one long row of tokens."""

import dataclasses

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import Bool, Int
from pipeline.core.draws import hash_key


@dataclasses.dataclass(frozen=True)
class Tokens:
    """The tokens of all D documents of a shard.

    Attributes:
        ids: Whole numbers of any size, `[N]`.
        word_starts: Whether a token starts a word, `[N]`.
        may_cut: Whether a sequence may be cut at a token, `[N]`.
        sentence_starts: Ascending, `[sentences]`.
        document_starts: Where each document starts; the last is N, `[D + 1]`.
        document_keys: What all draws for a document derive from, `[D]`.
    """

    ids: npt.NDArray[np.integer]
    word_starts: Bool
    may_cut: Bool
    sentence_starts: Int
    document_starts: Int
    document_keys: list[int]


def document_key(document_id: bytes, *, seed: int) -> int:
    """The key that all draws for a document derive from."""
    return hash_key(str(seed).encode(), document_id)
