"""The files of a shard, made of documents that were read, cleaned and segmented.

The docstring of `pipeline` has the steps. Where examples are made on the fly, the
tokens themselves become records, and training does the rest in each epoch
(`pipeline.records.reading`). The result is a function of the set of documents and the
settings: their order, the worker and the runner do not matter. Only the tokens of the
shard are held in memory.
"""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core.documents import ShardDocument, number_of
from pipeline.core.draws import happens, purpose_keys
from pipeline.core.machine import keep_freed_memory
from pipeline.dataset.plan import Shard
from pipeline.examples.examples import ExampleBatch, make_examples, pack_copies
from pipeline.examples.packing import Sequences, Tokens, cuttable, document_key
from pipeline.records.documents import encode_documents
from pipeline.records.tfrecord import RecordWriter, encode_rows
from pipeline.storage.files import join, new_file
from pipeline.vocabulary.wordpiece import Tokenizer
from schemas.config import NearDuplicates, ResolvedDataConfig
from schemas.example import UNK_ID

# Width of the bars of the length histogram, in tokens.
LENGTH_BAR = 32

# Why documents of a shard are left out, as it is counted.
DUPLICATE, NO_TEXT = "duplicate document", "document without text"
ONE_WORD = "document of one word"
NEAR_COPY: dict[NearDuplicates, str] = {
    "keep": "",
    "hold-out": "near-copy of a held-out document",
    "drop": "near-copy of another document",
}
REASONS = (DUPLICATE, NO_TEXT, ONE_WORD, *NEAR_COPY.values())

# Sentences handed to SentencePiece at a time.
ENCODE_SENTENCES = 5000


def write_shard(
    documents: Iterable[ShardDocument],
    shard: Shard,
    *,
    tokenizer: Tokenizer,
    config: ResolvedDataConfig,
    output: str | Path,
    gone: Set[int] = frozenset(),
) -> dict[str, Any]:
    """Write the files of a shard, without the documents that go; gives its sidecar."""
    keep_freed_memory()
    dropped, size = Counter[str](), tokenizer.vocab_size
    near_copy = NEAR_COPY[config.near_duplicates]
    unique = distinct(documents, dropped=dropped, gone=gone, why=near_copy)
    tokens, encoded = encode(unique, tokenizer, dropped=dropped, config=config)
    copies = pack_copies(tokens, copies=range(shard.copies), config=config)
    packed = np.unique(copies[0].chain).tolist()
    dropped[ONE_WORD] = len(encoded) - len(packed)
    examples = [counted_examples(copy, tokens, vocab_size=size, config=config) for copy in copies]
    if shard.is_documents:
        written = write_documents(
            encoded, tokens, examples[0], shard, vocab_size=size, output=output
        )
    else:
        written = write_copies(examples, shard, config=config, output=output)
    return {
        "split": shard.split,
        "shard": shard.index,
        "documents": sum(encoded[number].is_first for number in packed),
        "dropped": {why: dropped[why] for why in REASONS if dropped[why]},
        **written,
    }


def distinct(
    documents: Iterable[ShardDocument],
    *,
    dropped: Counter[str],
    gone: Set[int] = frozenset(),
    why: str = "",
) -> list[ShardDocument]:
    """Each document once, in the order of their ids, without those that are `gone`.

    A long document that goes or comes again is counted once, however many parts it has.
    """
    found: dict[bytes, ShardDocument] = {}
    for document in documents:
        if number_of(document.id) in gone:
            dropped[why] += document.is_first
            continue
        known = found.get(document.id, document)
        dropped[DUPLICATE] += document.id in found and document.is_first
        # One text may come segmented in two ways; the choice must not depend on the
        # order.
        found[document.id] = min(document, known)
    return sorted(found.values())


def encode(
    documents: list[ShardDocument],
    tokenizer: Tokenizer,
    *,
    dropped: Counter[str],
    config: ResolvedDataConfig,
) -> tuple[Tokens, list[ShardDocument]]:
    """The tokens of all documents that have any, and these documents without text."""
    ids = [np.zeros(0, np.int32)]
    word_starts, may_cut = [np.zeros(0, np.bool_)], [np.zeros(0, np.bool_)]
    sentence_starts, document_starts = [np.zeros(0, np.int64)], [0]
    kept: list[ShardDocument] = []
    # The list is emptied, so that each text is let go of once it is encoded.
    documents.reverse()
    texts = (documents.pop() for _ in range(len(documents)))
    for document, encoded in encode_texts(texts, tokenizer):
        lengths = np.array([len(sentence) for sentence in encoded])
        total = int(lengths.sum())
        if not total:
            dropped[NO_TEXT] += 1
            continue
        ids.append(np.fromiter(itertools.chain.from_iterable(encoded), np.int32, total))
        starts = (np.cumsum(lengths) - lengths)[lengths > 0]
        # A document at a time, so that no look-up takes memory for the whole shard.
        word_starts.append(tokenizer.starts(ids[-1]))
        word_starts[-1][starts] = True
        may_cut.append(cuttable(word_starts[-1], max_tokens=config.max_tokens))
        sentence_starts.append(document_starts[-1] + starts)
        document_starts.append(document_starts[-1] + total)
        kept.append(document._replace(text=""))
    tokens = Tokens(
        ids=np.concatenate(ids),
        word_starts=np.concatenate(word_starts),
        may_cut=np.concatenate(may_cut),
        sentence_starts=np.concatenate(sentence_starts),
        document_starts=np.array(document_starts),
        document_keys=[document_key(each.id, seed=config.seed) for each in kept],
    )
    return tokens, kept


