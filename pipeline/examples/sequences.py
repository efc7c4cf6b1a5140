"""All sequences of all copies of a shard, in the order in which they are written."""

import dataclasses
import functools

import numpy as np

from pipeline.core.arrays import Bool, Int, Keys, columns_of
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
        return Sequences(*(column[rows] for column in columns_of(self)))

    def __len__(self) -> int:
        return len(self.keys)


def pack_copies(
    tokens: Tokens, *, copies: range, config: ResolvedDataConfig
) -> list[Sequences]:
    """The sequences of some copies, in the order in which they are written.

    Args:
        tokens: Of a shard.
        copies: Their numbers; what a copy is does not depend on the others.
        config: Settings as resolved.
    """
    count = len(tokens.document_keys)
    ends = np.append(tokens.sentence_starts[1:], tokens.document_starts[-1])
    places = cutting_places(ends, tokens.may_cut)
    keys = np.array(tokens.document_keys, np.uint64)
    next_start: NextStart = at_its_end
    if config.sentence_task == "nsp" and count > 1:
        next_start = functools.partial(put_back, tokens=tokens, places=places)
    packed = pack(
        places,
        np.tile(tokens.document_starts[:-1], len(copies)),
        np.tile(tokens.document_starts[1:], len(copies)),
        keys=draws(np.tile(keys, len(copies)), np.repeat(np.array(copies), count)),
        max_tokens=config.max_tokens,
        short_seq_prob=config.short_seq_prob,
        next_start=next_start,
    )
    bounds = np.searchsorted(packed.chain, count * np.arange(len(copies) + 1))
    written = []
    for place, copy in enumerate(copies):
        of_copy = packed[np.arange(bounds[place], bounds[place + 1])]
        document = of_copy.chain - place * count
        written.append(in_written_order(of_copy, document, tokens=tokens, copy=copy))
    return written


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


def in_written_order(
    packed: Packed, document: Int, *, tokens: Tokens, copy: int
) -> Sequences:
    """All sequences of a copy by a random rank, so that a file is shuffled.

    Args:
        packed: The sequences.
        document: Of each, its number in the shard, `[R]`.
        tokens: Of the shard.
        copy: The number of the copy.
    """
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
