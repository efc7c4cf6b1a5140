"""What is left out is counted, and told at the end of the commands that read text."""

import gzip
import json

import pytest

from schemas.files import read_json
from tests.commands import VOCAB, make_data, run

LEFT_OUT = [
    "Warning: 1 x damaged or cut off compressed data; the rest of it could not be "
    "read, so copy the file again.",
    "left out: 2 x line is not a JSON record; 1 x file passed over; 1 x no text",
    "changed while reading: 1 x line not UTF-8, read as Windows-1252",
]
DROPPED = {
    "damaged or cut off compressed data": 1,
    "file passed over": 1,
    "line is not a JSON record": 2,
    "no text": 1,
}


@pytest.fixture
def damaged(small, tmp_path):
    """Texts in a folder with a file that is cut off, bad records and a table."""
    folder = tmp_path / "text"
    folder.mkdir()
    paths = sorted((small / "text").iterdir())
    lines = [json.dumps({"text": path.read_text("utf-8")}) for path in paths]
    lines += ['{"text": "no end', '{"title": "No text"}', "caf\xe9", ""]
    packed = gzip.compress("\n".join(lines).encode("latin-1", "replace"))
    (folder / "rows.jsonl.gz").write_bytes(packed[:-4])
    (folder / "table.csv").write_text("id,text\n")
    return folder


def test_make_data_and_vocab_tell_and_keep_what_was_left_out(small, damaged, tmp_path):
    flags = ("--dupe-factor", 1, "--eval-fraction", 0)
    of_data = make_data(small, *flags, text=damaged, output=tmp_path / "d")
    of_vocab = run("vocab", "--text", damaged, *VOCAB, "--output", tmp_path / "v")
    assert of_data.splitlines()[0] == (
        f"passed over: {damaged}/table.csv is not named like a text; give the file "
        "itself to read it."
    )
    for said, folder in ((of_data, tmp_path / "d"), (of_vocab, tmp_path / "v")):
        assert [line for line in said.splitlines() if line in LEFT_OUT] == LEFT_OUT
        assert read_json(folder / "manifest.json")["dropped"] == DROPPED
    assert "| file passed over | 1 |" in (tmp_path / "d/README.md").read_text()
