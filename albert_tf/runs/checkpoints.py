"""Checkpoints: whole or absent, checked when read, the newest few and the best kept.

A checkpoint is a folder of `model.safetensors`, `optimizer.safetensors` and
`state.json`, which holds the hashes of the other two and of the state, and says whether
it is the best so far. So the best one is known as soon as it has its name.
"""

import contextlib
import dataclasses
import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import safetensors
import safetensors.numpy

from albert_tf.runs.metrics import QUIET, Say
from schemas.errors import AlbertError
from schemas.files import (
    TEMPORARY,
    Values,
    check_is_file,
    json_text,
    read_json,
    remove_quietly,
    whole_folder,
    write_text,
)
from schemas.layout import (
    BEST,
    CHECKPOINTS,
    LATEST,
    MODEL_WEIGHTS,
    OPTIMIZER_STATE,
    STATE,
    checkpoint_directory,
)

Arrays = dict[str, np.ndarray[Any, Any]]
Shapes = dict[str, tuple[int, ...]]

# The number formats that weights are read in.
FLOATS = ("BF16", "F16", "F32", "F64")

# Which checkpoint of a run: the newest, or the one with the least held-out loss.
Which = Literal["latest", "best"]

# Checkpoints kept besides the best one.
NUM_KEPT = 3

# Fields of `state.json` that are no part of the state.
_HASHES, _IS_BEST = "sha256", "is_best"

_NAME = re.compile(r"step-([0-9]{8,18})")


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """Everything a run continues from.

    Attributes:
        weights: Of the model, by path.
        optimizer_state: The moments of every weight, by its path and `/m` or `/v`.
        state: Step, position in the data and the like; JSON values.
    """

    weights: Arrays
    optimizer_state: Arrays
    state: Values


class DamagedCheckpointError(Exception):
    """A checkpoint is incomplete or not what was written; the message says how."""


def save_checkpoint(run: Path, checkpoint: Checkpoint, *, is_best: bool) -> None:
    """Write the checkpoint of `state["step"]`; keep the newest few and the best.

    The files `latest` and `best` name checkpoints for people and their scripts.
    """
    target = run / checkpoint_directory(checkpoint.state["step"])
    try:
        with whole_folder(target) as folder:
            _write(folder, checkpoint, is_best=is_best)
        write_text(target.parent / LATEST, target.name + "\n")
        if is_best:
            write_text(target.parent / BEST, target.name + "\n")
    except AlbertError as error:
        raise AlbertError(
            f"{str(error).removesuffix('.')}; free some space or make the folder "
            "writable, then run the same command again: it continues from the "
            "checkpoint before."
        ) from error
    for path in _newest_first(run):
        # Those of later steps are damaged: the run passed over them when it went on.
        if _step(path) > _step(target):
            remove_quietly(path)
    checkpoints = _newest_first(run)
    kept = {*checkpoints[:NUM_KEPT], _best(run)}
    # What killed processes left goes too.
    unfinished = (run / CHECKPOINTS).glob(f"step-*{TEMPORARY}*")
    for path in (*checkpoints, *unfinished):
        if path not in kept:
            # What cannot go now, as what another host reads, may go the next time.
            remove_quietly(path)


def _write(folder: Path, checkpoint: Checkpoint, *, is_best: bool) -> None:
    """Write the three files; raises `OSError` where one cannot be."""
    arrays = {MODEL_WEIGHTS: checkpoint.weights, OPTIMIZER_STATE: checkpoint.optimizer_state}
    for name, values in arrays.items():
        try:
            safetensors.numpy.save_file(values, folder / name)
        except safetensors.SafetensorError as error:
            raise OSError(str(error)) from error
    hashes = {name: _sha256(folder / name) for name in arrays}
    hashes[STATE] = hashlib.sha256(json_text(checkpoint.state).encode()).hexdigest()
    state = {**checkpoint.state, _HASHES: hashes, _IS_BEST: is_best}
    (folder / STATE).write_text(json_text(state), encoding="utf-8")
    for name in arrays:
        # `save_file` makes files that only their owner may read.
        shutil.copymode(folder / STATE, folder / name)


