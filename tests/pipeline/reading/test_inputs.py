import bz2
import csv
import gzip
import json
import random
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from cli.support.inputs import describe_inputs
from pipeline.reading import column_files
from pipeline.reading.formats import FORMATS, HEAD_BYTES, KINDS, formats_of, loaded
from pipeline.reading.inputs import find_held_out, find_inputs
from pipeline.reading.read import plan_chunks
from pipeline.reading.text_rows import DAMAGED_GROUP
from schemas.errors import AlbertError
from tests.pipeline.reading.whole_file import read_file
from tests.refusals import refusal

PAGE = "<page><title>A</title><revision><text>Ada wrote.</text></revision></page>"
DUMP = f"<mediawiki xml:lang='ltg'>{PAGE}</mediawiki>"
ARTICLE = '<doc id="1" url="https://uk.wikipedia.org/wiki?curid=1" title="A">\nA\n</doc>'
RECORD = '{"id": "1", "url": "https://uk.wikipedia.org/wiki/A", "text": "Ada wrote."}\n'
WRAPPED = "It was late when the miller\ncame home. He had been at\nthe market.\n\n"
WET = "WARC/1.0\nWARC-Type: conversion\nWARC-Identified-Content-Language: deu\n\nWer kam da?\n\n"
SENTENCES = "It was late.\nThe miller came.\n\nWhy?\nNo one knew.\nHe slept.\n"
TOKENIZED = "`` who is there ? '' he said .\nthe miller came home , late .\n"


def find(kind, *paths, **settings):
    return find_inputs({kind: tuple(map(str, paths))}, **settings)


