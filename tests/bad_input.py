"""The table of refusals: how bad input is made, what is typed, what must be said.

Each case is a command in a folder of its own, with whole things beside the bad one:
`text`, `vocab`, `data`, `run`, and the run as `hf` and `google`,
as Hugging Face and google-research/albert keep it.
"""

import contextlib
import gzip
import io
import json
import os
import shlex
import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import sentencepiece

from schemas.layout import shard_file
from tests.commands import attempt, run
from tests.manifests import edit_manifest

Make = Callable[[], Any]

RUN_STEP = "run/checkpoints/step-00000007"
FIRST_SHARD = "data/" + shard_file("train", 0, shard=0, num_shards=8)
TEXTS = "vocab --output out --text"
DATA = "make-data --text text --vocab vocab --output out"
ZIP = b"PK\x03\x04" + bytes(26)
WORKBOOK = ZIP + b"[Content_Types].xml..." + ZIP + b"xl/workbook.xml"
DUMP = b"<mediawiki>\n<page>\n<title>A</title><ns>0</ns>\n</page>\n</mediawiki>\n"
TALK = (
    b"<mediawiki><page><title>Talk:A</title><ns>1</ns><revision><text>Talk, only talk."
    b"</text></revision></page></mediawiki>"
)


class Case(NamedTuple):
    """Bad input.

    Attributes:
        name: What is wrong.
        command: What is typed after `albert`.
        make: Makes the bad thing, in the folder in which the command runs. A file that
            it returns stays open until the command has ended.
        exit_code: 2 for what was typed or set, 1 for a file or for work that failed.
        says: What the sentence must say: the reason, or the way out.
    """

    name: str
    command: str
    make: Make = lambda: None
    exit_code: int = 1
    says: str = ""


class Ending(NamedTuple):
    """How a command ended: its exit code, all it said, what it left or changed."""

    exit_code: int
    said: str
    left: list[str]


# How bad things are made


def file(name: str, content: bytes | str = b"") -> Make:
    """A file of this content."""
    data = content.encode() if isinstance(content, str) else content
    return lambda: Path(name).write_bytes(data)


def json_file(name: str, /, **values: Any) -> Make:
    """A file with a JSON object."""
    return file(name, json.dumps(values))


def all_of(*makes: Make) -> Make:
    """Several things, one after the other."""
    return lambda: [make() for make in makes]


def without(name: str) -> Make:
    """A file or a folder less."""
    path = Path(name)
    return lambda: shutil.rmtree(path) if path.is_dir() else path.unlink()


def with_values(name: str, /, **changes: Any) -> Make:
    """Other values in a JSON file."""

    def make() -> None:
        values = json.loads(Path(name).read_text("utf-8"))
        Path(name).write_text(json.dumps(values | changes), "utf-8")

    return make


def with_bytes(name: str, place: int, new: bytes) -> Make:
    """Other bytes somewhere in a file."""

    def make() -> None:
        data = Path(name).read_bytes()
        place_from_start = place % len(data)
        end = place_from_start + len(new)
        Path(name).write_bytes(data[:place_from_start] + new + data[end:])

    return make


def cut_off(name: str, size: int) -> Make:
    """A file that ends too early, by so many bytes."""
    return lambda: os.truncate(name, Path(name).stat().st_size - size)


def squad(*starts: int) -> Make:
    """A file in the form of SQuAD: a question on one word for each start of it."""
    asked = [
        {"id": str(n), "question": "?", "answers": [{"text": "it", "answer_start": n}]}
        for n in starts
    ]
    paragraph = {"context": "Ada wrote it.", "qas": asked}
    return json_file("train", data=[{"paragraphs": [paragraph]}])


def in_manifest(edit: Callable[[dict[str, Any]], object]) -> Make:
    """A manifest that was edited, with the fingerprint of what it then says."""
    return lambda: edit_manifest(Path("data/manifest.json"), edit)


def table(name: str, **columns: Any) -> Make:
    """A parquet file."""
    return lambda: pq.write_table(pa.table(columns), name)


def foreign_vocabulary() -> None:
    """A vocabulary with other special pieces, as SentencePiece makes it by itself."""
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(["The old bridge crosses the river."] * 3),
        model_prefix="other",
        vocab_size=20,
        minloglevel=9,
    )


def written_by(process: int) -> Callable[[], Any]:
    """A folder that another process is writing; held as long as the result is."""
    import fcntl

    def make() -> Any:
        Path("out").mkdir()
        lock = Path("out/.lock").open("w")  # noqa: SIM115 - until the command has ended
        lock.write(f"{process}\n")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    return make


