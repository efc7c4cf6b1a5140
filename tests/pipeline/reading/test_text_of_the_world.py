"""Text as the world writes it: what its writers meant comes out."""

import functools
import gzip
import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.reading.inputs import find_inputs
from pipeline.reading.read import show_sentences
from pipeline.reading.text_rows import find_text, list_keys
from schemas.errors import AlbertError
from tests.pipeline.reading.whole_file import documents_of, find
from tests.refusals import refusal

WRAPPED = (
    "The old mill stands at the end of the lane and belonged\n"
    "to one family for nearly two hundred years before it was\n"
    "sold. Its owner came every Monday with the wagon, or sent\n"
    "one of his sons."
)
UNWRAPPED = " ".join(WRAPPED.split())
STANZA = "The bell that marked the ending of the day\nHow many mornings have you washed"
WET = (
    b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 4\r\n\r\na: b\r\n\r\n"
    b"WARC/1.0\r\nWARC-Type: conversion\r\n"
    b"WARC-Identified-Content-Language: deu\r\nContent-Length: 16\r\n\r\n"
    b"Home\nWer kam da?\r\n\r\n"
)


def read(path, **settings):
    """The recognised format of a file, and the paragraphs of its documents."""
    file = find(path, **settings)
    return file.format, [list(document.paragraphs) for document in documents_of(file)]


def written(folder, name, content):
    """A file of bytes, of a text, or of a table of columns."""
    path = folder / name
    if isinstance(content, dict):
        pq.write_table(pa.table(content), path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("text", "paragraphs"),
    [
        ("Knitting evening\nBring wool\nTea at eight", 3),
        ("Strickabend\r\nBitte Wolle mitbringen\r\nTee um acht", 3),
        ("编织之夜\n请带羊毛\n八点喝茶", 3),
        ("Rubrik\u2028Text som följer\u2029Slut", 3),
        ("HISTORY:\nNone.\n\nMEDICATION:\nAspirin", 4),
        (WRAPPED, 1),
        (f"Dear all\n\n{WRAPPED}\n\nYours", 3),
        ("He came home\nlate.", 1),
    ],
)
def test_a_line_feed_in_a_record_ends_a_paragraph_unless_it_only_wraps(text, paragraphs, tmp_path):
    lines = written(tmp_path, "a.jsonl", json.dumps({"text": text}))
    pq.write_table(pa.table({"text": [text]}), tmp_path / "a.parquet")
    for path in (lines, tmp_path / "a.parquet"):
        _, (document,) = read(path)
        assert len(document) == paragraphs


PAGE = "WARC/1.0\r\nWARC-Type: conversion\r\n\r\nThis is\nWARC/1.0 as it is.\nSo.\r\n"
LATE = "It was late and he came. "
HEADED = ["It was late.", "Why did he come?", "He slept."]
CANTOS = [(f"Canto {n}", f"It was night {n},\nand {'so ' * n}it went.") for n in range(1, 6)]
MARKS = ["f(" * 4500, f"class {'a' * 9000}", "It rained.", "Why?"]
# By format: files, how they are named, what they hold, and their documents.
MEANT = {
    "prose: wrapped lines": ("a.txt", f"{WRAPPED}\n\n{WRAPPED}", [[UNWRAPPED] * 2]),
    "wet: pages of a crawl": ("a.warc.wet.gz", gzip.compress(WET), [["Home", "Wer kam da?"]]),
    "wet: a page that speaks of the format that holds it": (
        *("a.wet", PAGE * 2, [["This is", "WARC/1.0 as it is.", "So."]] * 2),
    ),
    "marked: markers inside lines": (
        *("a.txt", "<|endoftext|>".join(("He came.", "Why, so ", "\nSo. ", " “So.”", ""))),
        [["He came."], ["Why, so"], ["So."], ["“So.”"]],
    ),
    "prose: a marker that a wrapped sentence speaks of": (
        *("a.txt", "It is <|endoftext|>\nin GPT.", [["It is <|endoftext|> in GPT."]]),
    ),
    "sentences: speech": ("a.txt", '"He came late."\n"Why?"\n', [['"He came late."', '"Why?"']]),
    "prose: heads that begin with the number of their page": (
        *("a.txt", "\x0c".join(f"{n} THE MILL\n\n{text}\n" for n, text in enumerate(HEADED, 12))),
        [HEADED],
    ),
    "prose: titles with numbers on pages that end with their sentences": (
        *("a.txt", "\x0c".join(f"{title}\n\n{text}\n" for title, text in CANTOS)),
        [[part.replace("\n", " ") for canto in CANTOS for part in canto]],
    ),
    "prose: a number between dashes inside a sentence": (
        *("a.txt", "".join(f"Он пришёл\n- {n} -\nдомой.\n- {n + 1} -\nЗачем?\n" for n in (1, 3))),
        [["Он пришёл домой.", "Зачем? Он пришёл домой.", "Зачем?"]],
    ),
    "sentences: a name that is no UTF-8": (
        *(os.fsdecode(b"B\xfccher"), "It was late.\n", [["It was late."]]),
    ),
    "prose: an epigraph before a long line, which is no JSON": (
        *("a.txt", f'"All is well."\n{LATE * 50}C:\\mill is a folder.'),
        [['"All is well."', f"{LATE * 50}C:\\mill is a folder."]],
    ),
    # An expression that tries each division of such a line would take hours.
    "prose: long lines of marks": ("a.txt", "\n\n".join(["-" * 9000, *MARKS]), [MARKS]),
    **{
        f"sentences: a mention of a marker: {text:.9}": ("a.txt", text, [[text]])
        for text in (
            "The tag </s> ends what <s> began.",
            "They wrote `<|endoftext|>` there, or “<|endoftext|>”.",
            "The token <|endoftext|> ends a text, as does <|end_of_text|>, they say.",
            "It has a special token (<|endoftext|>, id 50256) that ends a text.",
            "There is **<|endoftext|>** too, and <b><|endoftext|></b> |<|endoftext|>|.",
        )
    },
    **{
        f"marked: a marker: {two[0]}": ("a.txt", "<|endoftext|>".join(two), [[e] for e in two])
        for two in (("**So.**", "**Why?**"), ("<p>So.</p>", "<p>Why?</p>"), ("|a|", "Why?"))
    },
}


