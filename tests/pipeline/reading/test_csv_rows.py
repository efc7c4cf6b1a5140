from collections import Counter

import pytest

from pipeline.core.documents import NO_TEXT
from pipeline.reading.csv_rows import (
    TOO_MANY_CELLS,
    is_quoted,
    read_columns,
    read_records,
)
from pipeline.reading.rows import Row
from pipeline.storage.lines import TOO_LONG


def rows_of(*blocks):
    return list(read_records(blocks, key="text", counts=Counter()))


def test_cells_may_hold_line_ends_quotes_and_delimiters():
    table = b'\xef\xbb\xbfid,text\r\n1,"Ada, ""she"",\r\nwrote."\r\n\r\n2,Why?\r\n'
    assert rows_of(table) == [Row('Ada, "she",\nwrote.'), Row("Why?")]


def test_the_header_tells_what_parts_the_cells():
    for delimiter in (b",", b"\t", b";"):
        table = b"id|title|text\n1|A|Ada wrote.\n".replace(b"|", delimiter)
        assert rows_of(table) == [Row("Ada wrote.", "A")]


def test_a_column_of_its_own_keeps_its_commas():
    assert rows_of(b'text\nHe came, late.\n"Why; so?"\n') == [
        Row("He came, late."),
        Row("Why; so?"),
    ]


def test_a_row_with_more_cells_than_the_header_is_not_cut():
    assert rows_of(b"id,text\n1,He came, late.\n2,Ada wrote.,\n") == [
        TOO_MANY_CELLS,
        Row("Ada wrote."),
    ]


def test_a_row_without_the_cell_has_no_text():
    assert rows_of(b"id,text\n1\n2,\n3,Ada wrote.\n") == [
        NO_TEXT,
        NO_TEXT,
        Row("Ada wrote."),
    ]


def test_a_quotation_mark_that_nothing_closes_does_not_take_the_whole_file(monkeypatch):
    monkeypatch.setattr("pipeline.reading.csv_rows.MAX_RECORD_BYTES", 100)
    table = b'id,text\n1,"Ada\n' + b"2,Ada wrote.\n" * 12
    rows = rows_of(table)
    assert rows[0] == TOO_LONG
    assert set(rows[1:]) == {Row("Ada wrote.")}


def test_an_empty_table_has_no_rows():
    assert rows_of(b"") == rows_of(b"id,text\n") == []


def test_a_header_may_be_long():
    name = "x" * 200_000
    assert read_columns(f"id,{name},text\n1,2,Ada wrote.\n".encode()) == [
        "id",
        name,
        "text",
    ]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (b"id\ttext\n1\tAda wrote.\n", True),
        (b'id\ttext\n1\t"Ada wrote ""no""."\n', True),
        (b'id\ttext\n1\t"Ada\nwrote."\n', True),
        (b'id\ttext\n1\t"No," she wrote.\n', False),
        (b'id\ttext\n1\t"Ada wrote.\n2\tI read."\n', False),
        (b'id\ttext\n\n1\t"Ada wrote.\n', False),
        # Tabs divide nothing here.
        (b'text\n"No," she wrote.\n', True),
        (b'id,text\n1,"No," she wrote.\n', True),
    ],
)
def test_marks_that_do_not_fit_together_are_text_between_tabs(table, expected):
    assert is_quoted(table, is_whole=True) is expected


def test_what_goes_on_after_the_first_rows_may_be_quoted():
    table = b'id\ttext\n1\tAda wrote.\n2\t"One paragraph.\nAnother'
    assert is_quoted(table, is_whole=False)
    assert not is_quoted(table + b"\t3\n4\tAda wrote.\n", is_whole=False)
