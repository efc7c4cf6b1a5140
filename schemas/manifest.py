"""The manifest: what a data set is, written last. No manifest, no data set.

It holds nothing that differs between two runs of the same job (no times, no hosts, no
absolute paths), so that it is byte-identical for any number of workers.
"""

import dataclasses
import fnmatch
import hashlib
import json
import reprlib
from pathlib import Path
from typing import Any

from schemas.config import ResolvedDataConfig, check_type, config_from_dict
from schemas.errors import AlbertError, SettingError
from schemas.example import stored_features
from schemas.files import read_json, undamaged
from schemas.layout import CONFIG, DATA_MANIFEST, DOCUMENTS, EVAL, MANIFEST, TRAIN, part_file
from schemas.readable import counted
from schemas.report import Cell, Table

FORMAT = "albert-pretraining-data"
FORMAT_VERSION = 1

# What the settings of a data set were before they were settings.
UNSAID = {
    "kept_share": 0.1,
    "masked_words": "alike",
    "examples": "stored",
    "near_duplicates": "keep",
    "max_line_repeats": None,
    "keep_languages": None,
    "repair_text": False,
}

# A record has at least its length and two checksums around it.
_FRAME_BYTES = 16
# Every example begins further on in its document, of tokens of two bytes or more.
_TOKEN_BYTES = 2


