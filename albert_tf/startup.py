"""Starting TensorFlow without the six lines it writes about libraries it lacks."""

import importlib
import os
import sys
import tempfile


def import_tensorflow() -> None:
    """Import TensorFlow for the first time with the process's stderr put aside.

    The lines are written by C++ before any log level counts. When the import fails
    they are shown after all.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as aside:
        os.dup2(aside.fileno(), 2)
        try:
            importlib.import_module("tensorflow")
        except BaseException:
            aside.seek(0)
            os.write(kept, aside.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)
