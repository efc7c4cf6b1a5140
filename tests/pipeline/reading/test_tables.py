import functools
import time

import pytest

from pipeline.core.documents import NO_TEXT, Dropped
from pipeline.reading import tables
from pipeline.reading.tables import MORE_CELLS, NAMES_AGAIN, csv_rows, find_quoting, json_rows
from pipeline.reading.text_rows import TextRow, row_of, starts_sentence_record
from pipeline.storage import lines
from pipeline.storage.lines import TOO_LONG, read_whole_lines
from tests.refusals import refusal


def rows_of(*blocks, quoting="doubled"):
    rows = csv_rows(blocks, key="text", quoting=quoting)
    return [row_of(cells, "text") for _, cells in rows]


def json_rows_of(*blocks, key="text"):
    return [row_of(cells, key) for _, cells in json_rows(read_whole_lines(blocks))]


ADA = TextRow("Ada wrote.")
TABLES = {
    **{
        f"the header tells that {delimiter} parts the cells": (
            b"id|title|text\n1|A|Ada wrote.\n".replace(b"|", delimiter),
            [TextRow("Ada wrote.", "A")],
        )
        for delimiter in (b",", b"\t", b";")
    },
    "cells may hold line ends, quotes and delimiters": (
        b'\xef\xbb\xbfid,text\r\n1,"Ada, ""she"",\r\nwrote."\r\n\r\n2,Why?\r\n',
        [TextRow('Ada, "she",\nwrote.'), TextRow("Why?")],
    ),
    "a column of its own keeps its commas": (
        b'text\nHe came, late.\n"Why; so?"\n',
        [TextRow("He came, late."), TextRow("Why; so?")],
    ),
    "a row of more cells is not cut": (b"id,text\n1,So, so.\n2,Ada wrote.,\n", [MORE_CELLS, ADA]),
    "a line of names that comes again is no row": (
        b"id,text\n1,Ada wrote.\nid, text\n2,Ada wrote.\n",
        [ADA, NAMES_AGAIN, ADA],
    ),
    "columns without a name at the end are none": (
        b"id,text,,\n1,Ada wrote.,,\n2,He came, late.,\n3,Ada wrote.\n",
        [ADA, MORE_CELLS, ADA],
    ),
    "a row without a cell has no text": (b"id,text\n1\n2,\n3,Ada wrote.", [NO_TEXT, NO_TEXT, ADA]),
    "white space is no part of a name": (b"id, text , title\n1,So.,A\n", [TextRow("So.", "A")]),
    "tabs divide a header that has one": (b"id, a, b\ttext\n1\tAda, so.\n", [TextRow("Ada, so.")]),
    "a space after each comma is none of the text": (
        b'id, text\n1, "Ada, she wrote."\n2, "Ada wrote."\n',
        [TextRow("Ada, she wrote."), ADA],
    ),
    "a quoted name may hold what divides other tables": (
        b'"id";"text";"a, b, or c"\n1;Ada, she wrote.;2\n',
        [TextRow("Ada, she wrote.")],
    ),
    "a name may have white space after its mark": (b'"id" ,"text"\n1,"Ada wrote."\n', [ADA]),
    "code in a quoted cell may have tabs as many as a row": (
        b'id\ttext\n1\t"So.\nLate."\n2\t"def f():\n\treturn 1"\n3\t"x = 1\ny\t= 2"\n',
        [TextRow("So.\nLate."), TextRow("def f():\n\treturn 1"), TextRow("x = 1\ny\t= 2")],
    ),
    "code beside a name may have tabs as many as a row, where others have fewer": (
        b'name\ttext\na.py\t"x = 1\ny\t= 2"\nb.py\t"import os\n\nos.walk()"\n'
        b'c.py\t"def\tf():\nreturn\t1"\n',
        [*map(TextRow, ("x = 1\ny\t= 2", "import os\n\nos.walk()", "def\tf():\nreturn\t1"))],
    ),
    "verse beside a name may have a comma in each line": (
        b'name,text\nDawn,"Light, and\n%bdark"\nDusk,"One.\nTwo."\n' % (b"day, and\n" * 30),
        [TextRow("Light, and\n" + "day, and\n" * 30 + "dark"), TextRow("One.\nTwo.")],
    ),
    "verse beside a number may have a comma in each line": (
        b'id,text\n1,"Light\n%bnight, day"\n2,So.\n' % (b"day, and\n" * 30),
        [TextRow("Light\n" + "day, and\n" * 30 + "night, day"), TextRow("So.")],
    ),
    "rows are rows though marks join them": (
        b'id\ttext\n1\t"Ada wrote.\n2\tI read."\n3\t"One\nTwo."\n',
        [TextRow('"Ada wrote.'), TextRow('I read."'), TextRow("One\nTwo.")],
    ),
    "rows without a number are too, unless some other surely is quoted": (
        b'by\ttext\nAda\t"I wrote.\nBo\tI read."\nAda\t"So."\n',
        [TextRow('"I wrote.'), TextRow('I read."'), TextRow("So.")],
    ),
    "as are many that two marks join": (
        b'by,text\nAda,"I wrote.\n%bBo,I left."\n' % (b"Bo,I read.\n" * 20),
        [TextRow('"I wrote.'), *[TextRow("I read.")] * 20, TextRow('I left."')],
    ),
    "an empty table has no rows": (b"", []),
    "a header alone has no rows": (b"id,text\n", []),
}


