"""All documents of one shard become its files, each of them whole or absent.

They are all its copies or, where examples are made on the fly, its documents as tokens.

The result is a function of the set of documents and the settings: their order, the
worker and the runner do not matter. Only the tokens of the shard are held in memory;
rows are made and written in batches.
"""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core.documents import ShardDocument
from pipeline.core.draws import happens, purpose_keys
from pipeline.core.machine import keep_freed_memory
from pipeline.dataset.shard_plan import Shard
from pipeline.dataset.statistics import Counts, count_batch
from pipeline.examples.examples import (
    ExampleBatch,
    Sequences,
    make_examples,
    pack_copies,
)
from pipeline.examples.packing import Tokens, cuttable, document_key
from pipeline.records.documents import documents_of, encode_document
from pipeline.records.tf_example import encode_rows
from pipeline.records.tfrecord import RecordWriter
from pipeline.storage.files import join, new_file
from pipeline.vocabulary.tokenizer import Tokenizer
from schemas.config import ResolvedDataConfig

# The examples of one copy and their counts, some at a time.
CountedBatches = Iterator[tuple[ExampleBatch, Counts]]


def write_shard(
    documents: Iterable[ShardDocument],
    shard: Shard,
    *,
    tokenizer: Tokenizer,
    config: ResolvedDataConfig,
    output: str | Path,
) -> dict[str, Any]:
    """Write all copies of a shard, or the documents that they are made of.

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
    ids = {document_key(one.id, seed=config.seed): one.id for one in unique}
    tokens = tokenize(drained(unique), tokenizer=tokenizer, config=config)
    keys = tokens.document_keys
    copies = pack_copies(tokens, copies=range(shard.copies), config=config)
    packed = np.unique(copies[0].document).tolist()
    dropped = {
        "duplicate document": duplicates,
        "document without text": given - len(keys),
        "document of one word": len(keys) - len(packed),
    }
    sidecar = {
        "split": shard.split,
        "shard": shard.index,
        "documents": sum(keys[document] not in later_parts for document in packed),
        "dropped": {reason: n for reason, n in dropped.items() if n},
    }
    batches = (
        counted_batches(copy, tokens, vocab_size=tokenizer.vocab_size, config=config)
        for copy in copies
    )
    if not shard.is_documents:
        return sidecar | write_copies(batches, shard, config=config, output=output)
    records = (
        encode_document(document, vocab_size=tokenizer.vocab_size)
        for document in documents_of(tokens, ids)
    )
    return sidecar | write_documents(records, shard, first=next(batches), output=output)


def write_copies(
    copies: Iterable[CountedBatches],
    shard: Shard,
    *,
    config: ResolvedDataConfig,
    output: str | Path,
) -> dict[str, Any]:
    """Write the copies of a shard; returns what its sidecar says of them."""
    files, counts = [], []
    for number, batches in enumerate(copies):
        name = shard.file(number)
        copy_counts = Counts()
        file = write_records(
            encoded(batches, copy_counts, config=config), join(output, name)
        )
        files.append({"name": name, "examples": file.pop("records")} | file)
        counts.append(copy_counts.to_dict())
    return {"files": files, "copies": counts}


def write_documents(
    records: Iterable[bytes],
    shard: Shard,
    *,
    first: CountedBatches,
    output: str | Path,
) -> dict[str, Any]:
    """Write the documents of a shard, and count the examples of the first epoch.

    Returns:
        What the sidecar of the shard says of them.
    """
    counts = Counts()
    for _, some in first:
        counts.add(some)
    name = shard.file(0)
    file = write_records(([record] for record in records), join(output, name))
    del file["records"]
    file = {"name": name, "examples": counts.totals["examples"]} | file
    return {"files": [file], "copies": [counts.to_dict()]}


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
        document_key(document.id, seed=config.seed)
        for document in documents
        if not document.is_first
    }


def drained(documents: list[ShardDocument]) -> Iterator[ShardDocument]:
    """The documents of a list, which is emptied meanwhile to free the memory."""
    documents.reverse()
    while documents:
        yield documents.pop()


def counted_batches(
    sequences: Sequences, tokens: Tokens, *, vocab_size: int, config: ResolvedDataConfig
) -> CountedBatches:
    """The examples of a copy and their counts, a batch at a time."""
    for batch in make_examples(sequences, tokens, vocab_size=vocab_size, config=config):
        counts = count_batch(batch)
        if config.sentence_task == "nsp" and len(tokens.document_keys) == 1:
            wanted = happens(purpose_keys(batch.sequences.keys, "swap"), 0.5)
            counts.totals["without_other_document"] = int(wanted.sum())
        yield batch, counts


def encoded(
    batches: CountedBatches, total: Counts, *, config: ResolvedDataConfig
) -> Iterator[list[bytes]]:
    """The records of a copy, a batch at a time, whose counts are added to a total."""
    for batch, counts in batches:
        total.add(counts)
        labels = batch.pairs.labels
        yield encode_rows(batch.rows, batch.masked, labels, config=config)


def write_records(batches: Iterable[list[bytes]], path: str | Path) -> dict[str, Any]:
    """Write one file; returns how many records it has, its size and its hash."""
    with new_file(str(path)) as file:
        writer = RecordWriter(file)
        for records in batches:
            writer.write(records)
    return {
        "records": writer.records,
        "bytes": writer.bytes,
        "sha256": writer.sha256(),
    }


# Sentences handed to SentencePiece at a time.
ENCODE_SENTENCES = 5000


def tokenize(
    documents: Iterable[ShardDocument],
    *,
    tokenizer: Tokenizer,
    config: ResolvedDataConfig,
) -> Tokens:
    """The tokens of all documents that have any."""
    ids = [np.zeros(0, np.int32)]
    word_starts, may_cut = [np.zeros(0, np.bool_)], [np.zeros(0, np.bool_)]
    sentence_starts = [np.zeros(0, np.int64)]
    document_starts, document_keys = [0], []
    for document, encoded in encode_documents(documents, tokenizer):
        lengths = np.array([len(sentence) for sentence in encoded])
        total = int(lengths.sum())
        if not total:
            continue
        ids.append(np.fromiter(itertools.chain.from_iterable(encoded), np.int32, total))
        starts = (np.cumsum(lengths) - lengths)[lengths > 0]
        # A document at a time, so that no look-up takes memory for the whole shard.
        word_starts.append(tokenizer.starts(ids[-1]))
        word_starts[-1][starts] = True
        may_cut.append(cuttable(word_starts[-1], max_tokens=config.max_tokens))
        sentence_starts.append(document_starts[-1] + starts)
        document_starts.append(document_starts[-1] + total)
        document_keys.append(document_key(document.id, seed=config.seed))
    return Tokens(
        ids=np.concatenate(ids),
        word_starts=np.concatenate(word_starts),
        may_cut=np.concatenate(may_cut),
        sentence_starts=np.concatenate(sentence_starts),
        document_starts=np.array(document_starts),
        document_keys=document_keys,
    )


def encode_documents(
    documents: Iterable[ShardDocument], tokenizer: Tokenizer
) -> Iterator[tuple[ShardDocument, list[list[int]]]]:
    """Each document with the token ids of its sentences, encoded many at a time."""
    batch: list[tuple[ShardDocument, int]] = []
    sentences: list[str] = []
    for document in documents:
        lines = document.text.split("\n")
        batch.append((document, len(lines)))
        sentences += lines
        if len(sentences) >= ENCODE_SENTENCES:
            yield from _encode_batch(batch, sentences, tokenizer)
            batch, sentences = [], []
    yield from _encode_batch(batch, sentences, tokenizer)


def _encode_batch(
    batch: list[tuple[ShardDocument, int]], sentences: list[str], tokenizer: Tokenizer
) -> Iterator[tuple[ShardDocument, list[list[int]]]]:
    encoded = iter(tokenizer.encode(sentences))
    for document, count in batch:
        yield document, list(itertools.islice(encoded, count))
