import pytest

from pipeline.core.documents import Document
from pipeline.reading import plain_text
from pipeline.reading.plain_text import (
    divide_bytes,
    read_prose,
    read_sentences,
    recognise_text,
    split_paragraphs,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He came.\nShe left.\n\nWhy?\nNo one knew.\n", "sentences"),
        ("He came.\nShe left.\n", "sentences"),
        ("It was late when the miller\ncame home.\n\nNo one\nknew.\n", "prose"),
        ("He came. She left.\n\nIt rained. He slept.\n", "prose"),
        ("He came.\n\nShe left.\n\nIt rained.\n", "prose"),
        ("彼は来た。\n彼女は去った。\n\n雨が降った。\n誰もいない。\n", "sentences"),
        ("彼は来た。彼女は去った。\n雨が降った。誰もいない。\n", "prose"),
        ("「行こう。」と彼は言った。\n彼女は去った。\n", "sentences"),
        ("وہ آیا۔\nوہ چلی گئی۔\n\nبارش ہوئی۔\nکوئی نہیں۔\n", "sentences"),
        ("वह आया। वह गई।\nबारिश हुई। कोई नहीं।\n", "prose"),
        ("", "prose"),
    ],
)
def test_sentences_are_told_from_prose(text, expected):
    assert recognise_text(text.splitlines()) == expected


def test_sentences_without_a_blank_line_have_no_documents():
    lines = ["He came.", "She left.", "It rained."]
    assert recognise_text(lines, is_whole=False) == "bookcorpus"
    assert recognise_text([*lines, ""], is_whole=False) == "sentences"


def test_a_paragraph_has_single_spaces():
    assert split_paragraphs(" He\tcame \n  late.\n\u00a0\n\n\nWhy? ") == [
        "He came late.",
        "Why?",
    ]


def test_lines_of_scripts_without_spaces_are_joined_without_one():
    assert split_paragraphs("東京は\n日本の、\n首都である。\n\nภาษา\nไทย\n") == [
        "東京は日本の、首都である。",
        "ภาษาไทย",
    ]
    assert split_paragraphs("東京\nTokyo\n東京") == ["東京 Tokyo 東京"]


def test_wide_lines_are_paragraphs():
    wide = "He came home late and sat by the fire. " * 7 + "Late."
    assert split_paragraphs(f"{wide}\nWhy?\n{wide}") == [wide, "Why?", wide]


def test_a_very_long_paragraph_is_divided_at_spaces():
    paragraphs = split_paragraphs("he came " * 400_000)
    assert " ".join(paragraphs) == ("he came " * 400_000).strip()
    assert max(map(len, paragraphs)) <= plain_text.MAX_PARAGRAPH_CHARACTERS


@pytest.mark.parametrize("size", [1, 5, 100])
def test_a_very_long_file_is_divided_in_the_same_places_however_it_is_read(size):
    text = b"One one.\r\n\r\nTwo two.\n\nThree\nthree. Four four four four"
    blocks = [text[i : i + size] for i in range(0, len(text), size)]
    assert list(divide_bytes(blocks, limit=14)) == [
        b"One one.\r\n\r\n",
        b"Two two.\n\n",
        b"Three\n",
        b"three. Four ",
        b"four four four",
    ]


def test_documents_without_end_are_divided(monkeypatch):
    monkeypatch.setattr(plain_text, "MAX_DOCUMENT_BYTES", 10)
    documents = list(read_sentences(["He came."] * 5))
    assert [len(document.paragraphs) for document in documents] == [2, 2, 1]


def test_a_file_of_blank_lines_has_no_text():
    assert list(read_sentences(["", ""])) == []
    (dropped,) = read_prose([b"\n \n* * *\n"])
    assert dropped.reason == "no text"


def test_blank_lines_in_a_row_end_one_document():
    assert list(read_sentences(["", "a.", "", "", "b."])) == [
        Document(("a.",), is_segmented=True),
        Document(("b.",), is_segmented=True),
    ]