@pytest.mark.parametrize("kind", MEANT)
def test_a_format_is_recognised_and_read_as_it_was_meant(kind, tmp_path):
    name, content, documents = MEANT[kind]
    assert read(written(tmp_path, name, content)) == (kind.partition(":")[0], documents)


@pytest.mark.parametrize(
    ("content", "language", "said"),
    [
        ("Łódź stała. Źrebię śpi. Gęś.".encode("cp1250"), "pl", "WINDOWS-1250"),
        ("Žluťoučký kůň úpěl.".encode("cp1250"), "ces", "WINDOWS-1250"),
        ("Işık ve ağaç.".encode("cp1254"), "tr", "WINDOWS-1254"),
        ("Šaltą žiemą.".encode("cp1257"), "lt", "WINDOWS-1257"),
        ("łódka stała, pałac biały, ząb".encode("cp1250"), None, "CP1250"),
        ("Příliš žluťoučký kůň úpěl, řeka teče.".encode("cp1250"), None, "1250"),
        ("Jó őszi idő, tükörfúrógép, árvíztűrő.".encode("latin2"), None, "Hungarian"),
        ("Çocuğun ışığı söndü, şimdi kış.".encode("cp1254"), None, "Turkish"),
        ("Šaltą žiemą ežere plūduriavo žąsys, ėjo čia ąžuolų kelią".encode("cp1257"), None, "1257"),
        ("Müller, schön, größer, für".encode("cp850"), None, "CP850"),
        (("été déjà " * 9 + "cœur sœur bœuf").encode("iso8859-15"), None, "ISO8859-15"),
        ("Он пришёл домой. Было поздно.".encode("cp1251"), None, "WINDOWS-1251"),
        ("Он пришёл домой. Было поздно.".encode("koi8-r"), None, "KOI8-R"),
        ("Он пришёл домой. Было поздно.".encode("cp866"), None, "CP866"),
        ("He came home.".encode("utf-16-be"), None, "UTF-16"),
        ("He came home.".encode("utf-32"), None, "UTF-32"),
        ("He came home.".encode("utf-32-be"), None, "UTF-32"),
        (b"He came home.\n" + bytes(100), None, "is not text"),
        ("今朝、港に船が着いた。".encode("iso2022_jp") * 2, None, "ISO-2022-JP"),
        ("안녕하세요 세계".encode("iso2022_kr") * 2, None, "ISO-2022-KR"),
    ],
)
def test_an_encoding_that_would_mislead_is_refused_by_name(content, language, said, tmp_path):
    with pytest.raises(AlbertError, match=said):
        read(written(tmp_path, "a.txt", content), language=language)


def test_windows_1252_is_read_where_it_can_write_the_language(tmp_path):
    text = "Größe, Müller’s Café – l’été, São Paulo."
    path = written(tmp_path, "a.txt", text.encode("cp1252"))
    for language in (None, "de", "fr", "pt"):
        assert read(path, language=language)[1] == [[text]]


def test_a_path_may_name_the_key_of_its_text(tmp_path):
    notes = written(tmp_path, "notes.csv", "id,transcription\n1,He came.\n")
    more = written(tmp_path, "a.jsonl", '{"abstract": {"body": "She left."}}\n')
    plain = written(tmp_path, "b.txt", "It rained. Why?\n\nNo.\n")
    strange = written(tmp_path, "c.txt:d", "Rain.\n")
    given = (f"{notes}:transcription", f"{more}:abstract.body", str(plain))
    files = find_inputs({"text": (*given, str(strange))})
    keys = sorted(file.text_key for file in files)
    assert keys == ["", "", "abstract.body", "transcription"]


def test_what_looks_unlike_text_is_shown_with_its_commonest_marks(tmp_path):
    text = "He came.\n\n<pb:1>\n\nShe left <pb:2>.\n\n12.5\n\n" + "It rained.\n\n" * 6
    file = find(written(tmp_path, "a.txt", text), input_format="prose")
    assert next(show_sentences(file, documents=1)) == (
        f"{file.path}: 30.0% of 10 sentences look unlike text; marks that are no words: "
        '"<pb:1>" 1 time, "<pb:2>" 1 time'
    )


def test_a_long_document_is_shown_by_its_first_sentences(tmp_path):
    path = written(tmp_path, "a.txt", "He came. She left.\n\n" * 60)
    _, title, *lines = show_sentences(find(path), documents=1)
    assert title.endswith("60 paragraphs, 120 sentences")
    assert (len(lines), lines[-1]) == (101, "  and 20 more sentences")


def test_a_row_of_csv_that_never_ends_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.reading.quoted_rows._MAX_CELLS", 1 << 12)
    cells = '"a\n",' * (1 << 13)
    assert read(written(tmp_path, "a.csv", f"id,text\n1,One.\n{cells}"))[1] == [["One."]]


PAGES = "".join(f"He came home on day {n}. It was late\nand cold.\n\n" for n in range(3000))


@pytest.mark.parametrize(
    "marker", ["<|endoftext|>", "</s>", "<|end_of_text|>", "[SEP]", " <eos>\r", "<|im_end|>"]
)
def test_a_marker_ends_a_document_wherever_it_stands(marker, tmp_path):
    text = f"{PAGES}{marker}\nShe left.\n{marker}\nWhy?\n{marker}\n"
    path = written(tmp_path, "a.txt", text)
    for kind in ("text", "books"):
        file = find(path, kind=kind)
        assert file.format == ("prose" if kind == "text" else "book")
        first, *others = [document.paragraphs for document in documents_of(file)]
        assert len(first) == 3000
        assert others == [("She left.",), ("Why?",)]


