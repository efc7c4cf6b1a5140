"""What decides a data set: settings, inputs, tools, and the shard of each document."""

import contextlib
import dataclasses
import math
import unicodedata
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from pipeline.core.documents import HELD_OUT_BOUND, number_of
from pipeline.reading.formats import InputFile
from pipeline.vocabulary.wordpiece import Tokenizer
from schemas import __version__
from schemas.config import ResolvedDataConfig
from schemas.layout import DOCUMENTS, EVAL, SPM_MODEL, TRAIN, part_file, shard_file
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
    """A part of a data set: its copies are stored unless its documents are."""

    split: str
    index: int
    num_shards: int
    copies: int
    is_documents: bool = False

    def file(self, copy: int) -> str:
        """The name of one of its files, relative to the data set."""
        if self.is_documents:
            return part_file(DOCUMENTS, self.index, num_parts=self.num_shards)
        return shard_file(self.split, copy, shard=self.index, num_shards=self.num_shards)


class ShardPlan(NamedTuple):
    """How the documents are divided; shards are numbered train first, then eval.

    Attributes:
        copies: Copies of the training split; the held-out split has one.
        eval_bound: Ids whose first eight bytes are below this are held out.
        has_documents: Whether the training split is stored as documents.
    """

    train_shards: int
    eval_shards: int
    copies: int
    eval_bound: int
    has_documents: bool = False

    def shard_of(self, document_id: bytes) -> int:
        """The number of the shard of a document.

        All parts of a long document have the same first eight bytes, so that none is
        held out while another is trained on; the last eight spread them over shards.

        >>> plan = ShardPlan(8, eval_shards=1, copies=1, eval_bound=1 << 60)
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
            return Shard(
                split=TRAIN,
                index=number,
                num_shards=self.train_shards,
                copies=self.copies,
                is_documents=self.has_documents,
            )
        return Shard(
            split=EVAL, index=number - self.train_shards, num_shards=self.eval_shards, copies=1
        )

    def shard_numbers(self) -> range:
        """The numbers of all shards."""
        return range(self.train_shards + self.eval_shards)


def plan_shards(config: ResolvedDataConfig, files: Iterable[InputFile] = ()) -> ShardPlan:
    """The plan of a data set, of which some files may only be held out.

    >>> from schemas.config import DataConfig
    >>> config = DataConfig(num_shards=64, eval_fraction=0.05)
    >>> plan_shards(config.resolved(input_bytes=0))[:3]
    (64, 4, 10)
    """
    given = {True: 0, False: 0}
    for file in files:
        given[file.is_held_out] += file.text_bytes
    share = config.eval_fraction + given[True] / (given[False] or 1)
    bound = round(config.eval_fraction * (1 << 64))
    return ShardPlan(
        train_shards=config.num_shards,
        eval_shards=min(config.num_shards, math.ceil(config.num_shards * share)),
        copies=config.stored_copies,
        eval_bound=max(bound, HELD_OUT_BOUND) if given[True] else bound,
        has_documents=config.examples == "on-the-fly",
    )
