"""The text of records as it was before masking, many records at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.core.arrays import Bool, Int
from pipeline.records.checks import decode_columns
from pipeline.records.epochs import read_copy
from schemas.errors import AlbertError
from schemas.example import RecordLayout
from schemas.manifest import DatasetManifest


class Unmasked(NamedTuple):
    """R rows of text, one after the other.

    Attributes:
        ids: The tokens as they were before masking, `[T]`.
        shown: The tokens as a model sees them, `[T]`.
        is_masked: Which of them a model is asked about, `[T]`.
        offsets: Where each row starts; the last is T, `[R + 1]`.
    """

    ids: Int
    shown: Int
    is_masked: Bool
    offsets: Int

    @property
    def rows(self) -> list[Int]:
        """The tokens of each row."""
        return np.split(self.ids, self.offsets[1:-1])

    def first(self, rows: int) -> "Unmasked":
        """The first rows."""
        offsets = self.offsets[: rows + 1]
        some = slice(offsets[-1])
        return Unmasked(self.ids[some], self.shown[some], self.is_masked[some], offsets)


def unmasked(records: list[bytes], layout: RecordLayout) -> Unmasked:
    """The text of records that are intact.

    Args:
        records: Serialized examples, in which nothing is wrong.
        layout: Of the data set.
    """
    columns = decode_columns(records, layout)
    shown, offsets = columns["input_ids"]
    positions, bounds = columns["masked_lm_positions"]
    places = positions + np.repeat(offsets[:-1], np.diff(bounds))
    ids, is_masked = shown.copy(), np.zeros(len(shown), np.bool_)
    ids[places] = columns["masked_lm_ids"].values
    is_masked[places] = True
    return Unmasked(ids, shown, is_masked, offsets)


def read_unmasked(
    dataset: Path,
    manifest: DatasetManifest,
    *,
    split: str,
    copy: int = 0,
    skip_corrupt: bool = False,
) -> Iterator[Unmasked]:
    """The text of a copy of a split in the order of its files, some rows at a time.

    Args:
        dataset: The data set.
        manifest: Its manifest.
        split: Of the text.
        copy: Which of its copies.
        skip_corrupt: Leave corrupt records out.

    Raises:
        AlbertError: A file is missing or a record is corrupt; names file and place.
    """
    for shard in manifest.shard_files(split, copy):
        for items in read_copy(dataset, shard, manifest, copy=copy):
            records = []
            for item in items:
                if isinstance(item, bytes):
                    records.append(item)
                elif not skip_corrupt:
                    raise AlbertError(f"{item}; make the data again.")
            if records:
                yield unmasked(records, manifest.config.record_layout)
