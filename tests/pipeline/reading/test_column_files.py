"""Damaged and hostile files of columns: the worst is a sentence."""

import contextlib
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.reading import column_files
from pipeline.reading.column_files import ColumnTable, DamagedTable
from schemas.errors import AlbertError
from tests.refusals import refusal


def records(data):
    table = ColumnTable(io.BytesIO(data), path="rows")
    return [row for group in range(len(table.group_bytes)) for row in table.records(group)]


def arrow(table):
    with io.BytesIO() as file:
        with pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
        return file.getvalue()


def parquet(table):
    with io.BytesIO() as file:
        pq.write_table(table, file)
        return file.getvalue()


TABLE = pa.table(
    {
        "text": ["Ada wrote a letter.", "Žofie četla."] * 10,
        "lines": [["one", None, "two"], []] * 10,
        "language": pa.array(["en", "cs"] * 10).dictionary_encode(),
    }
)


@pytest.mark.parametrize("write", [arrow, parquet])
def test_maps_are_lists_of_pairs_also_inside_lists(write):
    maps = pa.array([[("de", "Fluss")], None], pa.map_(pa.string(), pa.string()))
    kind = pa.list_(pa.map_(pa.string(), pa.list_(pa.int64())))
    table = pa.table({"names": maps, "many": pa.array([[[("a", [1, 2])]], []], kind)})
    assert records(write(table)) == [
        {"names": [("de", "Fluss")], "many": [[("a", [1, 2])]]},
        {"names": None, "many": []},
    ]


@pytest.mark.parametrize("write", [arrow, parquet])
@settings(max_examples=150, deadline=None)
@given(draw=st.data())
def test_a_file_with_changed_bytes_is_read_or_refused(write, draw):
    data = bytearray(write(TABLE))
    places = st.integers(0, len(data) - 8)
    numbers = st.sampled_from([b"\xff", b"\0\0\0\x80", b"\xff\xff\xff\x7f", b"\0\0\0\0\1\0\0\0"])
    for place, number in draw.draw(st.lists(st.tuples(places, numbers), min_size=1, max_size=4)):
        data[place : place + len(number)] = number
    with contextlib.suppress(AlbertError):
        records(bytes(data))


OFFSETS, WHOLE = TABLE["text"].chunk(0).buffers()[1].to_pybytes(), parquet(TABLE)
DAMAGED = {
    "its end": (WHOLE[:-9], ": the end of the file is missing"),
    "what its end tells of": (WHOLE[:-40] + WHOLE[-8:], ""),
    "an offset that leads out of the text": (
        arrow(TABLE).replace(OFFSETS, OFFSETS[:4] + b"\0\0\0\x70" + OFFSETS[8:]),
        "",
    ),
}


@pytest.mark.parametrize(("data", "how"), DAMAGED.values(), ids=DAMAGED)
def test_the_end_is_said_to_be_missing_only_where_it_is(data, how):
    assert refusal(records, data, error=DamagedTable) == f"rows is damaged{how}; copy it again."


FEW_BYTES, MANY = "unpack to 1,100,000 values", 1_100_000
OF_ONE_ROW = pa.array([0, MANY], pa.int32())


@pytest.mark.parametrize(
    ("write", "column", "said"),
    [
        (parquet, pa.repeat("abc", MANY), FEW_BYTES),
        (parquet, pa.ListArray.from_arrays(OF_ONE_ROW, pa.repeat("abc", MANY)), FEW_BYTES),
        (arrow, pa.nulls(MANY), FEW_BYTES),
        (arrow, pa.ListArray.from_arrays(OF_ONE_ROW, pa.nulls(MANY)), "in lists"),
        (
            arrow,
            pa.ListArray.from_arrays(
                pa.array([0, 3000], pa.int32()),
                pa.DictionaryArray.from_arrays(pa.nulls(3000, pa.int8()).fill_null(0), ["a" * 999]),
            ),
            "in lists",
        ),
    ],
    ids=["rows", "a list", "rows of nothing", "a list of nothing", "a list of one text"],
)
def test_few_bytes_that_would_fill_the_memory_are_refused(monkeypatch, write, column, said):
    monkeypatch.setattr(column_files, "_LARGE_BATCH_BYTES", 1 << 20)
    with pytest.raises(AlbertError, match=said):
        records(write(pa.table({"text": column})))


def test_lists_of_usual_length_are_read():
    column = [["a sentence"] * 300] * 20
    for write in (arrow, parquet):
        assert [row["text"] for row in records(write(pa.table({"text": column})))] == column
