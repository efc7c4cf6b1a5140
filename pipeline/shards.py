"""All documents of one shard become all its copies, in files that are whole or absent.

The result is a function of the set of documents and the settings: their order, the
worker and the runner do not matter. Only the pieces of the shard are held in memory;
rows are made and written in batches.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.documents import ShardDocument
from pipeline.examples import make_records
from pipeline.files import join, new_file
from pipeline.memory import keep_freed_memory
from pipeline.pieces import tokenize
from pipeline.sequences import pack_copies
from pipeline.statistics import Counts
from pipeline.tfrecord import RecordWriter
from pipeline.tokenizer import Tokenizer
from schemas.config import DataConfig
from schemas.layout import shard_file


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shard:
    """Which part of a data set to make."""

    split: str
    index: int
    num_shards: int
    copies: int


def write_shard(
    documents: Iterable[ShardDocument],
    shard: Shard,
    *,
    tokenizer: Tokenizer,
    config: DataConfig,
    output: str | Path,
) -> dict[str, Any]:
    """Write all copies of a shard.

    Args:
        documents: In any order, duplicates included.
        shard: Which one it is.
        tokenizer: The vocabulary.
        config: Settings as resolved.
        output: The data set, here or on a cluster's storage.

    Returns:
        The sidecar: documents, drop counts, files and realised counts.
    """
    keep_freed_memory()
    unique, duplicates = distinct(documents)
    given = len(unique)
    pieces = tokenize(drained(unique), tokenizer=tokenizer, config=config)
    copies = pack_copies(pieces, copies=shard.copies, config=config)
    packed = len(np.unique(copies[0].document))
    files, counts = [], []
    for copy, sequences in enumerate(copies):
        name = shard_file(
            shard.split, copy, shard=shard.index, num_shards=shard.num_shards
        )
        batches = make_records(sequences, pieces, tokenizer=tokenizer, config=config)
        file, copy_counts = write_records(batches, join(output, name))
        files.append({"name": name} | file)
        counts.append(copy_counts.to_dict())
    dropped = {
        "duplicate document": duplicates,
        "document without text": given - len(pieces.document_keys),
        "document of one word": len(pieces.document_keys) - packed,
    }
    return {
        "split": shard.split,
        "shard": shard.index,
        "documents": packed,
        "dropped": {reason: n for reason, n in dropped.items() if n},
        "files": files,
        "copies": counts,
    }


def distinct(documents: Iterable[ShardDocument]) -> tuple[list[ShardDocument], int]:
    """Each document once, in the order of their ids, and how many came again."""
    texts: dict[bytes, str] = {}
    count = 0
    for document in documents:
        # One text may come segmented in two ways; which one must not hang on the order.
        texts[document.id] = min(document.text, texts.get(document.id, document.text))
        count += 1
    return [ShardDocument(*item) for item in sorted(texts.items())], count - len(texts)


def drained(documents: list[ShardDocument]) -> Iterator[ShardDocument]:
    """The documents of a list, which lets go of each: all text of a shard is much."""
    documents.reverse()
    while documents:
        yield documents.pop()


def write_records(
    batches: Iterable[tuple[list[bytes], Counts]], path: str | Path
) -> tuple[dict[str, Any], Counts]:
    """Write one file; returns its size and hash, and the counts of all batches."""
    total = Counts()
    with new_file(str(path)) as file:
        writer = RecordWriter(file)
        for records, counts in batches:
            writer.write(records)
            total.add(counts)
    description = {
        "examples": writer.records,
        "bytes": writer.bytes,
        "sha256": writer.sha256(),
    }
    return description, total