@pytest.mark.parametrize(
    ("end", "divided"),
    [
        ("He came.\n<|endoftext|>\nWhy?\n", [["He came."], ["Why?"]]),
        # Inside a line too, as in prose, if it never is text.
        ("He came.<|endoftext|>Why?\nSo.\n<|endoftext|>\n", [["He came."], ["Why?", "So."]]),
        ("He came.[SEP]Why?\nSo.\n<|endoftext|>\n", [["He came.[SEP]Why?", "So."]]),
    ],
)
def test_a_marker_among_sentences_ends_a_document(end, divided, tmp_path):
    lines = "".join(f"Ada wrote page {n}.\nShe left.\n\n" for n in range(3000))
    name, documents = read(written(tmp_path, "a.txt", lines + end))
    assert (name, documents[3000:]) == ("sentences", divided)


@pytest.mark.parametrize(
    ("value", "paragraphs"),
    [
        (["One.", "Two."], ["One.", "Two."]),
        ([["One.", "Two."], ["Three."]], ["One. Two.", "Three."]),
        (["One.", None], ["One."]),
        (["He", "came", "home", ",", "late", "."], ["He came home , late ."]),
        ([["He", "came", "."], ["Why", "so", "?"]], ["He came .", "Why so ?"]),
        (["他", "来", "了", "。"], ["他来了。"]),
        (["他来了。", "她走了。", "下雨了。"], ["他来了。", "她走了。", "下雨了。"]),
        (["プログラム", "を", "書", "く"], ["プログラムを書く"]),
        (["はい", "そうですか", "わかりました"], ["はい", "そうですか", "わかりました"]),
        (["床前明月光", "疑是地上霜", "舉頭望明月"], ["床前明月光", "疑是地上霜", "舉頭望明月"]),
        ("One.\rTwo.\r\rThree.", ["One.", "Two.", "Three."]),
        ("One.\r\nTwo.", ["One.", "Two."]),
        # Strings and objects with a text are one text.
        (["See ", {"type": "link", "text": "http://a.b"}, " now."], ["See http://a.b now."]),
        ([{"text": "He came."}, {"text": "Why?"}], ["He came.", "Why?"]),
        ([{"type": "bold", "text": "No"}, "."], ["No."]),
    ],
)
def test_a_text_may_be_a_list_and_have_any_line_ends(value, paragraphs, tmp_path):
    path = written(tmp_path, "a.jsonl", json.dumps({"text": value}))
    assert read(path) == ("jsonl", [paragraphs])


def test_lists_in_lists_in_lists_have_no_text():
    value = "a"
    for _ in range(900):
        value = [value]
    for record in ({"text": value}, {"text": [{"a": "b"}], "body": value}):
        assert find_text(record, "text") is None
        assert find_text(record, "body.a") is None
    assert list(list_keys({"text": value, "title": "A"})) == ["title"]
    assert find_text({"text": [[[["One.", "Two."]]]]}, "text") == "One. Two."


@pytest.mark.parametrize(
    ("key", "first", "later"),
    [
        ("resolution", {"resolution": None}, {"resolution": "Why?"}),
        ("resolution", {"resolution": ""}, {"resolution": "Why?"}),
        ("resolution.text", {"resolution": None}, {"resolution": {"text": "Why?"}}),
        ("comments", {"comments": []}, {"comments": ["Why?"]}),
        ("comments.body", {"comments": []}, {"comments": [{"body": "Why?"}]}),
        ("comments.body", {"comments": [{"body": None}]}, {"comments": [{"body": "Why?"}]}),
        ("a.b", {"a.b": None}, {"a.b": "Why?"}),
    ],
)
def test_the_first_records_may_have_nothing_under_the_key_of_the_text(tmp_path, key, first, later):
    records = [first] * 100 + [later]
    path = written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, records)))
    file = find(path, text_key=key)
    assert (file.format, file.text_key) == ("jsonl", key)
    assert [list(each.paragraphs) for each in documents_of(file)] == [["Why?"]]


@pytest.mark.parametrize(
    "text",
    [
        "[12:30:45] <Ada> hello",
        "Received: two letters from home.",
        '["Foreword"]\n\nIt was late.',
        "From Ada to Bob:\n\nHe came.",
        "<Ada> He came.\n\n<Bob> Why?",
        "So late;\n\nso cold;\n\nso dark;\n\nso still.\n\nAnd rain;\n\nand snow",
        "At 9:30 he came.\n\n9:45 She left.\n\nIt rained.\n\nWhy?\n\n10:15 No.",
        "# Rain\n\nHe came.\n\nShe left.\n\nIt rained.\n\nWhy?\n\nSo.\n\nNo.",
        "\n\n".join(["他来了", "她走了", "下雨了", "为什么", "不知道", "是的"]),
        "\n\n".join(["Ada 1", *["他来了(笑)", "她走了", "下雨了", "为什么"] * 6]),
        "@Ada He came.\n\n@Bob Why?\n\nIt rained.\n\n@Ada So.\n\nNo.",
        "1:14 He came.\n\n1:15 She left.\n\n1:16 It rained.\n\n1:17 So.\n\n2:1 No.",
        "<i>He came.</i>\n\nShe left.\n\nIt rained.\n\nWhy?\n\nSo.\n\nNo.",
    ],
)
def test_text_that_only_begins_like_that_of_a_program_is_read(text, tmp_path):
    _, documents = read(written(tmp_path, "a.txt", text))
    assert documents == [text.split("\n\n")]


@pytest.mark.parametrize("start", [">", "--- ", "From "])
def test_a_long_line_that_begins_as_another_format_takes_no_time_without_end(start, tmp_path):
    text = f"{start}{'a@' * 30_000}\n\nIt rained.\n"
    assert read(written(tmp_path, "a.txt", text))[1][0][-1] == "It rained."