def recorded(config: ResolvedDataConfig) -> dict[str, Any]:
    """The settings of a data set as its manifest has them, by name.

    That examples are stored and nothing of the text is left out is not mentioned, so
    that a data set keeps the bytes that it had before there was anything else.

    >>> from schemas.config import DataConfig
    >>> "examples" in recorded(DataConfig().resolved(input_bytes=0))
    False
    """
    values = dataclasses.asdict(config)
    return {n: v for n, v in values.items() if n not in UNSAID or v != UNSAID[n]}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShardFile:
    """One TFRecord file.

    Attributes:
        examples: Those in it; of a file of documents, those of the first epoch.
    """

    name: str
    examples: int
    bytes: int
    sha256: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatasetManifest:
    """A whole data set.

    Attributes:
        vocabulary: `file`, `sha256` and `size` of the SentencePiece model.
        fingerprint: Hash of all that decides the bytes of a shard.
        splits: Of each split its documents (a long one counts once), and of each copy
            its examples, tokens and masked tokens; of a training split of documents
            those of the first epoch.
        text: What a look at a sample of the documents saw, as they were read; empty in
            older data sets.
    """

    config: ResolvedDataConfig
    vocabulary: dict[str, Any]
    fingerprint: str
    versions: dict[str, str]
    inputs: tuple[dict[str, Any], ...]
    splits: dict[str, dict[str, Any]]
    statistics: dict[str, Any]
    dropped: dict[str, int]
    changed: dict[str, int]
    shards: tuple[ShardFile, ...]
    text: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def has_documents(self) -> bool:
        """Whether the training split holds documents, to make examples from."""
        return self.config.has_documents(TRAIN)

    def shard_files(self, split: str, copy: int) -> tuple[ShardFile, ...]:
        """The files of one copy of one split, in the order of their names."""
        folder = self.config.folder_of(split, copy)
        return tuple(s for s in self.shards if s.name.startswith(f"{folder}/"))

    def num_examples(self, split: str) -> int:
        """How many examples all copies of a split have together.

        Of documents, how many the first epoch has.
        """
        return sum(s.examples for s in self.shards if s.name.startswith(f"{split}/"))

    def num_copies(self, split: str) -> int:
        """How many copies of a split are counted."""
        return len(self.splits[split]["copies"])

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `manifest.json`."""
        values = dataclasses.asdict(self)
        del values["config"]
        if not self.text:
            del values["text"]
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "config": recorded(self.config),
            "features": [
                {
                    "name": feature.name,
                    "dtype": feature.dtype,
                    "length": self.config.length_of(feature),
                    "meaning": feature.meaning,
                }
                for feature in stored_features(self.config.record_layout)
            ],
            **values,
        }


def fingerprint_of(values: dict[str, Any]) -> str:
    """The hash of all that decides the bytes of a data set.

    Args:
        values: The config, inputs, vocabulary and versions of a manifest; others are
            left aside.
    """
    names = ("config", "inputs", "vocabulary", "versions")
    deciding = json.dumps({name: values[name] for name in names}, sort_keys=True)
    return hashlib.sha256(deciding.encode()).hexdigest()


def read_manifest(dataset: str | Path) -> DatasetManifest:
    """Read the manifest of a finished data set."""
    path, config = Path(dataset) / MANIFEST, Path(dataset) / CONFIG
    if not Path(dataset).is_dir():
        what = "is not a folder" if Path(dataset).exists() else "does not exist"
        raise SettingError(f"{dataset} {what}; give a folder made by albert make-data.")
    if path.is_file():
        return parse_manifest(read_json(path), path)
    command = read_json(config).get("command") if config.is_file() else None
    if command == "make-data":
        raise AlbertError(
            f"{dataset} has no {MANIFEST}, so it is not a finished data set; run "
            "albert make-data again to finish it."
        )
    what = f"has no {MANIFEST}, so it is not a data set"
    if command:
        what = f"is the output of albert {command} and not a data set"
    raise AlbertError(f"{dataset} {what}; give a folder made by albert make-data.")


def parse_manifest(values: dict[str, Any], path: str | Path) -> DatasetManifest:
    """The manifest in the JSON object of a file."""
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
    remedy = "make the data again with --overwrite"
    if Path(path).name == DATA_MANIFEST:
        remedy = f"copy the {MANIFEST} of its data set over it"
    with undamaged(path, remedy=remedy):
        # First, because readers take shapes of arrays from what it is a hash of.
        if fingerprint_of(values) != values["fingerprint"]:
            raise ValueError(
                "fingerprint does not match its config, inputs, vocabulary and versions"
            )
        names = [field.name for field in dataclasses.fields(DatasetManifest)]
        given = {name: values[name] for name in names if name != "text"}
        config = values["config"]
        manifest = DatasetManifest(
            **given
            | {
                "config": config_from_dict(ResolvedDataConfig, UNSAID | config),
                "inputs": tuple(values["inputs"]),
                "text": values.get("text", {}),
                "shards": tuple(config_from_dict(ShardFile, s) for s in given["shards"]),
            }
        )
        _check(manifest)
        for name, like in _LIKE.items():
            _check_like(name, values[name], like)
        if values.get("text"):
            _check_like("text", values["text"], _LOOK)
    return manifest


# Examples of what a manifest says beside its settings and files, of all that is shown.
_COPY = {"examples": 0, "tokens": 0, "masked_tokens": 0}
_SPLIT = {"documents": 0, "copies": [_COPY]}
_INPUT = {"name": "", "kind": "", "format": "", "language": "", "bytes": 0, "sha256": ""}
_SHARES = (
    *("short_share", "document_end_share", "fill", "masked_share", "mask_token_share"),
    *("kept_share", "random_share", "label_1_share", "unknown_share"),
)
_LIKE: dict[str, Any] = {
    "vocabulary": {"sha256": "", "size": 0},
    "versions": {"*": ""},
    "inputs": [_INPUT],
    "splits": {"*": _SPLIT},
    "statistics": {
        **dict.fromkeys(_SHARES, 0.0),
        "ngram_shares": {"*": 0.0},
        "length_histogram": {"*": 0},
    },
    "dropped": {"*": 0},
    "changed": {"*": 0},
}
_LOOK: dict[str, Any] = {
    "sampled_documents": 0,
    "scripts": {"*": 0.0},
    "languages": {"*": 0.0},
    "repeated_more_than": 0,
    "*_share*": 0.0,
    "*_examples": [""],
    "repeated_lines*": [("", 0)],
}


def _check_like(name: str, value: Any, like: Any) -> None:
    """Refuse a value that is not like an example.

    Args:
        like: Of a list what each item is like, a tuple if it has so many; of an object each
            name, where one with a star stands for all such names, of which none need be there.
    """
    check_type(name, value, list if isinstance(like, tuple) else type(like))
    if isinstance(like, dict):
        for key, one in like.items():
            for each in fnmatch.filter(value, key) if "*" in key else [key]:
                _check_like(f"{name}.{each}", value[each], one)
    elif isinstance(like, list | tuple):
        examples = like * len(value) if isinstance(like, list) else like
        for item, one in zip(value, examples, strict=True):
            _check_like(name, item, one)
    elif not isinstance(like, str) and not 0 <= value < 2**63:
        raise ValueError(f"{name} is {value}")


def _check(manifest: DatasetManifest) -> None:
    """Refuse splits, copies and files that do not go together."""
    if manifest.splits.keys() != {TRAIN, EVAL}:
        raise ValueError(f"splits are not {TRAIN} and {EVAL}")
    copies = manifest.num_copies(TRAIN)
    if not copies or (copies > 1 and manifest.has_documents):
        raise ValueError(f"{TRAIN} has {copies} copies")
    found = [
        (manifest.shard_files(split, copy), counts["examples"], f"{split}/{copy:02d}")
        for split, described in manifest.splits.items()
        for copy, counts in enumerate(described["copies"])
    ]
    if sum(len(files) for files, *_ in found) < len(manifest.shards):
        raise ValueError("shards has a file of no copy")
    for files, examples, place in found:
        # They are all those of the copy, in their order.
        folder = files[0].name.rpartition("/")[0] if files else ""
        for number, file in enumerate(files):
            if file.name != part_file(folder, number, num_parts=len(files)):
                raise ValueError(f"{file.name[:99]!r} is not the name of a file of copy {place}")
            least = _TOKEN_BYTES if folder == DOCUMENTS else _FRAME_BYTES
            if not 0 <= file.examples <= file.bytes // least:
                raise ValueError(f"{file.name} cannot hold {file.examples} examples")
        total = sum(file.examples for file in files)
        if total != examples:
            raise ValueError(f"copy {place} has {examples} examples, its files {total}")


# Inputs that a table lists one by one.
MOST_INPUTS = 100


def splits_table(manifest: DatasetManifest) -> Table:
    """How much each split has, all copies together."""
    rows: list[tuple[Cell, ...]] = []
    for name, split in manifest.splits.items():
        of_documents = manifest.config.has_documents(name)
        copies = "one an epoch" if of_documents else manifest.num_copies(name)
        keys = ("examples", "tokens", "masked_tokens")
        totals = (sum(copy[key] for copy in split["copies"]) for key in keys)
        rows.append((name, split["documents"], copies, *totals))
    columns = ("split", "documents", "copies", "examples", "tokens", "masked")
    return Table(title="Splits", columns=columns, rows=rows)


def inputs_table(manifest: DatasetManifest, *, most: int = MOST_INPUTS) -> Table:
    """The largest inputs one by one, and the rest together."""
    ordered = sorted(manifest.inputs, key=lambda one: (-one["bytes"], one["name"]))
    rows: list[tuple[Cell, ...]] = [
        (
            one["name"] + (" (held out)" if one.get("split") == EVAL else ""),
            *(one[key] for key in ("format", "language", "bytes")),
            one["sha256"][:12],
        )
        for one in ordered[:most]
    ]
    if rest := ordered[most:]:
        size = sum(one["bytes"] for one in rest)
        rows.append((f"and {counted(len(rest), 'smaller file')}", "", "", size, ""))
    return Table(
        title=f"Input files ({len(ordered):,})",
        columns=("input", "read as", "language", "bytes", "sha256"),
        rows=rows,
        is_folded=True,
    )
