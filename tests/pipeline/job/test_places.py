"""Which set-ups have their workers on this machine, and which end with the command."""

import pytest

from pipeline.job.make_data import after_interrupt
from pipeline.job.places import has_workers_here
from pipeline.job.runners import choose_runner

POOL = "--environment_type=EXTERNAL --environment_config=localhost:50000"
POOL_AS_JSON = '--environment_type=EXTERNAL --environment_config={"url":"localhost:7"}'
POOL_ELSEWHERE = "--environment_type=EXTERNAL --environment_config=node7:50000"
PROCESS = '--environment_type=PROCESS --environment_config={"command":"/opt/boot"}'
DOCKER = "--environment_type=DOCKER"
LOOPBACK = "--environment_type=LOOPBACK"
UBER = "--spark_submit_uber_jar --spark_rest_url="

HERE, ELSEWHERE = True, False
ENDS, GOES_ON = True, False


@pytest.mark.parametrize(
    ("name", "flags", "workers", "at_interrupt"),
    [
        # An embedded engine and workers of this process, by default.
        ("FlinkRunner", "", HERE, ENDS),
        ("FlinkRunner", "--flink_master=[local]", HERE, ENDS),
        ("SparkRunner", "", HERE, ENDS),
        ("SparkRunner", "--spark_master_url=local[2]", HERE, ENDS),
        ("PrismRunner", "", HERE, ENDS),
        # An embedded engine that starts its workers.
        ("FlinkRunner", f"--flink_master=[local] {PROCESS}", HERE, ENDS),
        ("FlinkRunner", POOL, HERE, ENDS),
        ("FlinkRunner", POOL_AS_JSON, HERE, ENDS),
        ("SparkRunner", PROCESS, HERE, ENDS),
        ("PrismRunner", PROCESS, HERE, ENDS),
        ("FlinkRunner", DOCKER, ELSEWHERE, ENDS),
        ("SparkRunner", DOCKER, ELSEWHERE, ENDS),
        ("FlinkRunner", POOL_ELSEWHERE, ELSEWHERE, ENDS),
        # A cluster of this machine.
        ("FlinkRunner", f"--flink_master=localhost:8081 {POOL}", HERE, GOES_ON),
        (
            "FlinkRunner",
            f"--flink_master=http://127.0.0.1:8081 {PROCESS}",
            HERE,
            GOES_ON,
        ),
        ("FlinkRunner", "--flink_master=localhost:8081", ELSEWHERE, GOES_ON),
        (
            "SparkRunner",
            f"--spark_master_url=spark://localhost:7077 {POOL}",
            HERE,
            ENDS,
        ),
        # A cluster elsewhere, where localhost is each of its machines.
        (
            "FlinkRunner",
            f"--flink_master=jobmanager.k8s:8081 {POOL}",
            ELSEWHERE,
            GOES_ON,
        ),
        ("FlinkRunner", f"--flink_master=node7:8081 {PROCESS}", ELSEWHERE, GOES_ON),
        ("FlinkRunner", f"--flink_master=node7:8081 {DOCKER}", ELSEWHERE, GOES_ON),
        ("FlinkRunner", f"--flink_master=node7:8081 {LOOPBACK}", HERE, ENDS),
        (
            "SparkRunner",
            f"--spark_master_url=spark://node7:7077 {POOL}",
            ELSEWHERE,
            ENDS,
        ),
        ("SparkRunner", f"{UBER}http://node7:6066 {POOL}", ELSEWHERE, GOES_ON),
        ("SparkRunner", f"{UBER}http://localhost:6066 {POOL}", HERE, GOES_ON),
        # A job server of somebody's.
        ("PortableRunner", f"--job_endpoint=localhost:8099 {POOL}", HERE, GOES_ON),
        ("PortableRunner", f"--job_endpoint=[::1]:8099 {PROCESS}", HERE, GOES_ON),
        ("PortableRunner", "--job_endpoint=localhost:8099", ELSEWHERE, GOES_ON),
        ("PortableRunner", f"--job_endpoint=node7:8099 {POOL}", ELSEWHERE, GOES_ON),
        ("PortableRunner", f"--job_endpoint=node7:8099 {LOOPBACK}", HERE, ENDS),
    ],
)
def test_where_workers_are_and_what_an_interrupt_does(
    name, flags, workers, at_interrupt
):
    runner = choose_runner(name, flags.split())
    assert has_workers_here(runner.name, runner.options) is workers
    said = after_interrupt(runner)
    if at_interrupt is ENDS:
        assert said == "Interrupted, and the job with it; run the same command again."
    else:
        assert said == (
            f"The job goes on at {name}; to end it, stop it there. Run the same "
            "command again when it has ended."
        )
