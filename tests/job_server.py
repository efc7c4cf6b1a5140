"""A job server of Beam's that gives each job several workers.

Run as `python -m tests.job_server PORT WORKERS`. Beam's own takes the number of workers
from nowhere, so that it starts one.
"""

import sys
import threading

from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.portability.local_job_service import BeamJob, LocalJobServicer


class ManyWorkersJob(BeamJob):
    """A job that runs with as many workers as the program was told."""

    workers = 1

    def _invoke_runner(self):
        runner = FnApiRunner(provision_info=self._provision_info)
        runner._num_workers = self.workers
        return runner.run_via_runner_api(self._pipeline_proto, self.pipeline_options())


if __name__ == "__main__":
    port, ManyWorkersJob.workers = map(int, sys.argv[1:])
    LocalJobServicer(beam_job_type=ManyWorkersJob).start_grpc_server(port)
    threading.Event().wait()
