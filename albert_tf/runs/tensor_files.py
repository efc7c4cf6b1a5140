"""Files of tensors: what the header says is checked before anything is loaded."""

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import safetensors

Arrays = dict[str, np.ndarray[Any, Any]]
Shapes = dict[str, tuple[int, ...]]

# The number formats that weights are read in.
FLOATS = ("BF16", "F16", "F32", "F64")


class TensorFileError(Exception):
    """A file of tensors cannot be read; the message says why."""


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
        TensorFileError: The file is absent, cut off or has a header that is not valid,
            or a tensor is of another type.
    """
    with _opened(path) as file:
        arrays = {}
        for name in list(file.keys()) if names is None else names:
            kind = file.get_slice(name).get_dtype()
            if kind not in FLOATS:
                raise TensorFileError(
                    f"{name} is of type {kind}, and only {', '.join(FLOATS)} can be "
                    "read"
                )
            arrays[name] = (
                _bfloat16(path, name) if kind == "BF16" else file.get_tensor(name)
            )
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
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            yield file
    except OSError as error:
        raise TensorFileError(error.strerror or str(error)) from error
    except (safetensors.SafetensorError, ValueError) as error:
        raise TensorFileError(str(error)) from error