TEXT_CASES = [
    Case(
        "no text is given", "vocab --output out", exit_code=2, says="--books or --text"
    ),
    Case(
        "a path that does not exist",
        f"{TEXTS} none.txt",
        exit_code=2,
        says="does not exist",
    ),
    Case(
        "a folder without files",
        f"{TEXTS} empty",
        lambda: Path("empty").mkdir(),
        2,
        says="has no files",
    ),
    Case(
        "a folder without text",
        f"{TEXTS} notes",
        all_of(lambda: Path("notes").mkdir(), file("notes/README", "Read me.")),
        2,
        says="like a text",
    ),
    Case(
        "a pattern that the shell has replaced",
        "vocab --output out --text text/a.txt text/b.txt",
        exit_code=2,
        says="to no flag",
    ),
    Case(
        "a pipe", f"{TEXTS} pipe", lambda: os.mkfifo("pipe"), 2, says="more than once"
    ),
    Case(
        "a pipe as a vocabulary",
        "make-data --text text --output out --vocab pipe",
        lambda: os.mkfifo("pipe"),
        2,
        says="it is a pipe",
    ),
    Case(
        "a pipe in a vocabulary",
        "make-data --text text --output out --vocab pipes",
        all_of(lambda: Path("pipes").mkdir(), lambda: os.mkfifo("pipes/spiece.model")),
        2,
        says="it is a pipe",
    ),
    Case(
        "a pipe as the examples of a task",
        "finetune run --task classify --train pipe.tsv --output out",
        lambda: os.mkfifo("pipe.tsv"),
        2,
        says="is a pipe",
    ),
    Case(
        "an empty file",
        f"{TEXTS} novel.txt",
        file("novel.txt"),
        says="novel.txt is empty",
    ),
    Case(
        "a file whose name has a line feed and an escape",
        f"{TEXTS} $'a\\n\\x1b[2Jb.txt'",
        file("a\n\x1b[2Jb.txt"),
        says="a\\n\\x1b[2Jb.txt is empty",
    ),
    Case(
        "a packed file with nothing in it",
        f"{TEXTS} novel.txt.gz",
        file("novel.txt.gz", gzip.compress(b"")),
        says="novel.txt.gz is empty",
    ),
    Case(
        "a packed file of which the first bytes arrived",
        f"{TEXTS} novel.txt.gz",
        file("novel.txt.gz", gzip.compress(b"It was late. " * 99)[:10]),
        says="novel.txt.gz is damaged",
    ),
    Case(
        "a packed file that is cut off early",
        f"{TEXTS} novel.txt.gz",
        file("novel.txt.gz", gzip.compress(b"It was late, and dark. " * 99)[:30]),
        says="most 24 pieces",
    ),
    Case(
        "a packed dump whose first block is damaged",
        "vocab --output out --wikipedia dump.xml.bz2",
        file("dump.xml.bz2", b"BZh91AY&SY and so on"),
        says="dump.xml.bz2 is damaged",
    ),
    Case(
        "blank lines alone",
        f"{TEXTS} blank.txt",
        file("blank.txt", b"\n \n\n"),
        says="to train on",
    ),
    Case(
        "text in UTF-16",
        "vocab --output out --books novel.txt",
        file("novel.txt", "A novel.".encode("utf-16")),
        says="novel.txt is UTF-16",
    ),
    Case(
        "a dump in UTF-16 without its mark",
        "vocab --output out --wikipedia dump.xml",
        file("dump.xml", DUMP.decode().encode("utf-16-le")),
        says="dump.xml is UTF-16",
    ),
    Case(
        "a text in Windows-1251",
        f"{TEXTS} novel.txt",
        file("novel.txt", "Он пришёл домой поздно.\n".encode("cp1251")),
        says="encoding than UTF-8",
    ),
    Case(
        "a zip archive",
        f"{TEXTS} novel.zip",
        file("novel.zip", ZIP + b"a.txt"),
        says="a zip archive",
    ),
    Case(
        "a docx file",
        f"{TEXTS} novel.docx",
        file("novel.docx", ZIP + b"[Content_Types].xml"),
        says="a docx file",
    ),
    Case(
        "an Excel workbook",
        f"{TEXTS} texts.xlsx",
        file("texts.xlsx", WORKBOOK),
        says="an Excel workbook",
    ),
    Case(
        "an EPUB book",
        f"{TEXTS} novel.epub",
        file("novel.epub", ZIP + b"mimetypeapplication/epub+zip"),
        says="an EPUB book",
    ),
    Case(
        "an OpenDocument file",
        f"{TEXTS} novel.odt",
        file("novel.odt", ZIP + b"mimetypeapplication/vnd.oasis.opendocument"),
        says="an OpenDocument file",
    ),
    Case(
        "a PDF",
        f"{TEXTS} paper.pdf",
        file("paper.pdf", b"%PDF-1.7 and so on"),
        says="is a PDF",
    ),
    Case(
        "an RTF file",
        f"{TEXTS} a.rtf",
        file("a.rtf", b"{\\rtf1 Ada wrote.}"),
        says="an RTF file",
    ),
    Case(
        "an old Office file",
        f"{TEXTS} novel.doc",
        file("novel.doc", b"\xd0\xcf\x11\xe0\xa1\xb1 and so on"),
        says="old Office file",
    ),
    Case(
        "a 7z archive",
        f"{TEXTS} dump.7z",
        file("dump.7z", b"7z\xbc\xaf\x27\x1c and so on"),
        says="a 7z archive",
    ),
    Case(
        "a rar archive",
        f"{TEXTS} a.rar",
        file("a.rar", b"Rar!\x1a\x07 and so on"),
        says="a rar archive",
    ),
    Case(
        "a packed tar archive",
        f"{TEXTS} novels.tar.gz",
        file("novels.tar.gz", gzip.compress(b"a.txt".ljust(257, b"\0") + b"ustar")),
        says="a tar archive",
    ),
    Case(
        "an SQLite database",
        f"{TEXTS} texts.db",
        file("texts.db", b"SQLite format 3\0 and so on"),
        says="an SQLite database",
    ),
    Case(
        "bytes that are no text",
        f"{TEXTS} a.bin",
        file("a.bin", bytes(range(256))),
        says="of control characters",
    ),
    Case(
        "the index of a dump",
        "vocab --output out --wikipedia index.txt",
        file("index.txt", b"616:10:AccessibleComputing\n616:12:Anarchism\n"),
        says="and not needed",
    ),
    Case(
        "plain text for Wikipedia",
        "vocab --output out --wikipedia novel.txt",
        file("novel.txt", b"Ada wrote.\n"),
        says="parquet or CSV",
    ),
    Case(
        "a dump for plain text",
        f"{TEXTS} dump.xml",
        file("dump.xml", DUMP),
        says="a MediaWiki dump",
    ),
    Case(
        "wikiextractor's output for books",
        "vocab --output out --books wiki_00",
        file("wiki_00", b'<doc id="1" title="A">\n'),
        says="is wikiextractor output",
    ),
    Case(
        "a JSON record over several lines",
        f"{TEXTS} row.json",
        file("row.json", b'{\n  "text": "Ada wrote."\n}\n'),
        says="record a line",
    ),
    Case(
        "a JSON array",
        f"{TEXTS} rows.json",
        file("rows.json", b'[{"text": "Ada."}]'),
        says="a JSON array",
    ),
    Case(
        "HTML",
        f"{TEXTS} page",
        file("page", b"\n<!DOCTYPE html>\n<html><body>Ada wrote.</body></html>\n"),
        says="page is HTML",
    ),
    Case(
        "Markdown by its name",
        f"{TEXTS} notes.md",
        file("notes.md", b"# Ada\n"),
        says="named like Markdown",
    ),
    Case(
        "LaTeX by its name, for books",
        "vocab --output out --books paper.tex.gz",
        file("paper.tex.gz", gzip.compress(b"Ada wrote.\n")),
        says="named like LaTeX",
    ),
    Case(
        "JSON lines with the text under other keys",
        f"{TEXTS} rows.jsonl",
        file("rows.jsonl", b'{"id": 1, "body": {"text": "Ada."}, "title": "A"}\n'),
        says="under body.text, title",
    ),
    Case(
        "JSON lines without text",
        f"{TEXTS} rows.jsonl",
        file("rows.jsonl", b'{"a": 1}'),
        says="nor any text",
    ),
    Case(
        "a table without the column",
        f"{TEXTS} rows.tsv",
        file("rows.tsv", b"id\tbody\n1\tAda wrote.\n"),
        says="under id, body",
    ),
    Case(
        "parquet without the column",
        f"{TEXTS} rows.parquet --text-key body",
        table("rows.parquet", id=[1], title=["A"], content=[{"text": "Ada."}]),
        says="under title, content.text",
    ),
    Case(
        "parquet without its end",
        f"{TEXTS} rows.parquet",
        all_of(table("rows.parquet", text=["Ada wrote."]), cut_off("rows.parquet", 9)),
        says="file is missing",
    ),
    Case(
        "a format that the flag cannot have",
        "vocab --output out --books text --input-format mediawiki",
        exit_code=2,
        says="parquet, parquet-sentences, sentences",
    ),
    Case(
        "a column for texts that have none",
        f"{TEXTS} text --text-key body",
        exit_code=2,
        says="given has rows",
    ),
    Case(
        "a language that is no code",
        f"{TEXTS} text --language Klingonese",
        exit_code=2,
        says="en, not 'Klingonese'",
    ),
    Case(
        "a page that is no article",
        f"{DATA.replace('--text text', '--wikipedia talk.xml')}",
        file("talk.xml", TALK),
        says="to train on",
    ),
]

