"""What an earlier attempt at a data set has left, and whether it is whole.

A finished shard is known by its sidecar, a finished data set by its manifest. Both name
files with their sizes; where one of these is missing or has another size, they do not
count. Nor does a sidecar, or the mark of a chunk, that was edited or damaged: each has
a seal, the hash of what it says.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pipeline.storage.files import (
    each_of,
    exists,
    join,
    read_whole,
    remove,
    sizes_below,
)
from schemas.errors import AlbertError
from schemas.json_file import json_text, parse_json
from schemas.layout import DATA_CARD, MANIFEST, SIDECARS, SPM_MODEL
from schemas.manifest import parse_manifest

_SEAL = "seal"


def sealed(said: Mapping[str, Any]) -> dict[str, Any]:
    """What a sidecar or a mark says, with its seal."""
    return {**said, _SEAL: _hash(said)}


def is_sealed(said: Mapping[str, Any]) -> bool:
    """Whether a sidecar or a mark still says what was written.

    >>> said = sealed({"shard": 7})
    >>> is_sealed(said), is_sealed({**said, "shard": 8})
    (True, False)
    """
    rest = {name: value for name, value in said.items() if name != _SEAL}
    return said.get(_SEAL) == _hash(rest)


def _hash(said: Mapping[str, Any]) -> str:
    return hashlib.sha256(json_text(said).encode()).hexdigest()


def is_whole_dataset(output: str | Path) -> bool:
    """Whether a data set is finished and every file of it is there in its size.

    Raises:
        AlbertError: The manifest is damaged, or the storage cannot be reached.
    """
    path = join(output, MANIFEST)
    if not exists(path):
        return False
    sizes = sizes_below(output)
    manifest = parse_manifest(parse_json(read_whole(path), path), path)
    shards = ({"name": shard.name, "bytes": shard.bytes} for shard in manifest.shards)
    return {SPM_MODEL, DATA_CARD} <= sizes.keys() and _are_there(shards, sizes)


def forget_incomplete(output: str | Path) -> None:
    """Remove the manifest, and the sidecar of every shard that lacks a file.

    What is left can be trusted: such a shard is made again, it alone.

    Raises:
        AlbertError: Something cannot be removed, or the storage cannot be reached.
    """
    remove(join(output, MANIFEST))
    sizes = sizes_below(output)
    sidecars = [join(output, name) for name in sizes if name.startswith(f"{SIDECARS}/")]
    are_whole = each_of(lambda sidecar: _is_whole_shard(sidecar, sizes), sidecars)
    for sidecar, is_whole in zip(sidecars, are_whole, strict=True):
        if not is_whole:
            remove(sidecar)


def _is_whole_shard(sidecar: str, sizes: Mapping[str, int]) -> bool:
    try:
        said = parse_json(read_whole(sidecar), sidecar)
    except AlbertError:
        return False
    return is_sealed(said) and _are_there(said["files"], sizes)


def _are_there(files: Iterable[Mapping[str, Any]], sizes: Mapping[str, int]) -> bool:
    return all(sizes.get(file["name"]) == file["bytes"] for file in files)
