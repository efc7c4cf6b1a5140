import json
import os
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.errors import AlbertError
from schemas.json_file import json_text, read_json, write_json, write_text

texts = st.text(st.characters(codec="utf-8"))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
objects = st.dictionaries(texts, scalars | st.lists(scalars), max_size=5)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(objects)
def test_what_is_written_is_read_back(tmp_path, value):
    write_json(tmp_path / "file.json", value)
    assert read_json(tmp_path / "file.json") == value


def test_json_is_indented_in_the_order_given_and_in_plain_letters():
    assert json_text({"b": [1, 2.5], "a": "é"}) == (
        '{\n  "b": [\n    1,\n    2.5\n  ],\n  "a": "é"\n}\n'
    )


def test_writing_leaves_no_other_file(tmp_path):
    write_json(tmp_path / "file.json", {})
    assert [path.name for path in tmp_path.iterdir()] == ["file.json"]


def test_line_ends_are_the_same_everywhere(tmp_path):
    write_text(tmp_path / "file.txt", "a\nb\n")
    assert (tmp_path / "file.txt").read_bytes() == b"a\nb\n"


def test_a_text_that_cannot_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.txt"
    write_text(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "half \ud800")
    assert path.read_text() == "old"


def test_an_absent_file_is_one_sentence(tmp_path):
    path = tmp_path / "file.json"
    with pytest.raises(AlbertError, match=f"^{path} does not exist.$"):
        read_json(path)


def test_a_folder_is_one_sentence(tmp_path):
    expected = f"^{tmp_path} cannot be read: Is a directory.$"
    with pytest.raises(AlbertError, match=expected):
        read_json(tmp_path)


def test_broken_json_is_one_sentence_with_the_place(tmp_path):
    path = tmp_path / "file.json"
    path.write_text('{"a": ')
    expected = (
        rf"^{path} is not valid JSON: Expecting value: line 1 column 7 \(char 6\); "
        r"correct the file or make it again\.$"
    )
    with pytest.raises(AlbertError, match=expected):
        read_json(path)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": "\xff"}', "'utf-8' codec can't decode byte 0xff in position 7: "),
        (b'{"a": ' + b"[" * 100_000, "its lists and objects are nested too deeply"),
        (b'{"a": {"b": 1, "b": 2}}', "the key 'b' comes twice in one object"),
        (b'{"a": 1' + b"0" * 5000 + b"}", "Exceeds the limit (4300 digits)"),
        (b"", "Expecting value: line 1 column 1 (char 0)"),
    ],
    ids=["not UTF-8", "deep", "twice", "long number", "empty"],
)
def test_what_is_not_json_is_one_sentence(tmp_path, data, reason):
    path = tmp_path / "file.json"
    path.write_bytes(data)
    with pytest.raises(AlbertError) as caught:
        read_json(path)
    assert str(caught.value).startswith(f"{path} is not valid JSON: {reason}")
    assert str(caught.value).endswith("; correct the file or make it again.")


def test_the_mark_that_some_editors_put_first_is_no_matter(tmp_path):
    (tmp_path / "file.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_json(tmp_path / "file.json") == {"a": 1}


@pytest.mark.parametrize("text", ["[]", "1", "null", '"text"'])
def test_json_that_is_no_object_is_one_sentence(tmp_path, text):
    path = tmp_path / "file.json"
    path.write_text(text)
    expected = f"^{path} must hold a JSON object, not a list or a value; correct "
    with pytest.raises(AlbertError, match=expected):
        read_json(path)


def test_json_may_come_through_a_pipe(tmp_path):
    """As a shell gives the output of a command: --config <(jq ...)."""
    os.mkfifo(tmp_path / "pipe")
    text = json.dumps({"a": "b" * 10_000})
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(text,))
    writer.start()
    assert read_json(tmp_path / "pipe") == {"a": "b" * 10_000}
    writer.join()
