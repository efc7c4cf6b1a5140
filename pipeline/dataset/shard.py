"""The shards of a data set: what decides them, and the files of each.

The docstring of `pipeline` has the steps. Where examples are made on the fly, the
tokens themselves become records, and training does the rest in each epoch
(`pipeline.records.reading`). The result is a function of the set of documents and the
settings: their order, the worker and the runner do not matter. Only the tokens of the
shard are held in memory.
"""

import contextlib
import dataclasses
import itertools
import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from pipeline.core.documents import HELD_OUT_BOUND, ShardDocument, number_of
from pipeline.core.draws import happens, purpose_keys
from pipeline.core.machine import keep_freed_memory
from pipeline.examples.examples import ExampleBatch, make_examples, pack_copies
from pipeline.examples.packing import Tokens, cuttable, document_key
from pipeline.reading.formats import InputFile
from pipeline.records.documents import encode_documents
from pipeline.records.tfrecord import RecordWriter, encode_rows
from pipeline.storage.files import join, new_file
from pipeline.vocabulary.tokenizer import Tokenizer
from schemas import __version__
from schemas.config import NearDuplicates, ResolvedDataConfig
from schemas.example import UNK_ID
from schemas.layout import EVAL, SPM_MODEL, TRAIN, part_file
from schemas.manifest import fingerprint_of, recorded


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatasetPlan:
    """What decides every byte of a data set, the tools apart."""

    config: ResolvedDataConfig
    inputs: tuple[dict[str, Any], ...]
    vocabulary: dict[str, Any]

    def fingerprint(self) -> str:
        """Hash of the plan and of the tools that carry it out."""
        return fingerprint_of(
            dataclasses.asdict(self)
            | {"config": recorded(self.config), "versions": tool_versions(self.config)}
        )


def plan_dataset(
    config: ResolvedDataConfig, files: list[InputFile], *, tokenizer: Tokenizer
) -> DatasetPlan:
    """The plan for some inputs, in whatever order they were given."""
    inputs = sorted(
        (file.describe() for file in files), key=lambda d: (d["kind"], d["sha256"], d["name"])
    )
    return DatasetPlan(
        config=config,
        inputs=tuple(inputs),
        vocabulary={"file": SPM_MODEL, "sha256": tokenizer.sha256, "size": tokenizer.vocab_size},
    )


def tool_versions(config: ResolvedDataConfig, *, tells_languages: bool = False) -> dict[str, str]:
    """Versions of the tools on which the bytes depend, of those that are here.

    Args:
        tells_languages: Whether languages are told if they can be, as in a look.
    """
    optional = {"py3langid": config.keep_languages or tells_languages, "ftfy": config.repair_text}
    versions = {}
    for tool in (tool for tool, is_used in optional.items() if is_used):
        with contextlib.suppress(PackageNotFoundError):
            versions[tool] = version(tool)
    return versions | {
        "albert": __version__,
        "sentencepiece": version("sentencepiece"),
        "sentencex": version("sentencex"),
        "unicode": unicodedata.unidata_version,
    }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shard:
    """A part of a split, of as many as there are."""

    split: str
    index: int
    num_shards: int


class ShardPlan(NamedTuple):
    """How the documents are divided; shards are numbered train first, then eval.

    Attributes:
        eval_bound: Ids whose first eight bytes are below this are held out.
    """

    train_shards: int
    eval_shards: int
    eval_bound: int

    def shard_of(self, document_id: bytes) -> int:
        """The number of the shard of a document.

        All parts of a long document have the same first eight bytes, so that none is
        held out while another is trained on; the last eight spread them over shards.

        >>> plan = ShardPlan(8, eval_shards=1, eval_bound=1 << 60)
        >>> plan.shard_of(bytes(16)), plan.shard_of(bytes([255] * 15 + [2]))
        (8, 2)
        """
        place = int.from_bytes(document_id[8:], "big")
        if self.is_held_out(number_of(document_id)):
            return self.train_shards + place % self.eval_shards
        return place % self.train_shards

    def is_held_out(self, number: int) -> bool:
        """Whether a document is held out, by the first eight bytes of its id."""
        return number < self.eval_bound

    def shard(self, number: int) -> Shard:
        """The shard of this number."""
        if number < self.train_shards:
            return Shard(split=TRAIN, index=number, num_shards=self.train_shards)
        return Shard(split=EVAL, index=number - self.train_shards, num_shards=self.eval_shards)

    def shard_numbers(self) -> range:
        """The numbers of all shards."""
        return range(self.train_shards + self.eval_shards)


