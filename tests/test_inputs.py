import bz2
import json
import random
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.formats import FORMATS, FORMATS_OF, HEAD_BYTES, KINDS, MEANINGS
from pipeline.inputs import describe_inputs, find_inputs
from pipeline.splits import plan_splits
from schemas.errors import SettingError

PAGE = "<page><title>A</title><revision><text>Ada wrote.</text></revision></page>"
DUMP = f"<mediawiki xml:lang='ltg'>{PAGE}</mediawiki>"
ARTICLE = (
    '<doc id="1" url="https://uk.wikipedia.org/wiki?curid=1" title="A">\nA\n</doc>'
)
RECORD = '{"id": "1", "url": "https://uk.wikipedia.org/wiki/A", "text": "Ada wrote."}\n'
WRAPPED = "It was late when the miller\ncame home. He had been at\nthe market.\n\n"
SENTENCES = "It was late.\nThe miller came.\n\nWhy?\nNo one knew.\nHe slept.\n"
TOKENIZED = "`` who is there ? '' he said .\nthe miller came home , late .\n"


def find(kind, *paths, **settings):
    return find_inputs({kind: tuple(map(str, paths))}, **settings)


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        ("wikipedia", DUMP, "mediawiki"),
        ("wikipedia", PAGE, "mediawiki"),
        ("wikipedia", "\ufeff<?xml version='1.0'?>\n" + DUMP, "mediawiki"),
        ("wikipedia", ARTICLE, "wikiextractor"),
        ("wikipedia", RECORD, "jsonl"),
        ("wikipedia", '{"text": "' + "long " * 50_000 + '"}\n', "jsonl"),
        ("books", WRAPPED, "book"),
        ("books", SENTENCES, "book"),
        ("books", TOKENIZED * 1500, "bookcorpus"),
        ("books", TOKENIZED, "book"),
        ("books", RECORD.replace("wrote.", "wrote.\\nShe did."), "jsonl"),
        ("books", '{"text": "she wrote ."}\n{"text": "why ?"}\n', "jsonl-sentences"),
        ("text", WRAPPED, "prose"),
        ("text", SENTENCES, "sentences"),
        ("text", SENTENCES * 1500, "sentences"),
        ("text", SENTENCES.replace("\n\n", "\n") * 1500, "bookcorpus"),
        ("text", '{"text": "she wrote ."}\n{"text": "why ?"}\n', "jsonl"),
    ],
)
def test_the_format_is_recognised_from_content(tmp_path, kind, content, expected):
    for name, data in [
        ("plain", content.encode()),
        ("packed", bz2.compress(content.encode())),
    ]:
        (tmp_path / name).write_bytes(data)
        (file,) = find(kind, tmp_path / name)
        assert file.format == expected


@pytest.mark.parametrize(
    ("kind", "texts", "expected"),
    [
        ("wikipedia", ["Ada.\nShe wrote."], "parquet"),
        ("books", ["A book. " * 99], "parquet"),
        ("books", ["she wrote .", "why ?"], "parquet-sentences"),
        ("text", ["she wrote .", "why ?"], "parquet"),
    ],
)
def test_parquet_is_recognised(tmp_path, kind, texts, expected):
    pq.write_table(pa.table({"text": texts}), tmp_path / "table")
    (file,) = find(kind, tmp_path / "table")
    assert (file.format, file.text_key) == (expected, "text")


def test_the_language_is_the_one_that_a_dump_names(tmp_path):
    (tmp_path / "dump.xml").write_text(DUMP)
    (tmp_path / "article").write_text(ARTICLE)
    (tmp_path / "novel.txt").write_text(WRAPPED)
    (dump,) = find("wikipedia", tmp_path / "dump.xml")
    (article,) = find("wikipedia", tmp_path / "article")
    assert (dump.language, article.language) == ("ltg", "uk")
    given = {
        "wikipedia": (str(tmp_path / "dump.xml"),),
        "books": (str(tmp_path / "novel.txt"),),
    }
    assert [file.language for file in find_inputs(given)] == ["ltg", "ltg"]
    assert [file.language for file in find_inputs(given, language="de")] == ["de"] * 2
    assert find("books", tmp_path / "novel.txt")[0].language == "en"


def test_a_folder_is_read_whole_but_for_what_is_no_text(tmp_path):
    (tmp_path / "AA").mkdir()
    (tmp_path / "AA" / "wiki_00").write_text(ARTICLE)
    (tmp_path / ".hidden").write_text("no format at all")
    (tmp_path / "MANIFEST.csv").write_text("file,bytes\n")
    (tmp_path / "x-multistream-index.txt.bz2").write_bytes(bz2.compress(b"616:1:A\n"))
    (tmp_path / "notes").write_text("Nothing known.")
    (tmp_path / "empty").write_text("")
    notes = []
    (file,) = find("wikipedia", tmp_path, on_note=notes.append)
    assert file.path.endswith("wiki_00")
    assert [re.sub(r"\S*/", "", note) for note in notes] == [
        "passed over: MANIFEST.csv is named like no text.",
        "passed over: empty is empty.",
        "passed over: --wikipedia: notes is none of MediaWiki dump, wikiextractor "
        "output, JSON lines and parquet; give plain text with --text.",
        "passed over: --wikipedia: x-multistream-index.txt.bz2 is the index of a dump "
        "and not needed; give the .xml.bz2 file beside it.",
    ]


