"""Files as writers write them: documents, paragraphs, sentences counted by hand."""

import gzip
import json

import pyarrow as pa
import pytest

from pipeline.reading.sentences import split_sentences
from tests.pipeline.reading.whole_file import documents_of, find


def jsonl(*texts, key="text", **fields):
    return "".join(json.dumps({key: text, **fields}) + "\n" for text in texts).encode()


def arrow(*texts):
    sink = pa.BufferOutputStream()
    table = pa.table({"id": [str(n) for n in range(len(texts))], "text": texts})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def warc(*pages):
    records = [b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 2\r\n\r\na:\r\n\r\n"]
    for language, text in pages:
        body = text.encode()
        records.append(
            b"WARC/1.0\r\nWARC-Type: conversion\r\n"
            b"WARC-Target-URI: http://example.org/\r\n"
            + f"WARC-Identified-Content-Language: {language}\r\n".encode()
            + b"Content-Type: text/plain\r\n"
            + f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
            + b"\r\n\r\n"
        )
    return gzip.compress(b"".join(records))


CC100 = """Die Brücke wurde im 19. Jahrhundert gebaut. Sie steht noch heute, obwohl
ihre Pfeiler schwach sind, und wird von Fußgängern benutzt.
Im Jahr 1945 wurde sie gesprengt. Ein Jahr später stand sie wieder.
""".replace("obwohl\n", "obwohl ")
WRITERS = {
    # C4: a line of a page is a paragraph; addresses and times are fields.
    "c4.json.gz": (
        gzip.compress(
            jsonl(
                "Beginner knitting evening\nBring two needles. We have wool.\nTuesday at 7 p.m. "
                "in the library.",
                "Mr. Lee sold the shop. Who will run it?",
                timestamp="2019-04-25T12:57:54Z",
                url="https://example.org/a",
            )
        ),
        (2, 4, 6),
    ),
    # CC-100: a paragraph a line, a blank line between documents.
    "de.txt": ((CC100 + "\n" + CC100).encode(), (2, 4, 8)),
    # OSCAR 23.01: the text is under "content", the language in "metadata".
    "es_meta.jsonl": (
        jsonl(
            *("El Sr. Ruiz llegó tarde.\nNadie lo esperaba. ¿Por qué?", "Llueve."),
            key="content",
            metadata={"identification": {"label": "es", "prob": 0.98}},
        ),
        (2, 3, 4),
    ),
    "CC-MAIN.warc.wet.gz": (
        warc(
            ("ell", "Αρχική\nΤι είναι αυτό; Ένα βιβλίο."),
            ("deu", "Kontakt\nDr. Frey hilft gern. Z. B. am Montag."),
        ),
        (2, 4, 6),
    ),
    # Wiki-40B as TensorFlow Datasets exports it.
    "wiki40b.jsonl": (
        jsonl(
            "\n_START_ARTICLE_\nAda Lovelace\n_START_SECTION_\nLife\n_START_PARAGRAPH_\nAda "
            "Lovelace was born in London in the winter of 1815._NEWLINE_She wrote the first "
            "program ever published. It ran on a machine that nobody had built.",
            wikidata_id="Q1",
            version_id="1",
        ),
        (1, 2, 3),
    ),
    "data.arrow": (arrow("雨が降った。彼は帰った。", "彼女は「なぜ？」と聞いた。"), (2, 2, 3)),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_has_what_a_person_counts_in_it(name, tmp_path):
    content, counted = WRITERS[name]
    path = tmp_path / name
    path.write_bytes(content)
    kind = "wikipedia" if name.startswith("wiki") else "text"
    key = {"text_key": "content"} if "meta" in name else {}
    language = {"de.txt": "de", "data.arrow": "ja"}.get(name)
    file = find(path, kind, language=language, **key)
    documents = [
        split_sentences(document, language=document.language or file.language)
        for document in documents_of(file)
    ]
    sentences = [each for document in documents for each in document]
    assert (len(documents), len(sentences), sum(map(len, sentences))) == counted