def found(path, content, kind="text", **settings):
    """A file of this content, as it is found."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (file,) = find(kind, path, **settings)
    return file


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
        ("text", WRAPPED + "<|endoftext|>\n" + WRAPPED, "marked"),
        ("books", WRAPPED + "</s>\n" + WRAPPED, "marked"),
        ("text", WRAPPED + "----\n" + WRAPPED, "prose"),
    ],
)
def test_the_format_is_recognised_from_content(tmp_path, kind, content, expected):
    for name, data in [("plain", content.encode()), ("packed", bz2.compress(content.encode()))]:
        assert found(tmp_path / name, data, kind).format == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["rows.csv", "rows.TSV", "rows.csv.bz2"])
def test_a_table_is_recognised_by_its_name(tmp_path, kind, name):
    data = b"id, text\n1,Ada wrote.\n"
    file = found(tmp_path / name, bz2.compress(data) if "bz2" in name else data, kind)
    assert (file.format, file.text_key) == ("csv", "text")


def test_tables_of_a_folder_are_read_when_they_are_asked_for(tmp_path):
    (tmp_path / "rows.csv").write_text("body\nAda wrote.\n")
    (tmp_path / "novel.txt").write_text(WRAPPED)
    (file,) = find("text", tmp_path)
    assert file.path.endswith("novel.txt")
    (tmp_path / "novel.txt").unlink()
    (file,) = find("text", tmp_path, input_format="csv", text_key="body")
    assert (file.path, file.text_key) == (str(tmp_path / "rows.csv"), "body")


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


def languages(*inputs):
    """The language of each file, and what named it."""
    return [(file.language, file.language_from) for file in inputs]


ZIP = b"PK\x03\x04" + bytes(26)
# What is no text: its name, its first bytes and what it is called.
NO_TEXT = {
    "a.zip": (ZIP + b"a.txt", "is a zip archive"),
    "a.docx": (ZIP + b"[Content_Types].xml", "is a docx file"),
    "a.xlsx": (ZIP + b"[Content_Types].xml" + ZIP + b"xl/a", "is an Excel workbook"),
    "a.epub": (ZIP + b"mimetypeapplication/epub+zip", "is an EPUB book"),
    "a.odt": (ZIP + b"mimetypeapplication/vnd.oasis", "is an OpenDocument file"),
    "a.rtf": (b"{\\rtf1 Ada wrote.}", "is an RTF file"),
    "a.doc": (b"\xd0\xcf\x11\xe0\xa1\xb1", "is an old Office file"),
    "a.7z": (b"7z\xbc\xaf\x27\x1c", "is a 7z archive"),
    "a.rar": (b"Rar!\x1a\x07", "is a rar archive"),
    "a.tar.gz": (gzip.compress(bytes(257) + b"ustar\0"), "is a tar archive"),
    "a.db": (b"SQLite format 3\0", "is an SQLite database"),
    "page": (b"\n<!DOCTYPE html>\n<html><body>Ada.</body></html>\n", "is HTML"),
    "a.md": (b"# Ada\n", "is named like Markdown"),
    "rows.json": (b'[{"text": "Ada."}]', "is a JSON array"),
    "row.json": (b'{\n  "text": "Ada wrote."\n}\n', "is JSON, but not one record"),
    "a.bin": (bytes(range(256)), "is not text: it is full of control"),
    "film.ass": (b"[Script Info]\nTitle: X\n", "is subtitles"),
    "de.conllu": (b"1\tAda\tX\n2\tschrieb\tY\n\n1\tWer\tX\n2\tlas\tY\n", "has a token"),
    "comments.conllu": (b"# text = A b.\n1\tA\tX\n2\tb.\tY\n\n" * 9, "has a token"),
    "vertical.txt": (b"<s>\nAda\tX\tada\nran\tY\trun\n</s>\n" * 9, "has a token"),
    "ner.txt": (b"Ada\tB-PER\nschrieb\tO\n\nWer\tO\nlas\tO\n", "has a token"),
    "pairs.txt": (b"He came.\tEr kam.\n" * 9, "has several columns"),
    "tei": (b'<?xml version="1.0"?>\n<TEI><text>A</text></TEI>', "is XML"),
    "a.tmx": (b"<tmx version='1.4'><body/></tmx>", "is XML"),
    "a.warc": (b"WARC/1.0\r\nWARC-Type: response\r\n\r\n<p>", "is WARC with web pages"),
    "a.sql": (b"-- MySQL dump 10.13\nCREATE TABLE a;\n", "is an SQL dump"),
    "paper.txt": (b"\\documentclass{article}\nA.\n", "is LaTeX"),
    "mail": (b"From a@b.example Mon Jan 1\nSubject: A\n\nB\n", "is a mailbox"),
    "a.avro": (b"Obj\x01\x04\x14", "is an Avro file"),
    "a.npy": (b"\x93NUMPY\x01\0v\0", "is an array of NumPy"),
    "a.pkl": (b"\x80\x04\x95\x0b\0", "is a pickle"),
    "a.h5": (b"\x89HDF\r\n\x1a\n", "is an HDF5 file"),
    "a.png": (b"\x89PNG\r\n\x1a\n", "is a picture"),
    "zeros": (b"One two. " * 50 + bytes(100), "is not text"),
    "conll": (b"EU NNP B-ORG\nrejects VBZ O\n. . O\n\n" * 3, "has a token in each"),
}


@pytest.mark.parametrize("name", NO_TEXT)
def test_what_is_no_text_is_refused_with_what_it_is(tmp_path, name):
    content, says = NO_TEXT[name]
    assert f"{name} {says}" in refusal(found, tmp_path / name, content)


def write_arrow(path, table, *, kind, compression, rows=None):
    """A table as Arrow writes it, in batches of so many rows."""
    new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with path.open("wb") as file, new(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)


@pytest.mark.parametrize("kind", ["file", "stream"])
@pytest.mark.parametrize("compression", [None, "lz4"])
def test_arrow_is_read_as_parquet_is(tmp_path, kind, compression):
    table = pa.table({"id": range(20), "text": [f"Ada wrote {n}.\nShe did." for n in range(20)]})
    path = tmp_path / "data-00000-of-00001.arrow"
    write_arrow(path, table, kind=kind, compression=compression, rows=7)
    (file,) = find("text", path)
    assert file.format == "parquet"
    assert [document.paragraphs for document in read_file(file)] == [
        (f"Ada wrote {n}.", "She did.") for n in range(20)
    ]
    path.write_bytes(path.read_bytes()[:-200])
    if kind == "file":
        with pytest.raises(AlbertError, match="is damaged"):
            find("text", path)
    else:
        *_, last = read_file(find("text", path)[0])
        assert last == DAMAGED_GROUP


@pytest.mark.parametrize("kind", ["file", "stream"])
@pytest.mark.parametrize("compression", ["lz4", "zstd"])
@pytest.mark.parametrize("is_dictionary", [False, True])
def test_a_batch_of_arrow_that_unpacks_to_more_than_text_would_is_refused(
    tmp_path, monkeypatch, kind, compression, is_dictionary
):
    monkeypatch.setattr(column_files, "_LARGE_BATCH_BYTES", 1 << 20)
    texts = pa.array([f"Ada wrote {n}." for n in range(10)] + ["Ha! " * 500_000])
    table = pa.table({"text": texts.dictionary_encode() if is_dictionary else texts})
    write_arrow(tmp_path / "rows.arrow", table, kind=kind, compression=compression)
    with pytest.raises(AlbertError, match=r"batch 1 of \d+ bytes unpacks"):
        read_file(find("text", tmp_path / "rows.arrow")[0])


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.string_view()])
def test_text_is_read_whatever_type_a_column_stores_it_as(tmp_path, kind):
    texts = ["Ada wrote.", "Žofie četla."]
    values = [t if kind == pa.string_view() else t.encode() for t in texts]
    path = tmp_path / "rows.feather"
    pa.feather.write_feather(pa.table({"text": pa.array(values, kind)}), path)
    (file,) = find("text", path)
    assert [d.paragraphs for d in read_file(file)] == [(text,) for text in texts]


def test_the_language_is_the_one_that_a_file_names_for_itself_alone(tmp_path):
    (tmp_path / "dump.xml").write_text(DUMP)
    (tmp_path / "article").write_text(ARTICLE)
    (tmp_path / "novel.txt").write_text(WRAPPED)
    given = {
        "wikipedia": (str(tmp_path / "article"), str(tmp_path / "dump.xml")),
        "books": (str(tmp_path / "novel.txt"),),
    }
    files = find_inputs(given)
    assert sorted(languages(*files)) == [("en", "default"), ("ltg", "file"), ("uk", "file")]
    assert languages(*find_inputs(given, language="de")) == [("de", "flag")] * 3


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "rows.parquet"])
@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([{"url": "https://de.wikipedia.org/wiki/A"}], ("de", "records")),
        ([{"url": "http://zh-min-nan.wikipedia.org/"}], ("zh-min-nan", "records")),
        ([{"lang": "de"}, {"lang": "de"}], ("de", "records")),
        ([{"lang": "de"}, {"lang": "uk"}], ("en", "records")),
        ([{"url": "https://www.wikipedia.org/"}], ("en", "default")),
        ([{"url": "https://simple.wikipedia.org/wiki/A"}], ("en", "default")),
        ([{"note": "https://fr.wikipedia.org/wiki/A"}], ("en", "default")),
    ],
)
def test_records_name_their_language_in_fields_of_their_own(tmp_path, name, records, expected):
    text = "See https://fr.wikipedia.org/wiki/A and https://www.wikipedia.org."
    write_rows(tmp_path / name, [record | {"text": text} for record in records])
    (tmp_path / "novel.txt").write_text(WRAPPED)
    files = find("text", tmp_path / name, tmp_path / "novel.txt")
    assert sorted(languages(*files)) == sorted([expected, ("en", "default")])


def write_rows(path, records):
    """Records as a file of the kind that its name says."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, list(records[0]))
            table.writeheader()
            table.writerows(records)
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize(("content", "language"), [(RECORD, "uk"), (WET, "en")])
def test_the_manifest_says_when_a_flag_overrules_what_records_say(tmp_path, content, language):
    own = found(tmp_path / "file", content)
    forced = found(tmp_path / "file", content, language=language)
    assert forced.describe() == own.describe() | {"language_from": "flag"}


