"""What the figures of docs/reproducing.md come from."""

import contextlib
import importlib

# Once TensorFlow is there, the part of torch that is imported late ends the process.
with contextlib.suppress(ImportError):
    importlib.import_module("triton")