@pytest.mark.parametrize(
    ("text", "paragraphs"),
    [
        (r"He came.\nShe left.\n\nWhy?", ["He came.", "She left.", "Why?"]),
        (r"他来了。\n她走了。", ["他来了。", "她走了。"]),
        (r"He came.\r\nShe said \"no\".\tSo.\r\n", ["He came.", 'She said "no". So.']),
        (r"It cost $5.\nShe paid.", ["It cost $5.", "She paid."]),
        # Formulas, paths and programs.
        (r"So is $\tau$.\nIt is $\nu$.", [r"So is $\tau$.\nIt is $\nu$."]),
        (r"Let $\nu$ be so.\nThen $\mu$.", [r"Let $\nu$ be so.\nThen $\mu$."]),
        (r"In C:\notes\new it is.", [r"In C:\notes\new it is."]),
        (r"It prints one\ntwo.", [r"It prints one\ntwo."]),
        (r'So printf("Hi!\n"); has \t and \".', [r'So printf("Hi!\n"); has \t and \".']),
        (r"It prints 'Hi!\n\n'.", [r"It prints 'Hi!\n\n'."]),
        (r'He came.\n"Why?" she said.', ["He came.", '"Why?" she said.']),
        ("He wrote so.\\nSo.\nWhy?", [r"He wrote so.\nSo.", "Why?"]),
    ],
)
def test_line_ends_that_are_named_are_line_ends(text, paragraphs, tmp_path):
    records = written(tmp_path, "a.jsonl", json.dumps({"text": text}))
    assert read(records) == ("jsonl", [paragraphs])
    if "\n" not in text and '"' not in text:
        table = written(tmp_path, "a.tsv", f"id\ttext\n1\t{text}\n")
        assert read(table) == ("csv", [paragraphs])


DEEP = functools.reduce(lambda inside, _: {"in": inside}, range(900), {"text": "Ada wrote."})
# Files: how they are named, what they hold, how they are given, and what is said of each.
REFUSED = {
    "bytes of a column in another encoding": (
        *("a.parquet", {"text": ["Ära.".encode("utf-16")]}, {}),
        'PATH: column "text" has bytes that are not UTF-8, perhaps UTF-16; write it as strings.',
    ),
    "a column that is no text": (
        *("a.parquet", {"text": [1, 2], "body": ["A", "B"]}, {}),
        '--text: column "text" of PATH is of type int64 and not text, but it has text under body; '
        "say with --text-key where the text is.",
    ),
    "two columns of one name": (
        *("a.csv", "text,id,text\nAda wrote.,1,Why?\n", {}),
        "PATH has 2 columns 'text'; rename all but one.",
    ),
    "keys that are deep or many": (
        *("a.jsonl", json.dumps({f"key {n:02d}": "a" for n in range(12)} | DEEP) + "\n", {}),
        '--text: PATH has no key "text", but it has text under key 00, key 01, key 02, key 03, '
        "key 04, key 05, key 06, key 07, key 08, key 09 and 2 more; say with --text-key where the "
        "text is.",
    ),
    **{
        f"a key that no record has a text for: {record}": (
            *("a.jsonl", (json.dumps(record | {"title": "A"}) + "\n") * 2, {"text_key": "body"}),
            '--text: PATH has no key "body", but it has text under title; say with --text-key '
            "where the text is.",
        )
        for record in ({"body": 1}, {"body": {}}, {"text": None}, {"body": [1, None]})
    },
    **{
        f"numbers in {name}": (
            *(name, content, {}),
            '--text: PATH has numbers alone under "text"; say with --text-key where the text is.',
        )
        for name, content in {
            "a.csv": "id,text\n1,12\n2,3.5\n",
            "a.jsonl": '{"text": "12"}\n{"text": "3.5"}\n',
        }.items()
    },
    "documents that wikiextractor did not write": (
        *("a", '<doc id="1">\nHe came home late.\n</doc>\n', {"kind": "wikipedia"}),
        "PATH begins with <doc>, but has no articles with id and title as wikiextractor writes "
        "them; give its text.",
    ),
    "records in the list of one object": (
        *("a.json", json.dumps({"rows": [{"text": f"He came {n}."} for n in range(3)]}), {}),
        '--text: PATH has no key "text", but it has text under rows; say with --text-key where '
        'the text is, or if each of "rows" is a document write one a line, as jq -c '
        "'.\"rows\"[]' does.",
    ),
}


