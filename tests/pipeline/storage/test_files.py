import os
from collections import Counter
from unittest.mock import Mock

import pytest

from pipeline.core.documents import ReadingCounts
from pipeline.reading.inputs import find_inputs
from pipeline.reading.read import plan_chunks, read_shard_documents
from pipeline.storage import files, remote
from pipeline.storage.files import find_files, open_binary
from schemas.errors import AlbertError
from tests.memory_files import STORAGE
from tests.pipeline.reading.whole_file import read_file
from tests.refusals import refusal


@pytest.fixture
def shelf(memory):
    memory["memory://shelf/a.txt"] = b"It was late when the miller\ncame home.\n"
    memory["memory://shelf/low/b.txt"] = b"No one knew.\n"
    memory["memory://shelf/.hidden/c.txt"] = b"Nothing.\n"
    return memory


@pytest.mark.parametrize("folder", ["memory://shelf/", "memory://shelf"])
def test_a_remote_folder_is_found_and_read_without_what_is_hidden(shelf, folder):
    found = find_inputs({"books": (folder,)})
    assert sorted((file.path, file.bytes) for file in found) == [
        ("memory://shelf/a.txt", 39),
        ("memory://shelf/low/b.txt", 13),
    ]
    (file,) = (file for file in found if file.bytes == 39)
    assert file.describe()["name"] == "a.txt"
    (document,) = read_file(file)
    assert document.paragraphs == ("It was late when the miller came home.",)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        *(("*.txt", ["a.txt"]), ("**.txt", ["a.txt"]), ("**", ["a.txt", "low/b.txt"])),
        *(("**/*.txt", ["a.txt", "low/b.txt"]), ("**/low/**/*.txt", ["low/b.txt"])),
        *(("*/*", ["low/b.txt"]), (".hidden/*", [".hidden/c.txt"])),
        *((".h*/c.txt", [".hidden/c.txt"]), ("l?w/*", ["low/b.txt"])),
        *(("low/b.txt", ["low/b.txt"]), ("[ab].txt", ["a.txt"]), ("[!b].txt", ["a.txt"])),
        *(("none", []), ("none/*", []), ("none/", [])),
    ],
)
def test_a_glob_finds_the_same_here_and_elsewhere(shelf, tmp_path, pattern, found):
    for path in shelf:
        files.write_whole(f"{tmp_path}/{path.removeprefix('memory://shelf/')}", "x")
    for place in ("memory://shelf", tmp_path):
        paths = files.find_files(f"{place}/{pattern}")
        assert [path.removeprefix(f"{place}/") for path in paths] == found


PAPERS = ["1889/a.txt", "1890/b.txt", "1890/more/c.txt", "loose.txt"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        *(("papers/18*", PAPERS[:3]), ("papers/*", PAPERS), ("papers/*/", PAPERS[:3])),
        *((glob, PAPERS[1:3]) for glob in ("pap*/1890", "papers/1890/*", "pap*/1890/")),
        ("papers/**/18*", []),
    ],
)
def test_a_folder_that_a_glob_matches_is_taken_whole(memory, tmp_path, pattern, found):
    for place in ("memory://shelf", tmp_path):
        for name in (*PAPERS, "1890/.old/d.txt"):
            files.write_whole(f"{place}/papers/{name}", "text")
        paths = files.find_files(f"{place}/{pattern}")
        assert [path.removeprefix(f"{place}/papers/") for path in paths] == found
    assert files.find_below("memory://shelf/papers", "*") == ["memory://shelf/papers/loose.txt"]


def test_what_a_job_has_left_is_found_also_where_it_is_hidden(shelf):
    names = (".hidden/c.txt", "a.txt", "low/b.txt")
    found = files.find_below("memory://shelf", "**/*.txt")
    assert found == [f"memory://shelf/{name}" for name in names]


