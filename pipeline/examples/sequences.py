"""All sequences of all copies of a shard, in the order in which they are written."""

import dataclasses
import functools

import numpy as np

from pipeline.core.arrays import Bool, Int, Keys
from pipeline.core.draws import draws, happens, purpose_keys
from pipeline.examples.packing import (
    NextStart,
    Packed,
    Places,
    at_its_end,
    cutting_places,
    pack,
)
from pipeline.examples.pairs import split_points
from pipeline.examples.tokens import Tokens
from schemas.config import ResolvedDataConfig


@dataclasses.dataclass(frozen=True)
class Sequences:
    """R packed sequences of one copy; ranges are in the tokens of the shard, `[R]`."""

    document: Int
    start: Int
    end: Int
    is_put_back: Bool
    is_short: Int
    is_end: Int
    keys: Keys

    def __getitem__(self, rows: slice | Int) -> "Sequences":
        return Sequences(
            *(getattr(self, f.name)[rows] for f in dataclasses.fields(self))
        )

    def __len__(self) -> int:
        return len(self.keys)


def pack_copies(
    tokens: Tokens, *, copies: int, config: ResolvedDataConfig
) -> list[Sequences]:
    """The sequences of each copy, in the order in which they are written."""
    count = len(tokens.document_keys)
    ends = np.append(tokens.sentence_starts[1:], tokens.document_starts[-1])
    places = cutting_places(ends, tokens.may_cut)
    keys = np.array(tokens.document_keys, np.uint64)
    next_start: NextStart = at_its_end
    if config.sentence_task == "nsp" and count > 1:
        next_start = functools.partial(put_back, tokens=tokens, places=places)
    packed = pack(
        places,
        np.tile(tokens.document_starts[:-1], copies),
        np.tile(tokens.document_starts[1:], copies),
        keys=draws(np.tile(keys, copies), np.repeat(np.arange(copies), count)),
        max_tokens=config.max_tokens,
        short_seq_prob=config.short_seq_prob,
        next_start=next_start,
    )
    bounds = np.searchsorted(packed.chain, count * np.arange(copies + 1))
    return [
        in_written_order(packed[np.arange(*bounds[copy : copy + 2])], tokens, copy=copy)
        for copy in range(copies)
    ]


def put_back(
    start: Int, end: Int, keys: Keys, *, tokens: Tokens, places: Places
) -> Int:
    """Where the next sequences start when B comes from another document.

    That is so with probability 1/2; then the second half of the sequence is not used
    and opens the next one. A single word at the end of a document stays where it was,
    see `pipeline.examples.packing.mend_last`.

    Args:
        start: Of the sequences as packed, in the tokens of the shard, `[R]`.
        end: Of the sequences, `[R]`.
        keys: Of the sequences, `[R]`.
        tokens: Of the shard.
        places: Where they may be cut.
    """
    swapped = happens(purpose_keys(keys, "swap"), 0.5)
    rows = np.flatnonzero(swapped & (places.cut_after(start) < end))
    following = end.copy()
    following[rows] = split_points(
        start[rows],
        end[rows],
        sentence_starts=tokens.sentence_starts,
        may_cut=tokens.may_cut,
        keys=keys[rows],
    )
    return following


def in_written_order(packed: Packed, tokens: Tokens, *, copy: int) -> Sequences:
    """All sequences of a copy by a random rank, so that a file is shuffled."""
    document = packed.chain - copy * len(tokens.document_keys)
    # Where the next sequence of a document starts before the end of one, the rest of
    # that one has been put back.
    is_followed = np.append(document[1:] == document[:-1], False)
    next_start = np.where(is_followed, np.roll(packed.start, -1), packed.end)
    keys = np.array(tokens.document_keys, np.uint64)[document]
    keys = draws(draws(keys, copy), packed.number)
    order = np.argsort(purpose_keys(keys, "rank"), kind="stable")
    return Sequences(
        document=document,
        start=packed.start,
        end=packed.end,
        is_put_back=next_start < packed.end,
        is_short=packed.is_short.astype(np.int64),
        is_end=packed.is_end.astype(np.int64),
        keys=keys,
    )[order]