def plan_shards(config: ResolvedDataConfig, files: Iterable[InputFile] = ()) -> ShardPlan:
    """The plan of a data set, of which some files may only be held out.

    >>> from schemas.config import DataConfig
    >>> config = DataConfig(num_shards=64, eval_fraction=0.05)
    >>> plan_shards(config.resolved(input_bytes=0))[:2]
    (64, 4)
    """
    given = {True: 0, False: 0}
    for file in files:
        given[file.is_held_out] += file.text_bytes
    share = config.eval_fraction + given[True] / (given[False] or 1)
    bound = round(config.eval_fraction * (1 << 64))
    return ShardPlan(
        train_shards=config.num_shards,
        eval_shards=min(config.num_shards, math.ceil(config.num_shards * share)),
        eval_bound=max(bound, HELD_OUT_BOUND) if given[True] else bound,
    )


# Width of the bars of the length histogram, in tokens.
LENGTH_BAR = 32

# Why documents of a shard are left out, as it is counted.
DUPLICATE, NO_TEXT = "duplicate document", "document without text"
ONE_WORD = "document of one word"
NEAR_COPY: dict[NearDuplicates, str] = {
    "keep": "",
    "hold-out": "document with held-out text",
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
    gone: Mapping[int, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Write the files of a shard, without the documents that go; gives its sidecar."""
    keep_freed_memory()
    dropped, size = Counter[str](), tokenizer.vocab_size
    unique = distinct_documents(documents, dropped=dropped, gone=gone)
    tokens, encoded = encode(unique, tokenizer, dropped=dropped, config=config)
    is_documents = config.has_documents(shard.split)
    stored = range(config.stored_copies if shard.split == TRAIN else 1)
    copies = pack_copies(tokens, copies=stored, config=config)
    packed = np.unique(copies[0].chain).tolist()
    dropped[ONE_WORD] = len(encoded) - len(packed)
    files, totals = [], []
    for number, copy in enumerate(copies):
        folder, total = config.folder_of(shard.split, number), Counts()
        name = part_file(folder, shard.index, num_parts=shard.num_shards)
        with new_file(join(output, name)) as file:
            writer = RecordWriter(file)
            for batch in make_examples(copy, tokens, vocab_size=size, config=config):
                total.add(count_batch(batch))
                if config.sentence_task == "nsp" and len(encoded) == 1:
                    wanted = happens(purpose_keys(batch.sequences.keys, "swap"), 0.5)
                    total.totals["without_other_document"] += int(wanted.sum())
                if not is_documents:
                    labels = batch.pairs.labels
                    writer.write(encode_rows(batch.rows, batch.masked, labels, config=config))
            if is_documents:
                # The first epoch, made of the documents that are written, is counted.
                ids = [document.id for document in encoded]
                for record in encode_documents(tokens, ids, vocab_size=size):
                    writer.write([record])
        made = total.totals["examples"]
        files.append({"name": name, "examples": made} | writer.described())
        totals.append(total.to_dict())
    return {
        "split": shard.split,
        "shard": shard.index,
        "documents": sum(encoded[number].is_first for number in packed),
        "dropped": {why: dropped[why] for why in REASONS if dropped[why]},
        "files": files,
        "copies": totals,
    }


def distinct_documents(
    documents: Iterable[ShardDocument], *, dropped: Counter[str], gone: Mapping[int, str]
) -> list[ShardDocument]:
    """Each document once, in the order of their ids, without those that go for a reason.

    A long document that goes or comes again is counted once, however many parts it has.
    """
    found: dict[bytes, ShardDocument] = {}
    for document in documents:
        if why := gone.get(number_of(document.id)):
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
        for name, counter in vars(self).items():
            counter.update(vars(other)[name])

    def to_dict(self) -> dict[str, dict[str, int]]:
        """A JSON object with its keys in order."""
        return {
            name: {str(key): n for key, n in sorted(counter.items())}
            for name, counter in vars(self).items()
        }

    @classmethod
    def from_dict(cls, values: dict[str, dict[str, int]]) -> "Counts":
        """The inverse of `to_dict`."""
        spans, lengths = (
            Counter({int(key): n for key, n in values[name].items()})
            for name in ("spans", "lengths")
        )
        return cls(Counter(values["totals"]), spans, lengths)


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
