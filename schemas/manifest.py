"""The manifest: what a data set is, written last. No manifest, no data set.

It holds nothing that differs between two runs of the same job (no times, no hosts, no
absolute paths), so that it is byte-identical for any number of workers.
"""

import dataclasses
from pathlib import Path
from typing import Any

from schemas.config import DataConfig, config_from_dict
from schemas.errors import AlbertError, SettingError
from schemas.json_file import read_json
from schemas.layout import MANIFEST, copy_directory

FORMAT = "albert-pretraining-data"
FORMAT_VERSION = 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShardFile:
    """One TFRecord file; `name` is relative to the data set."""

    name: str
    examples: int
    bytes: int
    sha256: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatasetManifest:
    """A whole data set.

    Attributes:
        config: The settings as resolved.
        features: Name, dtype and greatest length of each feature stored.
        vocabulary: `sha256` and `size` of the SentencePiece model.
        fingerprint: Hash of all that decides the bytes of a shard.
        versions: Versions of the tools that decide them.
        inputs: Name, kind, format, bytes and sha256 of each input file, by hash.
        splits: Documents, and per copy examples, tokens and masked tokens.
        statistics: What was realised, of the training split.
        dropped: Counts of what was left out, by reason.
        changed: Counts of what was read otherwise than it stands, by reason.
        shards: Every TFRecord file, by name.
    """

    config: DataConfig
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

    def shard_files(self, split: str, copy: int) -> tuple[ShardFile, ...]:
        """The files of one copy of one split, in the order of their names."""
        directory = copy_directory(split, copy) + "/"
        return tuple(s for s in self.shards if s.name.startswith(directory))

    def num_examples(self, split: str) -> int:
        """How many examples all copies of a split have together."""
        return sum(s.examples for s in self.shards if s.name.startswith(f"{split}/"))

    def num_copies(self, split: str) -> int:
        """How many copies of a split there are; 0 when it is absent."""
        return len(self.splits[split]["copies"]) if split in self.splits else 0

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `manifest.json`."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            **dataclasses.asdict(self),
        }


def read_manifest(dataset: str | Path) -> DatasetManifest:
    """Read the manifest of a finished data set.

    Raises:
        AlbertError: There is none, or it is of another kind or version.
    """
    path = Path(dataset) / MANIFEST
    if not Path(dataset).is_dir():
        raise AlbertError(f"{dataset} is no directory; give one made by make-data.")
    if not path.exists():
        raise AlbertError(
            f"{dataset} has no {MANIFEST}, so it is no finished data set; "
            "run albert make-data again to finish it."
        )
    return parse_manifest(read_json(path), path)


def parse_manifest(values: dict[str, Any], path: str | Path) -> DatasetManifest:
    """The manifest in the JSON object of a file.

    Raises:
        AlbertError: It is of another kind or version, or damaged.
    """
    if values.pop("format", None) != FORMAT:
        raise AlbertError(f"{path} describes no data set made by albert make-data.")
    version = values.pop("format_version", None)
    if version != FORMAT_VERSION:
        raise AlbertError(
            f"{path} has format version {version} and this program reads "
            f"{FORMAT_VERSION}; make the data again with this version."
        )
    try:
        values["config"] = config_from_dict(DataConfig, values["config"])
        values["shards"] = tuple(ShardFile(**s) for s in values["shards"])
        for name in ("features", "inputs"):
            values[name] = tuple(values[name])
        return DatasetManifest(**values)
    except (AttributeError, KeyError, TypeError, SettingError) as error:
        reason = str(error).removesuffix(".")
        raise AlbertError(f"{path} is damaged: {reason}.") from error