def test_many_notes_are_summed_up(tmp_path):
    (tmp_path / "dump.xml").write_text(DUMP)
    for number in range(9):
        (tmp_path / f"{number}.csv").write_text("a,b\n")
    notes = []
    find("wikipedia", tmp_path, on_note=notes.append)
    assert len(notes) == 6
    assert notes[-1] == f"passed over: 4 more files in {tmp_path}."


def test_a_glob_reads_what_it_names_without_the_indexes(tmp_path):
    (tmp_path / "a.xml").write_text(DUMP)
    (tmp_path / "a-index.txt").write_text("616:1:A\n616:2:B\n")
    notes = []
    (file,) = find("wikipedia", tmp_path / "a*", on_note=notes.append)
    assert file.path.endswith("a.xml")
    assert len(notes) == 1


def test_the_same_file_is_read_once_for_each_flag(tmp_path):
    (tmp_path / "novel.txt").write_text(WRAPPED)
    assert len(find("books", tmp_path, tmp_path / "novel.txt")) == 1


def test_a_file_with_two_spellings_is_read_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "novel.txt").write_text(WRAPPED)
    (tmp_path / "link.txt").symlink_to("novel.txt")
    spellings = ["novel.txt", "./novel.txt", str(tmp_path / "novel.txt"), "link.txt"]
    files = find("books", *spellings)
    assert len(files) == 1
    assert find("books", *reversed(spellings)) == files
    given = {"books": ("novel.txt",), "text": ("./novel.txt",)}
    assert len(find_inputs(given)) == 2


def test_a_format_can_be_forced(tmp_path):
    (tmp_path / "novel.txt").write_text(WRAPPED)
    (file,) = find("text", tmp_path / "novel.txt", input_format="sentences")
    assert file.format == "sentences"


def test_a_forced_format_must_be_one_of_the_flag(tmp_path):
    (tmp_path / "novel.txt").write_text(WRAPPED)
    with pytest.raises(SettingError) as error:
        find("books", tmp_path / "novel.txt", input_format="mediawiki")
    assert str(error.value) == (
        "--input-format mediawiki is no format of --books, which can be book, "
        "bookcorpus, jsonl, jsonl-sentences, parquet, parquet-sentences, sentences."
    )


def test_a_format_is_forced_only_where_it_can_be(tmp_path):
    (tmp_path / "dump.xml").write_text(DUMP)
    (tmp_path / "lines.txt").write_text(WRAPPED)
    given = {
        "wikipedia": (str(tmp_path / "dump.xml"),),
        "text": (str(tmp_path / "lines.txt"),),
    }
    formats = [file.format for file in find_inputs(given, input_format="sentences")]
    assert formats == ["sentences", "mediawiki"]


def test_the_manifest_says_nothing_of_the_machine(tmp_path):
    (tmp_path / "lines.jsonl").write_text(json.dumps({"a": {"b": "One. Two."}}) + "\n")
    (file,) = find("text", tmp_path / "lines.jsonl", text_key="a.b")
    assert file.describe() == {
        "name": "lines.jsonl",
        "kind": "text",
        "format": "jsonl",
        "language": "en",
        "bytes": 26,
        "sha256": file.sha256,
        "text_key": "a.b",
    }
    assert len(file.sha256) == 64


def test_each_format_is_said_with_what_it_implies(tmp_path):
    (tmp_path / "dump.xml").write_text(DUMP)
    for name in "ab":
        (tmp_path / name).write_text(WRAPPED + name)
    files = find_inputs(
        {
            "wikipedia": (str(tmp_path / "dump.xml"),),
            "books": (str(tmp_path / "a"), str(tmp_path / "b")),
        }
    )
    assert list(describe_inputs(files)) == [
        "books: 2 files, 0.0 MB: book, one document a file, segmented (ltg)",
        "wikipedia: 1 file, 0.0 MB: MediaWiki dump, one document a page, markup "
        "removed, segmented (ltg)",
    ]


def test_every_format_has_a_meaning_and_a_flag():
    assert tuple(MEANINGS) == FORMATS
    assert set().union(*(FORMATS_OF[kind] for kind in KINDS)) == set(FORMATS)


def test_files_that_can_be_read_in_ranges_are_marked(tmp_path):
    text = bytes(random.Random(1).choices(b"abc \n", k=HEAD_BYTES))
    (tmp_path / "one.bz2").write_bytes(bz2.compress(DUMP.encode() + text))
    (tmp_path / "many.bz2").write_bytes(
        bz2.compress(DUMP.encode()) + bz2.compress(text)
    )
    (tmp_path / "novel.txt").write_text(WRAPPED)
    assert not find("wikipedia", tmp_path / "one.bz2")[0].is_divisible
    assert find("wikipedia", tmp_path / "many.bz2")[0].is_divisible
    assert not find("books", tmp_path / "novel.txt")[0].is_divisible
    assert len(plan_splits(find("wikipedia", tmp_path / "many.bz2"), split_bytes=1)) > 9


@pytest.mark.parametrize("language", ["english", "EN", "", "en_US", "d", "en-", "e n"])
def test_a_language_that_is_no_code_is_refused(tmp_path, language):
    (tmp_path / "novel.txt").write_text(WRAPPED)
    with pytest.raises(SettingError) as error:
        find("books", tmp_path / "novel.txt", language=language)
    expected = f"--language takes a code such as en, not {language!r}."
    assert str(error.value) == expected


@pytest.mark.parametrize("language", ["en", "ltg", "zh-min-nan", "be-x-old", "pt-BR"])
def test_a_language_code_is_taken(tmp_path, language):
    (tmp_path / "novel.txt").write_text(WRAPPED)
    (file,) = find("books", tmp_path / "novel.txt", language=language)
    assert file.language == language
