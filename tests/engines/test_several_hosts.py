"""Three hosts that share nothing but a network and a storage."""

import pytest

from pipeline.storage import files, remote
from tests.commands import contents
from tests.engines import start
from tests.engines.hosts import BRIDGE, POOL, flink_on, hosts, shards_by_host, storage
from tests.engines.test_faults import SECONDS, Job
from tests.processes import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("installed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def three(longer):
    """The hosts, what `flink_on` gives for them, and the log of the storage."""
    with (
        hosts(4) as (manager, *made),
        start.short_folder() as folder,
        storage(folder) as (environment, log),
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in environment.items():
            patch.setenv(name, value)
        remote._connected.cache_clear()
        remote._client("s3://bucket")[0].mkdir("bucket")
        for path in longer[0].iterdir():
            files.write_whole(f"s3://bucket/text/{path.name}", path.read_text())
        with flink_on([manager, *made], folder, environment) as there:
            yield made, *there, log
    remote._connected.cache_clear()


def job(texts, folder, options, *, output):
    there = ("s3://bucket/text/", texts[1])
    return Job(there, folder, options, output=f"s3://bucket/{output}")


def assert_it_makes(work, made):
    """A job succeeds, with the records that the default runner made, and leaves nothing else."""
    code, said = work.end()
    assert code == 0, said
    names = [name for name in contents(made) if name.endswith(".tfrecord")]
    found = files.find_below(work.output, "**/*.tfrecord")
    assert [path.removeprefix(f"{work.output}/") for path in found] == names
    for name in names:
        assert files.read_whole(f"{work.output}/{name}") == (made / name).read_bytes()
    assert ".work" not in str(files.sizes_below(work.output))


def test_every_host_builds_its_share(three, longer, tmp_path, made):
    workers, options, _, log = three
    assert_it_makes(job(longer, tmp_path, options, output="shared"), made)
    built = shards_by_host(log, workers, output="bucket/shared")
    assert min(built) >= sum(built) / 5, built


def test_a_host_that_is_cut_off_until_it_is_given_up_costs_no_byte(three, longer, tmp_path, made):
    workers, options, has_task_managers, _ = three
    work = job(longer, tmp_path, options, output="cut")
    work.await_that(lambda: files.find_below(work.output, "shards/*.json"))
    workers[0].link("down")
    wait_until(lambda: has_task_managers(len(workers) - 1), seconds=SECONDS)
    workers[0].link("up")
    assert_it_makes(work, made)


def test_a_path_of_this_machine_is_refused_before_the_job(longer, tmp_path):
    options = (
        *("--runner", "FlinkRunner", "--", f"--flink_master={BRIDGE}:8081"),
        *("--environment_type=EXTERNAL", f"--environment_config={POOL}"),
    )
    code, said = Job(longer, tmp_path, options).end()
    assert code == 2, said
    assert said.startswith(f"Error: --output: {tmp_path}/data is on this machine, ")