@pytest.mark.parametrize(("table", "rows"), TABLES.values(), ids=TABLES)
def test_the_rows_of_a_table_are_its_texts(table, rows):
    assert rows_of(table) == rows


def test_a_row_without_end_does_not_take_the_whole_file(monkeypatch):
    monkeypatch.setattr("pipeline.reading.quoted_rows.MAX_RECORD_BYTES", 100)
    table = b'id,text\n1,"Ada\n' + b"wrote and\n" * 10 + b"2,Ada wrote.\n"
    assert rows_of(table)[0] == TOO_LONG
    assert rows_of(table)[-1] == ADA


# What follows a row whose quotation marks do not fit together, and the texts that are
# read; `find_quoting` has seen no such row in the first of the file.
UNFIT = {
    "an open mark": ('5,"Ada said\n6,She left.\n7,So.\n', ['"Ada said', "She left.", "So."]),
    "one that another row seems to close": (
        '5,"Ada said\n6,She left.\n7,"Why?" he said.\n8,No.\n',
        ['"Ada said', "She left.", '"Why?" he said.', "No."],
    ),
    "one that the last mark of a row seems to close": (
        '5,"Ada said\n' + "6,She left.\n" * 20 + '7,he said "no"\n',
        ['"Ada said', *["She left."] * 20, 'he said "no"'],
    ),
    "one before a row that is quoted": (
        '5,"Ada said\n6,"She left,\nlate."\n7,"No."\n',
        ['"Ada said', "She left,\nlate.", "No."],
    ),
    "a quotation at the beginning": ('5,"No" she said.\n6,So.\n', ['"No" she said.', "So."]),
    "marks that are not doubled": ('5,"He said "no" now."\n6,So.\n', ['He said "no" now.', "So."]),
    "marks after a backslash": ('5,"I said \\"no\\",\nso."\n6,So.\n', ['I said "no",\nso.', "So."]),
    "a space after a quoted cell": ('5,"Ada, she\nwent." \n6,So.\n', ["Ada, she\nwent. ", "So."]),
    "a quoted cell that the file cuts off": ('5,"Ada wrote\nand\nand', ["Ada wrote\nand\nand"]),
}


@pytest.mark.parametrize(("rows", "texts"), UNFIT.values(), ids=UNFIT)
def test_a_row_whose_marks_do_not_fit_takes_no_other_along(rows, texts):
    assert [row.text for row in rows_of(f"id,text\n{rows}".encode())] == texts


def test_megabytes_of_marks_that_open_and_close_take_seconds_at_most():
    start = time.process_time()
    list(csv_rows([b"a,b,c\n" + b'x",1,"y\n' * 200_000], key="a"))
    assert time.process_time() - start < 20


def test_a_header_may_be_long():
    name = "x" * 200_000
    head = f"id,{name},text\n1,2,Ada wrote.\n".encode()
    assert tables.read_header(head, path="a.csv") == ("id", name, "text")


def test_rows_that_are_all_longer_than_the_header_are_refused():
    # The first row would be read with its text in the next column.
    table = b'"id","text","note"\n"1",4,"Ada wrote.",""\n"2",5,"Bo ran.","x"\n"3",6,"'
    assert refusal(tables.read_header, table, path="a.csv") == (
        "a.csv has one cell more in each row than names in its header; if it has row "
        "names of R, give write.table row.names=FALSE, and if its texts have in them "
        "what divides cells, put these in quotation marks."
    )
    # What only ends with a comma, the last row cut off or not.
    for end in (b"2,So.,\n", b"2,So"):
        names = tables.read_header(b"id,text\n1,Ada wrote.,\n" + end, path="a.csv")
        assert names == ("id", "text")