def test_a_folder_is_read_whole_but_for_what_is_no_text(tmp_path):
    (tmp_path / "AA").mkdir()
    (tmp_path / "AA" / "wiki_00").write_text(ARTICLE)
    (tmp_path / ".hidden").write_text("no format at all")
    (tmp_path / "MANIFEST.csv").write_text("file,bytes\n")
    (tmp_path / "spiece.vocab").write_text("▁the\t-3\n")
    (tmp_path / "x-multistream-index.txt.bz2").write_bytes(bz2.compress(b"616:1:A\n"))
    (tmp_path / "notes").write_text("Nothing known.")
    (tmp_path / "empty").write_text("")
    # Signs of ISO-2022-KR, which has ASCII alone.
    (tmp_path / "photo").write_bytes(b"\xff\0\x0eabc\x0f\0\x0eabc\x0f")
    notes = []
    (file,) = find("wikipedia", tmp_path, on_passed_over=notes.append)
    assert file.path.endswith("wiki_00")
    assert [re.sub(r"\S*/", "", note) for note in notes] == [
        "MANIFEST.csv is not named like a text; give the file itself to read it.",
        "empty is empty.",
        "--wikipedia: notes is neither a MediaWiki dump nor wikiextractor output, JSON lines, "
        "parquet or CSV; give plain text with --text.",
        "photo is not text: it is full of control characters; give text, plain or packed with gz, "
        "bz2, xz or zst.",
        "spiece.vocab is not named like a text; give the file itself to read it.",
        "--wikipedia: x-multistream-index.txt.bz2 is the index of a dump and not needed; give the "
        ".xml.bz2 file beside it.",
    ]


