"""Three hosts that share nothing but a network and a storage."""

import pytest

from pipeline.storage import files, remote
from tests.commands import contents
from tests.engines import start
from tests.engines.hosts import BRIDGE, POOL, flink_on, hosts, shards_by_host, storage
from tests.engines.test_faults import SECONDS, Job, expected, texts  # noqa: F401
from tests.processes import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("installed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def three(texts):  # noqa: F811
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
        remote._client("s3://bucket").mkdir("bucket")
        for path in texts[0].iterdir():
            files.write_whole(f"s3://bucket/text/{path.name}", path.read_text())
        with flink_on([manager, *made], folder, environment) as there:
            yield made, *there, log
    remote._connected.cache_clear()


def job(texts, folder, options, *, output):  # noqa: F811
    there = ("s3://bucket/text/", texts[1])
    return Job(there, folder, options, output=f"s3://bucket/{output}")


def assert_records_are(expected, output):  # noqa: F811
    there = f"s3://bucket/{output}"
    names = [name for name in contents(expected) if name.endswith(".tfrecord")]
    found = files.find_below(there, "**/*.tfrecord")
    assert [path.removeprefix(f"{there}/") for path in found] == names
    for name in names:
        assert files.read_whole(f"{there}/{name}") == (expected / name).read_bytes()
    assert ".work" not in str(files.sizes_below(there))


def test_every_host_builds_its_share(three, texts, tmp_path, expected):  # noqa: F811
    made, options, _, log = three
    code, said = job(texts, tmp_path, options, output="shared").end()
    assert code == 0, said
    assert_records_are(expected, "shared")
    built = shards_by_host(log, made, output="bucket/shared")
    assert min(built) >= sum(built) / 5, built


def test_a_host_that_is_cut_off_until_it_is_given_up_costs_no_byte(
    three,
    texts,  # noqa: F811
    tmp_path,
    expected,  # noqa: F811
):
    made, options, has_task_managers, _ = three
    work = job(texts, tmp_path, options, output="cut")
    shards = ("s3://bucket/cut", "shards/*.json")
    work.await_that(lambda: files.find_below(*shards))
    made[0].link("down")
    wait_until(lambda: has_task_managers(len(made) - 1), seconds=SECONDS)
    made[0].link("up")
    code, said = work.end()
    assert code == 0, said
    assert_records_are(expected, "cut")


def test_a_path_of_this_machine_is_refused_before_the_job(texts, tmp_path):  # noqa: F811
    options = (
        *("--runner", "FlinkRunner", "--", f"--flink_master={BRIDGE}:8081"),
        *("--environment_type=EXTERNAL", f"--environment_config={POOL}"),
    )
    code, said = Job(texts, tmp_path, options).end()
    assert code == 2, said
    assert said.startswith(f"Error: --output: {tmp_path}/data is on this machine, ")