@pytest.mark.parametrize(("name", "content", "given", "says"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_cannot_be_read_is_refused_with_a_way_out(tmp_path, name, content, given, says):
    path = written(tmp_path, name, content)
    assert refusal(find, path, **given) == says.replace("PATH", str(path))


NAMELESS = ('["He came."]\n["Why?"]\n', '[["He came.", "Why?"]]', '"He said \\"No\\"."\n"Why?"\n')
COLUMN = {str(n): f"He came {n}." for n in range(4)}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('id,text\n1,He came.\n2,"She left, late."\n', "has names of columns"),
        ("\ufeffquestion;answer\nWhy?;So it is.\nWho?;Ada.\n", "has names of columns"),
        (",Review Text,Stars\n0,He came.,1\n1,She left.,2\n", "has names of columns"),
        ("id;title;text\n1;A;He came.\n2;B;Why?\n", "has names of columns"),
        ('{"id": [1, 2], "text": ["He came.", "Why?"]}', "is JSON with all of a column together"),
        ('{"a": {"text": "So."}, "b": {"text": "Why?"}}', "is JSON with its records under names"),
        ('{"a": [\n{"text": "So."},\n{"text": "Why?"}\n]}\n', "JSON, but not one record a line"),
        ('<srcset setid="a">\n<doc>\n<seg id="1">He came.</seg>\n', "is XML"),
        ("<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>He came.</TEXT>\n</DOC>\n", "is XML"),
        ("Message-ID: <1@b>\nFrom: a@b\n\nHe came=20\nhome.\n", "is a mail as it was"),
        ("Received: by a\n\tfor b\nFrom: a@b\n\nHe came.\n", "is a mail as it was"),
        ("From: A <a@b>\nTo: B <b@b>\nSubject: Rain\n\nHe came.\n", "is a mail as it was"),
        ("From:\tA <a@b>\nSent:\tMonday\nTo:\tB\n\nHe came.\n", "is a mail as it was"),
        ("Newsgroups: a.b\nPath: c!d\nFrom: a@b\n\nHe came.\n", "is a mail as it was"),
        ("From Ada Mon Jan  1 09:30:00 2024\nTo: Bob\n\nHe came.\n", "is a mailbox"),
        ("From - Mon Jan 11 09:30:00 2024\nTo: Bob\n\nHe came.\n", "is a mailbox"),
        ("<!-- of 2024 -->\n<html><p>He came.</p></html>", "is HTML;"),
        ("<div class='a'>\n<p>He came.</p>\n</div>", "is HTML or XML"),
        ('<tt xmlns="http://a.b">\n<p>He came.</p></tt>', "is HTML or XML"),
        ("% draft\n\\documentclass{article}\n", "is LaTeX"),
        ('<http://a.b/c> <http://a.b/d> "He came."@en .\n', "is RDF"),
        ("begin 644 a.txt\nM5&AE(&]L9\n", "is a file as uuencode writes it"),
        ("[0][25]He came.\n[30][50]Why?\n", "is subtitles"),
        (".SH NAME\ncp \\- copy files\n.PP\nIt copies a file.\n" * 3, "source of a manual page"),
        ('x = {\n"id": 1,\n"text": "He came home late.",\n},\n' * 3, "looks like JSON"),
        ("Ada Byron  0:07\nHe came.\n\nBo  1:02:08\nWhy?\n\n" * 3, "with a time at each turn"),
        ("ada  10:01 AM\nHe came.\nbo  10:02 AM\nWhy?\n" * 3, "with a time at each turn"),
        ("[Ada Byron] 10:00:07\nHe came.\n\n" * 5, "with a time at each turn"),
        ("Ada (2023-05-01 10:02): He came.\n" * 5, "with a time at each turn"),
        (
            "The Mill (Ada)\n- Your Note on page 3 | Location 7-9 | Added on May 1, 2021 "
            "10:00:12 PM\n\nHe came.\n==========\n" * 3,
            "looks like the clippings of a Kindle",
        ),
        ("1 Ada went out.\n2 Bo came.\n3 Who came? \tBo\t2\n" * 3, "looks like questions of bAbI"),
        ("menu.file=He came.\nmenu.edit=She left.\n" * 3, "looks like messages or settings"),
        ('[[row]]\nid = 1\ntext = "He came."\n' * 3, "looks like messages or settings"),
        ("the 0.418 -0.249 1e-05\nof 0.7 0.5 -0.1\n12 5 9\n" * 3, "looks like numbers"),
        ("WARC/1.0\r\nWARC-Type: metadata\r\n\r\n{}\r\n", "WARC without the text"),
        ("\n\n%PDF-1.7\n1 0 obj\n", "is a PDF"),
        ("He came.<br>\nShe <b>left</b>.\nWhy?<br/>\n" * 3, "looks like HTML"),
        ("He came \\emph{late}.\n\nShe left~\\cite{a}.\n\n" * 3, "looks like LaTeX"),
        (".. note::\n\n   He came.\n\nSee :ref:`a`.\n\n" * 3, "like reStructuredText"),
        ("* Rain\n:PROPERTIES:\n:ID: 7\n:END:\nHe came.\n" * 3, "looks like Org"),
        ("- id: 7\n  text: He came.\n- id: 8\n  text: Why?\n", "is YAML"),
        ('File type = "ooTextFile"\n"TextGrid"\n\n0\n2.5\n"He came."\n', "a TextGrid of Praat"),
        (
            "It was late when the man     He had not expected\ncame home to the mill,      so "
            "to find it empty at\nwhich he had not seen        such an hour of night.\n" * 2,
            "has columns side by side; give its text, for example as pdftotext writes it without",
        ),
        ("# Rain\n\nHe came [home](http://a.b).\n\n" * 3, "looks like Markdown"),
        ("import os\n\ndef f(x):\n    return x\n\nx = f(1)\n" * 3, "looks like code"),
        ("int main(void) {\n  f();\n  return 0;\n}\n" * 3, "looks like code"),
        ("[12:30] <Ada> So he came.\n[12:31] <Bob> Why?\n" * 3, "looks like a chat"),
        ("It was late, and\x03nobody came home before the evening.\n" * 5, r'most often "\\x03"'),
        ("('It was late.', 3)\n" * 5, "marks that are no words"),
        ("1/31/24, 9:30 PM - Ada: So he came.\n" * 5, "looks like a chat"),
        ("00:12:30 So he came.\n00:12:35 Why?\n" * 3, "looks like a chat or a log"),
        ("2024-01-31 09:30:00,1 INFO he came\n" * 5, "looks like a chat or a log"),
        ("Jan  5 10:15:32 mill sshd[9]: he came\n" * 5, "looks like a chat or a log"),
        ("[05-Jan-24 10:15 AM] Ada\nHe came.\nWhy?\n\n" * 3, "looks like a chat or a transcript"),
        ("Ada, [31.01.24 21:30]\nHe came.\nWhy?\n\n" * 3, "looks like a chat or a transcript"),
        ("Speaker 1 (00:05):\nHe came.\nWhy?\n\n" * 3, "looks like a chat or a transcript"),
        ("Ada — 03/01/2021 2:07 PM\nHe came.\n" * 3, "looks like a chat or a transcript"),
        ("Ada (1 March 2021 at 14:07)\nHe came.\n\n" * 3, "looks like a chat or a transcript"),
        ("SPEAKER_00: He came.\nSPEAKER_01: Why so?\n" * 3, 'most often "SPEAKER_00"'),
        ("0 1250 He came.\n1250 2000 Why so?\n" * 3, "marks that are no words in 6 of 6"),
        ("rain\nsnow\nwell-being\n" * 3, "looks like a list of words"),
        ("the 23135\nof 13151\nand 12997\n" * 3, "looks like a list of words"),
        ("[ar:Ada]\n[00:12.00]He came\n", "is lyrics with times"),
        ("[00:12.00]He came\n", "is lyrics with times"),
        # JSON without names for its texts, and columns of it by numbers.
        *((content, "is JSON without names for its texts") for content in NAMELESS),
        (json.dumps({"id": COLUMN, "text": COLUMN}), "is JSON with all of a column together"),
        # The forms of large sources.
        ("==== Front\nJ Rivers\n==== Body\nHe came.\n==== Refs\nA\n", "article of PubMed"),
        ("<SEC-DOCUMENT>1\n<TEXT>\nHe came.\n", "is a filing of the SEC"),
        ("diff --git a/x b/x\n-It was\n", "is a patch"),
        ("######OpenITI#\n\n#META# a\n", "the marks of OpenITI"),
        ("@UTF8\n@Begin\n*MOT:\tso .\n", "a transcript in CHAT"),
        ("\\data\\\nngram 1=5\n", "a model of n-grams"),
        (">sp|P1\nMKTAYIAKQRQISFVKSHFSRQ\n", "sequences of proteins"),
        ("[core]\nname=Anne\n", "settings of a program"),
        ("CREATE TABLE words (a int);\n", "an SQL dump"),
        ('<doc id="1">\n<s>\nIt\tPRP\nwas\tVBD\nlate\tJJ\n</s>\n', "has a token in each line"),
    ],
)
def test_text_for_a_program_is_refused_by_its_name(content, says, tmp_path):
    with pytest.raises(AlbertError, match=says):
        read(written(tmp_path, "a.txt", content))