SETTING_CASES = [
    Case(
        "no folder to write",
        "vocab --text text",
        exit_code=2,
        says="Missing option '--output'",
    ),
    Case(
        "an unknown flag",
        f"{TEXTS} text --vocabulary-size 8000",
        exit_code=2,
        says="you mean '--vocab-size'?",
    ),
    Case(
        "a size that is no number",
        f"{TEXTS} text --vocab-size many",
        exit_code=2,
        says="a valid integer",
    ),
    Case(
        "a size too small for any text",
        f"{TEXTS} text --vocab-size 8",
        exit_code=2,
        says="32, not 8",
    ),
    Case(
        "a size too small for the text",
        f"{TEXTS} fox.txt --vocab-size 33",
        file("fox.txt", b"The quick brown fox jumps over the lazy dog."),
        says="for 40 pieces",
    ),
    Case(
        "a size too large for the text",
        f"{TEXTS} fox.txt --vocab-size 9000",
        file("fox.txt", b"The quick brown fox jumps over the lazy dog. Why? " * 9),
        says="most 41 pieces",
    ),
    Case(
        "a settings file that does not exist",
        "vocab --config none.json",
        exit_code=2,
        says="does not exist",
    ),
    Case(
        "a settings file that is no JSON",
        "vocab --config settings.json",
        file("settings.json", b"vocab_size: 8000\n"),
        says="not valid JSON",
    ),
    Case(
        "a settings file that is a list",
        "vocab --config settings.json",
        file("settings.json", b"[8000]"),
        says="or a value",
    ),
    Case(
        "a setting given twice in a file",
        "vocab --config settings.json",
        file("settings.json", b'{"seed": 1, "seed": 2}'),
        says="in one object",
    ),
    Case(
        "an unknown setting in a file",
        f"{DATA} --config settings.json",
        json_file("settings.json", max_seq_len=64),
        2,
        says="of albert make-data",
    ),
    Case(
        "a setting of another type in a file",
        "vocab --config settings.json",
        json_file("settings.json", vocab_size=8000.5),
        2,
        says="int, not 8000.5",
    ),
    Case(
        "the settings of another command",
        f"{TEXTS} text --config data/config.json",
        exit_code=2,
        says="by albert make-data",
    ),
    Case(
        "sequences too short",
        f"{DATA} --max-seq-length 4",
        exit_code=2,
        says="8, not 4",
    ),
    Case(
        "more predictions than tokens",
        f"{DATA} --max-seq-length 32 --max-predictions-per-seq 40",
        exit_code=2,
        says="29, not 40",
    ),
    Case(
        "a share of more than one",
        f"{DATA} --eval-fraction 1.5",
        exit_code=2,
        says="0.9, not 1.5",
    ),
    Case(
        "lines that may stand in no document",
        f"{DATA} --max-line-repeats 0",
        exit_code=2,
        says="at least 1, not 0",
    ),
    Case(
        "removed text among the data",
        f"{DATA} --removed out/removed",
        exit_code=2,
        says="neither in --output nor around it",
    ),
    Case(
        "removed text among other files",
        f"{DATA} --removed vocab",
        exit_code=2,
        says="give a new folder",
    ),
    Case(
        "all text held out",
        f"{DATA} --eval-text text",
        exit_code=2,
        says="none is left to train on",
    ),
    Case(
        "text to hold out that is not there",
        f"{DATA} --eval-text none.txt",
        exit_code=2,
        says="--eval-text: none.txt does not exist",
    ),
    Case(
        "rows to hold out without their key",
        f"{DATA} --eval-text task.csv",
        file("task.csv", b"number,sentence\n1,It rains.\n2,It snows.\n"),
        says="--eval-text: task.csv has no column",
    ),
    Case(
        "a share that is no number",
        f"{DATA} --masked-lm-prob nan",
        exit_code=2,
        says="0.0, not nan",
    ),
    Case(
        "an unknown sentence task",
        f"{DATA} --sentence-task cloze",
        exit_code=2,
        says="'sop', 'nsp', 'none'",
    ),
    Case(
        "a setting of another schedule",
        "pretrain --data data --output out --constant-steps 100",
        exit_code=2,
        says="schedule is linear",
    ),
    Case(
        "an unknown runner",
        f"{DATA} --runner HadoopRunner",
        exit_code=2,
        says="PrismRunner, not HadoopRunner",
    ),
    Case(
        "a job to check where it would be run",
        f"{DATA} -- --dry_run=true",
        exit_code=2,
        says="for a cluster",
    ),
    Case(
        "a job to write to a file",
        f"{DATA} --runner FlinkRunner -- --output_executable_path=job.jar",
        exit_code=2,
        says="set is made",
    ),
    Case(
        "a flag where none is taken",
        "vocab --text text --output out -- --vocab-size 100",
        exit_code=2,
        says="command takes nothing",
    ),
    Case(
        "no vocabulary",
        "make-data --text text --output out",
        exit_code=2,
        says="Missing option '--vocab'",
    ),
    Case(
        "no folder for the data",
        "make-data --text text --vocab vocab",
        exit_code=2,
        says="folder to write",
    ),
    Case(
        "copies to store of examples that are not stored",
        f"{DATA} --examples on-the-fly --dupe-factor 5",
        exit_code=2,
        says="on-the-fly stores none",
    ),
]

