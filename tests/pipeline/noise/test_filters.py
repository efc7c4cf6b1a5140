"""Filters change what they are for, and nothing else."""

import sys

import pytest

from pipeline.core.documents import Document
from pipeline.noise.filters import REPAIRED, REPEATED, check_filters, clean, line_number
from schemas.config import DataConfig
from schemas.errors import SettingError


def test_without_a_filter_a_document_stays_as_it_is():
    document = Document(("He came.", "&amp; CafÃ©"))
    assert clean(document, DataConfig()) == (document, ())


def test_a_document_of_repeated_lines_only_goes():
    document = Document(("Menu", "Sign in"))
    lines = set(map(line_number, document.paragraphs))
    left, removed = clean(document, DataConfig(max_line_repeats=1), repeated=lines)
    assert left is None
    assert [(one.reason, one.text) for one in removed] == [
        (REPEATED, "Menu"),
        (REPEATED, "Sign in"),
    ]


def test_text_is_repaired_and_what_was_read_is_kept():
    pytest.importorskip("ftfy")
    document = Document(("The cafÃ© wasnâ€™t “open”.", "Tom &amp; Ann", "ﬁne"))
    left, removed = clean(document, DataConfig(repair_text=True))
    assert left.paragraphs == ("The café wasn’t “open”.", "Tom & Ann", "ﬁne")
    assert [(one.reason, one.paragraph) for one in removed] == [(REPAIRED, 0), (REPAIRED, 1)]
    second = {"paragraph": 1, "text": "Tom &amp; Ann", "became": "Tom & Ann"}
    assert removed[1].record("d") == {"document": "d", "reason": REPAIRED, **second}


def test_languages_are_told_and_unknown_ones_refused():
    pytest.importorskip("py3langid")
    config = DataConfig(keep_languages="uk,ru")
    check_filters(config)
    ukrainian = Document(("Він прочитав цю книжку, бо вона йому подобалася.",))
    english = Document(("He read this book because he liked it very much.",))
    assert clean(ukrainian, config)[0] == ukrainian
    assert clean(english, config)[0] is None
    with pytest.raises(SettingError, match="'ukr'"):
        check_filters(DataConfig(keep_languages="ukr"))


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "py3langid", None)
    with pytest.raises(SettingError, match="py3langid"):
        check_filters(DataConfig(keep_languages="uk"))
