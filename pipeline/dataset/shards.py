"""All documents of one shard become all its copies, in files that are whole or absent.

The result is a function of the set of documents and the settings: their order, the
worker and the runner do not matter. Only the tokens of the shard are held in memory;
rows are made and written in batches.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core.documents import ShardDocument
from pipeline.core.draws import happens, purpose_keys
from pipeline.core.memory import keep_freed_memory
from pipeline.dataset.shard_plan import Shard
from pipeline.dataset.statistics import Counts, count_batch
from pipeline.dataset.tokenization import document_key, tokenize
from pipeline.examples.examples import make_examples
from pipeline.examples.sequences import Sequences, pack_copies
from pipeline.examples.tokens import Tokens
from pipeline.records.features import encode_rows
from pipeline.records.tfrecord import RecordWriter
from pipeline.storage.files import join, new_file
from pipeline.vocabulary.tokenizer import Tokenizer
from schemas.config import ResolvedDataConfig

# The records of one copy and their counts, some at a time.
Batches = Iterator[tuple[list[bytes], Counts]]


def write_shard(
    documents: Iterable[ShardDocument],
    shard: Shard,
    *,
    tokenizer: Tokenizer,
    config: ResolvedDataConfig,
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
        The sidecar: documents, drop counts, files and realised counts. A document
        counts in the shard of its first part.
    """
    keep_freed_memory()
    unique, duplicates = distinct(documents)
    given, later_parts = len(unique), later_part_keys(unique, config)
    tokens = tokenize(drained(unique), tokenizer=tokenizer, config=config)
    keys = tokens.document_keys
    copies = pack_copies(tokens, copies=shard.copies, config=config)
    packed = np.unique(copies[0].document).tolist()
    batches = (
        make_records(copy, tokens, vocab_size=tokenizer.vocab_size, config=config)
        for copy in copies
    )
    dropped = {
        "duplicate document": duplicates,
        "document without text": given - len(keys),
        "document of one word": len(keys) - len(packed),
    }
    return {
        "split": shard.split,
        "shard": shard.index,
        "documents": sum(keys[document] not in later_parts for document in packed),
        "dropped": {reason: n for reason, n in dropped.items() if n},
        **write_copies(batches, shard, output=output),
    }


def write_copies(
    copies: Iterable[Batches], shard: Shard, *, output: str | Path
) -> dict[str, Any]:
    """Write the copies of a shard; returns what its sidecar says of them."""
    files, counts = [], []
    for copy, batches in enumerate(copies):
        name = shard.file(copy)
        file, copy_counts = write_records(batches, join(output, name))
        files.append({"name": name} | file)
        counts.append(copy_counts.to_dict())
    return {"files": files, "copies": counts}


def distinct(documents: Iterable[ShardDocument]) -> tuple[list[ShardDocument], int]:
    """Each document once, in the order of their ids, and how many came again.

    A long document that comes again is counted once, however many parts it has.
    """
    found: dict[bytes, ShardDocument] = {}
    duplicates = 0
    for document in documents:
        known = found.get(document.id, document)
        duplicates += document.id in found and document.is_first
        # One text may come segmented in two ways; the choice must not depend on the
        # order.
        found[document.id] = min(document, known)
    return sorted(found.values()), duplicates


def later_part_keys(
    documents: list[ShardDocument], config: ResolvedDataConfig
) -> set[int]:
    """The keys of the parts that do not count, each being part of a counted document.

    The parts of a document lie in different shards, so each shard counts first parts,
    and the sum over all shards is the number of documents.
    """
    return {
        document_key(document, config)
        for document in documents
        if not document.is_first
    }


def drained(documents: list[ShardDocument]) -> Iterator[ShardDocument]:
    """The documents of a list, which is emptied meanwhile to free the memory."""
    documents.reverse()
    while documents:
        yield documents.pop()


def make_records(
    sequences: Sequences, tokens: Tokens, *, vocab_size: int, config: ResolvedDataConfig
) -> Batches:
    """The records of a copy and their counts, a batch at a time."""
    for batch in make_examples(sequences, tokens, vocab_size=vocab_size, config=config):
        counts = count_batch(batch)
        if config.sentence_task == "nsp" and len(tokens.document_keys) == 1:
            wanted = happens(purpose_keys(batch.sequences.keys, "swap"), 0.5)
            counts.totals["without_other_document"] = int(wanted.sum())
        labels = batch.pairs.labels
        yield encode_rows(batch.rows, batch.masked, labels, config=config), counts


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
