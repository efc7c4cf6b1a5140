"""TFRecords become a trained ALBERT."""

import importlib.util
import os

from schemas.errors import SettingError

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
