"""Checkpoints: whole or absent, checked when read, the newest few and the best kept.

A checkpoint is a directory of `model.safetensors`, `optimizer.safetensors` and
`state.json`, which holds the hashes of the other two. It is written under another name
and renamed when all of it is on the disk.
"""

import dataclasses
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import safetensors
import safetensors.numpy

from schemas.errors import AlbertError
from schemas.json_file import json_text, write_text
from schemas.layout import (
    BEST,
    CHECKPOINTS,
    LATEST,
    MODEL_WEIGHTS,
    OPTIMIZER_SLOTS,
    STATE,
    checkpoint_directory,
)

Arrays = dict[str, np.ndarray[Any, Any]]
Shapes = dict[str, tuple[int, ...]]

T = TypeVar("T")

# Checkpoints kept besides the best one.
NUM_KEPT = 3

# The name of a checkpoint that is being written.
UNFINISHED = "unfinished"


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """Everything a run continues from.

    Attributes:
        weights: The model, by path.
        slots: The optimizer, by path and slot.
        state: Step, position in the data and the like; JSON values.
    """

    weights: Arrays
    slots: Arrays
    state: dict[str, Any]


class DamagedCheckpointError(Exception):
    """A checkpoint is incomplete or not what was written; the message says how."""


def save_checkpoint(run: Path, checkpoint: Checkpoint, *, is_best: bool) -> None:
    """Write the checkpoint of `state["step"]`, point to it, delete old ones.

    Raises:
        AlbertError: It cannot be written; the checkpoints before it are whole.
    """
    target = run / checkpoint_directory(checkpoint.state["step"])
    temporary = target.with_name(UNFINISHED)
    try:
        _write(temporary, checkpoint)
        shutil.rmtree(target, ignore_errors=True)
        temporary.rename(target)
        _flush(target.parent)
        write_text(target.parent / LATEST, target.name + "\n")
        if is_best:
            write_text(target.parent / BEST, target.name + "\n")
    except (OSError, safetensors.SafetensorError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        is_full = getattr(error, "errno", None) == errno.ENOSPC or "os error 28" in str(
            error
        )
        remedy = "free some space" if is_full else "make the directory writable"
        raise AlbertError(
            f"{target} cannot be saved: {reason}; {remedy} and run the same command "
            "again, it continues from the checkpoint before."
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    _delete_old(target.parent)


def _write(directory: Path, checkpoint: Checkpoint) -> None:
    """Write the three files and force them to the disk."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    arrays = {MODEL_WEIGHTS: checkpoint.weights, OPTIMIZER_SLOTS: checkpoint.slots}
    for name, values in arrays.items():
        safetensors.numpy.save_file(values, directory / name)
    hashes = {name: _sha256(directory / name) for name in arrays}
    state = json_text({**checkpoint.state, "sha256": hashes})
    (directory / STATE).write_text(state, encoding="utf-8")
    for name in arrays:
        # `save_file` makes files that only their owner may read.
        shutil.copymode(directory / STATE, directory / name)
    for name in (*arrays, STATE):
        _flush(directory / name)
    _flush(directory)


def _flush(path: Path) -> None:
    """Force a file or the names in a directory to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _delete_old(directory: Path) -> None:
    """Keep the newest few and what `best` names."""
    kept = {path.name for path in _newest_first(directory)[:NUM_KEPT]}
    if (directory / BEST).exists():
        kept.add((directory / BEST).read_text().strip())
    for path in _newest_first(directory):
        if path.name not in kept:
            shutil.rmtree(path)


def _newest_first(directory: Path) -> list[Path]:
    """The checkpoints in a directory."""
    return sorted(directory.glob("step-*"), reverse=True)


def has_checkpoint(run: Path) -> bool:
    """Whether a run has any checkpoint, damaged or not."""
    return bool(_newest_first(run / CHECKPOINTS))


def load_newest(run: Path, say: Callable[[str], None]) -> Checkpoint | None:
    """The newest whole checkpoint of a run, None if it has none at all.

    Args:
        run: The run directory.
        say: Told about every damaged checkpoint passed over.

    Raises:
        AlbertError: There are checkpoints and all are damaged.
    """
    return _newest(run, say, read_checkpoint)


def load_newest_weights(run: Path, say: Callable[[str], None]) -> Checkpoint | None:
    """The same without what only training needs: with no slots."""
    return _newest(run, say, read_weights)


def newest_shapes(run: Path, say: Callable[[str], None]) -> Shapes | None:
    """The shapes of the weights that `load_newest_weights` would load.

    Raises:
        AlbertError: There are checkpoints and all are damaged.
    """
    return _newest(run, say, _read_shapes)


def _newest(
    run: Path, say: Callable[[str], None], read: Callable[[Path], T]
) -> T | None:
    """What `read` makes of the newest checkpoint that is whole."""
    candidates = _newest_first(run / CHECKPOINTS)
    for path in candidates:
        try:
            return read(path)
        except DamagedCheckpointError as error:
            say(f"{path} is damaged ({error}); going back to the checkpoint before it.")
    if candidates:
        raise AlbertError(
            f"{run / CHECKPOINTS} has no checkpoint that can be read; start the run "
            "again with --overwrite."
        )
    return None


def read_checkpoint(path: Path) -> Checkpoint:
    """Read and check one checkpoint.

    Raises:
        DamagedCheckpointError: A file is absent, cut off or changed.
    """
    state = _checked_state(path, MODEL_WEIGHTS, OPTIMIZER_SLOTS)
    weights = safetensors.numpy.load_file(path / MODEL_WEIGHTS)
    slots = safetensors.numpy.load_file(path / OPTIMIZER_SLOTS)
    return Checkpoint(weights, slots, state)


def read_weights(path: Path) -> Checkpoint:
    """Read and check one checkpoint without its slots.

    Raises:
        DamagedCheckpointError: A file is absent, cut off or changed.
    """
    state = _checked_state(path, MODEL_WEIGHTS)
    weights = safetensors.numpy.load_file(path / MODEL_WEIGHTS)
    return Checkpoint(weights, {}, state)


def read_best_weights(run: Path) -> Checkpoint:
    """The checkpoint with the least held-out loss, without its slots.

    Raises:
        AlbertError: The run evaluated nothing, or the checkpoint is damaged.
    """
    pointer = run / CHECKPOINTS / BEST
    if not pointer.exists():
        raise AlbertError(
            f"{run} has no best checkpoint, for nothing was evaluated; use its latest."
        )
    path = pointer.with_name(pointer.read_text(encoding="utf-8").strip())
    try:
        return read_weights(path)
    except DamagedCheckpointError as error:
        raise AlbertError(
            f"{path} is damaged ({error}); use the run's latest."
        ) from error


def newest_state(run: Path) -> dict[str, Any] | None:
    """The state of a run's newest checkpoint; None if that is absent or damaged."""
    checkpoints = _newest_first(run / CHECKPOINTS)
    if not checkpoints:
        return None
    try:
        return _checked_state(checkpoints[0], MODEL_WEIGHTS, OPTIMIZER_SLOTS)
    except DamagedCheckpointError:
        return None


def _checked_state(path: Path, *names: str) -> dict[str, Any]:
    """The state of a checkpoint of which these files are as they were written.

    Raises:
        DamagedCheckpointError: A file is absent, cut off or changed.
    """
    try:
        state: dict[str, Any] = json.loads((path / STATE).read_text(encoding="utf-8"))
        hashes = state.pop("sha256")
        for name in names:
            if _sha256(path / name) != hashes[name]:
                raise DamagedCheckpointError(f"{name} is not what was written")
    except OSError as error:
        raise DamagedCheckpointError(f"{error.filename}: {error.strerror}") from error
    except (ValueError, KeyError, AttributeError) as error:
        raise DamagedCheckpointError(f"{STATE} is not whole: {error}") from error
    return state


def _read_shapes(path: Path) -> Shapes:
    """The shapes of the weights in a checkpoint whose weights are whole."""
    _checked_state(path, MODEL_WEIGHTS)
    with safetensors.safe_open(path / MODEL_WEIGHTS, framework="numpy") as file:
        names = list(file.keys())
        return {name: tuple(file.get_slice(name).get_shape()) for name in names}


def arrays_sha256(arrays: Mapping[str, Any]) -> str:
    """A hash of the names and values of arrays."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def arrays_of(variables: Mapping[str, Any]) -> Arrays:
    """Variables of any backend as arrays, for a checkpoint."""
    return {name: variable.numpy() for name, variable in variables.items()}


def assign_arrays(variables: Mapping[str, Any], arrays: Arrays) -> None:
    """Give variables the values of a checkpoint.

    Raises:
        AlbertError: Names or shapes differ; names the first tensor that does.
    """
    check_shapes(_shapes(variables), _shapes(arrays))
    for name, variable in variables.items():
        variable.assign(arrays[name])


def _shapes(tensors: Mapping[str, Any]) -> Shapes:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def check_shapes(model: Shapes, checkpoint: Shapes) -> None:
    """Refuse a checkpoint with other tensors than a model.

    Raises:
        AlbertError: Names or shapes differ; names the first tensor that does.
    """
    for name in sorted(model.keys() | checkpoint.keys()):
        ours = model.get(name, "no such tensor")
        theirs = checkpoint.get(name, "no such tensor")
        if ours != theirs:
            raise AlbertError(
                f"{name} has shape {theirs} in the checkpoint and {ours} in the model; "
                "continue with the architecture the run was started with."
            )