@pytest.mark.parametrize(
    ("kind", "content", "says"),
    [
        (
            "text",
            "id,text\nIt rained, and\nhe came, late.\n",
            "has names of columns in its first line; name a table .csv, or say "
            "--input-format prose to read it as it stands.",
        ),
        (
            "books",
            "He came\tEr kam\nlate.\tspät.\nWhy so?\tWarum?\n",
            "has several columns in each line, between tabs; give its text, name a "
            "table .tsv (without a header, --text-key takes a number), or say "
            "--input-format book to read it as it stands.",
        ),
        (
            "text",
            "To: Ada\nFrom: Bob <b@c>\nDate: May 1\n\nHe came.\n",
            "is a mail as it was sent; give its text, or say --input-format prose to "
            "read it as it stands.",
        ),
    ],
)
def test_prose_that_seems_no_prose_is_read_where_a_person_says_so(kind, content, says, tmp_path):
    path = written(tmp_path, "a.txt", content)
    assert refusal(find, path, kind=kind) == f"{path} {says}"
    said = says.partition("--input-format ")[2].partition(" ")[0]
    (document,) = documents_of(find(path, kind=kind, input_format=said))
    assert " ".join(document.paragraphs).split() == content.split()


@pytest.mark.parametrize(
    ("lines", "mark"),
    [
        (r"\v {n} He came home late.", r"\v"),
        (r"\xv He came home {n}.", r"\xv"),
        ("AB  - He came home {n} times.", "AB  -"),
        ("PAR  He came home {n} times.", "PAR"),
        ("2|{n}|He came home late", "|"),
        ("LJ-{n}|He came.|He came.", "|"),
        ("it|PRP|it was|VBD|be late|JJ|late", "|"),
        ("the mil@@ ler came ho@@ me {n} times .", "@@"),
        ("▁He ▁came ▁home ▁late ▁{n} .", "▁"),
        ("He/PRP came/VBD home/NN {n}/CD ./.", "/PRP"),
        ("He_PRP came_VBD home_NN {n}_CD ._.", "_PRP"),
        ("(S (NP (PRP He)) (VP (VBD came)))", "(S ("),
        ("['He came.', 'She left {n} times.']", "['He came."),
        ("('He came.', {n})", "('He came."),
        ("He came{n}=2C late=2E", "=2C"),
        ("It%20was%20late%2C{n}%21", "%20"),
        (r"\u0414\u043e {n}", r"\u0414"),
        ("QSB0YWxsIHN0cmFuZ2VyIGRlc2NyaWJlZCB0aGUgY2h1cmNoIGxlZGdlciB3{n}aA==", "QSB0YWxsIHN0"),
        ("49742077617320 6c6174652e", "49742077617320"),
        ('[Event "{n}"]', '[Event "'),
        ("[b]He came[/b] {n} times.", "[/b]"),
        ("See [[home]] of {{{{cite|{n}}}}}.", "[["),
        ("*CHI:\tplay it {n} times .\n%mor:\tv|play", "*CHI:"),
        ("¶ He came home {n} times.", "¶"),
        ("The/at miller/nn-tl came/vbd home/nr late/rb ./.", "The/at miller"),
        ("19980101-01-001-00{n}/m 迈向/v 充满/v 希望/n 的/u 新/a 世纪/n", "19980101-01-001-001/m"),
        ("84-121123-000{n} GO DO YOU HEAR", "84-121123-000"),
        ("utt_00{n} go do you hear", "utt_00"),
        ("Pr\ufffdsident und K\ufffdnig kamen {n} mal.", "\ufffd"),
        ("Pr?sident und K?nig kamen {n} mal.", "?"),
        ("@@400{n} He came home.", "@@"),
        ("<|user|>\nHe came {n} times.\n<|assistant|>\nWhy?", "<|user|>"),
        ("[INST] Who came? [/INST] Ada {n}.", "[/INST]"),
        ("<DOC id={n}>\n<TEXT>\nHe came.\nWhy?\nSo.\nNo.\n</TEXT>\n</DOC>", "<TEXT>"),
        ("<pb:{n}> He came home.", "<pb:"),
        ("START_OF_RECORD={n}\n\nHe came.\n\nEND_OF_RECORD", "START_OF_RECORD"),
        ("He came.\n\nShe left.\n\n<range>\n\nIt rained.\n\nWhy?", "<range>"),
        ("1 NAME Anne {n}", "1 NAME"),
        ("%A Ada\n%T He came home {n} times", "%A"),
        ("A.{n}: He came home. /", "/"),
    ],
)
def test_a_mark_in_most_lines_is_said_and_read_where_a_person_says_so(lines, mark, tmp_path):
    path = written(tmp_path, "a.txt", "\n".join(lines.format(n=n) for n in range(1, 12)))
    said = refusal(find, path)
    assert "has marks that are no words" in said or "a token in each line" in said
    assert f'most often "{mark}' in said or "a token" in said
    assert said.endswith("or say --input-format prose to read it as it stands.")
    assert documents_of(find(path, input_format="prose"))


