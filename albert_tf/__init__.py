"""TFRecords become a trained ALBERT."""

import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from schemas.errors import AlbertError, SettingError

if TYPE_CHECKING:
    from albert_tf.inference import Model

# TensorFlow reports every missing GPU library at start; what matters raises anyway.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

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


def load(folder: str | Path, *, checkpoint: Literal["latest", "best"] | None = None) -> "Model":
    """A trained model with its vocabulary, to ask about texts.

    Args:
        folder: A run, an export or a fine-tuned model.
        checkpoint: The newest weights of a run, or its best; None as the commands do.
    """
    found = importlib.util.find_spec("pipeline")
    if found is None or found.submodule_search_locations is None:
        hiding = "nothing" if found is None else found.origin
        raise AlbertError(
            f"Python finds {hiding} under the name pipeline, a package of albert-pretraining; "
            "rename your file, or run Python in another folder."
        )
    # TensorFlow reports on the machine while it is imported, and no setting stops it.
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        from albert_tf.inference import Model
    finally:
        os.dup2(kept, 2)
        os.close(kept)
    return Model(folder, checkpoint=checkpoint)