OUTPUT_CASES = [
    Case(
        "a folder of other files",
        f"{TEXTS} text",
        all_of(lambda: Path("out").mkdir(), file("out/thesis.txt", b"mine")),
        2,
        says="holds other files",
    ),
    Case(
        "a folder of other files, with --overwrite",
        f"{TEXTS} text --overwrite",
        all_of(lambda: Path("out").mkdir(), file("out/thesis.txt", b"mine")),
        2,
        says="holds other files",
    ),
    Case(
        "a file as the folder",
        f"{TEXTS} text",
        file("out", b"mine"),
        2,
        says="is a file",
    ),
    Case(
        "a folder below a file",
        "vocab --text text --output notes.txt/vocab",
        file("notes.txt", b"mine"),
        2,
        says="cannot be made",
    ),
    Case(
        "a vocabulary on a cluster",
        "vocab --text text --output gs://bucket/vocab",
        exit_code=2,
        says="on this machine",
    ),
    Case(
        "the output of another command",
        "make-data --text text --vocab vocab --output run",
        exit_code=2,
        says="of albert pretrain",
    ),
    Case(
        "a finished folder and another setting",
        "make-data --config data/config.json --text text --output data --seed 7",
        exit_code=2,
        says="and is 7",
    ),
    Case(
        "a folder that is being written",
        f"{TEXTS} text",
        written_by(4711),
        says="by process 4711",
    ),
    Case(
        "an export into a folder of other files",
        "export run --to hf --output text",
        exit_code=2,
        says="holds other files",
    ),
    Case(
        "an export into its run",
        "export run --to hf --output run",
        exit_code=2,
        says="holds other files",
    ),
    Case(
        "an export into the current folder",
        "export run --to hf --output .",
        exit_code=2,
        says="cannot be replaced",
    ),
    Case(
        "another export into the folder of one",
        "export run --to saved-model --output hf",
        exit_code=2,
        says="for another program",
    ),
    Case(
        "a page that is no HTML",
        "report data --output page.pdf",
        exit_code=2,
        says="end with .html",
    ),
    Case(
        "a page in no folder",
        "report data --output pages/a.html",
        exit_code=2,
        says="does not exist",
    ),
    Case(
        "a figure that is neither SVG nor PNG",
        "analyze layers run --data data --plot layers.gif",
        exit_code=2,
        says=".svg or .png",
    ),
]