@pytest.mark.parametrize(
    "text",
    [
        "Subject: Rain\nDate: 12 March 2019\nOrganization: Town\n\nHe came.",
        "".join(f"2019-03-0{n} 08:15\nHe came.\n\n" for n in range(1, 9)),
        "from Leeds import duties rose\nreturn to the valley was slow\nfor the sons it was late\n"
        * 4,
        "Call open() as here, and see what it returns to the one who calls it:\n\n"
        "    with open(a) as f:\n        print(f)\n\nEach line of the file is then read.\n\n" * 3,
        "".join(f"# Chapter {n}\n\nHe came.\n\n" for n in range(1, 9)),
        "(1)\tThe ferry leaves at eight.\n(2)\tIt comes back.\n(3)\tIt may rain.\n",
        "A:\tWell, I think so.\nB:\tUh, yeah.\nA:\tIt has been raining.\n",
        "1.1\tThe Seller delivers.\n1.2\tThe Buyer pays.\n2.10.\tIt may rain.\n",
        "".join(f"{w} {n}:30\nIt is free.\n" for n, w in enumerate(["Tea", "Song", "Play"], 7)),
        "".join(f"Leeds, {day} March 1921, 7:30\nHe came.\n\n" for day in range(1, 9)),
        "The sun is low,      the sea is wide,\nThe boats are in,    the men inside.\n" * 4,
        "ADA.      He came home late.\n          So he did.\n\n" * 4,
        "Three to two, then.\n3 2 was what it came to.\n" * 4,
        "他来了!她走了?下雨了.\n" * 6,
        "- 9:30 The doors open.\n- 10:00 A talk begins.\n- 11:15 Tea is served.\n" * 2,
        "धर्मक्षेत्रे कुरुक्षेत्रे समवेता युयुत्सवः|\nमामकाः पाण्डवाश्चैव किमकुर्वत सञ्जय||1||\n" * 3,
        "\n".join(f"[{c}:{v}] And he said unto them, so." for c in "12" for v in range(1, 32)),
        '("It was late," he said, "and cold.")\n("So it was.")\n' * 4,
        "".join(f"Genesis 1:{verse}\nAnd it was so.\n" for verse in range(1, 32)),
        "".join(f"Al-Baqara (2:{verse}): And it was so.\n" for verse in range(1, 32)),
        # Numbers of verses and of things, and where pages end, unless they rise with the pages.
        "PSALM\n1 The hills are thine.\n2 We wait here.\n3 Sing now.\n" * 4,
        "1 cup of flour\n2 eggs of a hen\n3 pears or so\n" * 2,
        "".join(f"{n} men came\nand went\n" for n in range(2, 30)),
        "It was in the summer of\n1984\n\x0cthat he died.\n",
        "It was\n\n1984\n\x0cand then\n\n14\n\x0cno more.\n",
        # Marks that people write.
        *(
            "\n\n".join(line.format(n=n) for n in range(1, 12))
            for line in (
                "#rain http://t.co/a{n}%20 @ada It rains & rains.",
                '> He said {n} times: "no", and she <3 him.',
                "* The Old Mill, Bridge St. {n}: soup from £5 (A/C, 50% off).",
                "1:{n} O Lord, hear us | when we call.",
                "§ {n} (1) Nach Art. 5 Abs. 2 und/oder Nr. [3] gilt dies *nicht*.",
                "{n}. e4 e5 2. Nf3 Nc6 3. Bb5 a6 = +0.3",
                "HER BROTHER - A MILLER - CAME {n} TIMES.",
                "x = {n}y + 2 for all n > 5, where a_n = 2^n.",
                "— ¿Adónde vas? —preguntó ella ({n}).",
                "\U0001f600 So happy today {n} :-) ^_^ ~ * ~",
            )
        ),
    ],
)
def test_good_text_is_not_refused_by_its_shape_and_loses_no_word(text, tmp_path):
    (document,) = documents_of(find(written(tmp_path, "a.txt", text)))
    assert " ".join(" ".join(document.paragraphs).split()) == " ".join(text.split())


LINES = ["It was late when", "the miller came", "home. No one", "knew why he was", "late. So."]


@pytest.mark.parametrize("numbered", ["{n} {line}", " {n:2}  {line}", "{n}    {line}"])
def test_numbers_in_the_margin_of_pages_are_no_text(numbered, tmp_path):
    pages = "".join(
        numbered.format(n=n, line=line) + "\n" for _ in range(4) for n, line in enumerate(LINES, 1)
    )
    _, documents = read(written(tmp_path, "a.txt", pages))
    assert " ".join(documents[0]) == " ".join(LINES * 4)


@pytest.mark.parametrize(
    ("head", "foot"),
    [
        ("{n} THE OLD MILL", ""),
        ("", "The Old Mill - page {n} of 9"),
        ("CHAPTER ONE", "{n}"),
        ("Ada: Mills", "Draft, do not cite"),
        ("ANNUAL REPORT\nThe Old Mill {n}", "Ada 2020 [1] 9 Feb\n{n}"),
    ],
)
def test_lines_that_run_over_the_pages_are_no_text(head, foot, tmp_path):
    texts = [
        f"It was so on day {'i' * n} that\nhe came {'so' * n} late, and it was" for n in range(1, 7)
    ]
    pages = "\x0c".join(
        "\n\n".join(filter(None, [head.format(n=n), text, foot.format(n=n)])) + "\n"
        for n, text in enumerate(texts, 1)
    )
    _, documents = read(written(tmp_path, "a.txt", pages))
    assert " ".join(documents[0]) == " ".join(" ".join(texts).split())