def encode_texts(
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


@dataclasses.dataclass
class Counts:
    """Integer counts of one copy of one shard, or of a sum of these.

    Attributes:
        totals: By name: examples, tokens, masked and so on.
        spans: Masked spans by their number of words.
        lengths: Examples by length, in bars of `LENGTH_BAR` tokens.
    """

    totals: Counter[str] = dataclasses.field(default_factory=Counter)
    spans: Counter[int] = dataclasses.field(default_factory=Counter)
    lengths: Counter[int] = dataclasses.field(default_factory=Counter)

    def add(self, other: "Counts") -> None:
        """Add the counts of another part."""
        self.totals.update(other.totals)
        self.spans.update(other.spans)
        self.lengths.update(other.lengths)

    def to_dict(self) -> dict[str, dict[str, int]]:
        """A JSON object with its keys in order."""
        return {
            "totals": dict(sorted(self.totals.items())),
            "spans": {str(k): n for k, n in sorted(self.spans.items())},
            "lengths": {str(k): n for k, n in sorted(self.lengths.items())},
        }

    @classmethod
    def from_dict(cls, values: dict[str, dict[str, int]]) -> "Counts":
        """The inverse of `to_dict`."""
        return cls(
            totals=Counter(values["totals"]),
            spans=Counter({int(k): n for k, n in values["spans"].items()}),
            lengths=Counter({int(k): n for k, n in values["lengths"].items()}),
        )


def count_batch(batch: ExampleBatch) -> Counts:
    """The counts of R examples."""
    sequences, pairs, rows, masked = batch
    is_short, is_end = sequences.is_short, sequences.is_end
    lengths = np.diff(rows.offsets)
    full = ~(is_short | is_end)
    totals = {
        "examples": len(pairs),
        "tokens": int(rows.offsets[-1]),
        "unknown": int(np.count_nonzero(rows.ids == UNK_ID)),
        "masked": len(masked.labels),
        "masked_as_mask": int(masked.replaced[0]),
        "masked_kept": int(masked.replaced[1]),
        "masked_random": int(masked.replaced[2]),
        "unmasked_examples": int(np.count_nonzero(np.diff(masked.offsets) == 0)),
        "swapped": int(pairs.labels.sum()),
        "short": int(is_short.sum()),
        "document_ends": int(is_end.sum()),
        "full": int(full.sum()),
        "full_tokens": int(lengths[full].sum()),
    }
    bars = np.bincount(lengths // LENGTH_BAR)
    return Counts(
        totals=Counter({name: n for name, n in totals.items() if n}),
        spans=Counter({n: int(k) for n, k in enumerate(masked.spans_of_length) if k}),
        lengths=Counter({b * LENGTH_BAR: int(k) for b, k in enumerate(bars) if k}),
    )


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
) -> dict[str, Any]:
    """Write the examples of each copy of a shard, and tell of the files."""
    files, totals = [], []
    for number, examples in enumerate(copies):
        name, total = shard.file(number), Counts()
        with new_file(join(output, name)) as file:
            writer = RecordWriter(file)
            for (_, pairs, rows, masked), counts in examples:
                total.add(counts)
                writer.write(encode_rows(rows, masked, pairs.labels, config=config))
        files.append({"name": name, "examples": writer.records} | writer.described())
        totals.append(total.to_dict())
    return {"files": files, "copies": totals}


def write_documents(
    documents: list[ShardDocument],
    tokens: Tokens,
    first_epoch: Iterator[tuple[ExampleBatch, Counts]],
    shard: Shard,
    *,
    vocab_size: int,
    output: str | Path,
) -> dict[str, Any]:
    """Write the tokens of the documents of a shard; the first epoch is counted."""
    total, name = Counts(), shard.file(0)
    for _, counts in first_epoch:
        total.add(counts)
    with new_file(join(output, name)) as file:
        writer = RecordWriter(file)
        ids = [each.id for each in documents]
        for record in encode_documents(tokens, ids, vocab_size=vocab_size):
            writer.write([record])
    file_of = {"name": name, "examples": total.totals["examples"]}
    return {"files": [file_of | writer.described()], "copies": [total.to_dict()]}
