"""Storage of clouds, emulated: seventeen operations, six faults and a whole job."""

import asyncio
import dataclasses
import hashlib
import logging

import pytest

from pipeline.job import make_data
from pipeline.job.plan import plan_job
from pipeline.reading.inputs import find_inputs
from pipeline.storage import files, remote
from schemas.config import DataConfig
from schemas.errors import AlbertError
from tests.refusals import refusal
from tests.storage_emulators import EMULATORS, emulated
from tests.unreliable_server import UnreliableServer

pytestmark = [
    pytest.mark.slow,
    # The clients of clouds leave their connections to the end of the process.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]

LARGE = bytes(range(256)) * 40_000


def forget():
    remote._connected.cache_clear()
    files._entries.clear()


@pytest.fixture(scope="module", params=EMULATORS)
def served(request):
    """The name of an emulator and its port, with a bucket."""
    with emulated(request.param) as port:
        forget()
        logging.getLogger("azure").setLevel(logging.CRITICAL)
        remote._client(f"{request.param}://bucket/")[0].mkdir("bucket")
        yield request.param, port
    forget()


@pytest.fixture
def place(served, request):
    forget()
    return f"{served[0]}://bucket/{request.node.originalname}"


def write(path, data):
    with files.new_file(path) as file:
        file.write(data)


FILES = {"a.txt": b"hello", "empty": b"", "large": LARGE}
FILES |= {"low/b.txt": b"low", "low/we[i]rd?.txt": b"odd"}
SIZES = {name: len(data) for name, data in FILES.items()}


@pytest.fixture
def shelf(place):
    write(f"{place}/a.txt", b"hello world")
    for name, data in FILES.items():
        write(f"{place}/{name}", data)
    write(f"{place}2/c.txt", b"of another folder")
    return place


def test_files_are_written_listed_and_measured(shelf):
    assert files.sizes_below(shelf) == SIZES
    assert files.sizes_below(f"{shelf}/none") == {}
    for folder in (shelf, f"{shelf}/"):
        found = files.find_files(folder)
        assert [path.removeprefix(f"{shelf}/") for path in found] == list(SIZES)
    forget()
    for name, size in SIZES.items():
        assert files.exists(f"{shelf}/{name}")
        assert files.file_size(f"{shelf}/{name}") == size
    assert not files.exists(f"{shelf}/none")


def test_globs_and_names_like_globs_are_found(shelf):
    def found(pattern):
        paths = files.find_files(f"{shelf}/{pattern}")
        return [path.removeprefix(f"{shelf}/") for path in paths]

    assert found("*.txt") == ["a.txt"]
    assert found("**/*.txt") == ["a.txt", "low/b.txt", "low/we[i]rd?.txt"]
    assert found("l?w/*") == ["low/b.txt", "low/we[i]rd?.txt"]
    assert found("low/we[i]rd?.txt") == ["low/we[i]rd?.txt"]
    assert found("none/*") == found("none/") == found("none") == []
    assert files.find_below(shelf, "low/*") == [f"{shelf}/low/b.txt", f"{shelf}/low/we[i]rd?.txt"]


def test_files_are_read_whole_and_from_any_place(shelf):
    assert files.read_whole(f"{shelf}/a.txt") == b"hello"
    assert files.read_whole(f"{shelf}/empty") == b""
    with files.open_binary(f"{shelf}/empty") as file:
        assert file.read() == b""
    with files.open_binary(f"{shelf}/large") as file:
        file.seek(5_000_001)
        assert file.read(10) == LARGE[5_000_001:5_000_011]
        file.seek(-3, 2)
        assert file.read() == LARGE[-3:]
        file.seek(0)
        assert file.read() == LARGE


def test_a_checksum_changes_with_the_content_alone(shelf):
    first = files.file_hash(f"{shelf}/a.txt")
    files.find_files(shelf)
    assert files.file_hash(f"{shelf}/a.txt") == first
    write(f"{shelf}/a.txt", b"HELLO")
    assert files.file_hash(f"{shelf}/a.txt") != first


def test_files_and_folders_are_removed_and_nothing_else(shelf):
    files.remove(f"{shelf}/none")
    files.remove(f"{shelf}/a.txt")
    files.remove(f"{shelf}/low")
    assert files.sizes_below(shelf) == {"empty": 0, "large": len(LARGE)}
    files.remove(shelf)
    assert files.sizes_below(shelf) == {}
    assert files.sizes_below(f"{shelf}2") == {"c.txt": 17}


def test_a_file_that_is_not_finished_is_not_there(place):
    def write_half():
        with files.new_file(f"{place}/a") as file:
            file.write(b"half")
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        write_half()
    assert files.sizes_below(place) == {}


@pytest.fixture
def unreliable(served, monkeypatch):
    """The folder with a file, behind a server that fails when it is told to."""
    name, port = served
    server = UnreliableServer(port)
    for key, value in EMULATORS[name].places(server.port).items():
        monkeypatch.setenv(key, value)
    forget()
    write(f"{name}://bucket/faults/large", LARGE)
    # Clients wait up to a minute before they give up.
    wait = asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", lambda delay, *rest: wait(delay / 50, *rest))
    logging.disable(logging.CRITICAL)
    yield server, f"{name}://bucket/faults"
    logging.disable(logging.NOTSET)
    server.close()
    forget()


def one_sentence(path, verb, action, *arguments):
    """What an action that fails says."""
    said = refusal(action, *arguments)
    assert said.startswith(f"{path} cannot be {verb}: ")
    assert "\n" not in said
    return said


def test_a_bucket_that_is_not_there_is_said(served):
    path = f"{served[0]}://no-such-bucket/a"
    one_sentence(path, "read", files.open_binary, path)
    said = one_sentence(path, "written", files.write_whole, path, "text")
    assert said.endswith("its bucket does not exist.")
    assert files.find_files(f"{path}/") == []


def test_a_file_that_is_not_there_is_said(place):
    path = f"{place}/none"
    said = one_sentence(path, "read", files.open_binary, path)
    assert said == f"{path} cannot be read: it does not exist."
    assert refusal(files.read_whole, path) == f"{path} cannot be read: it does not exist."


@pytest.mark.parametrize("fault", ["forbidden", "gone"])
def test_a_wrong_key_and_a_server_that_is_gone_are_said(unreliable, fault):
    server, place = unreliable
    server.fail(fault)
    forget()
    path = f"{place}/large"
    said = one_sentence(path, "read", files.open_binary, path)
    if fault == "forbidden":
        assert "Forbidden" in said
    one_sentence(f"{place}/", "read", files.find_files, f"{place}/")
    one_sentence(f"{place}/b", "written", files.write_whole, f"{place}/b", "text")
    server.fail("")
    assert not files.exists(f"{place}/b")


def test_a_server_that_goes_while_a_file_is_read_is_said(unreliable):
    server, place = unreliable
    path = f"{place}/large"
    with files.open_binary(path) as file:
        file.read(1_000_000)
        server.fail("cut", bytes_left=500_000)
        one_sentence(path, "read", file.read)


def test_a_server_that_goes_while_a_file_is_written_leaves_none(unreliable):
    server, place = unreliable
    path = f"{place}/new"
    server.fail("cut", bytes_left=500_000)
    one_sentence(path, "written", write, path, LARGE)
    server.fail("")
    # The emulator of Google Cloud keeps what has arrived, which Google does not; a
    # data set is checked by the sizes of its files.
    assert files.sizes_below(place).get("new", 0) < len(LARGE)
    if not place.startswith("gs://"):
        assert not files.exists(path)


@pytest.fixture(scope="module")
def books(topics):
    """Texts by name, too few for a document to be held out."""
    return {
        f"{folder}/{number}.txt": topics[number].text.encode()
        for folder in ("one", "two")
        for number in range(4 if folder == "one" else 8)
    }


CONFIG = DataConfig(max_seq_length=64, dupe_factor=2, num_shards=2, eval_fraction=0.0001).resolved(
    input_bytes=0
)


def hashes(place):
    """Of all records, by name."""
    return {
        path.removeprefix(f"{place}/"): hashlib.sha256(files.read_whole(path)).digest()
        for path in files.find_below(place, "**/*.tfrecord")
    }


def test_a_job_with_an_empty_shard_that_is_interrupted_writes_the_local_bytes(
    place, books, model, tmp_path, monkeypatch
):
    inputs = {}
    for root in (str(tmp_path), place):
        for name, data in books.items():
            write(files.join(root, name), data)
        # A folder and a glob.
        given = (f"{root}/one/", f"{root}/two/*.txt")
        inputs[root] = find_inputs({"books": given})
    here = inputs[str(tmp_path)]
    make_data.make_data(plan_job(here, CONFIG, model=model, output=tmp_path / "data"))
    local = hashes(f"{tmp_path}/data")
    assert len(local) == 5
    assert (tmp_path / "data/eval/copy-00/part-00000-of-00001.tfrecord").stat().st_size == 0

    def make():
        job = plan_job(inputs[place], CONFIG, model=model, output=f"{place}/data")
        make_data.make_data(dataclasses.replace(job, shuffle="engine"))

    built = []
    write_shard = make_data.write_shard

    def stop_at_the_second(documents, shard, **settings):
        built.append(shard)
        if len(built) == 2:
            raise AlbertError("no more")
        return write_shard(documents, shard, **settings)

    monkeypatch.setattr(make_data, "write_shard", stop_at_the_second)
    assert refusal(make) == "no more"
    assert not files.exists(f"{place}/data/manifest.json")
    make()
    assert len(built) == 4
    assert hashes(f"{place}/data") == local
    assert not [name for name in files.sizes_below(place) if ".tmp" in name]
