import subprocess
import sys

import pytest

from pipeline.reading.inputs import find_inputs
from pipeline.reading.readers import read_file
from pipeline.storage import files
from schemas.errors import AlbertError


@pytest.fixture(scope="module")
def remote():
    """Beam is imported, and knows what begins with memory://."""
    return pytest.importorskip("tests.memory_files")


def test_a_remote_folder_is_found_and_read(remote):
    found = find_inputs({"books": ("memory://shelf/",)})
    assert [(file.path, file.bytes, file.sha256) for file in found] == [
        ("memory://shelf/low/b.txt", 13, "checksum:crc-13"),
        ("memory://shelf/a.txt", 39, "checksum:crc-39"),
    ]
    assert found[0].describe()["name"] == "b.txt"
    (document,) = read_file(found[1])
    assert document.paragraphs == ("It was late when the miller came home.",)


def test_a_remote_glob_is_found(remote):
    assert files.find_files("memory://shelf/*.txt") == ["memory://shelf/a.txt"]
    assert files.find_files("memory://shelf/low/b.txt") == ["memory://shelf/low/b.txt"]
    assert files.find_files("memory://shelf/none") == []


def test_a_remote_file_that_is_gone_is_said_in_one_sentence(remote):
    with pytest.raises(AlbertError, match=r"^memory://x cannot be read: .* is gone\.$"):
        files.open_binary("memory://x")


def test_an_unknown_file_system_is_named():
    with pytest.raises(AlbertError, match=r"^nowhere://x cannot be read: .*\[gcp\]\.$"):
        files.find_files("nowhere://x")


def test_a_local_glob_may_go_into_folders(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("1.txt", "a/2.txt", "a/b/3.txt"):
        (tmp_path / name).write_text("x")
    found = files.find_files(f"{tmp_path}/**/*.txt")
    assert [path.removeprefix(f"{tmp_path}/") for path in found] == [
        "1.txt",
        "a/2.txt",
        "a/b/3.txt",
    ]


def test_a_file_may_be_called_like_a_glob(tmp_path):
    (tmp_path / "what?[1].txt").write_text("x")
    path = str(tmp_path / "what?[1].txt")
    assert files.find_files(path) == [path]


def test_a_very_long_name_is_no_file():
    assert files.find_files("x" * 10_000) == []


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("pipeline.reading.readers", {"apache_beam", "pyarrow"}),
        ("pipeline.reading.formats", {"apache_beam", "pyarrow", "numpy", "zstandard"}),
    ],
)
def test_local_text_is_read_without_beam(module, unwanted):
    program = f"import sys, {module}; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert unwanted.isdisjoint(result.stdout.split())


def test_hashing_tells_how_far_it_is(tmp_path):
    path = tmp_path / "large"
    path.write_bytes(bytes(3_000_000))
    told = []
    with files.told_of_hashing(told.append):
        files.file_hash(str(path))
    files.file_hash(str(path))
    assert len(told) > 1
    assert sum(told) == 3_000_000
