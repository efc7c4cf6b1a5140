import bz2
import gzip
import itertools
import json
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.documents import Dropped, ReadingCounts
from pipeline.reading import plain_text
from pipeline.reading.formats import FORMATS, KINDS, formats_of
from pipeline.reading.inputs import InputFile, find_inputs
from pipeline.reading.read import divide_file, plan_chunks, read_part, read_shard_documents
from pipeline.storage.lines import LINE_PREFIX_BYTES, TOO_LONG
from schemas.errors import AlbertError
from tests.pipeline.reading.test_inputs import write_rows
from tests.pipeline.reading.whole_file import find, read_file

GOLDEN = Path(__file__).parent / "golden" / "inputs"
INPUTS = sorted(set(GOLDEN.iterdir()) - set(GOLDEN.glob("*.documents")))
TEXT_KEYS = {"text-records.jsonl": "body.text"}
INPUT_FORMATS = {"text-lines.txt": "lines"}


def written(documents):
    """Documents as the golden files have them: a paragraph a line, ---- between."""
    lines = []
    for number, document in enumerate(documents):
        if isinstance(document, Dropped):
            lines.append(f"---- {document.reason}")
        else:
            lines += [*(["----"] if number else []), *document.paragraphs]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_a_file_is_read_as_written_beside_it(path):
    """The names of some have the format that has to be recognised between hyphens."""
    kind, *form, _ = path.name.split("-")
    given = {"text_key": TEXT_KEYS.get(path.name), "input_format": INPUT_FORMATS.get(path.name)}
    file = find(path, kind, **given)
    assert form in ([], [file.format])
    assert written(read_file(file)) == path.with_name(path.name + ".documents").read_text("utf-8")


def page(number):
    return (
        f"  <page>\n    <title>Page {number}</title>\n    <ns>{number % 7 // 6}</ns>\n"
        f"    <revision><text>Page {number} was written by ''Ada'' herself."
        f"</text></revision>\n  </page>\n"
    )


def article(number):
    return (
        f'<doc id="{number}" url="http://en.wikipedia.org" title="Page {number}">\n'
        f"Page {number}\n\nPage {number} was written by Ada herself.\n\n</doc>\n"
    )


def record(number):
    text = f"Page {number} was written by Ada.\nShe wrote it herself, alone."
    return json.dumps({"title": f"Page {number}", "text": text}) + "\n"


def sentence(number):
    cue = "all rights reserved .\n" if number % 13 == 12 else ""
    return f"{cue}the miller counted {number} sacks of flour before he slept .\n"


def sentence_record(number):
    return "".join(
        json.dumps({"id": number, "text": line}) + "\n" for line in sentence(number).splitlines()
    )


def block(number):
    between = ("", "\n", "\n\n", "</s>\n")[number % 4]
    return f"Ada wrote page {number}.\nShe wrote it herself.\n{between}"


def line(number):
    return f"Ada wrote page {number}. She wrote it herself.\n" + "\n" * (number % 2)


def marked(number):
    marker = ("<|endoftext|>", "</s>", "----", " = Ada = ")[number % 4]
    return f"Ada wrote page {number}.\n\nShe wrote it\nherself.\n{marker}\n"


SOURCES = {
    "mediawiki": ("wikipedia", page, "<mediawiki xml:lang='en'>\n"),
    "wikiextractor": ("wikipedia", article, ""),
    "jsonl": ("wikipedia", record, ""),
    "bookcorpus": ("books", sentence, ""),
    "jsonl-sentences": ("books", sentence_record, ""),
    "sentences": ("text", block, ""),
    "lines": ("text", line, ""),
    "marked": ("text", marked, ""),
}


def write(path, source, *, count, compression):
    """A file of so many records, some of them not quite right; what is found there."""
    kind, make, head = SOURCES[source]
    # 3 bytes that no line of UTF-8 has, and a zero byte.
    parts = [make(n).encode().replace(b"page 5", b"p\xe9g\0 5") for n in range(count)]
    parts[0] = head.encode() + parts[0]
    if compression == "carriage returns":
        lone = (part.replace(b"\n", b"\r", n % 4) for n, part in enumerate(parts))
        path.write_bytes(b"".join(lone))
    elif compression == "bz2":
        streams = [b"".join(parts[i : i + 10]) for i in range(0, count, 10)]
        path.write_bytes(b"".join(map(bz2.compress, streams)))
    else:
        text = b"".join(parts)
        path.write_bytes(gzip.compress(text) if compression == "gz" else text)
    return [find(path, kind, input_format=source)]


