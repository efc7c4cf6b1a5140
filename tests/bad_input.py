"""The table of bad input: how each is made, what is typed, and what is then said.

    python -m tests.bad_input    rewrites docs/bad_input.md from what the commands say

Each case is a command in a folder of its own, with whole things beside the bad one:
`text`, `vocab`, `data`, `run`, and the run as `hf` and `google`,
as Hugging Face and google-research/albert keep it.
"""

import contextlib
import gzip
import io
import json
import os
import re
import shlex
import shutil
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import sentencepiece

from schemas.layout import shard_file
from tests.commands import attempt, make_small, run
from tests.manifests import edit_manifest

PAGE = Path(__file__).parent.parent / "docs/bad_input.md"
INTRODUCTION = """\
# Bad input

Written by `python -m tests.bad_input` (part of `make docs`) from what the commands say;
a test runs every line. Exit code 2: what was typed or set is wrong. Exit code 1: a file
is, or the work failed. Nothing that looks finished is ever left behind.

| case | command | exit code | the sentence |
|---|---|--:|---|
"""

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
        name: What is wrong, as the table has it.
        command: What is typed after `albert`.
        make: Makes the bad thing, in the folder in which the command runs. A file that
            it returns stays open until the command has ended.
        exit_code: Of the command.
    """

    name: str
    command: str
    make: Make = lambda: None
    exit_code: int = 1


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
    Case("no text is given", "vocab --output out", exit_code=2),
    Case("a path that does not exist", f"{TEXTS} none.txt", exit_code=2),
    Case("a folder without files", f"{TEXTS} empty", lambda: Path("empty").mkdir(), 2),
    Case(
        "a folder without text",
        f"{TEXTS} notes",
        all_of(lambda: Path("notes").mkdir(), file("notes/README", "Read me.")),
        2,
    ),
    Case(
        "a pattern that the shell has replaced",
        "vocab --output out --text text/a.txt text/b.txt",
        exit_code=2,
    ),
    Case("a pipe", f"{TEXTS} pipe", lambda: os.mkfifo("pipe"), 2),
    Case("an empty file", f"{TEXTS} novel.txt", file("novel.txt")),
    Case(
        "a file whose name has a line feed and an escape",
        f"{TEXTS} $'a\\n\\x1b[2Jb.txt'",
        file("a\n\x1b[2Jb.txt"),
    ),
    Case(
        "a packed file with nothing in it",
        f"{TEXTS} novel.txt.gz",
        file("novel.txt.gz", gzip.compress(b"")),
    ),
    Case(
        "a packed file of which the first bytes arrived",
        f"{TEXTS} novel.txt.gz",
        file("novel.txt.gz", gzip.compress(b"It was late. " * 99)[:10]),
    ),
    Case(
        "a packed file that is cut off early",
        f"{TEXTS} novel.txt.gz",
        file("novel.txt.gz", gzip.compress(b"It was late, and dark. " * 99)[:30]),
    ),
    Case(
        "a packed dump whose first block is damaged",
        "vocab --output out --wikipedia dump.xml.bz2",
        file("dump.xml.bz2", b"BZh91AY&SY and so on"),
    ),
    Case("blank lines alone", f"{TEXTS} blank.txt", file("blank.txt", b"\n \n\n")),
    Case(
        "text in UTF-16",
        "vocab --output out --books novel.txt",
        file("novel.txt", "A novel.".encode("utf-16")),
    ),
    Case(
        "a dump in UTF-16 without its mark",
        "vocab --output out --wikipedia dump.xml",
        file("dump.xml", DUMP.decode().encode("utf-16-le")),
    ),
    Case(
        "a text in Windows-1251",
        f"{TEXTS} novel.txt",
        file("novel.txt", "Он пришёл домой поздно.\n".encode("cp1251")),
    ),
    Case("a zip archive", f"{TEXTS} novel.zip", file("novel.zip", ZIP + b"a.txt")),
    Case(
        "a docx file",
        f"{TEXTS} novel.docx",
        file("novel.docx", ZIP + b"[Content_Types].xml"),
    ),
    Case("an Excel workbook", f"{TEXTS} texts.xlsx", file("texts.xlsx", WORKBOOK)),
    Case(
        "an EPUB book",
        f"{TEXTS} novel.epub",
        file("novel.epub", ZIP + b"mimetypeapplication/epub+zip"),
    ),
    Case(
        "an OpenDocument file",
        f"{TEXTS} novel.odt",
        file("novel.odt", ZIP + b"mimetypeapplication/vnd.oasis.opendocument"),
    ),
    Case("a PDF", f"{TEXTS} paper.pdf", file("paper.pdf", b"%PDF-1.7 and so on")),
    Case("an RTF file", f"{TEXTS} a.rtf", file("a.rtf", b"{\\rtf1 Ada wrote.}")),
    Case(
        "an old Office file",
        f"{TEXTS} novel.doc",
        file("novel.doc", b"\xd0\xcf\x11\xe0\xa1\xb1 and so on"),
    ),
    Case(
        "a 7z archive",
        f"{TEXTS} dump.7z",
        file("dump.7z", b"7z\xbc\xaf\x27\x1c and so on"),
    ),
    Case("a rar archive", f"{TEXTS} a.rar", file("a.rar", b"Rar!\x1a\x07 and so on")),
    Case(
        "a packed tar archive",
        f"{TEXTS} novels.tar.gz",
        file("novels.tar.gz", gzip.compress(b"a.txt".ljust(257, b"\0") + b"ustar")),
    ),
    Case(
        "an SQLite database",
        f"{TEXTS} texts.db",
        file("texts.db", b"SQLite format 3\0 and so on"),
    ),
    Case("bytes that are no text", f"{TEXTS} a.bin", file("a.bin", bytes(range(256)))),
    Case(
        "the index of a dump",
        "vocab --output out --wikipedia index.txt",
        file("index.txt", b"616:10:AccessibleComputing\n616:12:Anarchism\n"),
    ),
    Case(
        "plain text for Wikipedia",
        "vocab --output out --wikipedia novel.txt",
        file("novel.txt", b"Ada wrote.\n"),
    ),
    Case("a dump for plain text", f"{TEXTS} dump.xml", file("dump.xml", DUMP)),
    Case(
        "wikiextractor's output for books",
        "vocab --output out --books wiki_00",
        file("wiki_00", b'<doc id="1" title="A">\n'),
    ),
    Case(
        "a JSON record over several lines",
        f"{TEXTS} row.json",
        file("row.json", b'{\n  "text": "Ada wrote."\n}\n'),
    ),
    Case(
        "a JSON array", f"{TEXTS} rows.json", file("rows.json", b'[{"text": "Ada."}]')
    ),
    Case(
        "HTML",
        f"{TEXTS} page",
        file("page", b"\n<!DOCTYPE html>\n<html><body>Ada wrote.</body></html>\n"),
    ),
    Case("Markdown by its name", f"{TEXTS} notes.md", file("notes.md", b"# Ada\n")),
    Case(
        "LaTeX by its name, for books",
        "vocab --output out --books paper.tex.gz",
        file("paper.tex.gz", gzip.compress(b"Ada wrote.\n")),
    ),
    Case(
        "JSON lines with the text under other keys",
        f"{TEXTS} rows.jsonl",
        file("rows.jsonl", b'{"id": 1, "body": {"text": "Ada."}, "title": "A"}\n'),
    ),
    Case(
        "JSON lines without text",
        f"{TEXTS} rows.jsonl",
        file("rows.jsonl", b'{"a": 1}'),
    ),
    Case(
        "a table without the column",
        f"{TEXTS} rows.tsv",
        file("rows.tsv", b"id\tbody\n1\tAda wrote.\n"),
    ),
    Case(
        "parquet without the column",
        f"{TEXTS} rows.parquet --text-key body",
        table("rows.parquet", id=[1], title=["A"], content=[{"text": "Ada."}]),
    ),
    Case(
        "parquet without its end",
        f"{TEXTS} rows.parquet",
        all_of(table("rows.parquet", text=["Ada wrote."]), cut_off("rows.parquet", 9)),
    ),
    Case(
        "a format that the flag cannot have",
        "vocab --output out --books text --input-format mediawiki",
        exit_code=2,
    ),
    Case(
        "a column for texts that have none",
        f"{TEXTS} text --text-key body",
        exit_code=2,
    ),
    Case("a language that is no code", f"{TEXTS} text --language English", exit_code=2),
    Case(
        "a page that is no article",
        f"{DATA.replace('--text text', '--wikipedia talk.xml')}",
        file("talk.xml", TALK),
    ),
]

SETTING_CASES = [
    Case("no folder to write", "vocab --text text", exit_code=2),
    Case("an unknown flag", f"{TEXTS} text --vocabulary-size 8000", exit_code=2),
    Case("a size that is no number", f"{TEXTS} text --vocab-size many", exit_code=2),
    Case("a size too small for any text", f"{TEXTS} text --vocab-size 8", exit_code=2),
    Case(
        "a size too small for the text",
        f"{TEXTS} fox.txt --vocab-size 33",
        file("fox.txt", b"The quick brown fox jumps over the lazy dog."),
    ),
    Case(
        "a size too large for the text",
        f"{TEXTS} fox.txt --vocab-size 9000",
        file("fox.txt", b"The quick brown fox jumps over the lazy dog. Why? " * 9),
    ),
    Case(
        "a settings file that does not exist", "vocab --config none.json", exit_code=2
    ),
    Case(
        "a settings file that is no JSON",
        "vocab --config settings.json",
        file("settings.json", b"vocab_size: 8000\n"),
    ),
    Case(
        "a settings file that is a list",
        "vocab --config settings.json",
        file("settings.json", b"[8000]"),
    ),
    Case(
        "a setting given twice in a file",
        "vocab --config settings.json",
        file("settings.json", b'{"seed": 1, "seed": 2}'),
    ),
    Case(
        "an unknown setting in a file",
        f"{DATA} --config settings.json",
        json_file("settings.json", max_seq_len=64),
        2,
    ),
    Case(
        "a setting of another type in a file",
        "vocab --config settings.json",
        json_file("settings.json", vocab_size=8000.5),
        2,
    ),
    Case(
        "the settings of another command",
        f"{TEXTS} text --config data/config.json",
        exit_code=2,
    ),
    Case("sequences too short", f"{DATA} --max-seq-length 4", exit_code=2),
    Case(
        "more predictions than tokens",
        f"{DATA} --max-seq-length 32 --max-predictions-per-seq 40",
        exit_code=2,
    ),
    Case("a share of more than one", f"{DATA} --eval-fraction 1.5", exit_code=2),
    Case("a share that is no number", f"{DATA} --masked-lm-prob nan", exit_code=2),
    Case("an unknown sentence task", f"{DATA} --sentence-task cloze", exit_code=2),
    Case(
        "a setting of another schedule",
        "pretrain --data data --output out --constant-steps 100",
        exit_code=2,
    ),
    Case("an unknown runner", f"{DATA} --runner HadoopRunner", exit_code=2),
    Case(
        "a job to check where it would be run",
        f"{DATA} -- --dry_run=true",
        exit_code=2,
    ),
    Case(
        "a job to write to a file",
        f"{DATA} --runner FlinkRunner -- --output_executable_path=job.jar",
        exit_code=2,
    ),
    Case(
        "a flag where none is taken",
        "vocab --text text --output out -- --vocab-size 100",
        exit_code=2,
    ),
    Case("no vocabulary", "make-data --text text --output out", exit_code=2),
    Case("no folder for the data", "make-data --text text --vocab vocab", exit_code=2),
    Case(
        "copies to store of examples that are not stored",
        f"{DATA} --examples on-the-fly --dupe-factor 5",
        exit_code=2,
    ),
]

OUTPUT_CASES = [
    Case(
        "a folder of other files",
        f"{TEXTS} text",
        all_of(lambda: Path("out").mkdir(), file("out/thesis.txt", b"mine")),
        2,
    ),
    Case(
        "a folder of other files, with --overwrite",
        f"{TEXTS} text --overwrite",
        all_of(lambda: Path("out").mkdir(), file("out/thesis.txt", b"mine")),
        2,
    ),
    Case("a file as the folder", f"{TEXTS} text", file("out", b"mine"), 2),
    Case(
        "a folder below a file",
        "vocab --text text --output notes.txt/vocab",
        file("notes.txt", b"mine"),
        2,
    ),
    Case(
        "a vocabulary on a cluster",
        "vocab --text text --output gs://bucket/vocab",
        exit_code=2,
    ),
    Case(
        "the output of another command",
        "make-data --text text --vocab vocab --output run",
        exit_code=2,
    ),
    Case(
        "a finished folder and another setting",
        "make-data --config data/config.json --text text --output data --seed 7",
        exit_code=2,
    ),
    Case("a folder that is being written", f"{TEXTS} text", written_by(4711)),
    Case(
        "an export into a folder of other files",
        "export run --to hf --output text",
        exit_code=2,
    ),
    Case("an export into its run", "export run --to hf --output run", exit_code=2),
    Case(
        "an export into the current folder",
        "export run --to hf --output .",
        exit_code=2,
    ),
    Case(
        "another export into the folder of one",
        "export run --to saved-model --output hf",
        exit_code=2,
    ),
    Case("a page that is no HTML", "report data --output page.pdf", exit_code=2),
    Case("a page in no folder", "report data --output pages/a.html", exit_code=2),
    Case(
        "a figure that is neither SVG nor PNG",
        "analyze layers run --data data --plot layers.gif",
        exit_code=2,
    ),
]

VOCABULARY_CASES = [
    Case(
        "a vocabulary that does not exist",
        "make-data --text text --vocab none --output out",
        exit_code=2,
    ),
    Case(
        "a WordPiece vocabulary",
        "make-data --text text --vocab vocab.txt --output out",
        file("vocab.txt", b"[PAD]\n[UNK]\n"),
    ),
    Case(
        "a vocabulary with other special pieces",
        "make-data --text text --vocab other.model --output out",
        foreign_vocabulary,
    ),
    Case(
        "a vocabulary that is cut off",
        DATA,
        cut_off("vocab/spiece.model", 400),
    ),
]

DATA_CASES = [
    Case("a folder that is no data set", "inspect text"),
    Case("a run that is no data set", "evaluate run --data run"),
    Case(
        "a data set that is not finished",
        "pretrain --data data --output out",
        without("data/manifest.json"),
    ),
    Case(
        "a manifest that is cut off",
        "inspect data",
        file("data/manifest.json", b'{\n  "format": "albert-pre'),
    ),
    Case(
        "a manifest of another program",
        "inspect data",
        json_file("data/manifest.json", name="data"),
    ),
    Case(
        "a manifest with a setting edited",
        "inspect data",
        with_values("data/manifest.json", inputs=[]),
    ),
    Case(
        "a manifest with a number as text",
        "inspect data",
        in_manifest(lambda m: m["vocabulary"].update(size="400")),
    ),
    Case(
        "a manifest that names a file elsewhere",
        "inspect data --verify",
        in_manifest(lambda m: m["shards"][0].update(name="/dev/zero")),
    ),
    Case(
        "a manifest that lacks a file",
        "inspect data",
        in_manifest(lambda m: m["shards"].pop()),
    ),
    Case(
        "manifest and vocabulary of two data sets",
        "inspect data",
        lambda: shutil.copy("other.model", "data/spiece.model"),
    ),
    Case("a shard that is missing", "inspect data --verify", without(FIRST_SHARD)),
    Case("a shard that is cut off", "inspect data --verify", cut_off(FIRST_SHARD, 7)),
    Case(
        "a shard with a byte changed",
        "inspect data --verify",
        with_bytes(FIRST_SHARD, 40, b"\xff"),
    ),
    Case(
        "a record that says it is huge",
        "inspect data",
        with_bytes(FIRST_SHARD, 0, struct.pack("<Q", 1 << 40)),
    ),
    Case("a shard of zeros", "inspect data", with_bytes(FIRST_SHARD, 0, bytes(999))),
    Case(
        "training on a shard that is missing",
        "pretrain --data data --output out --model tiny",
        without(FIRST_SHARD),
    ),
]

TRAINING_CASES = [
    Case("data that do not exist", "pretrain --data none --output out", exit_code=2),
    Case(
        "an unknown model",
        "pretrain --data data --output out --model huge",
        exit_code=2,
    ),
    Case(
        "an unknown field of the model",
        "pretrain --data data --output out --set width=3",
        exit_code=2,
    ),
    Case(
        "a field of another type",
        "pretrain --data data --output out --set hidden_size=wide",
        exit_code=2,
    ),
    Case(
        "a field that follows from the data",
        "pretrain --data data --output out --set vocab_size=9",
        exit_code=2,
    ),
    Case(
        "heads that do not divide the width",
        "pretrain --data data --output out --set num_attention_heads=7",
        exit_code=2,
    ),
    Case(
        "absurdly many layers",
        "pretrain --data data --output out --set num_hidden_layers=1000000000",
        exit_code=2,
    ),
    Case(
        "a model file with an unknown field",
        "pretrain --data data --output out --model model.json",
        json_file("model.json", width=3),
        2,
    ),
    Case(
        "a budget for a position table shorter than the sequences",
        "pretrain --data data --output out --set max_position_embeddings=16 "
        "--budget 1h",
        exit_code=2,
    ),
    Case(
        "a position table shorter than the sequences",
        "pretrain --data data --output out --set max_position_embeddings=16",
        exit_code=2,
    ),
    Case(
        "a sentence task that the data lack",
        "pretrain --data data --output out --set sentence_task=nsp",
        exit_code=2,
    ),
    Case(
        "a micro-batch larger than the batch",
        "pretrain --data data --output out --batch-size 10 --micro-batch-size 12",
        exit_code=2,
    ),
    Case(
        "more warm-up than steps",
        "pretrain --data data --output out --steps 10 --warmup-steps 11",
        exit_code=2,
    ),
    Case(
        "a time that is none",
        "pretrain --data data --output out --max-time soon",
        exit_code=2,
    ),
    Case(
        "weights from no run",
        "pretrain --data data --output out --init-from text",
    ),
    Case(
        "weights of a fine-tuned model",
        "pretrain --data data --output out --init-from run",
        file("run/task.json", "{}"),
    ),
    Case(
        "weights of a model with BERT's vocabulary",
        "pretrain --data data --output out --init-from run",
        all_of(file("run/vocab.txt", "[PAD]"), without("run/spiece.model")),
    ),
    Case(
        "weights of another width",
        "pretrain --data data --output out --init-from run --model tiny",
    ),
    Case("two speeds", "plan --rate 2 --flops 4e14", exit_code=2),
    Case("no speed", "plan --rate 0", exit_code=2),
    Case(
        "a length beside the data that have one",
        "plan --data data --max-seq-length 64",
        exit_code=2,
    ),
    Case(
        "sequences longer than the position table",
        "plan --max-seq-length 1024",
        exit_code=2,
    ),
]

RUN_CASES = [
    Case("a folder that is no run", "evaluate text --data data"),
    Case(
        "a run without a checkpoint",
        "evaluate run --data data",
        without("run/checkpoints"),
    ),
    Case(
        "a run without its best checkpoint",
        "evaluate run --data data --checkpoint best",
        all_of(
            with_values(f"{RUN_STEP}/state.json", is_best=False),
            without("run/checkpoints/best"),
        ),
    ),
    Case(
        "weights that are cut off",
        "evaluate run --data data",
        cut_off(f"{RUN_STEP}/model.safetensors", 100),
    ),
    Case(
        "a checkpoint with a negative step",
        "export run --to hf --output out",
        with_values(f"{RUN_STEP}/state.json", step=-7),
    ),
    Case(
        "an architecture with absurdly many layers",
        "export run --to hf --output out",
        with_values("run/model.json", num_hidden_layers=10**9),
    ),
    Case(
        "an architecture of another width",
        "export run --to hf --output out",
        with_values("run/model.json", intermediate_size=200_000),
    ),
    Case(
        "another vocabulary in a run",
        "export run --to hf --output out",
        lambda: shutil.copy("other.model", "run/spiece.model"),
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
    ),
    Case(
        "data of another vocabulary",
        "evaluate run --data data",
        in_manifest(lambda m: m["vocabulary"].update(sha256="0" * 64)),
    ),
    Case(
        "minimal pairs that do not exist",
        "evaluate run --data data --minimal-pairs none",
        exit_code=2,
    ),
    Case(
        "a folder without minimal pairs",
        "evaluate run --data data --minimal-pairs vocab",
        exit_code=2,
    ),
    Case(
        "minimal pairs with one sentence",
        "evaluate run --data data --minimal-pairs pairs.jsonl",
        file("pairs.jsonl", b'{"sentence_good": "Ada wrote."}\n'),
    ),
    Case(
        "a minimal pair longer than the model reads",
        "evaluate run --data data --words 0 --minimal-pairs pairs.txt",
        file("pairs.txt", b"Ada wrote.\n" + b"Ada " * 60 + b"\n"),
    ),
    Case(
        "an evaluation that was edited",
        "report run",
        file("run/evaluation.json", b'{"step": "one"}\n'),
    ),
    Case(
        "a run compared with itself", "analyze layers run run --data data", exit_code=2
    ),
    Case("a report of a file", "report text/assert.txt", exit_code=2),
    Case("a report of a vocabulary", "report vocab"),
    Case(
        "a report of a run without metrics", "report run", without("run/metrics.jsonl")
    ),
    Case(
        "a line of metrics that is none",
        "report run",
        file("run/metrics.jsonl", b'{"step": "one"}\n'),
    ),
    Case(
        "settings of a run that are none",
        "report run",
        with_values("run/config.json", identity=[1]),
    ),
]

IMPORT_CASES = [
    Case("a model that does not exist", "import none --output out", exit_code=2),
    Case("a run as a model from elsewhere", "import run --output out", exit_code=2),
    Case(
        "a model that is no ALBERT",
        "import hf --output out",
        with_values("hf/config.json", model_type="bert"),
    ),
    Case(
        "an activation that no ALBERT has",
        "import hf --output out",
        with_values("hf/config.json", hidden_act="silu"),
    ),
    Case(
        "a configuration without a width",
        "import hf --output out",
        json_file("hf/config.json", model_type="albert", vocab_size=400),
    ),
    Case(
        "a configuration with an absurd width",
        "import hf --output out",
        with_values("hf/config.json", hidden_size=10**12),
    ),
    Case(
        "a configuration of another model",
        "import hf --output out",
        with_values("hf/config.json", intermediate_size=10**5),
    ),
    Case(
        "a model without weights",
        "import hf --output out",
        without("hf/model.safetensors"),
    ),
    Case(
        "weights as a pickle",
        "import hf --output out",
        lambda: os.rename("hf/model.safetensors", "hf/pytorch_model.bin"),
    ),
    Case(
        "weights that nothing describes",
        "import hf --output out",
        without("hf/config.json"),
    ),
    Case(
        "tensors that are cut off",
        "import hf --output out",
        cut_off("hf/model.safetensors", 100),
    ),
    Case(
        "tensors with a header of terabytes",
        "import hf --output out",
        with_bytes("hf/model.safetensors", 0, struct.pack("<Q", 1 << 40)),
    ),
    Case(
        "an index that names a file elsewhere",
        "import hf --output out",
        all_of(
            lambda: os.rename("hf/model.safetensors", "hf/a.safetensors"),
            json_file("hf/model.safetensors.index.json", weight_map={"a": "../b"}),
        ),
    ),
    Case(
        "a checkpoint of google-research/albert that is damaged",
        "import google --output out",
        file("google/model.ckpt.index", b"no index"),
    ),
    Case(
        "a file that says which checkpoint is the newest, and is no text",
        "import google --output out",
        file("google/checkpoint", b"\xff\xfe"),
    ),
    Case(
        "a tokenizer of another kind",
        "import hf --output out",
        all_of(
            without("hf/spiece.model"),
            json_file("hf/tokenizer.json", model={"type": "BPE"}),
        ),
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
    ),
    Case(
        "a WordPiece vocabulary without its special pieces",
        "import hf --output out",
        all_of(
            without("hf/spiece.model"),
            without("hf/tokenizer.json"),
            file("hf/vocab.txt", b"[PAD]\n"),
        ),
    ),
    Case(
        "two vocabularies",
        "import google --output out",
        all_of(
            lambda: os.rename("google/spiece.model", "google/a.model"),
            lambda: shutil.copy("google/a.model", "google/b.model"),
        ),
    ),
    Case("a folder with neither model nor vocabulary", "import text --output out"),
]

QUESTION_CASES = [
    Case("a model that is none", 'fill-mask text "A [MASK]."'),
    Case("a vocabulary as a model", 'fill-mask vocab "A [MASK]."'),
    Case("a text without a mask", 'fill-mask run "Nothing is here."'),
    Case(
        "a text longer than the model reads",
        f'fill-mask run "{"(" * 30}[MASK]{")" * 30}"',
    ),
    Case("no text at all", "fill-mask run", exit_code=2),
    Case("a passage that is empty", 'order run "" "Then she left."'),
    Case("a second passage that is missing", 'order run "She came."', exit_code=2),
    Case(
        "a model without a sentence-order head",
        'order run "She came." "She left."',
        with_values("run/model.json", sentence_task="nsp"),
    ),
]

FINETUNE = "finetune run --output out --train train --task"
TASK_CASES = [
    Case("a task that there is not", f"{FINETUNE} sentiment", file("train"), 2),
    Case("a training file without examples", f"{FINETUNE} classify", file("train")),
    Case("a table that is a workbook", f"{FINETUNE} classify", file("train", WORKBOOK)),
    Case(
        "a table whose text is in no known column",
        f"{FINETUNE} classify",
        file("train", "a,b,label\nGood.,x,1\n"),
        2,
    ),
    Case(
        "a column that a table does not have",
        f"{FINETUNE} classify --label-column mood",
        file("train", "text,label\nGood.,1\n"),
        2,
    ),
    Case(
        "quotation marks that nothing closes",
        f"{FINETUNE} classify",
        file("train", 'text,label\n"Good.,1\n'),
    ),
    Case(
        "one label only",
        f"{FINETUNE} classify --eval train",
        file("train", "text,label\nGood.,1\nBad.,1\n"),
    ),
    Case(
        "a label that a named task does not have",
        f"{FINETUNE} rte --eval train",
        file("train", "sentence1\tsentence2\tlabel\na\tb\tneutral\n"),
    ),
    Case(
        "a label that only the evaluation has",
        f"{FINETUNE} classify --eval eval",
        all_of(
            file("train", "text,label\nGood.,1\nBad.,0\n"),
            file("eval", "text,label\nSo-so.,2\n"),
        ),
    ),
    Case(
        "too few examples to hold some out",
        f"{FINETUNE} classify",
        file("train", "text,label\nGood.,1\nBad.,0\n"),
    ),
    Case(
        "a score that is not a number",
        f"{FINETUNE} regress",
        file("train", "text,score\nGood.,nan\n"),
    ),
    Case("an answer that is not at its answer_start", f"{FINETUNE} squad", squad(0)),
    Case(
        "a question without an id",
        f"{FINETUNE} squad",
        json_file(
            "train",
            data=[{"paragraphs": [{"context": "a", "qas": [{"question": "?"}]}]}],
        ),
    ),
    Case(
        "an answer that is no option",
        f"{FINETUNE} choose",
        file("train", "article,option0,option1,label\na,b,c,E\n"),
    ),
    Case(
        "a question with one option",
        f"{FINETUNE} choose",
        file("train", "article,option0,option1,label\na,b,,A\n"),
    ),
    Case(
        "a line without its tag",
        f"{FINETUNE} tag",
        file("train", "Ada B-PER\nran\n"),
    ),
    Case(
        "words and tags that are not as many",
        f"{FINETUNE} tag",
        json_file("train", tokens=["Ada"], tags=["O", "O"]),
    ),
    Case(
        "a line that is no record",
        f"{FINETUNE} classify",
        file("train", '{"text": "a", "label": 1}\n{"text": "b"\n'),
    ),
    Case(
        "a folder without files of the task",
        "finetune run --output out --task rte --data text",
        exit_code=2,
    ),
    Case(
        "a setting to sweep that there is not",
        f"{FINETUNE} classify --sweep rate=1,2",
        file("train", "text,label\nGood.,1\nBad.,0\n"),
        2,
    ),
    Case(
        "the head of a model that has none",
        f"{FINETUNE} classify --eval train --keep-head",
        file("train", "text,label\nGood.,1\nBad.,0\n"),
        2,
    ),
    Case(
        "longer sequences than the model reads",
        f"{FINETUNE} classify --eval train --max-seq-length 4096",
        file("train", "text,label\nGood.,1\nBad.,0\n"),
        2,
    ),
    Case("predictions of a model without a task", 'predict run "Good."'),
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


# How a case is run, and shown


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


def row(case: Case, ending: Ending) -> str:
    """A line of the table."""
    sentence = ending.said.splitlines()[-1].removeprefix("Error: ")
    # Vocabularies differ with the version of Python, whose texts they are made from.
    sentence = re.sub(r"\b[0-9a-f]{12}\b", "0123456789ab", sentence)
    cells = (
        case.name,
        f"`albert {case.command}`",
        f"{ending.exit_code}",
        shown(sentence),
    )
    return f"| {' | '.join(cells)} |"


def shown(sentence: str) -> str:
    """A sentence as Markdown shows it in a cell."""
    return re.sub(r"([\\|*_<>`\[\]])", r"\\\1", sentence)


def main() -> None:
    """Write the page."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_small(folder / "small")
        (folder / "whole").mkdir()
        make_whole(folder / "small", folder / "whole")
        rows = [
            row(case, end(case, folder / "whole", folder / str(number)))
            for number, case in enumerate(CASES)
        ]
    PAGE.write_text(INTRODUCTION + "".join(f"{line}\n" for line in rows), "utf-8")


if __name__ == "__main__":
    main()