def test_a_file_or_a_folder_may_be_called_like_a_glob(memory, tmp_path):
    for place in ("memory://shelf", tmp_path):
        for name in ("what?[1].txt", "what?1.txt"):
            files.write_whole(f"{place}/{name}", "x")
        path = f"{place}/what?[1].txt"
        assert files.find_files(path) == [path]
    files.remove("memory://shelf")
    memory["memory://d[1]/shards/a.json"] = b"x"
    memory["memory://d1/shards/b.json"] = b"x"
    assert files.find_below("memory://d[1]", "shards/*.json") == ["memory://d[1]/shards/a.json"]
    files.remove("memory://d[1]/shards")
    assert list(memory) == ["memory://d1/shards/b.json"]


def test_a_remote_file_is_read_from_any_place(memory):
    data = bytes(range(256)) * 4000
    memory["memory://shelf/large"] = data
    with files.open_binary("memory://shelf/large") as file:
        assert file.read(3) == data[:3]
        assert file.seek(700_000) == 700_000
        assert file.read(10) == data[700_000:700_010]
        assert file.seek(-5, 2) == 1_023_995
        assert file.read() == data[-5:]
        file.seek(100)
        assert file.read() == data[100:]
        file.seek(2_000_000)
        assert file.read(1) == b""


@pytest.fixture
def asked(monkeypatch):
    """How often each call of a client was made with each path."""
    asked = Counter()
    for name in ("info", "cat_file", "ls", "open"):
        ask = getattr(STORAGE.__class__, name)

        def counted(self, path, *given, _name=name, _ask=ask, **settings):
            asked[_name, path] += 1
            return _ask(self, path, *given, **settings)

        monkeypatch.setattr(STORAGE.__class__, name, counted)
    return asked


def test_a_remote_book_takes_one_look_and_a_worker_reads_it_with_one_request(memory, asked):
    text = "It was late, and the men knew.\n\n" * 30_000
    memory["memory://shelf/book.txt"] = text.encode()
    (split,) = plan_chunks(find_inputs({"text": ("memory://shelf/",)}))
    assert [asked[name, "/shelf/book.txt"] for name in ("cat_file", "info")] == [1, 0]
    # A worker is another process.
    files._entries.clear()
    asked.clear()
    documents = list(read_shard_documents(split, counts=ReadingCounts()))
    assert sum(document.text.count("late") for document in documents) == 30_000
    assert dict(asked) == {("cat_file", "/shelf/book.txt"): 1}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("no space left"), "no space left."),
        (ConnectionResetError(104, "Connection reset by peer"), "Connection reset by peer."),
        (RuntimeError("No such container.\nRequestId: 7\n"), "No such container."),
        (TimeoutError(), "TimeoutError."),
        (PermissionError("Access Denied"), "Access Denied."),
    ],
)
def test_whatever_a_client_raises_is_one_sentence(memory, monkeypatch, error, said):
    memory["memory://x/y.txt"] = b"Some text.\n"
    for name in ("cat_file", "put_file"):
        monkeypatch.setattr(STORAGE.__class__, name, Mock(side_effect=error))
    read = refusal(find_inputs, {"text": ("memory://x/y.txt",)})
    assert read == f"memory://x/y.txt cannot be read: {said}"
    written = refusal(files.write_whole, "memory://x/z", "text")
    assert written == f"memory://x/z cannot be written: {said}"


def test_a_file_that_shrinks_while_it_is_read_is_refused(memory):
    memory["memory://x/y.txt"] = bytes(1000)
    with files.open_binary("memory://x/y.txt") as file:
        memory["memory://x/y.txt"] = bytes(10)
        with pytest.raises(AlbertError, match="10 bytes came where 1000 were asked"):
            file.read()


@pytest.mark.parametrize(
    ("call", "path", "said"),
    [
        (files.open_binary, "memory://x/y", "memory://x/y cannot be read: it does not exist."),
        (files.read_whole, "memory://x/y", "memory://x/y cannot be read: it does not exist."),
        (
            *(files.find_files, "nowhere://x"),
            "nowhere://x: nowhere:// is not a storage that this program knows; give a path on this "
            "machine, or one that begins with s3://, gs://, abfs://, abfss://, az://, hdfs://, "
            "https://, http://, hf://.",
        ),
        (
            *(lambda path: files.write_whole(path, "text"), "https://host/a"),
            "https://host/a cannot be written: https:// can only be read.",
        ),
    ],
)
def test_what_storage_has_not_or_takes_not_is_one_sentence(memory, call, path, said):
    assert refusal(call, path) == said


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    absent = Mock(side_effect=ImportError("Install s3fs"))
    monkeypatch.setattr("fsspec.get_filesystem_class", absent)
    assert refusal(files.find_files, "s3://bucket/") == (
        "s3://bucket/: s3:// needs a package that is not installed; run "
        'pip install "albert-pretraining[s3]".'
    )


