"""The manifest: what a data set is, written last. No manifest, no data set.

It holds nothing that differs between two runs of the same job (no times, no hosts, no
absolute paths), so that it is byte-identical for any number of workers.
"""

import dataclasses
import reprlib
from pathlib import Path
from typing import Any

from schemas.config import ResolvedDataConfig, config_from_dict, recorded
from schemas.errors import AlbertError, SettingError
from schemas.json_file import read_json
from schemas.layout import (
    CONFIG,
    DATA_MANIFEST,
    DOCUMENTS,
    MANIFEST,
    TRAIN,
    copy_directory,
)
from schemas.manifest_check import contradiction, shape_problem

FORMAT = "albert-pretraining-data"
FORMAT_VERSION = 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShardFile:
    """One TFRecord file.

    Attributes:
        name: Relative to the data set.
        examples: Those in it; of a file of documents, those of the first epoch.
        bytes: Its size.
        sha256: Of its content.
    """

    name: str
    examples: int
    bytes: int
    sha256: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatasetManifest:
    """A whole data set.

    Attributes:
        config: The settings as resolved.
        features: Name, dtype and maximum length of each feature stored.
        vocabulary: `file`, `sha256` and `size` of the SentencePiece model.
        fingerprint: Hash of all that decides the bytes of a shard.
        versions: Versions of the tools that decide them.
        inputs: Name, kind, format, language, bytes and sha256 of each input file.
        splits: Of each split its documents (a long one counts once), and of each copy
            its examples, tokens and masked tokens; of a training split of documents
            those of the first epoch.
        statistics: Shares and histograms of the training split, as counted.
        dropped: Counts of what was left out, by reason.
        changed: Counts of what was changed while reading, by reason.
        shards: Every TFRecord file, by name.
    """

    config: ResolvedDataConfig
    features: tuple[dict[str, Any], ...]
    vocabulary: dict[str, Any]
    fingerprint: str
    versions: dict[str, str]
    inputs: tuple[dict[str, Any], ...]
    splits: dict[str, dict[str, Any]]
    statistics: dict[str, Any]
    dropped: dict[str, int]
    changed: dict[str, int]
    shards: tuple[ShardFile, ...]

    @property
    def has_documents(self) -> bool:
        """Whether the training split is documents, of which examples are to be made."""
        return self.config.examples == "on-the-fly"

    def shard_files(self, split: str, copy: int) -> tuple[ShardFile, ...]:
        """The files of one copy of one split, in the order of their names.

        Documents are the files of every copy.
        """
        of_documents = split == TRAIN and self.has_documents
        directory = DOCUMENTS if of_documents else copy_directory(split, copy)
        return tuple(s for s in self.shards if s.name.startswith(f"{directory}/"))

    def num_examples(self, split: str) -> int:
        """How many examples all copies of a split have together.

        Of documents, how many the first epoch has.
        """
        return sum(s.examples for s in self.shards if s.name.startswith(f"{split}/"))

    def num_copies(self, split: str) -> int:
        """How many copies of a split are counted; 0 when it is absent."""
        return len(self.splits[split]["copies"]) if split in self.splits else 0

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `manifest.json`."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            **dataclasses.asdict(self),
            "config": recorded(self.config),
        }


def read_manifest(dataset: str | Path) -> DatasetManifest:
    """Read the manifest of a finished data set.

    Raises:
        SettingError: The data set is no folder.
        AlbertError: It is missing, of another kind or version, edited or damaged.
    """
    path = Path(dataset) / MANIFEST
    if not Path(dataset).is_dir():
        raise SettingError(
            f"{dataset} is not a folder; give one made by albert make-data."
        )
    if not path.is_file():
        raise AlbertError(f"{dataset} {_what_it_is(Path(dataset))}.")
    return parse_manifest(read_json(path), path)


def _what_it_is(folder: Path) -> str:
    """What a folder without a manifest is, and what to do."""
    config = folder / CONFIG
    command = read_json(config).get("command") if config.is_file() else None
    if command == "make-data":
        return (
            f"has no {MANIFEST}, so it is not a finished data set; run albert "
            "make-data again to finish it"
        )
    if command:
        return (
            f"is the output of albert {command} and not a data set; give a folder made "
            "by albert make-data"
        )
    return (
        f"has no {MANIFEST}, so it is not a data set; give a folder made by albert "
        "make-data"
    )


def parse_manifest(values: dict[str, Any], path: str | Path) -> DatasetManifest:
    """The manifest in the JSON object of a file.

    Raises:
        AlbertError: It is of another kind or version, edited or damaged.
    """
    if values.get("format") != FORMAT:
        raise AlbertError(
            f"{path} describes no data set of albert make-data; give the folder of one."
        )
    version = values.get("format_version")
    if version != FORMAT_VERSION:
        raise AlbertError(
            f"{path} has format version {reprlib.repr(version)} and this program reads "
            f"{FORMAT_VERSION}; make the data again with this version."
        )
    if found := shape_problem(values):
        raise _damaged(path, found)
    try:
        config = config_from_dict(ResolvedDataConfig, values["config"])
    except SettingError as error:
        raise _damaged(path, f"config: {str(error).removesuffix('.')}") from error
    if found := contradiction(values, config):
        raise _damaged(path, found)
    others = {
        field.name: values[field.name] for field in dataclasses.fields(DatasetManifest)
    }
    return DatasetManifest(
        **others
        | {
            "config": config,
            "features": tuple(values["features"]),
            "inputs": tuple(values["inputs"]),
            "shards": tuple(ShardFile(**shard) for shard in values["shards"]),
        }
    )


def _damaged(path: str | Path, found: str) -> AlbertError:
    remedy = "make the data again with --overwrite"
    if Path(path).name == DATA_MANIFEST:
        remedy = f"copy the {MANIFEST} of its data set over it"
    return AlbertError(f"{path} is damaged: {found}; {remedy}.")
