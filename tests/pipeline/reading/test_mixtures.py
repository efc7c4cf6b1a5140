"""Encodings, line ends, formats, packers: the text that was written, or a refusal."""

import bz2
import gzip
import itertools
import json
import lzma

import pytest
import zstandard

from schemas.errors import AlbertError
from tests.pipeline.reading.whole_file import documents_of, find

ONE, TWO = "Müller ging früh. Er fror.", "Das Café schloß schon früh."
THREE = "Größer wäre er gern gewesen, Übung half nicht."
AS_PARAGRAPHS = [[ONE, TWO], [THREE]]

# What a format holds, how it is given, and the documents that are right. Lines of CSV
# and JSON have line ends inside, which the writer of the file chose too.
FORMATS = {
    "prose.txt": ("text", f"{ONE}\n\n{TWO}\n\n{THREE}\n", [[ONE, TWO, THREE]]),
    "marked.txt": ("text", f"{ONE}\n\n{TWO}\n<|endoftext|>\n{THREE}\n", AS_PARAGRAPHS),
    "paragraphs.txt": (
        "text",
        f"{ONE * 5}\n{TWO * 5}\n\n{THREE * 5}\n{ONE * 5}\n",
        [[ONE * 5, TWO * 5], [THREE * 5, ONE * 5]],
    ),
    "sentences.txt": ("text", f"{TWO}\n{THREE}\n\n{THREE}\n", [[TWO, THREE], [THREE]]),
    "table.csv": ("text", f'id,text\n1,"{ONE}\n{TWO}"\n2,"{THREE}"\n', AS_PARAGRAPHS),
    "table.tsv": ("text", f"id\ttext\n1\t{ONE}\n2\t{THREE}\n", [[ONE], [THREE]]),
    "lines.jsonl": (
        "text",
        "".join(
            json.dumps({"text": "\n".join(paragraphs)}, ensure_ascii=False) + "\n"
            for paragraphs in AS_PARAGRAPHS
        ),
        AS_PARAGRAPHS,
    ),
    "news.txt": ("text", f"1\t{TWO}\n2\t{THREE}\n3\t{ONE}\n", [[TWO, THREE, ONE]]),
    "talk.srt": (
        "text",
        f"1\n00:00:01,000 --> 00:00:02,000\n{TWO}\n\n2\n00:00:03,000 --> 00:00:04,000\n{THREE}\n",
        [[TWO, THREE]],
    ),
    "wiki": ("wikipedia", f'<doc id="1" title="A">\nA\n\n{THREE * 3}\n</doc>\n', [[THREE * 3]]),
}
PACKERS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}
ENCODINGS = ("utf-8", "utf-8-sig", "cp1252", "latin1", "utf-16", "utf-32", "cp850", "mac_roman")
LINE_ENDS = ("\n", "\r\n", "\r")


@pytest.mark.parametrize("name", FORMATS)
def test_a_mixture_gives_the_text_that_was_written_or_a_refusal(name, tmp_path):
    wrong = []
    kind, text, documents = FORMATS[name]
    for number, (encoding, line_end) in enumerate(itertools.product(ENCODINGS, LINE_ENDS)):
        packer = list(PACKERS)[number % len(PACKERS)]
        path = tmp_path / f"{name}{packer}"
        written = text.replace("\n", line_end).encode(encoding, errors="replace")
        path.write_bytes(PACKERS[packer](written))
        try:
            file = find(path, kind)
            found = [list(document.paragraphs) for document in documents_of(file)]
        except AlbertError:
            continue
        if found != documents:
            wrong.append((encoding, line_end, packer, file.format, found))
    assert not wrong
