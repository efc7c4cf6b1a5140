import unicodedata

import pytest

from pipeline.core import writing_systems


def test_sentence_ends_are_those_of_unicode():
    regex = pytest.importorskip("regex")
    assigned = [c for c in map(chr, range(0x110000)) if unicodedata.name(c, "")]
    terminal = {c for c in assigned if regex.match(r"\p{Sentence_Terminal}", c)}
    # A leader in tables of contents, and not the end of anything.
    assert terminal - set(writing_systems.SENTENCE_ENDS) <= {"․"}
    assert {c for c in writing_systems.SENTENCE_ENDS if c in assigned} - terminal == set("…།༎")


@pytest.mark.parametrize("text", ["ខ្ញុំទៅ។", "ကောင်းတယ်။", "वह आया।", "እሱ መጣ።", "(So.)", "¿Qué?»"])
def test_a_sentence_may_end_so(text):
    assert writing_systems.ends_sentence(text)


def test_scripts_without_spaces_are_known():
    assert all(map(writing_systems.is_unspaced, "ไทยລາວខ្មែរမြန်བོດᥖᥭᥰᨲ語ꀀ"))
    assert not any(map(writing_systems.is_unspaced, "latinкир한국어हिन्दीעברית"))


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("Die Verwal-\ntung. Eine Verwaltung.", "Die Verwaltung. Eine Verwaltung."),
        ("Прави-\nтельство. Правительство.", "Правительство. Правительство."),
        ("COMMIT-\nTEE. Committee.", "COMMITTEE. Committee."),
        ("Anglo-  \n  Saxon", "Anglo-Saxon"),
        ("the war of 1914-\n1918", "the war of 1914-1918"),
        # Hyphens that are sure signs, of typesetters and of scanners.
        ("Donau\xad\ndampf", "Donaudampf"),
        ("commit¬\ntee", "committee"),
        ("Ver⸗\nwaltung, Verwaltung", "Verwaltung, Verwaltung"),
        # A suspended hyphen, and dashes.
        ("two-\nand three-year-olds", "two- and three-year-olds"),
        ("Haus-\nund Hoftiere", "Haus- und Hoftiere"),
        ("he said -\nand left--\nat once", "he said - and left-- at once"),
    ],
)
def test_words_divided_at_line_ends_are_whole(text, joined):
    assert writing_systems.unwrapped(writing_systems.with_whole_words(text)) == joined


def test_a_hyphen_in_a_thousand_lines_is_left():
    text = "He came.\n" * 2000 + "so well-\nknown"
    assert writing_systems.with_whole_words(text) == text