def read(files, *, chunk_bytes):
    """All that reading gives: the documents, and what it counted."""
    counts = ReadingCounts()
    splits = plan_chunks(files, chunk_bytes=chunk_bytes)
    documents = Counter(
        tuple(one) for split in splits for one in read_shard_documents(split, counts=counts)
    )
    return documents, counts


@pytest.mark.parametrize(
    ("source", "compression"),
    [
        *itertools.product(SOURCES, ["none", "bz2", "gz"]),
        *((one, "carriage returns") for one in ("bookcorpus", "sentences", "lines", "marked")),
    ],
)
def test_the_size_of_the_splits_never_shows(tmp_path, source, compression):
    files = write(tmp_path / "file", source, count=60, compression=compression)
    assert [file.format for file in files] == [source]
    whole = read(files, chunk_bytes=1 << 30)
    assert whole[1].documents > 3
    for chunk_bytes in (1, 37, 400, 5000):
        assert read(files, chunk_bytes=chunk_bytes) == whole


@settings(max_examples=25)
@given(st.integers(1, 5000), st.sampled_from(sorted(SOURCES)))
def test_no_size_of_the_splits_shows(tmp_path_factory, chunk_bytes, source):
    path = tmp_path_factory.mktemp("split") / "file"
    files = write(path, source, count=40, compression="none")
    assert read(files, chunk_bytes=chunk_bytes) == read(files, chunk_bytes=1 << 30)


@pytest.mark.parametrize(
    ("kind", "documents", "dropped"),
    [
        ("wikipedia", 90, {"no text": 7, "paragraph that is not prose": 12}),
        ("books", 7, {"no text": 1}),
    ],
)
def test_row_groups_never_show(tmp_path, kind, documents, dropped):
    texts = [line for n in range(90) for line in sentence(n).splitlines()]
    if kind == "wikipedia":
        texts = [f"{text}\n{text}" for text in texts]
    table = pa.table({"text": [*texts, None], "id": range(len(texts) + 1)})
    results = []
    for rows in (7, 1000):
        path = tmp_path / f"{rows}.parquet"
        pq.write_table(table, path, row_group_size=rows)
        files = [find(path, kind)]
        results += [read(files, chunk_bytes=size) for size in (1, 600, 1 << 30)]
    assert all(result == results[0] for result in results)
    assert results[0][1] == ReadingCounts(documents=documents, dropped=Counter(dropped))


def test_a_row_of_parquet_is_as_long_as_its_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.reading.text_rows.MAX_RECORD_BYTES", 10)
    pq.write_table(pa.table({"text": ["écrit", "écrivaient"]}), tmp_path / "rows")
    first, second = read_file(find(tmp_path / "rows"))
    assert (first.paragraphs, second) == (("écrit",), TOO_LONG)


def test_quotation_marks_of_sentences_between_tabs_are_text(tmp_path):
    texts = ['"Who is it?', 'It is me."', '"Yes," she said.']
    rows = "".join(f"{number}\t{text}\n" for number, text in enumerate(texts))
    (tmp_path / "rows.tsv").write_text(f"id\ttext\n{rows}")
    file = find(tmp_path / "rows.tsv")
    assert [document.paragraphs for document in read_file(file)] == [(text,) for text in texts]
    assert file.describe()["quoting"] == "none"


def test_the_order_of_the_files_never_shows(tmp_path):
    paths = []
    for source in ("mediawiki", "jsonl", "wikiextractor"):
        paths.append(str(tmp_path / source))
        write(tmp_path / source, source, count=20, compression="none")
    files = find_inputs({"wikipedia": tuple(paths)})
    again = find_inputs({"wikipedia": (*reversed(paths), str(tmp_path))})
    assert files == again
    assert plan_chunks(files) == plan_chunks(again)


