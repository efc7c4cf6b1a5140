"""All documents of one shard become all its copies, in files that are whole or absent.

The result is a function of the set of documents and the settings: their order, the
worker and the runner do not matter. Only the pieces of the shard are held in memory;
rows are made and written in batches.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.draws import Keys, draw, draws, happens, hash_key, purpose_keys
from pipeline.masking import budgets, mask
from pipeline.output import whole_file
from pipeline.packing import Sequence, at_its_end, cuttable, cutting_places, pack
from pipeline.pairs import (
    Int,
    Pairs,
    assemble,
    other_segments,
    sentence_order_pairs,
    single_segments,
    split_points,
)
from pipeline.records import encode_rows
from pipeline.statistics import Counts, count_batch
from pipeline.tfrecord import RecordWriter
from pipeline.tokenizer import Tokenizer
from schemas.config import DataConfig, SentenceTask
from schemas.layout import shard_file

# Rows masked at a time; array operations on fewer cost more for each row.
BATCH_ROWS = 1500

# Sentences handed to SentencePiece at a time.
ENCODE_SENTENCES = 5000


class ShardDocument(NamedTuple):
    """A document, or a part of a long one, as it crosses the shuffle.

    Attributes:
        id: Hash of its text, 16 bytes.
        text: Its sentences, one a line.
    """

    id: bytes
    text: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shard:
    """Which part of a data set to make."""

    split: str
    index: int
    num_shards: int
    copies: int


@dataclasses.dataclass(frozen=True)
class Pieces:
    """The pieces of all D documents of a shard.

    Attributes:
        ids: `[N]`.
        word_starts: Whether a piece starts a word, `[N]`.
        may_cut: Whether a sequence may be cut at a piece, `[N]`.
        sentence_starts: Ascending, `[sentences]`.
        document_starts: Where each document starts; the last is N, `[D + 1]`.
        document_keys: What all draws for a document derive from, `[D]`.
    """

    ids: npt.NDArray[np.int32]
    word_starts: npt.NDArray[np.bool_]
    may_cut: npt.NDArray[np.bool_]
    sentence_starts: Int
    document_starts: Int
    document_keys: list[int]


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


def write_shard(
    documents: Iterable[ShardDocument],
    shard: Shard,
    *,
    tokenizer: Tokenizer,
    config: DataConfig,
    output: Path,
) -> dict[str, Any]:
    """Write all copies of a shard.

    Args:
        documents: In any order, duplicates included.
        shard: Which one it is.
        tokenizer: The vocabulary.
        config: Settings as resolved.
        output: The data set.

    Returns:
        The sidecar: documents, drop counts, files and realised counts.
    """
    unique, duplicates = distinct(documents)
    pieces = tokenize(unique, tokenizer=tokenizer, config=config)
    copies = pack_copies(pieces, copies=shard.copies, config=config)
    packed = len(np.unique(copies[0].document))
    files, counts = [], []
    for copy, sequences in enumerate(copies):
        name = shard_file(
            shard.split, copy, shard=shard.index, num_shards=shard.num_shards
        )
        batches = make_records(sequences, pieces, tokenizer=tokenizer, config=config)
        file, copy_counts = write_records(batches, output / name)
        files.append({"name": name} | file)
        counts.append(copy_counts.to_dict())
    dropped = {
        "duplicate document": duplicates,
        "document without text": len(unique) - len(pieces.document_keys),
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


def tokenize(
    documents: list[ShardDocument], *, tokenizer: Tokenizer, config: DataConfig
) -> Pieces:
    """The pieces of all documents that have any."""
    ids = [np.zeros(0, np.int32)]
    sentence_starts = [np.zeros(0, np.int64)]
    document_starts, document_keys = [0], []
    seed = str(config.seed).encode()
    for document, encoded in encode_documents(documents, tokenizer):
        lengths = np.array([len(sentence) for sentence in encoded])
        total = int(lengths.sum())
        if not total:
            continue
        ids.append(np.fromiter(itertools.chain.from_iterable(encoded), np.int32, total))
        starts = np.cumsum(lengths) - lengths
        sentence_starts.append(document_starts[-1] + starts[lengths > 0])
        document_starts.append(document_starts[-1] + total)
        document_keys.append(hash_key(seed, document.id))
    all_ids, all_starts = np.concatenate(ids), np.concatenate(sentence_starts)
    word_starts = tokenizer.word_starts[all_ids]
    word_starts[all_starts] = True
    return Pieces(
        ids=all_ids,
        word_starts=word_starts,
        may_cut=cuttable(word_starts, max_tokens=config.max_tokens),
        sentence_starts=all_starts,
        document_starts=np.array(document_starts),
        document_keys=document_keys,
    )


def encode_documents(
    documents: list[ShardDocument], tokenizer: Tokenizer
) -> Iterator[tuple[ShardDocument, list[list[int]]]]:
    """Each document with the piece ids of its sentences, encoded many at a time."""
    batch: list[tuple[ShardDocument, int]] = []
    sentences: list[str] = []
    for number, document in enumerate(documents, start=1):
        lines = document.text.split("\n")
        batch.append((document, len(lines)))
        sentences += lines
        if len(sentences) >= ENCODE_SENTENCES or number == len(documents):
            encoded = iter(tokenizer.encode(sentences))
            for encoded_document, count in batch:
                yield encoded_document, list(itertools.islice(encoded, count))
            batch, sentences = [], []


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


def make_records(
    sequences: Sequences, pieces: Pieces, *, tokenizer: Tokenizer, config: DataConfig
) -> Iterator[tuple[list[bytes], Counts]]:
    """The records of a copy and their counts, a batch at a time."""
    for first in range(0, len(sequences), BATCH_ROWS):
        batch = sequences[first : first + BATCH_ROWS]
        pairs = make_pairs(batch, pieces, task=config.sentence_task)
        rows = assemble(pairs, ids=pieces.ids, word_starts=pieces.word_starts)
        budget = budgets(
            np.diff(rows.offsets),
            masked_lm_prob=config.masked_lm_prob,
            max_predictions_per_seq=config.max_predictions_per_seq or 1,
        )
        masked = mask(
            rows,
            keys=pairs.keys,
            vocab_size=tokenizer.vocab_size,
            budget=budget,
            max_ngram=config.max_ngram,
        )
        counts = count_batch(
            pairs, rows, masked, is_short=batch.is_short, is_end=batch.is_end
        )
        yield encode_rows(rows, masked, pairs.labels, config=config), counts


def make_pairs(batch: Sequences, pieces: Pieces, *, task: SentenceTask) -> Pairs:
    """Make the pair of each sequence of a batch."""
    if task == "none":
        return single_segments(batch.start, batch.end, keys=batch.keys)
    middle = split_points(
        batch.start,
        batch.end,
        sentence_starts=pieces.sentence_starts,
        may_cut=pieces.may_cut,
        keys=batch.keys,
    )
    if task == "sop":
        return sentence_order_pairs(batch.start, middle, batch.end, keys=batch.keys)
    rows = np.flatnonzero(batch.is_put_back)
    b_start, b_end = middle.copy(), batch.end.copy()
    b_start[rows], b_end[rows] = other_segments(
        batch.document[rows],
        (batch.end - middle)[rows],
        sentence_starts=pieces.sentence_starts,
        document_starts=pieces.document_starts,
        may_cut=pieces.may_cut,
        keys=batch.keys[rows],
    )
    labels = batch.is_put_back.astype(np.int64)
    return Pairs(batch.start, middle, b_start, b_end, labels, batch.keys)


def write_records(
    batches: Iterable[tuple[list[bytes], Counts]], path: Path
) -> tuple[dict[str, Any], Counts]:
    """Write one file; returns its size and hash, and the counts of all batches."""
    total = Counts()
    with whole_file(path) as file:
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
