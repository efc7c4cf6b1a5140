"""What Beam logs, kept out of sight."""

import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def silent_logging() -> Iterator[None]:
    """Keep out of sight what Beam logs; what matters comes as an exception.

    Beam tells of parts that are not installed and not used, and its servers of every
    worker that goes.
    """
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