VOCABULARY_CASES = [
    Case(
        "a vocabulary that does not exist",
        "make-data --text text --vocab none --output out",
        exit_code=2,
        says="does not exist",
    ),
    Case(
        "a WordPiece vocabulary",
        "make-data --text text --vocab vocab.txt --output out",
        file("vocab.txt", b"[PAD]\n[UNK]\n"),
        says="a SentencePiece model",
    ),
    Case(
        "a vocabulary with other special pieces",
        "make-data --text text --vocab other.model --output out",
        foreign_vocabulary,
        says="and is <unk>",
    ),
    Case(
        "a vocabulary that is cut off",
        DATA,
        cut_off("vocab/spiece.model", 400),
        says="a SentencePiece model",
    ),
]

DATA_CASES = [
    Case("a folder that is no data set", "inspect text", says="a finished data set"),
    Case("a run that is no data set", "evaluate run --data run", says="a data set"),
    Case(
        "a data set that is not finished",
        "pretrain --data data --output out",
        without("data/manifest.json"),
        says="finished data set",
    ),
    Case(
        "a manifest that is cut off",
        "inspect data",
        file("data/manifest.json", b'{\n  "format": "albert-pre'),
        says="not valid JSON",
    ),
    Case(
        "a manifest of another program",
        "inspect data",
        json_file("data/manifest.json", name="data"),
        says="of albert make-data",
    ),
    Case(
        "a manifest with a setting edited",
        "inspect data",
        with_values("data/manifest.json", inputs=[]),
        says="vocabulary and versions",
    ),
    Case(
        "a manifest with a number as text",
        "inspect data",
        in_manifest(lambda m: m["vocabulary"].update(size="400")),
        says="int, not '400'",
    ),
    Case(
        "a manifest that names a file elsewhere",
        "inspect data --verify",
        in_manifest(lambda m: m["shards"][0].update(name="/dev/zero")),
        says="of no copy",
    ),
    Case(
        "a manifest that lacks a file",
        "inspect data",
        in_manifest(lambda m: m["shards"].pop()),
        says="of copy train/01",
    ),
    Case(
        "manifest and vocabulary of two data sets",
        "inspect data",
        lambda: shutil.copy("other.model", "data/spiece.model"),
        says="was made with",
    ),
    Case(
        "a shard that is missing",
        "inspect data --verify",
        without(FIRST_SHARD),
        says="data is damaged",
    ),
    Case(
        "a shard that is cut off",
        "inspect data --verify",
        cut_off(FIRST_SHARD, 7),
        says="data is damaged",
    ),
    Case(
        "a shard with a byte changed",
        "inspect data --verify",
        with_bytes(FIRST_SHARD, 40, b"\xff"),
        says="data is damaged",
    ),
    Case(
        "a record that says it is huge",
        "inspect data",
        with_bytes(FIRST_SHARD, 0, struct.pack("<Q", 1 << 40)),
        says="match its checksum",
    ),
    Case(
        "a shard of zeros",
        "inspect data",
        with_bytes(FIRST_SHARD, 0, bytes(999)),
        says="match its checksum",
    ),
    Case(
        "training on a shard that is missing",
        "pretrain --data data --output out --model tiny",
        without(FIRST_SHARD),
        says="data/train/copy-00/part-00000-of-00008.tfrecord is missing",
    ),
]

TRAINING_CASES = [
    Case(
        "data that do not exist",
        "pretrain --data none --output out",
        exit_code=2,
        says="not a folder",
    ),
    Case(
        "an unknown model",
        "pretrain --data data --output out --model huge",
        exit_code=2,
        says="file, not huge",
    ),
    Case(
        "an unknown field of the model",
        "pretrain --data data --output out --set width=3",
        exit_code=2,
        says="its value, FIELD=VALUE",
    ),
    Case(
        "a field of another type",
        "pretrain --data data --output out --set hidden_size=wide",
        exit_code=2,
        says="int, not 'wide'",
    ),
    Case(
        "a field that follows from the data",
        "pretrain --data data --output out --set vocab_size=9",
        exit_code=2,
        says="from the data",
    ),
    Case(
        "heads that do not divide the width",
        "pretrain --data data --output out --set num_attention_heads=7",
        exit_code=2,
        says="7 does not",
    ),
    Case(
        "absurdly many layers",
        "pretrain --data data --output out --set num_hidden_layers=1000000000",
        exit_code=2,
        says="1024, not 1000000000",
    ),
    Case(
        "a model file with an unknown field",
        "pretrain --data data --output out --model model.json",
        json_file("model.json", width=3),
        2,
        says="not a setting",
    ),
    Case(
        "a budget for a position table shorter than the sequences",
        "pretrain --data data --output out --set max_position_embeddings=16 "
        "--budget 1h",
        exit_code=2,
        says="max_position_embeddings is 16",
    ),
    Case(
        "a position table shorter than the sequences",
        "pretrain --data data --output out --set max_position_embeddings=16",
        exit_code=2,
        says="max_position_embeddings is 16",
    ),
    Case(
        "a sentence task that the data lack",
        "pretrain --data data --output out --set sentence_task=nsp",
        exit_code=2,
        says="with --sentence-task sop",
    ),
    Case(
        "a micro-batch larger than the batch",
        "pretrain --data data --output out --batch-size 10 --micro-batch-size 12",
        exit_code=2,
        says="10, not 12",
    ),
    Case(
        "more warm-up than steps",
        "pretrain --data data --output out --steps 10 --warmup-steps 11",
        exit_code=2,
        says="10, not 11",
    ),
    Case(
        "a time that is none",
        "pretrain --data data --output out --max-time soon",
        exit_code=2,
        says="not a time",
    ),
    Case(
        "weights from no run",
        "pretrain --data data --output out --init-from text",
        says="not a run",
    ),
    Case(
        "weights of a fine-tuned model",
        "pretrain --data data --output out --init-from run",
        file("run/task.json", "{}"),
        says="that pretraining needs",
    ),
    Case(
        "weights of a model with BERT's vocabulary",
        "pretrain --data data --output out --init-from run",
        all_of(file("run/vocab.txt", "[PAD]"), without("run/spiece.model")),
        says="can be made",
    ),
    Case(
        "weights of another width",
        "pretrain --data data --output out --init-from run --model tiny",
        says="layer_norm/beta has shape",
    ),
    Case(
        "a length beside the data that have one",
        "plan --data data --max-seq-length 64",
        exit_code=2,
        says="follows from --data",
    ),
    Case(
        "sequences longer than the position table",
        "plan --max-seq-length 1024",
        exit_code=2,
        says="512, not 1024",
    ),
]