def _sha256(path: Path) -> str:
    check_is_file(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _newest_first(run: Path) -> list[Path]:
    """The checkpoints of a run, damaged or not."""
    found = (run / CHECKPOINTS).glob("step-*")
    named = [path for path in found if _NAME.fullmatch(path.name)]
    return sorted(named, key=_step, reverse=True)


def _step(path: Path) -> int:
    """The step of a checkpoint, by its name."""
    return int(path.name.removeprefix("step-"))


def _best(run: Path) -> Path | None:
    """The checkpoint with the least held-out loss; None if nothing was evaluated.

    It is the newest that was the best when it was saved.
    """
    for path in _newest_first(run):
        try:
            if read_json(path / STATE).get(_IS_BEST) is True:
                return path
        except AlbertError:
            continue
    # A damaged one does not say so itself.
    named = run / CHECKPOINTS / BEST
    name = ""
    if named.is_file():
        name = named.read_bytes().decode("utf-8", "replace").strip()
    return named.with_name(name) if _NAME.fullmatch(name) else None


def newest_step(run: Path) -> int | None:
    """The step of a run's newest checkpoint, damaged or not; None if it has none."""
    return next(map(_step, _newest_first(run)), None)


def best_step(run: Path) -> int | None:
    """The same of its best checkpoint."""
    path = _best(run)
    return None if path is None else _step(path)


def load_newest(run: Path, say: Say, *, with_optimizer: bool = True) -> Checkpoint | None:
    """The newest whole checkpoint of a run; None if it has none at all.

    Damaged ones are passed over and said; if all are, the run is refused.
    """
    candidates = _newest_first(run)
    reasons = []
    for path in candidates:
        try:
            return read_checkpoint(path, with_optimizer=with_optimizer)
        except DamagedCheckpointError as error:
            reasons.append(f"{path.name}: {error}")
            say(f"{path} is damaged ({error}); going back to the checkpoint before it.")
    if candidates:
        raise AlbertError(
            f"{run / CHECKPOINTS} has no checkpoint that can be read ({reasons[0]}); "
            "start the run again with --overwrite."
        )
    return None


def read_checkpoint(path: Path, *, with_optimizer: bool = True) -> Checkpoint:
    """Read and check one checkpoint; raises `DamagedCheckpointError`."""
    names = [MODEL_WEIGHTS, *([OPTIMIZER_STATE] if with_optimizer else [])]
    state = _checked_state(path, *names)
    if with_optimizer and "micro_batch_size" not in state:
        raise DamagedCheckpointError(f"{STATE} has no micro_batch_size")
    arrays = {}
    for name in names:
        try:
            arrays[name] = read_tensors(path / name)
        except TensorFileError as error:
            raise DamagedCheckpointError(f"{name}: {error}") from error
    return Checkpoint(arrays[MODEL_WEIGHTS], arrays.get(OPTIMIZER_STATE, {}), state)


def newest_state(run: Path) -> Values | None:
    """The state of a run's newest checkpoint that is whole; None if none is."""
    for path in _newest_first(run):
        with contextlib.suppress(DamagedCheckpointError):
            return _checked_state(path, MODEL_WEIGHTS, OPTIMIZER_STATE)
    return None


def _checked_state(path: Path, *names: str) -> Values:
    """The state of a checkpoint, once it and these files are found unchanged."""
    try:
        state = read_json(path / STATE)
        hashes = state.pop(_HASHES, None)
        state.pop(_IS_BEST, None)
        found = {name: _sha256(path / name) for name in names}
    except OSError as error:
        raise DamagedCheckpointError(f"{error.filename}: {error.strerror}") from error
    except AlbertError as error:
        raise DamagedCheckpointError(str(error).removesuffix(".")) from error
    written = hashes if isinstance(hashes, dict) else {}
    if STATE in written:  # not in those of earlier versions
        found[STATE] = hashlib.sha256(json_text(state).encode()).hexdigest()
    for name, digest in found.items():
        if written.get(name) != digest:
            raise DamagedCheckpointError(f"{name} is not what was written")
    if state.get("step") != _step(path):
        raise DamagedCheckpointError(
            f"{STATE} is of step {state.get('step')!r:.40} and not {_step(path)}"
        )
    return state


def run_checkpoint(run: Path, *, which: Which = "latest", say: Say = QUIET.say) -> Checkpoint:
    """A checkpoint of a run, without the state of the optimizer."""
    if which == "latest":
        found = load_newest(run, say, with_optimizer=False)
        if found is None:
            raise AlbertError(f"{run} holds no checkpoint yet; let albert pretrain save one first.")
        return found
    path = _best(run)
    if path is None:
        raise AlbertError(
            f"{run} has no best checkpoint, as nothing was evaluated; use its latest."
        )
    try:
        return read_checkpoint(path, with_optimizer=False)
    except DamagedCheckpointError as error:
        raise AlbertError(f"{path} is damaged ({error}); use the run's latest.") from error


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
    """Give variables the values of a checkpoint that has the same tensors."""
    check_shapes(shapes_of(variables), shapes_of(arrays))
    for name, variable in variables.items():
        variable.assign(arrays[name])


def shapes_of(tensors: Mapping[str, Any]) -> Shapes:
    """The shapes of arrays or of variables."""
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def check_shapes(model: Shapes, checkpoint: Shapes) -> None:
    """Refuse a checkpoint with other tensors than a model; names the first one."""
    for name in sorted(model.keys() | checkpoint.keys()):
        ours = model.get(name, "no such tensor")
        theirs = checkpoint.get(name, "no such tensor")
        if ours != theirs:
            raise AlbertError(
                f"{name} has shape {theirs} in the checkpoint and {ours} in the model; "
                "give the architecture of the weights."
            )


class TensorFileError(Exception):
    """A file of tensors cannot be read; the message says why."""


class TensorTypeError(TensorFileError):
    """A tensor holds no floating-point numbers, or some that NumPy does not know."""


def tensor_shapes(path: Path) -> Shapes:
    """The shape of every tensor in a file, from its header alone.

    Raises:
        TensorFileError: The file is absent, cut off or has a header that is not valid.
    """
    with _opened(path) as file:
        names = list(file.keys())
        return {name: tuple(file.get_slice(name).get_shape()) for name in names}


def read_tensors(path: Path, names: Iterable[str] | None = None) -> Arrays:
    """Tensors of floating-point numbers in a file; all of them, or those named.

    Raises:
        TensorFileError: The file is absent, cut off or has a header that is not valid.
        TensorTypeError: A tensor is of another type, such as int8 or float8.
    """
    with _opened(path) as file:
        arrays = {}
        for name in list(file.keys()) if names is None else names:
            kind = file.get_slice(name).get_dtype()
            if kind not in FLOATS:
                raise TensorTypeError(
                    f"{name} is of type {kind}, and only {', '.join(FLOATS)} can be read"
                )
            arrays[name] = _bfloat16(path, name) if kind == "BF16" else file.get_tensor(name)
        return arrays


def _bfloat16(path: Path, name: str) -> np.ndarray[Any, Any]:
    """A tensor of bfloat16, which NumPy does not know, in float32.

    Its numbers are the upper halves of those of float32.
    """
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        tensor = json.loads(file.read(size))[name]
        begin, end = tensor["data_offsets"]
        file.seek(8 + size + begin)
        halves = np.frombuffer(file.read(end - begin), "<u2")
    whole = halves.astype(np.uint32) << 16
    return whole.view(np.float32).reshape(tensor["shape"])


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A file whose header is valid and has the length of the file."""
    check_is_file(path)
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            yield file
    except OSError as error:
        raise TensorFileError(error.strerror or str(error)) from error
    except (safetensors.SafetensorError, ValueError) as error:
        raise TensorFileError(str(error)) from error
