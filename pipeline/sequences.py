"""All sequences of all copies of a shard, in the order in which they are written."""

import dataclasses
import functools

import numpy as np
import numpy.typing as npt

from pipeline.draws import Keys, draw, draws, happens, purpose_keys
from pipeline.packing import Sequence, at_its_end, cutting_places, pack
from pipeline.pairs import Int, split_points
from pipeline.pieces import Pieces
from schemas.config import DataConfig


@dataclasses.dataclass(frozen=True)
class Sequences:
    """R packed sequences of one copy; ranges are in the pieces of the shard, `[R]`."""

    document: Int
    start: Int
    end: Int
    is_put_back: npt.NDArray[np.bool_]
    is_short: Int
    is_end: Int
    keys: Keys

    def __getitem__(self, rows: slice | Int) -> "Sequences":
        return Sequences(
            *(getattr(self, f.name)[rows] for f in dataclasses.fields(self))
        )

    def __len__(self) -> int:
        return len(self.keys)


def pack_copies(pieces: Pieces, *, copies: int, config: DataConfig) -> list[Sequences]:
    """The sequences of each copy, in the order in which they are written."""
    packed: list[list[tuple[int, list[Sequence]]]] = [[] for _ in range(copies)]
    sentence_bounds = np.searchsorted(pieces.sentence_starts, pieces.document_starts)
    for index, key in enumerate(pieces.document_keys):
        start, end = pieces.document_starts[index : index + 2]
        starts = pieces.sentence_starts[slice(*sentence_bounds[index : index + 2])]
        ends = [*(starts[1:] - start).tolist(), int(end - start)]
        places = cutting_places(ends, pieces.may_cut[start:end])
        for copy in range(copies):
            copy_key = draw(key, copy)
            next_start = at_its_end
            if config.sentence_task == "nsp" and len(pieces.document_keys) > 1:
                next_start = functools.partial(
                    put_back, pieces=pieces, first=int(start), copy_key=copy_key
                )
            sequences = pack(
                places,
                max_tokens=config.max_tokens,
                short_seq_prob=config.short_seq_prob,
                key=copy_key,
                next_start=next_start,
            )
            packed[copy].append((index, sequences))
    return [
        in_written_order(packed_copy, pieces, copy=copy)
        for copy, packed_copy in enumerate(packed)
    ]


def put_back(sequence: Sequence, *, pieces: Pieces, first: int, copy_key: int) -> int:
    """Where the next sequence starts when B comes from another document.

    That is so with probability 1/2; then the second half of the sequence is not used
    and opens the next one. A single word at the end of a document stays where it was,
    see `pipeline.packing.mend_last`.

    Args:
        sequence: As packed.
        pieces: Of the shard.
        first: Where its document starts there.
        copy_key: Of this copy of the document.
    """
    key = np.array([draw(copy_key, sequence.number)], np.uint64)
    start, end = first + sequence.start, first + sequence.end
    has_one_word = np.count_nonzero(pieces.may_cut[start:end]) < 2
    if has_one_word or not happens(purpose_keys(key, "swap"), 0.5)[0]:
        return sequence.end
    middle = split_points(
        np.array([start]),
        np.array([end]),
        sentence_starts=pieces.sentence_starts,
        may_cut=pieces.may_cut,
        keys=key,
    )
    return int(middle[0]) - first


def in_written_order(
    packed: list[tuple[int, list[Sequence]]], pieces: Pieces, *, copy: int
) -> Sequences:
    """All sequences of a copy by a random rank, so that a file is shuffled."""
    flat = np.array(
        [(index, *sequence) for index, rows in packed for sequence in rows], np.int64
    ).reshape(-1, 6)
    document, start, end, number, is_short, is_end = flat.T
    # Where the next sequence of a document starts before the end of one, the rest of
    # that one has been put back.
    is_followed = np.append(document[1:] == document[:-1], False)
    next_start = np.where(is_followed, np.roll(start, -1), end)
    first = pieces.document_starts[document]
    keys = np.array(pieces.document_keys, np.uint64)[document]
    keys = draws(draws(keys, copy), number)
    order = np.argsort(purpose_keys(keys, "rank"), kind="stable")
    return Sequences(
        document=document,
        start=first + start,
        end=first + end,
        is_put_back=next_start < end,
        is_short=is_short,
        is_end=is_end,
        keys=keys,
    )[order]