def test_a_column_inside_of_another_names_the_language_of_its_row(tmp_path):
    rows = [{"text": "Wer kam?", "meta": {"lang": "de"}}, {"text": "Ada.", "meta": {"lang": "de"}}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    file = find(tmp_path / "a.parquet")
    assert (file.language, file.language_from) == ("de", "records")


NOT_WRAPPED = [
    "A slow river drowns more than a quick one\nHe who mends the gate keeps the goat",
    "RT @ada: It rained. #rain http://t.co/a\n@bob Why so?\nSo it did, all of the night",
    "@ada the snow came late at night #rain\n@bob it came home with us #snow ht",
    "anchor - heavy iron hook\nbilge - lowest part of the hull\ncleat - a fitting",
    "第一章 河边\n下雨了。妹妹说。\n人们站在岸上，谁也不说话。天已经黑了。",
]
SO = ["It was late.", "Why?", "So."]


@pytest.mark.parametrize(
    ("text", "paragraphs"),
    [
        ("It rained.\n\u200b\nHe came.", ["It rained.", "He came."]),
        ("It rained in the valley.\n\n\x1a", ["It rained in the valley."]),
        ("Rain &amp; snow &lt; &quot;hail&quot;.", ['Rain & snow < "hail".']),
        ("It&#8217;s caf&eacute; &#x27;Rain&#x27;.", ["It’s café 'Rain'."]),
        (f"{WRAPPED}\n***\n{WRAPPED}", [UNWRAPPED] * 2),
        # Numbers of pages between dashes, without form feeds.
        (
            "\n\n".join(f"{WRAPPED}\n\n- {n} -\n\nand {WRAPPED}" for n in range(1, 5)),
            [f"{UNWRAPPED} and {UNWRAPPED}"] * 4,
        ),
        # A few lines between blank ones are a stanza.
        (f"{STANZA}\n\n" * 9, [" ".join(STANZA.split())] * 9),
        ("\n\n".join(WRAPPED.split("\n") * 6), [" ".join(WRAPPED.split() * 6)]),
        ("R&amp;amp;D, it&amp;#39;s", ["R&D, it's"]),
        ("AT&T; R&D &c. and &copy;", ["AT&T; R&D &c. and &copy;"]),
        ("Die groſ⸗\nſe Stube war be⸗\nkannt.", ["Die groſſe Stube war bekannt."]),
        # Pages have numbers; a form feed alone is white space.
        ("It was\n\n12\n\n\x0clate.\n\nWhy?\n\n13\n\x0cSo.\n\x0c", SO),
        ("It was\n- 12 -\n\x0clate.\n\nWhy?\n\x0c13\n\nSo.", SO),
        ("It was\n\x0clate.\n\n\x0cIn 1914\n", ["It was late.", "In 1914"]),
        # Separators of Unicode.
        ("It was\u2028late.\u2029Why?\u2028\u2028So.", SO),
        # A hyphen that stands for a word that follows stays.
        (
            "Over het nut van in-\nen uitvoer, en over de com-\nmissie. De commissie.",
            ["Over het nut van in- en uitvoer, en over de commissie. De commissie."],
        ),
        (
            "Hän ja muut tuonti-\nja vientikaupasta, työ-\npaikasta. Työpaikasta.",
            ["Hän ja muut tuonti- ja vientikaupasta, työpaikasta. Työpaikasta."],
        ),
        (
            "Az út és a be-\nés kiviteli ter-\nmékek. A termékek.",
            ["Az út és a be- és kiviteli termékek. A termékek."],
        ),
        ("It was giv-\nen to him, and given.", ["It was given to him, and given."]),
        # Lines that nobody wrapped.
        *((f"{lines}\n" * 9, lines.split("\n") * 9) for lines in NOT_WRAPPED),
    ],
)
def test_what_nobody_sees_is_no_text_nor_a_line_end_that_only_wraps(text, paragraphs, tmp_path):
    assert read(written(tmp_path, "a.txt", text))[1] == [paragraphs]


@pytest.mark.parametrize(
    "table",
    [
        "GEN 1:1\tHe came home.\nGEN 1:2\tShe left.\n",
        "1276\tIt was late.\n1279\tWhy?\n",
        "deu_7\t„Wer kam da?“\ndeu_8\tAda.\n",
    ],
)
def test_a_table_without_a_header_is_told_and_its_columns_have_numbers(table, tmp_path):
    path = written(tmp_path, "a.tsv", table)
    assert refusal(find, path) == (
        f"--text: {path} seems to have no header, as its first line is a row of 2 cells; say "
        "with --text-key which has the text, by its number from 1."
    )
    _, documents = read(path, text_key="2")
    assert documents == [[row.partition("\t")[2]] for row in table.splitlines()]
    # A column may have a number for its name.
    assert read(written(tmp_path, "a.csv", "1,2\n5,He came.\n"), text_key="2")[1] == [["He came."]]


@pytest.mark.parametrize(
    ("record", "language"),
    [
        ({"meta": {"lang": "cs"}}, "cs"),
        ({"metadata": {"identification": {"label": "de", "prob": 0.9}}}, "de"),
        ({"languages": 3, "language": ["pl", "en"]}, "pl"),
        ({"language": {"code": "de", "name": "German"}}, "de"),
        ({"language": {"id": 7, "name": "German"}}, "de"),
        ({"identification": "DE-7"}, "en"),
        ({"language": [{"label": "deu_Latn", "score": 0.9}]}, "de"),
        ({"meta": {"inLanguage": "de-DE"}}, "de"),
        ({"lang": {"score": "de"}}, "en"),
        ({"info": {"source": {"language_code": "FRA"}}}, "fr"),
        ({"label": "de", "score": {"label": "it"}}, "en"),
        ({"language": [], "meta": None}, "en"),
        ({"language": "deu", "language_script": "Latn"}, "de"),
        ({"lang": "", "language_code": "FRA"}, "fr"),
        ({"locale": "pt_BR"}, "pt"),
        ({"lang": "unknown", "url": "https://ja.wikipedia.org/wiki/A"}, "ja"),
        ({"url": "https://wiki.example/A", "meta": {"url": "https://de.wikipedia.org/"}}, "de"),
    ],
)
def test_a_record_names_its_language_as_it_likes(record, language, tmp_path):
    path = written(tmp_path, "a.jsonl", json.dumps({"text": "Dr. No.", **record}))
    assert find(path).language == language


@pytest.mark.parametrize(
    "texts",
    [
        [rf"\v {n} He came." for n in range(9)],
        [f"<p>He came {n}.</p>\n<p>Why?</p>" for n in range(9)],
        [f"He/PRP came/VBD home/NN {n}/CD" for n in range(9)],
    ],
)
def test_marks_in_most_records_are_said_and_read_where_a_person_says_so(texts, tmp_path):
    rows = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    path = written(tmp_path, "a.jsonl", rows)
    with pytest.raises(AlbertError, match="say --input-format jsonl to read it as it stands"):
        find(path)
    assert len(documents_of(find(path, input_format="jsonl"))) == 9
