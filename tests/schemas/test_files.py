"""Files that are whole or absent, and JSON."""

import errno
import json
import os
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas import files
from schemas.errors import SettingError
from tests.commands import contents
from tests.processes import run_python
from tests.refusals import refusal

FULL = OSError(errno.ENOSPC, "No space left on device")


def fail_while_writing(path, error):
    """Write half of a file, then meet an error."""
    with files.whole_file(path) as file:
        file.write(b"half of it")
        raise error


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_or_a_folder_has_its_name_when_all_of_it_is_written(tmp_path):
    path, target = tmp_path / "train/copy-00/part", tmp_path / "made/here"
    with files.whole_file(path) as file, files.whole_folder(target) as folder:
        file.write(b"albert")
        (folder / "inside").mkdir()
        (folder / "inside" / "file").write_text("content")
        assert not path.exists()
        assert not target.exists()
    assert path.read_bytes() == b"albert"
    assert (target / "inside" / "file").read_text() == "content"
    assert contents(tmp_path) == ["made/here/inside/file", "train/copy-00/part"]


KILLED = """
import os, sys
from pathlib import Path
from schemas.files import {0}
with {0}(Path(sys.argv[1])) as half:
    {1}
    os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="every file of this system has a name")
def test_a_killed_process_leaves_nothing_behind(tmp_path):
    write = "half.write(b'half of it'); half.flush()"
    run_python(KILLED.format("whole_file", write), tmp_path / "part")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("has_unnamed", [True, False])
def test_a_file_may_be_read_by_whom_the_umask_lets(tmp_path, monkeypatch, has_unnamed):
    if not has_unnamed:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    before = os.umask(0o027)
    files.write_text(tmp_path / "part", "whole")
    os.umask(before)
    assert (tmp_path / "part").read_text() == "whole"
    assert (tmp_path / "part").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("before", [[], ["part"]])
@pytest.mark.parametrize("error", [ZeroDivisionError(), KeyboardInterrupt()])
def test_a_failure_leaves_what_was_there(tmp_path, before, error):
    for name in before:
        (tmp_path / name).write_bytes(b"old")
    with pytest.raises(type(error)):
        fail_while_writing(tmp_path / "part", error)
    assert names_in(tmp_path) == before
    assert all((tmp_path / name).read_bytes() == b"old" for name in before)


def test_a_full_disk_is_one_sentence_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / "part"
    said = refusal(fail_while_writing, path, FULL)
    assert said == f"{path} cannot be written: No space left on device."
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    ("begin", "reason"), [(files.whole_file, ""), (files.whole_folder, "File exists")]
)
def test_a_file_in_the_place_of_a_folder_is_one_sentence(tmp_path, begin, reason):
    (tmp_path / "train").touch()
    path = tmp_path / "train" / "part"
    said = refusal(begin(path).__enter__)
    assert said.startswith(f"{path} cannot be written: {reason}")


def write_folder(target, name="new", error=None):
    """Write a folder with a file in it, or meet an error when it is half written."""
    with files.whole_folder(target) as folder:
        (folder / name).touch()
        if error:
            raise error


def test_a_folder_that_fails_leaves_what_was_there(tmp_path):
    files.write_text(tmp_path / "target/old", "")
    with pytest.raises(ZeroDivisionError):
        write_folder(tmp_path / "target", error=ZeroDivisionError())
    assert contents(tmp_path) == ["target/old"]
    assert names_in(tmp_path) == ["target"]


def test_a_link_stays_one_and_its_folder_is_replaced_and_only_the_link_removed(tmp_path):
    files.write_text(tmp_path / "elsewhere/old", "")
    link = tmp_path / "link"
    link.symlink_to("elsewhere")
    write_folder(link)
    assert link.readlink() == Path("elsewhere")
    assert names_in(tmp_path / "elsewhere") == ["new"]
    assert names_in(tmp_path) == ["elsewhere", "link"]
    files.remove_quietly(link)
    assert contents(tmp_path) == ["elsewhere/new"]


def test_two_attempts_at_a_file_or_a_folder_do_not_write_into_one(tmp_path):
    path, target = tmp_path / "part", tmp_path / "target"
    path.write_bytes(b"old")
    with files.whole_file(path) as first:
        first.write(b"first")
        with files.whole_file(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    with files.whole_folder(target) as first:
        (first / "one").touch()
        write_folder(target, "two")
        assert (first / "one").exists()
        assert contents(target) == ["two"]
    assert contents(tmp_path) == ["part", "target/one"]
    assert names_in(tmp_path) == ["part", "target"]


def test_a_file_is_copied_whole_or_not_at_all(tmp_path, monkeypatch):
    source, target = tmp_path / "source", tmp_path / "run/target"
    source.write_bytes(b"pieces")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", Mock(side_effect=FULL))
        said = refusal(files.copy_whole, source, target)
    assert said == f"{target} cannot be written: No space left on device."
    assert list(target.parent.iterdir()) == []
    files.copy_whole(source, target)
    assert target.read_bytes() == b"pieces"


texts = st.text(st.characters(codec="utf-8"))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
objects = st.dictionaries(texts, scalars | st.lists(scalars), max_size=5)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(objects)
def test_what_is_written_is_read_back(tmp_path, value):
    files.write_json(tmp_path / "file.json", value)
    assert files.read_json(tmp_path / "file.json") == value


def test_line_ends_are_the_same_everywhere_and_what_cannot_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.txt"
    files.write_text(path, "a\nb\n")
    with pytest.raises(UnicodeEncodeError):
        files.write_text(path, "half \ud800")
    assert path.read_bytes() == b"a\nb\n"


NO_JSON = "is not valid JSON: "
NO_OBJECT = "must hold a JSON object, not a list or a value"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": ', f"{NO_JSON}Expecting value: line 1 column 7 (char 6)"),
        (b"", f"{NO_JSON}Expecting value: line 1 column 1 (char 0)"),
        (b'{"a": "\xff"}', f"{NO_JSON}'utf-8' codec can't decode byte 0xff"),
        (b'{"a": ' + b"[" * 100_000, f"{NO_JSON}its lists and objects are nested too deeply"),
        (b'{"a": {"b": 1, "b": 2}}', f"{NO_JSON}the key 'b' comes twice in one object"),
        (b'{"a": 1' + b"0" * 5000 + b"}", f"{NO_JSON}Exceeds the limit (4300 digits)"),
        *((data, NO_OBJECT) for data in (b"[]", b"1", b"null", b'"text"')),
    ],
    ids=["cut off", "empty", "bytes", "deep", "twice", "digits", "list", "number", "null", "text"],
)
def test_what_is_not_json_is_one_sentence(tmp_path, data, reason):
    path = tmp_path / "file.json"
    path.write_bytes(data)
    said = refusal(files.read_json, path)
    assert said.startswith(f"{path} {reason}")
    assert said.endswith("; correct the file or make it again.")


def test_what_is_no_file_is_one_sentence(tmp_path):
    none = f"{tmp_path}/none does not exist."
    assert refusal(files.read_json, tmp_path / "none") == none
    assert refusal(files.copy_whole, tmp_path / "none", tmp_path / "target") == none
    assert refusal(files.read_json, tmp_path).startswith(f"{tmp_path} cannot be read: Is a dir")


def test_the_mark_that_some_editors_put_first_is_no_matter(tmp_path):
    (tmp_path / "file.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert files.read_json(tmp_path / "file.json") == {"a": 1}


def test_json_may_come_through_a_pipe(tmp_path):
    """As a shell gives the output of a command: --config <(jq ...)."""
    os.mkfifo(tmp_path / "pipe")
    value = {"a": "b" * 10_000}
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(json.dumps(value),))
    writer.start()
    assert files.read_json(tmp_path / "pipe", may_be_pipe=True) == value
    writer.join()


def test_more_values_than_any_file_of_this_program_has_take_no_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("schemas.files._MAX_VALUES", 100)
    path = tmp_path / "a.json"
    files.write_json(path, {"a": [[]] * 41})
    assert len(files.read_json(path)["a"]) == 41
    files.write_json(path, {"a": [[]] * 51})
    assert refusal(files.read_json, path) == (
        f"{path} is larger than any such file of this program; correct the file or make it again."
    )


def test_a_killed_writer_takes_nothing_away_and_leaves_nothing_for_ever(tmp_path):
    folder = tmp_path / "export"
    files.write_text(folder / "old", "old")
    write = "(half / 'new').write_text('half')"
    run_python(KILLED.format("whole_folder", write), folder)
    assert len(names_in(tmp_path)) == 2
    assert contents(folder) == ["old"]
    write_folder(folder)
    assert contents(tmp_path) == ["export/new"]


def test_a_name_may_be_as_long_as_its_file_system_takes(tmp_path):
    names = [127 * "ї" + "a", 127 * "ї" + "b"]
    files.write_text(tmp_path / names[0], "all")
    write_folder(tmp_path / names[1])
    assert contents(tmp_path) == [names[0], f"{names[1]}/new"]


def test_a_device_is_not_replaced(tmp_path):
    path = tmp_path / "predictions"
    path.symlink_to("/dev/null")
    said = f"{path} is a pipe or a device; give a file."
    assert refusal(files.write_text, path, "text", error=SettingError) == said
    assert names_in(tmp_path) == ["predictions"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_is_replaced_whole(tmp_path, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    for name in ("first", "second"):
        write_folder(tmp_path / "export", name)
    assert contents(tmp_path) == ["export/second"]


def test_a_folder_that_was_taken_away_is_put_back(tmp_path):
    files.write_text(tmp_path / f"export{files.TEMPORARY}{'0' * 32}-before/old", "old")
    with pytest.raises(ZeroDivisionError):
        write_folder(tmp_path / "export", error=ZeroDivisionError())
    assert contents(tmp_path) == ["export/old"]


def test_a_file_that_is_being_written_beside_a_folder_is_left_alone(tmp_path):
    half = tmp_path / f"export{files.TEMPORARY}{'0' * 32}"
    half.write_text("half")
    write_folder(tmp_path / "export")
    assert contents(tmp_path) == [half.name, "export/new"]