RUN_CASES = [
    Case("a folder that is no run", "evaluate text --data data", says="nor an export"),
    Case(
        "a run without a checkpoint",
        "evaluate run --data data",
        without("run/checkpoints"),
        says="no checkpoint yet",
    ),
    Case(
        "a run without its best checkpoint",
        "evaluate run --data data --checkpoint best",
        all_of(
            with_values(f"{RUN_STEP}/state.json", is_best=False),
            without("run/checkpoints/best"),
        ),
        says="nothing was evaluated",
    ),
    Case(
        "weights that are cut off",
        "evaluate run --data data",
        cut_off(f"{RUN_STEP}/model.safetensors", 100),
        says="can be read",
    ),
    Case(
        "a checkpoint with a negative step",
        "export run --to hf --output out",
        with_values(f"{RUN_STEP}/state.json", step=-7),
        says="can be read",
    ),
    Case(
        "an architecture with absurdly many layers",
        "export run --to hf --output out",
        with_values("run/model.json", num_hidden_layers=10**9),
        says="1024, not 1000000000",
    ),
    Case(
        "an architecture of another width",
        "export run --to hf --output out",
        with_values("run/model.json", intermediate_size=200_000),
        says="intermediate/bias has shape",
    ),
    Case(
        "another vocabulary in a run",
        "export run --to hf --output out",
        lambda: shutil.copy("other.model", "run/spiece.model"),
        says="and is <unk>",
    ),
    Case(
        "held-out text that there is none of",
        "evaluate run --data data",
        in_manifest(
            lambda m: (
                m["splits"].update(eval={"documents": 0, "copies": []}),
                m.update(shards=[s for s in m["shards"] if s["name"][0] == "t"]),
            )
        ),
        says="no held-out examples",
    ),
    Case(
        "data of another vocabulary",
        "evaluate run --data data",
        in_manifest(lambda m: m["vocabulary"].update(sha256="0" * 64)),
        says="with another vocabulary",
    ),
    Case(
        "minimal pairs that do not exist",
        "evaluate run --data data --minimal-pairs none",
        exit_code=2,
        says="does not exist",
    ),
    Case(
        "a folder without minimal pairs",
        "evaluate run --data data --minimal-pairs vocab",
        exit_code=2,
        says=".jsonl or .txt",
    ),
    Case(
        "nothing to measure on",
        "evaluate run",
        exit_code=2,
        says="--data: give a data set to measure on, or --text",
    ),
    Case(
        "text to measure on that is not there",
        "evaluate run --text none.txt",
        exit_code=2,
        says="--text: none.txt does not exist",
    ),
    Case(
        "a language without a text",
        "evaluate run --data data --language de",
        exit_code=2,
        says="--language reads --text",
    ),
    Case(
        "text that gives no examples",
        "evaluate run --text one.txt",
        file("one.txt", b"One\n"),
        says="no examples to measure on",
    ),
    Case(
        "minimal pairs with one sentence",
        "evaluate run --data data --minimal-pairs pairs.jsonl",
        file("pairs.jsonl", b'{"sentence_good": "Ada wrote."}\n'),
        says="sentence_good and sentence_bad",
    ),
    Case(
        "a minimal pair longer than the model reads",
        "evaluate run --data data --words 0 --minimal-pairs pairs.txt",
        file("pairs.txt", b"Ada wrote.\n" + b"Ada " * 60 + b"\n"),
        says="model reads 48",
    ),
    Case(
        "an evaluation that was edited",
        "report run",
        file("run/evaluation.json", b'{"step": "one"}\n'),
        says="has no 'data_fingerprint'",
    ),
    Case(
        "a run compared with itself",
        "analyze layers run run --data data",
        exit_code=2,
        says="is given twice",
    ),
    Case(
        "a report of a file", "report text/assert.txt", exit_code=2, says="not a folder"
    ),
    Case("a report of a vocabulary", "report vocab", says="of albert make-data"),
    Case(
        "a report of a run without metrics",
        "report run",
        without("run/metrics.jsonl"),
        says="no metrics yet",
    ),
    Case(
        "a line of metrics that is none",
        "report run",
        file("run/metrics.jsonl", b'{"step": "one"}\n'),
        says="line of metrics",
    ),
    Case(
        "settings of a run that are none",
        "report run",
        with_values("run/config.json", identity=[1]),
        says="dict, not list",
    ),
]

