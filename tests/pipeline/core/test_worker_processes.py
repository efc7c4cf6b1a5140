"""Processes that compute for another."""

import pytest

from pipeline.core.worker_processes import WorkerProcesses


def test_what_a_process_cannot_begin_with_is_the_error_of_all_that_it_is_asked():
    with WorkerProcesses(1, int, "none") as workers:
        for asked in [workers.submit(abs, -1), workers.submit(abs, -2)]:
            with pytest.raises(ValueError, match="invalid literal"):
                asked.result()
