"""What names no flag on a command line."""

import json
import os

import pytest

from cli.support.console import Console
from cli.support.inputs import INPUT_OPTIONS, find_given_inputs, refuse_stray
from schemas.errors import SettingError
from tests.refusals import refusal

SENTENCE = (
    "'b.txt' belongs to no flag; give each path with --wikipedia, --books or --text, "
    "and put quotes around a pattern, as in --text 'novels/*.txt'."
)


def test_options_of_beam_are_no_stray_paths():
    refuse_stray(["--project", "my-project"])
    refuse_stray([])
    assert refusal(refuse_stray, ["b.txt", "--project"], error=SettingError) == SENTENCE


@pytest.mark.parametrize("held_out", ["rows.jsonl", "rows.jsonl:answer"])
def test_rows_that_are_held_out_are_trained_on_by_no_other_key(tmp_path, capsys, held_out):
    row = {"text": "Who came late?", "answer": "He did, and she."}
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(row)}\n" * 9)
    (tmp_path / "other.jsonl").write_text('{"text": "The river is long."}\n' * 9)
    named = ("rows.jsonl", "rows.jsonl:answer", "other.jsonl")
    values = dict.fromkeys(INPUT_OPTIONS) | {"wikipedia": (), "books": ()}
    values |= {"text": tuple(f"{tmp_path}/{name}" for name in named)}
    files, passed = find_given_inputs(
        values | {"eval_text": (f"{tmp_path}/{held_out}",)}, Console(quiet=False)
    )
    key, other = ("answer", "text") if held_out.endswith("answer") else ("text", "answer")
    found = {(os.path.basename(file.path), file.text_key, file.is_held_out) for file in files}
    assert found == {("rows.jsonl", key, True), ("other.jsonl", "text", False)}
    assert passed == 1
    said = f"passed over: {tmp_path}/rows.jsonl:{other}: its rows are held out"
    assert said in capsys.readouterr().err
