"""Where a job may run, what Beam may be asked, and what is refused beforehand."""

import shlex
from pathlib import Path

import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from pipeline.job import beam, runners
from schemas.errors import SettingError
from tests.refusals import refusal, rows_of

DOCS = Path(__file__).parents[3] / "docs"
POOL = "--environment_type=EXTERNAL --environment_config=localhost:50000"
POOL_AS_JSON = '--environment_type=EXTERNAL --environment_config={"url":"localhost:7"}'
POOL_ELSEWHERE = "--environment_type=EXTERNAL --environment_config=node7:50000"
PROCESS = '--environment_type=PROCESS --environment_config={"command":"/opt/boot"}'
LOOPBACK = "--environment_type=LOOPBACK"
SERVER = "--job_endpoint=localhost:8099"
SPARK_MASTER = "--spark_master_url=spark://node7:7077"
HERE, ELSEWHERE = True, False


def chosen(runner):
    """A runner by its name and its options."""
    name, *flags = runner.split()
    return runners.choose_runner(name, flags)


# A runner with its options, and below it what is said.
REFUSED = """
FlinkRunner --flink_submit_uber_jar --paralellism=4
    --paralellism is not an option that Beam knows for FlinkRunner; albert's own flags come before
    the --, Beam's after it.
SparkRunner --spark_submit_uber_jar --spark_rest_url=http://node7:6066
    --spark_submit_uber_jar leaves the job's jar on this machine, and a cluster does not find it;
    leave it out, and give --spark_master_url=spark://HOST:7077.
PortableRunner --environment_type=EXTERNAL --environment_config=localhost:50000
    --runner: PortableRunner needs a job server; give --job_endpoint=HOST:PORT after --.
FlinkRunner --parallelism=many
    Beam's options after --: argument --parallelism: invalid int value: 'many'.
FlinkRunner --runner=SparkRunner
    --runner belongs before the --, not after it.
"""


@pytest.mark.parametrize(("runner", "sentence"), rows_of(REFUSED))
def test_what_a_runner_cannot_do_is_refused(runner, sentence):
    assert refusal(chosen, runner, error=SettingError) == sentence


@pytest.mark.parametrize(
    ("runner", "place", "named"),
    [
        (f"SparkRunner {SPARK_MASTER}", {"output": "data"}, "--output: data"),
        (f"PortableRunner {SERVER} {POOL_ELSEWHERE}", {"inputs": ["gs://b/a", "b/"]}, "inputs: b/"),
    ],
)
def test_what_workers_cannot_reach_is_refused(runner, place, named):
    given = {"output": "gs://b/data", "inputs": ["gs://b/dump.xml"], "workers": None} | place
    assert refusal(runners.check_places, chosen(runner), **given, error=SettingError) == (
        f"{named} is on this machine, where the workers of {runner.split()[0]} cannot see it; "
        "give one such as gs://bucket/folder/."
    )


@pytest.mark.parametrize(
    ("runner", "workers"),
    [
        # An embedded engine, with workers of this process by default.
        ("FlinkRunner", HERE),
        ("SparkRunner --spark_master_url=local[2]", HERE),
        (f"PrismRunner {PROCESS}", HERE),
        (f"FlinkRunner {POOL_AS_JSON}", HERE),
        (f"FlinkRunner {POOL_ELSEWHERE}", ELSEWHERE),
        ("FlinkRunner --environment_type=DOCKER", ELSEWHERE),
        # A cluster of this machine.
        (f"FlinkRunner --flink_master=http://127.0.0.1:8081 {PROCESS}", HERE),
        ("FlinkRunner --flink_master=localhost:8081", ELSEWHERE),
        # A cluster elsewhere, where localhost is each of its machines.
        (f"FlinkRunner --flink_master=node7:8081 {PROCESS}", ELSEWHERE),
        (f"SparkRunner {SPARK_MASTER} {POOL}", ELSEWHERE),
        (f"FlinkRunner --flink_master=node7:8081 {LOOPBACK}", HERE),
        # A job server of somebody's.
        (f"PortableRunner --job_endpoint=[::1]:8099 {PROCESS}", HERE),
    ],
)
def test_workers_on_this_machine_are_known_by_beams_options(runner, workers):
    assert runners.has_workers_here(chosen(runner)) is workers


@pytest.mark.parametrize(
    "runner",
    [
        "FlinkRunner --execution_mode_for_batch=BATCH_FORCED --checkpointing_interval=60000 "
        "--state_backend=rocksdb --use_data_stream_for_batch --flink_conf_dir=/etc/flink "
        "--max_bundle_size=100",
        "SparkRunner --bundle_size=1000 --cache_disabled",
        f"PortableRunner {SERVER} --bundle_size=1000 --state_backend=rocksdb",
    ],
)
def test_options_of_the_engines_java_are_accepted_and_kept(runner):
    given = chosen(runner).options.get_all_options(retain_unknown_options=True)
    for flag in runner.split()[1:]:
        option, _, value = flag.removeprefix("--").partition("=")
        assert str(given[option]) == (value or "True")


@pytest.mark.parametrize(
    ("flags", "kind"), [("", "LOOPBACK"), (SERVER, "DOCKER"), (f"{SERVER} {LOOPBACK}", "LOOPBACK")]
)
@pytest.mark.parametrize("name", ["FlinkRunner", "SparkRunner", "PrismRunner"])
def test_beam_chooses_no_workers_by_itself(name, flags, kind):
    assert chosen(f"{name} {flags}").options.get_all_options()["environment_type"] == kind


def test_a_job_of_dataflow_starts_no_workers_here():
    """Beam took the address of those it found in the options for an image."""
    runner = runners.Runner("DataflowRunner", PipelineOptions())
    before = runner.options.get_all_options()
    with beam.own_workers(runner):
        assert runner.options.get_all_options() == before
    assert runners.environment_of(runner) == "DOCKER"


def test_options_reach_beam():
    runner = chosen(f"FlinkRunner --flink_master=node7:8081 {POOL}")
    assert runner.options.get_all_options(drop_default=True) == {
        "runner": "FlinkRunner",
        "flink_master": "node7:8081",
        "environment_type": "EXTERNAL",
        "environment_config": "localhost:50000",
        # So that a stage does not have to start workers of its own.
        "environment_cache_millis": 20_000,
        # So that Beam does not run pip freeze.
        "experiments": ["disable_logging_submission_environment"],
        "save_main_session": False,
    }


def documented():
    """The commands of the pages on engines and YARN, and the one in the file for Kubernetes."""
    for name, start in (("engines.md", "albert make-data"), ("yarn.md", "albert make-data --")):
        lines = (DOCS / name).read_text(encoding="utf-8").splitlines()
        yield from (shlex.split(line) for line in lines if line.startswith(start))
    lines = (DOCS / "kubernetes.yaml").read_text(encoding="utf-8").splitlines()
    first = lines.index("            - albert")
    yield [line.strip().removeprefix("- ") for line in lines[first:]]


@pytest.mark.parametrize("command", [*documented()], ids=" ".join)
def test_the_documented_commands_are_accepted(command):
    split = command.index("--")
    given = dict(zip(command[2:split:2], command[3:split:2], strict=True))
    runners.check_places(
        runners.choose_runner(given["--runner"], command[split + 1 :]),
        output=given["--output"],
        inputs=[given.get("--wikipedia") or given["--text"]],
        workers=None,
    )