def test_a_damaged_stream_of_a_dump_costs_its_pages_only(tmp_path):
    path = tmp_path / "dump.bz2"
    write(path, "mediawiki", count=60, compression="bz2")
    data = bytearray(path.read_bytes())
    data[data.index(b"BZh9", len(data) // 2) + 20] ^= 255
    path.write_bytes(data)
    files = [find(path, "wikipedia")]
    documents, counts = read(files, chunk_bytes=1 << 30)
    assert counts.dropped["damaged or cut off compressed data"] == 1
    assert counts.documents == 43
    assert read(files, chunk_bytes=500) == (documents, counts)


def test_a_line_too_long_to_be_seen_whole_begins_no_document(tmp_path):
    path = tmp_path / "file"
    start = "all rights reserved ."
    long = start + " " * LINE_PREFIX_BYTES + "he came and she left " * 99
    path.write_text("\n".join([sentence(n) for n in range(9)] + [long, start, "he ."]))
    files = [find(path, "books", input_format="bookcorpus")]
    whole = read(files, chunk_bytes=1 << 30)
    assert all(read(files, chunk_bytes=size) == whole for size in (37, 400, 2000))


GERMAN = "Die Feier begann im 19. Jahrhundert in Berlin. Viele kamen."
IN_GERMAN = "Die Feier begann im 19. Jahrhundert in Berlin.\nViele kamen."
IN_ENGLISH = "Die Feier begann im 19.\nJahrhundert in Berlin.\nViele kamen."


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "rows.parquet"])
@pytest.mark.parametrize(
    ("fields", "language", "expected"),
    [
        ({"url": "https://de.wikipedia.org/wiki/A"}, None, IN_GERMAN),
        ({"lang": "de"}, None, IN_GERMAN),
        ({"language": "DE"}, None, IN_GERMAN),
        ({"url": "https://example.org/de"}, None, IN_ENGLISH),
        ({"lang": "en"}, None, IN_ENGLISH),
        ({"lang": "en"}, "de", IN_GERMAN),
    ],
)
def test_a_record_is_segmented_in_the_language_it_names(tmp_path, name, fields, language, expected):
    # Another record of the file names another language.
    records = [fields | {"text": GERMAN}, {**fields, "text": "", "lang": "fr"}]
    records = [dict.fromkeys(("lang", *fields), "") | record for record in records]
    write_rows(tmp_path / name, records)
    files = [find(tmp_path / name, "text", language=language)]
    documents, _ = read(files, chunk_bytes=1 << 30)
    assert [document[1] for document in documents] == [expected]


@pytest.mark.parametrize(("kind", "end"), [("text", b"\n"), ("text", b"\r\n"), ("books", b"\r\n")])
def test_long_prose_and_books_are_read_in_parts_as_they_are_whole(tmp_path, monkeypatch, kind, end):
    monkeypatch.setattr(plain_text, "MAX_DOCUMENT_BYTES", 1 << 19)
    monkeypatch.setitem(plain_text.divide_bytes.__kwdefaults__, "limit", 1 << 19)
    start = b"*** START OF THE PROJECT GUTENBERG EBOOK X ***\n\n"
    lines = b"".join(b"He counted %d sacks\nof flour.\n\n" % n for n in range(40_000))
    last = b"*** END OF THE PROJECT GUTENBERG EBOOK X ***\n\nLicence.\n" * 9
    text = (start + lines + last + lines[: 1 << 18]).replace(b"\n", end)
    path = tmp_path / "long.txt"
    path.write_bytes(text)
    forced = {"text": "prose", "books": "book"}[kind]
    file = find(path, kind, input_format=forced)
    parts = [part for part in divide_file(file, chunk_bytes=1) if part.text_bytes]
    assert len(parts) > 2
    whole = list(read_file(file._replace(document_starts=())))
    counts = ReadingCounts()
    assert [d for part in parts for d in read_part(part, counts=counts)] == whole
    assert "Licence." not in whole[-1].paragraphs or kind == "text"
    # Lines are divided anywhere.
    assert find(path, input_format="lines").document_starts == ()


