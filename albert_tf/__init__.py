"""TFRecords become a trained ALBERT."""

import contextlib
import glob
import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from schemas.errors import AlbertError, SettingError

if TYPE_CHECKING:
    from albert_tf.inference import Model

# TensorFlow reports every missing GPU library at start; what matters raises anyway.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# onnxruntime would report on its use to its makers, and keep a file in /tmp for that.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

# Keras itself says nothing helpful about either, and only once it is imported.
# The variable is set for it too: else ~/.keras/keras.json decides.
_backend = os.environ.get("KERAS_BACKEND") or "tensorflow"
os.environ["KERAS_BACKEND"] = _backend
if _backend not in ("tensorflow", "jax"):
    raise SettingError(
        f"KERAS_BACKEND must be tensorflow or jax, not {_backend}; correct or unset it."
    )
if _backend == "jax" and importlib.util.find_spec("jax") is None:
    raise SettingError(
        "KERAS_BACKEND=jax needs JAX, which is not installed; "
        'pip install "albert-pretraining[jax]" adds it.'
    )


def keep_programs() -> None:
    """Have JAX load what another process has compiled, small programs too, on accelerators."""
    from albert_tf.planning.cost import ACCELERATORS

    if not any(map(glob.glob, ACCELERATORS)):
        return
    # Those for a CPU may not run on another one that sees the same folder.
    flags = re.search(r"(?m)^(flags|Features).*", Path("/proc/cpuinfo").read_text())
    name = hashlib.sha256(str(flags and flags[0]).encode()).hexdigest()[:16]
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", os.path.join(home, "albert/jax", name))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


if _backend == "jax":
    keep_programs()


@contextlib.contextmanager
def swallowed_stderr() -> Iterator[int]:
    """Swallow what native code writes while it is imported, but what goes to the descriptor.

    TensorFlow reports on the machine then, and no setting stops it; what goes wrong
    still comes as an exception.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield kept
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def load(folder: str | Path, *, checkpoint: Literal["latest", "best"] | None = None) -> "Model":
    """A trained model with its vocabulary, to ask about texts.

    Args:
        folder: A run, an export or a fine-tuned model.
        checkpoint: The newest weights of a run, or its best; None as the commands do.
    """
    found = importlib.util.find_spec("pipeline")
    places = (found.submodule_search_locations if found else None) or ()
    ours = os.path.realpath(Path(__file__).parents[1] / "pipeline")
    if found is None or ours not in [os.path.realpath(place) for place in places]:
        hiding = "nothing" if found is None else found.origin
        raise AlbertError(
            f"Python finds {hiding} under the name pipeline, a package of albert-pretraining; "
            "rename your file, or run Python in another folder."
        )
    with swallowed_stderr():
        from albert_tf.inference import Model
    return Model(folder, checkpoint=checkpoint)