KEYS = b"d1\tOne.\nd2\tAnd two.\nd3\tThree."
NAMES = b"a\tOne.\nb\tAnd two.\na\tThree.\na\tIs it four?\nb\tNo.\nb\t5"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (b"id\ttext\n1\tAda wrote.\n", "doubled"),
        (b'id\ttext\n1\t"Ada wrote ""no""."\n', "doubled"),
        (b'id\ttext\n1\t"No," she wrote.\n', "none"),
        (b'id\ttext\n1\t"Ada wrote.\n2\tI read."\n', "none"),
        (b'id\ttext\n\n1\t"Ada wrote.\n', "none"),
        (b'id|text\n1|"No," she wrote.\n2|"So."\n', "none"),
        (b'id|text\n1|"Ada wrote ""no""."\n', "doubled"),
        (b'"id"\t"text"\n1\t"Ada wrote.\n2\tI read.\n', "none"),
        # A line of a cell is no row where it begins unlike all others.
        (b'id\ttext\n1\t"Ada\nwrote\tit."\n2\tSo.\n', "doubled"),
        (b'on\ttext\n%b\nd1\t"It is\nso\tlate"\n' % KEYS, "doubled"),
        (b'on\ttext\n%b\nd7\t"It is\nd8\tlate"\n' % KEYS, "none"),
        (b'is\ttext\n%b\nb\t"It is\nso\tlate"\n' % NAMES, "doubled"),
        (b'is\ttext\n%b\nb\t"It is\na\tlate"\n' % NAMES, "none"),
        (b'text\tis\n"Yes\ta\nNo"\tb\nWhy?\ta\n', "none"),
        (b'id\ttext\n1\tA b\n2\tB.\n3\tC\n4\t"So:\n1\tIt is.\n2\tNo."\n', "doubled"),
        (b'id\ttext\n1\tA b\n2\tB.\n3\tC\n4\t"So:\n5\tIt is.\n6\tNo."\n', "none"),
        # Neither tabs nor bars divide anything here.
        (b'id,a|b,text\n"1","a|b","He came, late."\n"2","c|d","So"\n', "doubled"),
        (b'text\n"No," she wrote.\n', "doubled"),
        (b'id,text\n1,"No," she wrote.\n', "doubled"),
    ],
)
def test_marks_that_do_not_fit_together_are_text_between_tabs(table, expected):
    assert find_quoting(table, is_whole=True) == expected


def test_what_goes_on_after_the_first_rows_may_be_quoted():
    table = b'id\ttext\n1\tAda wrote.\n2\t"One paragraph.\nAnother'
    assert find_quoting(table, is_whole=False) == "doubled"
    assert find_quoting(table + b"\t3\n4\tAda wrote.\n", is_whole=False) == "none"


def test_a_record_that_is_too_long_costs_no_other(monkeypatch):
    monkeypatch.setattr(lines, "MAX_RECORD_BYTES", 50)
    good = b'{"text": "one"}\n'
    long = b'{"text": "' + b"long " * 40 + b'"}\n'
    rows = json_rows_of(good, long[:60], long[60:], good, long, good)
    one = TextRow("one")
    assert rows == [one, TOO_LONG, one, TOO_LONG, one]
    assert json_rows_of(long.removesuffix(b"\n")) == [TOO_LONG]


def test_a_key_may_lie_in_another_or_have_a_dot():
    assert json_rows_of(b'{"a": {"b": "one"}}', key="a.b") == [TextRow("one")]
    # The last line needs no end.
    lines = b'{"a.b": "one"}\n{"a": "two"}'
    assert json_rows_of(lines, key="a.b") == [TextRow("one"), Dropped("no text")]


def test_a_line_starts_a_document_by_its_sentence_as_it_is_read():
    starts = functools.partial(starts_sentence_record, key="text")
    assert starts(b'{"text": "all rights reserved ."}')
    assert not starts(b'{"text": "he nodded ."}')
    assert not starts(b'{"text": "all rights res')
    line = rb'{"text": "of this \ud83d book all rights\u0000 reserved ."}'
    assert json_rows_of(line) == [TextRow("of this ? book all rights reserved .")]
    assert starts(line)