def test_what_is_left_out_of_a_file_is_counted(tmp_path):
    prose = "Ada wrote the first of all programs."
    article = f'<doc id="1" title="A">\nA\n\n{prose}\nEarly life.\n\n</doc>\n'
    record = json.dumps({"text": f"{prose}\nEarly life.", "title": "A"})
    page = f"<page><revision><text>{prose}\n\n* A list\n</text></revision></page>"
    for text in (article, record, page):
        (tmp_path / "file").write_text(text)
        _, counts = read([find(tmp_path / "file", "wikipedia")], chunk_bytes=1 << 30)
        dropped = Counter({"paragraph that is not prose": 1})
        assert counts == ReadingCounts(documents=1, dropped=dropped)


def test_a_dump_without_line_feeds_is_read_whole(tmp_path):
    path = tmp_path / "dump.xml"
    path.write_text("<mediawiki>" + "".join(page(n).replace("\n", "") for n in range(9)))
    assert read([find(path, "wikipedia")], chunk_bytes=100)[1].documents == 8


def test_pieces_of_a_document_go_with_the_whole(tmp_path):
    path = tmp_path / "long.txt"
    sentences = [f"He counted {n} sacks." for n in range(4500)]
    path.write_text("\n\n".join(sentences))
    (split,) = plan_chunks([find(path, "books")])
    parts = list(read_shard_documents(split, counts=ReadingCounts()))
    assert "\n".join(part.text for part in parts).split("\n") == sentences
    assert [len(part.text.split("\n")) for part in parts] == [1500, 1500, 1500]
    assert len({part.id[:8] for part in parts}) == 1
    assert len({part.id for part in parts}) == 3
    assert [part.is_first for part in parts] == [True, False, False]


PIECES = [
    *(make(0).encode() for _, make, _ in SOURCES.values()),
    *(b"<page>", b"</page>", b"<text>", b"</text>", b'<doc title="', b">\n", b"</doc>"),
    *(b"TEMPLATE[", b"{{", b"[[", b"]]", b'{"text": "', b'"}\n', b"\\ud83d", b"&#0;"),
    *(b"Gutenberg", b"\n\n", b"\r", b"\0", b"\xe9", b"\xef\xbb\xbf", b"PAR1", b"BZh9"),
    *(bz2.compress(page(0).encode()), gzip.compress(block(0).encode())),
]
HOSTILE_FILES = st.binary(max_size=300) | st.lists(
    st.binary(max_size=9) | st.sampled_from(PIECES), max_size=20
).map(b"".join)


@pytest.mark.parametrize("input_format", FORMATS)
@settings(max_examples=60)
@given(data=HOSTILE_FILES, chunk_bytes=st.integers(1, 500), is_divisible=st.booleans())
def test_any_bytes_are_read_to_their_end_or_refused(
    tmp_path_factory, input_format, data, chunk_bytes, is_divisible
):
    path = tmp_path_factory.mktemp("bytes") / "file"
    path.write_bytes(data)
    kind = next(kind for kind in KINDS if input_format in formats_of(kind))
    described = InputFile(
        kind=kind,
        path=str(path),
        format=input_format,
        language="en",
        bytes=len(data),
        text_bytes=len(data),
        sha256="",
        text_key="text" if FORMATS[input_format].reader.startswith("text_rows:") else "",
        # What was written with whole streams is read in parts in any case.
        is_divisible=is_divisible and not input_format.startswith("parquet"),
    )
    with suppress(AlbertError):
        read([described], chunk_bytes=chunk_bytes)
    with suppress(AlbertError):
        read([find(path, kind, input_format=input_format)], chunk_bytes=chunk_bytes)


# What is refused, and what a person may say to have it read.
SAID = {
    "notes.md": ("# Ada\n\nAda wrote.\n", {"input_format": "prose"}),
    "rows.tsv": ('id\tbody\n1\t"# Ada\n\nAda wrote."\n', {"text_key": "body"}),
    "rows.parquet": ([{"body": {"text": "# Ada\n\nAda wrote."}}], {"text_key": "body.text"}),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_refused_is_read_as_a_person_says(tmp_path, name):
    content, said = SAID[name]
    path = tmp_path / name
    if isinstance(content, str):
        path.write_text(content)
    else:
        write_rows(path, content)
    with pytest.raises(AlbertError):
        find(path)
    (document,) = read_file(find(path, **said))
    assert document.paragraphs == ("# Ada", "Ada wrote.")