@pytest.fixture
def renaming(memory, monkeypatch):
    """Storage with folders: a function comes before its renaming."""
    monkeypatch.setitem(remote.SCHEMES, "memory", remote.Scheme(has_folders=True))
    rename = STORAGE.__class__.mv

    def begin_with(before):
        def mv(*given):
            before(*given)
            rename(*given)

        monkeypatch.setattr(STORAGE.__class__, "mv", mv)
        return memory

    return begin_with


def test_a_file_is_replaced_where_nothing_is_renamed_onto_another(renaming):
    def refuse(client, _, there):
        if client.exists(there):
            raise FileExistsError(there)

    memory = renaming(refuse)
    for text in ("first", "second"):
        files.write_whole("memory://out/a", text)
    assert dict(memory) == {"memory://out/a": b"second"}


def test_what_another_job_has_written_is_kept_if_it_removed_ours(renaming):
    def finish(client, temporary, there):
        client.pipe_file(there, b"theirs")
        client.rm_file(temporary)

    memory = renaming(finish)
    assert refusal(files.write_whole, "memory://out/a", "ours") == (
        "memory://out/a cannot be written: another job with the same output has "
        "removed it; run the same command again."
    )
    assert dict(memory) == {"memory://out/a": b"theirs"}


def test_a_folder_is_read_behind_links_and_once(tmp_path):
    for name in ("texts/b/c.txt", "texts/a.txt", "texts/.git/x.txt", "disk/d.txt"):
        files.write_whole(str(tmp_path / name), "text")
    texts = tmp_path / "texts"
    (texts / "b/up").symlink_to(texts)
    (texts / "b/more").symlink_to(tmp_path / "disk")
    (texts / "more").symlink_to(tmp_path / "disk")
    (texts / "link.txt").symlink_to(tmp_path / "disk/d.txt")
    found = [path.removeprefix(f"{texts}/") for path in find_files(str(texts))]
    assert found == ["a.txt", "b/c.txt", "b/more/d.txt", "link.txt"]


def test_a_folder_that_cannot_be_read_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    listed = os.scandir

    def scandir(path):
        if str(path).endswith("/a"):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert refusal(find_files, str(tmp_path)) == f"{tmp_path}/a cannot be read: Permission denied."


def test_a_file_and_a_folder_are_removed_and_nothing_is_no_error(tmp_path):
    for name in ("kept/low/a.txt", "folder/low/b.txt", "file"):
        files.write_whole(str(tmp_path / name), "")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    for name in ("folder", "file", "link", "nothing"):
        files.remove(str(tmp_path / name))
    assert find_files(str(tmp_path)) == [f"{tmp_path}/kept/low/a.txt"]


def test_what_cannot_be_removed_is_said(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    monkeypatch.setattr(os, "rmdir", Mock(side_effect=PermissionError(13, "Permission denied")))
    for name, reason in (("folder", "Permission denied"), ("file/inside", "Not a directory")):
        said = refusal(files.remove, f"{tmp_path}/{name}")
        assert said == f"{tmp_path}/{name} cannot be removed: {reason}."


def test_a_disk_that_fails_is_not_taken_for_a_damaged_file():
    # Nothing is mapped at the beginning of a process' memory.
    path = "/proc/self/mem"
    for size in (10, -1):
        with open_binary(path) as file:
            assert refusal(file.read, size) == f"{path} cannot be read: Input/output error."


def test_a_very_long_name_is_no_file():
    assert files.find_files("x" * 10_000) == []