def test_what_is_written_into_a_folder_of_text_is_not_found_there_nor_removed_text(tmp_path):
    (tmp_path / "a.txt").write_text(WRAPPED)
    (tmp_path / "README").write_text("Nobody reads this.")
    for folder in ("data", "removed", "database"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rows.jsonl").write_text('{"text": "It was late."}\n' * 2)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "removed-00000.jsonl").write_text('{"text": "It was late."}\n' * 2)
    notes = []
    outputs = [f"{tmp_path}/data/", f"{tmp_path}/removed"]
    given = [str(tmp_path), f"{tmp_path}/../{tmp_path.name}"]
    found = find("text", *given, outputs=outputs, on_passed_over=notes.append)
    assert [Path(file.path).name for file in found] == ["rows.jsonl", "a.txt"]
    assert [re.sub(r"\S*/", "", note.partition(" is ")[0]) for note in notes] == [
        "README",
        "removed-00000.jsonl",
    ]
    with pytest.raises(AlbertError, match="all its files are in the folder to write"):
        find("text", tmp_path / "data", outputs=outputs)


def test_what_lies_beside_text_is_told_by_its_whole_name_packed_or_not(tmp_path):
    beside = ["#y#.txt", "#z#", "COPYING", "LICENSE-MIT", "LICENSE.txt.gz", "Manifest.txt"]
    beside += ["README", "SHA256SUMS.txt", "checksums.txt", "licence", "metadata.csv.gz", "x.crc"]
    beside += ["x.txt.bak", "x.txt.orig", "x.txt~", "~$x.txt"]
    texts = ["License to Kill.txt", "Manifest Destiny.txt", "licensed-to-kill.txt"]
    texts += ["manifesto.txt", "readmerton.txt.gz"]
    for name in (*beside, *texts, ".DS_Store", "._x.txt"):
        data = WRAPPED.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    notes = []
    found = find("books", tmp_path, on_passed_over=notes.append)
    assert sorted(file.path for file in found) == [f"{tmp_path}/{name}" for name in texts]
    said = "is not named like a text; give the file itself to read it."
    assert notes == [f"{tmp_path}/{name} {said}" for name in beside]


@pytest.mark.parametrize("lead", [b"\xef\xbb\xbf", b"\n  ", b"\xef\xbb\xbf\r\n"])
def test_a_long_first_record_is_recognised_after_a_mark_or_white_space(tmp_path, lead):
    record = {"title": "A", "text": "long " * HEAD_BYTES}
    file = found(tmp_path / "rows", lead + json.dumps(record).encode())
    assert (file.format, file.text_key) == ("jsonl", "text")


def test_a_glob_reads_what_it_names_without_the_indexes(tmp_path):
    (tmp_path / "a.xml").write_text(DUMP)
    (tmp_path / "a-index.txt").write_text("616:1:A\n616:2:B\n")
    notes = []
    (file,) = find("wikipedia", tmp_path / "a*", on_passed_over=notes.append)
    assert file.path.endswith("a.xml")
    assert len(notes) == 1


def test_a_folder_that_a_glob_matches_is_read_as_one_that_is_named(tmp_path):
    (tmp_path / "1890").mkdir()
    (tmp_path / "1890/a.txt").write_text(WRAPPED)
    (tmp_path / "1890/README.md").write_text("Nothing known.")
    (tmp_path / "loose.txt").write_text(WRAPPED + WRAPPED)
    notes = []
    found = find("text", tmp_path / "*", on_passed_over=notes.append)
    paths = {f"{tmp_path}/1890/a.txt", f"{tmp_path}/loose.txt"}
    assert {file.path for file in found} == paths
    assert notes == [
        f"{tmp_path}/1890/README.md is not named like a text; give the file itself to read it."
    ]
    (tmp_path / "README.md").write_text("Nothing known.")
    with pytest.raises(AlbertError, match=rf"{tmp_path}/README\.md is named like Markdown"):
        find("text", tmp_path / "*")


TICKETS = '{"text": "Ada.", "title": "A", "body": "B."}\n'


@pytest.mark.parametrize(
    ("given", "keys"),
    [
        (["data/t.jsonl:title", "data/t.jsonl:body"], ["body", "title"]),
        (["data/t.jsonl:body", "./data/t.jsonl:body"], ["body"]),
        (["./data/t.jsonl", "data/t.jsonl:body"], ["body", "text"]),
        (["data", "data/t.jsonl:body"], ["body"]),
        (["data/t*", "data/t.jsonl:body"], ["body"]),
        (["data:title", "data"], ["text", "title"]),
        (["data", "data/t.jsonl"], ["text"]),
    ],
)
def test_a_file_is_read_once_for_each_key_that_is_named(tmp_path, monkeypatch, given, keys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/t.jsonl").write_text(TICKETS)
    for patterns in (given, given[::-1]):
        for found in (find("text", *patterns), find_held_out(patterns, flag="--eval-text")):
            assert sorted(file.text_key for file in found) == keys


def test_a_folder_needs_no_key_for_a_file_that_is_named_with_one(tmp_path):
    (tmp_path / "novel.txt").write_text(WRAPPED)
    (tmp_path / "rows.jsonl").write_text(json.dumps({"body": "Ada wrote."}) + "\n")
    with pytest.raises(AlbertError, match='has no key "text"'):
        find("text", tmp_path)
    found = find("text", tmp_path, f"{tmp_path}/rows.jsonl:body")
    assert {(file.format, file.text_key) for file in found} == {("prose", ""), ("jsonl", "body")}


def test_a_file_with_two_spellings_is_read_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "novel.txt").write_text(WRAPPED)
    (tmp_path / "link.txt").symlink_to("novel.txt")
    spellings = ["novel.txt", "./novel.txt", str(tmp_path / "novel.txt"), "link.txt"]
    files = find("books", *spellings)
    assert len(files) == 1
    assert find("books", *reversed(spellings)) == files
    assert len(find_inputs({"books": ("novel.txt",), "text": ("./novel.txt",)})) == 2


def test_a_format_is_forced_only_where_it_can_be(tmp_path):
    (tmp_path / "dump.xml").write_text(DUMP)
    (tmp_path / "lines.txt").write_text(WRAPPED)
    given = {"wikipedia": (str(tmp_path / "dump.xml"),), "text": (str(tmp_path / "lines.txt"),)}
    formats = [file.format for file in find_inputs(given, input_format="sentences")]
    assert formats == ["sentences", "mediawiki"]


def test_the_manifest_says_nothing_of_the_machine(tmp_path):
    file = found(tmp_path / "lines.jsonl", '{"a": {"b": "One. Two."}}\n', text_key="a.b")
    named = {"name": "lines.jsonl", "bytes": 26, "sha256": file.sha256}
    form = {"kind": "text", "format": "jsonl", "language": "en", "text_key": "a.b"}
    assert file.describe() == named | form
    assert len(file.sha256) == 64


def test_each_format_is_said_with_what_it_implies(tmp_path):
    (tmp_path / "dump.xml").write_text(DUMP)
    for name in "ab":
        (tmp_path / name).write_text(WRAPPED + name)
    books = (str(tmp_path / "a"), str(tmp_path / "b"))
    files = find_inputs({"wikipedia": (str(tmp_path / "dump.xml"),), "books": books})
    assert list(describe_inputs(files)) == [
        "books: 2 files, 136 B: book, one document a file, segmented (en by default, "
        "--language sets another)",
        "wikipedia: 1 file, 111 B: MediaWiki dump, one document a page, markup "
        "removed, segmented (ltg)",
    ]


@pytest.mark.parametrize(
    ("content", "settings", "expected"),
    [
        (WRAPPED, {}, "(en by default, --language sets another)"),
        (WRAPPED, {"language": "de"}, "(de, by --language)"),
        (RECORD, {}, "(uk, or as a record says)"),
        (WET, {}, "(en by default or as a record says, --language sets another)"),
        (WET, {"language": "en"}, "(en, by --language)"),
        (SENTENCES, {}, "one sentence a line, a blank line between documents"),
    ],
)
def test_a_language_is_said_with_what_named_it_if_it_matters(tmp_path, content, settings, expected):
    (described,) = describe_inputs([found(tmp_path / "file", content, **settings)])
    assert described.endswith(expected)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_flag_and_what_its_row_names_is_there(name):
    row = FORMATS[name]
    assert any(name in formats_of(kind) for kind in KINDS)
    for function in filter(None, (row.reader, row.sign, row.inspect, row.starts)):
        assert callable(loaded(function))
    assert bool(row.sign or row.begins) == bool(row.told_by)


def test_files_that_can_be_read_in_ranges_are_marked(tmp_path):
    text = bytes(random.Random(1).choices(b"abc \n", k=HEAD_BYTES))
    one = bz2.compress(DUMP.encode() + text)
    many = bz2.compress(DUMP.encode()) + bz2.compress(text)
    assert not found(tmp_path / "one.bz2", one, "wikipedia").is_divisible
    assert not found(tmp_path / "novel.txt", WRAPPED, "books").is_divisible
    file = found(tmp_path / "many.bz2", many, "wikipedia")
    assert file.is_divisible
    assert len(plan_chunks([file], chunk_bytes=1)) > 9


@pytest.mark.parametrize(
    "language", ["en", "EN", "en_US", "english", "ltg", "zh-min-nan", "be-x-old", "pt-BR"]
)
def test_a_language_code_is_taken(tmp_path, language):
    file = found(tmp_path / "novel.txt", WRAPPED, "books", language=language)
    assert file.language == language
