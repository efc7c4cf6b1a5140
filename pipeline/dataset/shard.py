"""What happens to the documents of a shard, from text to records, step by step.

`pipeline.reading.read` has read and cleaned each document and cut it into sentences.
Here `write_shard` makes of them the files of one shard:

    distinct            each document once, in the order of their ids
    encode              its sentences become tokens
    pack_copies         tokens become sequences, in each copy others
    make_examples       pair: a sequence becomes two segments, perhaps swapped
                        mask: some of their words are to be predicted
    encode_rows         examples become records
    RecordWriter        records become a file, whole or absent

Where examples are made on the fly, the tokens themselves become records, and training
does the rest in each epoch (`pipeline.records.reading`). The result is a function of
the set of documents and the settings: their order, the worker and the runner do not
matter. Only the tokens of the shard are held in memory.
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

# Sentences handed to SentencePiece at a time.
ENCODE_SENTENCES = 5000


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
        output: The data set, here or on a cluster's storage.

    Returns:
        The sidecar: documents, drop counts, files and realised counts. A document
        counts in the shard of its first part.
    """
    keep_freed_memory()
    unique, duplicates = distinct(documents)
    given = len(unique)
    named = {document_key(d.id, seed=config.seed): d._replace(text="") for d in unique}
    unique.reverse()
    # Each text is let go of once it is encoded.
    texts = (unique.pop() for _ in range(given))
    tokens = encode(texts, tokenizer=tokenizer, config=config)
    encoded = [named[key] for key in tokens.document_keys]
    copies = pack_copies(tokens, copies=range(shard.copies), config=config)
    packed = np.unique(copies[0].document).tolist()
    dropped = {
        "duplicate document": duplicates,
        "document without text": given - len(encoded),
        "document of one word": len(encoded) - len(packed),
    }
    size = tokenizer.vocab_size
    examples = (
        counted_examples(copy, tokens, vocab_size=size, config=config)
        for copy in copies
    )
    if shard.is_documents:
        first_epoch = Counts()
        for _, counts in next(examples):
            first_epoch.add(counts)
        ids = [document.id for document in encoded]
        made = write_documents(tokens, ids, shard, vocab_size=size, output=output)
        made["examples"] = first_epoch.totals["examples"]
        files, copy_counts = [made], [first_epoch]
    else:
        files, copy_counts = write_copies(examples, shard, config=config, output=output)
    return {
        "split": shard.split,
        "shard": shard.index,
        "documents": sum(encoded[number].is_first for number in packed),
        "dropped": {reason: n for reason, n in dropped.items() if n},
        "files": files,
        "copies": [counts.to_dict() for counts in copy_counts],
    }


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


def encode(
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
    left = iter(documents)
    while True:
        batch: list[tuple[ShardDocument, int]] = []
        sentences: list[str] = []
        for document in left:
            lines = document.text.split("\n")
            batch.append((document, len(lines)))
            sentences += lines
            if len(sentences) >= ENCODE_SENTENCES:
                break
        if not batch:
            return
        encoded = iter(tokenizer.encode(sentences))
        for document, count in batch:
            yield document, list(itertools.islice(encoded, count))


def counted_examples(
    sequences: Sequences, tokens: Tokens, *, vocab_size: int, config: ResolvedDataConfig
) -> Iterator[tuple[ExampleBatch, Counts]]:
    """The examples of a copy and their counts, a batch at a time."""
    for batch in make_examples(sequences, tokens, vocab_size=vocab_size, config=config):
        counts = count_batch(batch)
        if config.sentence_task == "nsp" and len(tokens.document_keys) == 1:
            wanted = happens(purpose_keys(batch.sequences.keys, "swap"), 0.5)
            counts.totals["without_other_document"] = int(wanted.sum())
        yield batch, counts


def write_copies(
    copies: Iterable[Iterator[tuple[ExampleBatch, Counts]]],
    shard: Shard,
    *,
    config: ResolvedDataConfig,
    output: str | Path,
) -> tuple[list[dict[str, Any]], list[Counts]]:
    """Write the copies of a shard; what the sidecar says of the files, and counts."""
    files, totals = [], []
    for number, examples in enumerate(copies):
        name, total = shard.file(number), Counts()
        with new_file(join(output, name)) as file:
            writer = RecordWriter(file)
            for (_, pairs, rows, masked), counts in examples:
                total.add(counts)
                writer.write(encode_rows(rows, masked, pairs.labels, config=config))
        files.append({"name": name, "examples": writer.records, **writer.described()})
        totals.append(total)
    return files, totals


def write_documents(
    tokens: Tokens,
    ids: list[bytes],
    shard: Shard,
    *,
    vocab_size: int,
    output: str | Path,
) -> dict[str, Any]:
    """Write the documents of a shard; what the sidecar says of the file."""
    name = shard.file(0)
    with new_file(join(output, name)) as file:
        writer = RecordWriter(file)
        for document in documents_of(tokens, ids):
            writer.write([encode_document(document, vocab_size=vocab_size)])
    return {"name": name, "examples": 0, **writer.described()}