IMPORT_CASES = [
    Case(
        "a model that does not exist",
        "import none --output out",
        exit_code=2,
        says="does not exist",
    ),
    Case(
        "a run as a model from elsewhere",
        "import run --output out",
        exit_code=2,
        says="a run already",
    ),
    Case(
        "a model that is no ALBERT",
        "import hf --output out",
        with_values("hf/config.json", model_type="bert"),
        says="can be read",
    ),
    Case(
        "an activation that no ALBERT has",
        "import hf --output out",
        with_values("hf/config.json", hidden_act="silu"),
        says="hidden_act is silu",
    ),
    Case(
        "a configuration without a width",
        "import hf --output out",
        json_file("hf/config.json", model_type="albert", vocab_size=400),
        says="of an ALBERT",
    ),
    Case(
        "a configuration with an absurd width",
        "import hf --output out",
        with_values("hf/config.json", hidden_size=10**12),
        says="65536, not 1000000000000",
    ),
    Case(
        "a configuration of another model",
        "import hf --output out",
        with_values("hf/config.json", intermediate_size=10**5),
        says="ffn.weight has shape",
    ),
    Case(
        "a model without weights",
        "import hf --output out",
        without("hf/model.safetensors"),
        says="has no model.safetensors",
    ),
    Case(
        "weights as a pickle",
        "import hf --output out",
        lambda: os.rename("hf/model.safetensors", "hf/pytorch_model.bin"),
        says="it is read",
    ),
    Case(
        "weights that nothing describes",
        "import hf --output out",
        without("hf/config.json"),
        says="to read them",
    ),
    Case(
        "tensors that are cut off",
        "import hf --output out",
        cut_off("hf/model.safetensors", 100),
        says="is not whole",
    ),
    Case(
        "tensors with a header of terabytes",
        "import hf --output out",
        with_bytes("hf/model.safetensors", 0, struct.pack("<Q", 1 << 40)),
        says="is not whole",
    ),
    Case(
        "an index that names a file elsewhere",
        "import hf --output out",
        all_of(
            lambda: os.rename("hf/model.safetensors", "hf/a.safetensors"),
            json_file("hf/model.safetensors.index.json", weight_map={"a": "../b"}),
        ),
        says="file of tensors",
    ),
    Case(
        "a checkpoint of google-research/albert that is damaged",
        "import google --output out",
        file("google/model.ckpt.index", b"no index"),
        says="be an sstable",
    ),
    Case(
        "a file that says which checkpoint is the newest, and is no text",
        "import google --output out",
        file("google/checkpoint", b"\xff\xfe"),
        says="invalid start byte",
    ),
    Case(
        "a tokenizer of another kind",
        "import hf --output out",
        all_of(
            without("hf/spiece.model"),
            json_file("hf/tokenizer.json", model={"type": "BPE"}),
        ),
        says="can be read",
    ),
    Case(
        "a tokenizer with half a character",
        "import hf --output out",
        all_of(
            without("hf/spiece.model"),
            json_file(
                "hf/tokenizer.json", model={"type": "Unigram", "vocab": [["\ud800", 0]]}
            ),
        ),
        says="of an ALBERT",
    ),
    Case(
        "a WordPiece vocabulary without its special pieces",
        "import hf --output out",
        all_of(
            without("hf/spiece.model"),
            without("hf/tokenizer.json"),
            file("hf/vocab.txt", b"[PAD]\n"),
        ),
        says="to be one",
    ),
    Case(
        "two vocabularies",
        "import google --output out",
        all_of(
            lambda: os.rename("google/spiece.model", "google/a.model"),
            lambda: shutil.copy("google/a.model", "google/b.model"),
        ),
        says="2 SentencePiece models",
    ),
    Case(
        "a folder with neither model nor vocabulary",
        "import text --output out",
        says="no SentencePiece model",
    ),
]

QUESTION_CASES = [
    Case("a model that is none", 'fill-mask text "A [MASK]."', says="nor an export"),
    Case(
        "a vocabulary as a model",
        'fill-mask vocab "A [MASK]."',
        says="Face or google-research/albert",
    ),
    Case(
        "a text without a mask",
        'fill-mask run "Nothing is here."',
        says="has no [MASK]",
    ),
    Case(
        "a text longer than the model reads",
        f'fill-mask run "{"(" * 30}[MASK]{")" * 30}"',
        says="model reads 32",
    ),
    Case("no text at all", "fill-mask run", exit_code=2, says="one per line"),
    Case(
        "a passage that is empty",
        'order run "" "Then she left."',
        says="passage is empty",
    ),
    Case(
        "a second passage that is missing",
        'order run "She came."',
        exit_code=2,
        says="Missing argument 'SECOND'",
    ),
    Case(
        "a model without a sentence-order head",
        'order run "She came." "She left."',
        with_values("run/model.json", sentence_task="nsp"),
        says="task is nsp",
    ),
]

