"""Damaged and odd text is counted, and the rest is kept.

None hangs, none takes memory without bound, none loses a good document. What is refused
is in the table of bad input (`tests.bad_input`).
"""

import json
import lzma
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from pipeline.core.documents import ReadingCounts
from pipeline.reading.inputs import find_inputs
from pipeline.reading.read import plan_chunks, read_shard_documents
from schemas.errors import AlbertError
from tests.processes import run_python
from tests.refusals import refusal


def read(kind, path, **settings):
    """The texts of a file, and what was counted."""
    counts = ReadingCounts()
    files = find_inputs({kind: (str(path),)}, **settings)
    texts = [
        document.text
        for split in plan_chunks(files, chunk_bytes=1000)
        for document in read_shard_documents(split, counts=counts)
    ]
    assert counts.documents == len(texts)
    return sorted(texts), counts.dropped + counts.changed


def record(number):
    return json.dumps({"text": f"Ada wrote {number}."}) + "\n"


RECORDS = "".join(map(record, range(100, 150)))
WROTE = [f"Ada wrote {number}." for number in range(100, 150)]


@pytest.mark.parametrize("pack", [lzma.compress, zstandard.compress])
def test_a_file_of_which_only_the_first_bytes_arrived_is_damaged(tmp_path, pack):
    (tmp_path / "rows").write_bytes(pack(RECORDS.encode())[:12])
    with pytest.raises(AlbertError, match=r"/rows is damaged; copy it again\.$"):
        read("text", tmp_path / "rows")


def test_a_damaged_row_group_costs_no_other(tmp_path):
    path = tmp_path / "table"
    table = pa.table({"text": [f"Ada wrote {n}." for n in range(100, 150)]})
    pq.write_table(table, path, row_group_size=10, compression="gzip")
    column = pq.ParquetFile(path).metadata.row_group(2).column(0)
    middle = column.dictionary_page_offset + column.total_compressed_size // 2
    data = bytearray(path.read_bytes())
    data[middle - 15 : middle + 15] = bytes(30)
    path.write_bytes(data)
    texts, counts = read("text", tmp_path / "table")
    assert len(texts) == 40
    assert counts == {"damaged row group": 1}


def test_an_unreadable_file_is_named(tmp_path, monkeypatch):
    path = tmp_path / "novel.txt"
    path.write_text("Ada wrote.")

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    assert refusal(read, "books", path) == f"{path} cannot be read: Permission denied."


def test_lines_that_are_not_utf8_are_read_as_windows_1252_and_zero_bytes_go(tmp_path):
    text = "É\0mile came.\0\n\n".encode() + "Zoë said “no”.\n".encode("cp1252")
    (tmp_path / "novel.txt").write_bytes(text)
    texts, counts = read("books", tmp_path / "novel.txt")
    assert texts == ["Émile came.\nZoë said “no”."]
    assert counts == {"line not UTF-8, read as Windows-1252": 1, "zero byte taken out": 2}


def test_broken_lines_of_json_are_counted(tmp_path):
    bad = ['{"text": "Ada', "[1, 2]", "null", '{"text": 7}', '{"title": "x"}', "", " "]
    bad += ["[" * 100_000, '{"text": ""}', '{"text": " * * * "}']
    (tmp_path / "rows.jsonl").write_text(RECORDS + "\n".join(bad) + "\n" + record(7))
    texts, counts = read("text", tmp_path / "rows.jsonl")
    assert texts == [*WROTE, "Ada wrote 7."]
    assert counts == {"line is not a JSON record": 4, "no text": 4}


def read_measured(kind, path, *, documents):
    """The characters of the first documents of a file, and the peak of memory in MB."""
    program = (
        "import itertools, re, sys\n"
        "from pathlib import Path\n"
        "from pipeline.reading.inputs import find_inputs\n"
        "from tests.pipeline.reading.whole_file import read_file\n"
        "(file,) = find_inputs({sys.argv[1]: (sys.argv[2],)})\n"
        "some = itertools.islice(read_file(file), int(sys.argv[3]))\n"
        "print(sum(len(p) for document in some for p in document.paragraphs))\n"
        "status = Path('/proc/self/status').read_text()\n"
        "print(int(re.search(r'VmHWM:\\s*(\\d+)', status)[1]) // 1024)\n"
    )
    return map(int, run_python(program, kind, path, documents, check=True).stdout.split())


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("kind", ["text", "books"])
def test_a_line_without_end_takes_bounded_memory(tmp_path, kind):
    path = tmp_path / "line.txt"
    with path.open("wb") as file:
        for _ in range(60):
            file.write(b"he came and she left " * (1_000_000 // 21))
    characters, megabytes = read_measured(kind, path, documents=1000)
    assert characters > 59_000_000
    assert megabytes < 300


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_a_table_that_names_one_huge_text_many_times_takes_bounded_memory(tmp_path):
    text = pa.array(["he came and she left " * 100_000])
    rows = pa.DictionaryArray.from_arrays(pa.array([0] * 256, pa.int32()), text)
    pq.write_table(pa.table({"text": rows}), tmp_path / "rows.parquet", store_schema=False)
    assert (tmp_path / "rows.parquet").stat().st_size < 200_000
    characters, megabytes = read_measured("text", tmp_path / "rows.parquet", documents=3)
    assert characters > 3 * 2_000_000
    assert megabytes < 500
