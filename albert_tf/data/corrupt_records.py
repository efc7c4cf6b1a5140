"""What becomes of corrupt records in training: each is left out with a line."""

import threading
from collections.abc import Callable

from pipeline.records.reading import CorruptRecord


class SkippedRecords:
    """Says once of each corrupt record that it is left out, and how many were.

    A run has one for all that it reads, from several threads.

    Args:
        say: Shows a line.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._seen: set[CorruptRecord] = set()
        self._lost = 0
        self._lock = threading.Lock()

    def __call__(self, record: CorruptRecord) -> None:
        """Take note of one."""
        with self._lock:
            if record not in self._seen:
                self._seen.add(record)
                self._lost += record.lost
                self._say(f"{record}; left out ({self._lost:,} so far).")