FINETUNE = "finetune run --output out --train train --task"
TASK_CASES = [
    Case(
        "a task that there is not",
        f"{FINETUNE} sentiment",
        file("train"),
        2,
        says="neither a kind",
    ),
    Case(
        "a training file without examples",
        f"{FINETUNE} classify",
        file("train"),
        says="holds no examples",
    ),
    Case(
        "a table that is a workbook",
        f"{FINETUNE} classify",
        file("train", WORKBOOK),
        says="an Excel workbook",
    ),
    Case(
        "a table whose text is in no known column",
        f"{FINETUNE} classify",
        file("train", "a,b,label\nGood.,x,1\n"),
        2,
        says="is the text",
    ),
    Case(
        "a column that a table does not have",
        f"{FINETUNE} classify --label-column mood",
        file("train", "text,label\nGood.,1\n"),
        2,
        says="no column 'mood'",
    ),
    Case(
        "quotation marks that nothing closes",
        f"{FINETUNE} classify",
        file("train", 'text,label\n"Good.,1\n'),
        says="not fit together",
    ),
    Case(
        "one label only",
        f"{FINETUNE} classify --eval train",
        file("train", "text,label\nGood.,1\nBad.,1\n"),
        says="same label '1'",
    ),
    Case(
        "a label that a named task does not have",
        f"{FINETUNE} rte --eval train",
        file("train", "sentence1\tsentence2\tlabel\na\tb\tneutral\n"),
        says="rte: entailment, not_entailment",
    ),
    Case(
        "a label that only the evaluation has",
        f"{FINETUNE} classify --eval eval",
        all_of(
            file("train", "text,label\nGood.,1\nBad.,0\n"),
            file("eval", "text,label\nSo-so.,2\n"),
        ),
        says="the label '2'",
    ),
    Case(
        "too few examples to hold some out",
        f"{FINETUNE} classify",
        file("train", "text,label\nGood.,1\nBad.,0\n"),
        says="1 different text",
    ),
    Case(
        "a score that is not a number",
        f"{FINETUNE} regress",
        file("train", "text,score\nGood.,nan\n"),
        says="not a number",
    ),
    Case(
        "an answer that is not at its answer_start",
        f"{FINETUNE} squad",
        squad(0),
        says="at its answer_start",
    ),
    Case(
        "a question without an id",
        f"{FINETUNE} squad",
        json_file(
            "train",
            data=[{"paragraphs": [{"context": "a", "qas": [{"question": "?"}]}]}],
        ),
        says="'id' is missing",
    ),
    Case(
        "an answer that is no option",
        f"{FINETUNE} choose",
        file("train", "article,option0,option1,label\na,b,c,E\n"),
        says="the 2 options",
    ),
    Case(
        "a question with one option",
        f"{FINETUNE} choose",
        file("train", "article,option0,option1,label\na,b,,A\n"),
        says="than two options",
    ),
    Case(
        "a line without its tag",
        f"{FINETUNE} tag",
        file("train", "Ada B-PER\nran\n"),
        says="the tag is",
    ),
    Case(
        "words and tags that are not as many",
        f"{FINETUNE} tag",
        json_file("train", tokens=["Ada"], tags=["O", "O"]),
        says="number of tags",
    ),
    Case(
        "a line that is no record",
        f"{FINETUNE} classify",
        file("train", '{"text": "a", "label": 1}\n{"text": "b"\n'),
        says="a JSON record",
    ),
    Case(
        "a folder without files of the task",
        "finetune run --output out --task rte --data text",
        exit_code=2,
        says="test in them",
    ),
    Case(
        "the head of a model that has none",
        f"{FINETUNE} classify --eval train --keep-head",
        file("train", "text,label\nGood.,1\nBad.,0\n"),
        2,
        says="a fine-tuned model",
    ),
    Case(
        "longer sequences than the model reads",
        f"{FINETUNE} classify --eval train --max-seq-length 4096",
        file("train", "text,label\nGood.,1\nBad.,0\n"),
        2,
        says="of the model",
    ),
    Case(
        "predictions of a model without a task",
        'predict run "Good."',
        says="a fine-tuned model",
    ),
]

CASES = [
    *TEXT_CASES,
    *SETTING_CASES,
    *OUTPUT_CASES,
    *VOCABULARY_CASES,
    *DATA_CASES,
    *TRAINING_CASES,
    *RUN_CASES,
    *IMPORT_CASES,
    *QUESTION_CASES,
    *TASK_CASES,
]


# How a case is run


def make_whole(small: Path, folder: Path) -> None:
    """The whole things of every case, out of texts with vocabulary and data."""
    from tests.exported_runs import SMALL_RUN, write_run
    from tests.google_albert import save_google

    for name in ("text", "vocab", "data"):
        shutil.copytree(small / name, folder / name)
    weights = write_run(folder / "run", SMALL_RUN, small)
    (folder / "google").mkdir()
    save_google(folder / "google", weights, SMALL_RUN)
    shutil.copy(folder / "run/spiece.model", folder / "google")
    with contextlib.chdir(folder):
        run("export", "run", "--to", "hf", "--output", "hf")
        foreign_vocabulary()


def end(case: Case, whole: Path, folder: Path) -> Ending:
    """Run a case in a folder with a copy of the whole things."""
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    with contextlib.chdir(folder), nothing_to_read():
        held = case.make()
        before = state(Path())
        code, said = attempt(*words(case.command))
        after = state(Path())
        if isinstance(held, io.IOBase):
            held.close()
    changed = before.items() ^ after.items()
    return Ending(code, said, sorted({name for name, _ in changed}))


def words(command: str) -> list[str]:
    """A command as a shell divides it, which knows $'...' too."""
    spelled = [
        word.encode().decode("unicode_escape") if "\\" in word else word
        for word in shlex.split(command.replace("$'", "'"))
    ]
    return spelled


@contextlib.contextmanager
def nothing_to_read():
    """Standard input that is at its end."""
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO())
    try:
        yield
    finally:
        sys.stdin = before


def state(folder: Path) -> dict[str, tuple[int, int]]:
    """Everything below a folder, with size and time if it is a file."""
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns)
        if path.is_file()
        else (0, 0)
        for path in folder.rglob("*")
    }
