from collections import Counter

from pipeline.core.documents import Dropped
from pipeline.reading.jsonl import read_records, sentence_starts
from pipeline.reading.rows import Row
from pipeline.storage import lines
from pipeline.storage.lines import TOO_LONG


def rows_of(*blocks, key="text"):
    return list(read_records(blocks, key=key, counts=Counter()))


def test_a_record_that_is_too_long_costs_no_other(monkeypatch):
    monkeypatch.setattr(lines, "MAX_RECORD_BYTES", 50)
    good = b'{"text": "one"}\n'
    long = b'{"text": "' + b"long " * 40 + b'"}\n'
    rows = rows_of(good, long[:60], long[60:], good, long, good)
    one = Row("one")
    assert rows == [one, TOO_LONG, one, TOO_LONG, one]
    assert rows_of(long.removesuffix(b"\n")) == [TOO_LONG]


def test_the_last_line_needs_no_end():
    assert rows_of(b'{"text": "one"}\n{"text": "two"}') == [Row("one"), Row("two")]


def test_a_key_may_lie_in_another_or_have_a_dot():
    assert rows_of(b'{"a": {"b": "one"}}', key="a.b") == [Row("one")]
    assert rows_of(b'{"a.b": "one"}', key="a.b") == [Row("one")]
    assert rows_of(b'{"a": "one"}', key="a.b") == [Dropped("no text")]


def test_a_line_starts_a_document_by_its_sentence():
    starts = sentence_starts("text")
    assert starts(b'{"text": "all rights reserved ."}')
    assert not starts(b'{"text": "he nodded ."}')
    assert not starts(b'{"text": "all rights res')


def test_a_line_starts_a_document_by_its_sentence_as_it_is_read():
    line = rb'{"text": "of this \ud83d book all rights\u0000 reserved ."}'
    assert rows_of(line) == [Row("of this ? book all rights reserved .")]
    assert sentence_starts("text")(line)
