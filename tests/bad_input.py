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
from tests.commands import attempt
from tests.manifests import edit_manifest

Make = Callable[[], Any]

RUN_STEP = "run/checkpoints/step-00000007"
FIRST_SHARD = "data/" + shard_file("train", 0, shard=0, num_shards=8)
TEXTS = "vocab --output out --text"
PRETRAIN = "pretrain --data data --output out"
EVALUATE = "evaluate run --data data"
EXPORT = "export run --to hf --output out"
IMPORT = "import hf --output out"
WITH_VOCAB = "make-data --text text --output out --vocab"
DATA = f"{WITH_VOCAB} vocab"
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
    make: Make
    exit_code: int
    says: str


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


def folder(name: str) -> Make:
    """An empty folder."""
    return lambda: Path(name).mkdir()


def pipe(name: str) -> Make:
    """A pipe that nobody writes into."""
    return lambda: os.mkfifo(name)


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


def typed(name: str, command: str, says: str, make: Make = lambda: None) -> Case:
    """What was typed or set cannot be."""
    return Case(name, command, make, exit_code=2, says=says)


def found(name: str, command: str, says: str, make: Make = lambda: None) -> Case:
    """A file is not as it must be, or the work fails."""
    return Case(name, command, make, exit_code=1, says=says)


def text_file(
    name: str, path: str, content: bytes | str, says: str, flag: str = "--text"
) -> Case:
    """A file of this content is no text to train a vocabulary on."""
    command = f"vocab --output out {flag} {path}"
    return found(name, command, says, file(path, content))


TEXT_CASES = [
    typed("no text is given", "vocab --output out", "--books or --text"),
    typed("a path that does not exist", f"{TEXTS} none.txt", "does not exist"),
    typed("a folder without files", f"{TEXTS} empty", "has no files", folder("empty")),
    typed(
        "a folder without text",
        f"{TEXTS} notes",
        "like a text",
        all_of(folder("notes"), file("notes/README", "Read me.")),
    ),
    typed(
        "a pattern that the shell has replaced",
        "vocab --output out --text text/a.txt text/b.txt",
        "to no flag",
    ),
    typed("a pipe", f"{TEXTS} pipe", "more than once", pipe("pipe")),
    typed("a pipe as a vocabulary", f"{WITH_VOCAB} pipe", "it is a pipe", pipe("pipe")),
    typed(
        "a pipe as the examples of a task",
        "finetune run --task classify --train pipe.tsv --output out",
        "is a pipe",
        pipe("pipe.tsv"),
    ),
    found(
        "an empty file", f"{TEXTS} novel.txt", "novel.txt is empty", file("novel.txt")
    ),
    found(
        "a file whose name has a line feed and an escape",
        f"{TEXTS} $'a\\n\\x1b[2Jb.txt'",
        "a\\n\\x1b[2Jb.txt is empty",
        file("a\n\x1b[2Jb.txt"),
    ),
    text_file(
        "a packed file with nothing in it",
        "novel.txt.gz",
        gzip.compress(b""),
        "novel.txt.gz is empty",
    ),
    text_file(
        "a packed file of which the first bytes arrived",
        "novel.txt.gz",
        gzip.compress(b"It was late. " * 99)[:10],
        "novel.txt.gz is damaged",
    ),
    text_file(
        "a packed file that is cut off early",
        "novel.txt.gz",
        gzip.compress(b"It was late, and dark. " * 99)[:30],
        "most 24 pieces",
    ),
    text_file(
        "a packed dump whose first block is damaged",
        "dump.xml.bz2",
        b"BZh91AY&SY and so on",
        "dump.xml.bz2 is damaged",
        flag="--wikipedia",
    ),
    text_file("blank lines alone", "blank.txt", b"\n \n\n", "to train on"),
    text_file(
        "text in UTF-16",
        "novel.txt",
        "A novel.".encode("utf-16"),
        "novel.txt is UTF-16",
        flag="--books",
    ),
    text_file(
        "a dump in UTF-16 without its mark",
        "dump.xml",
        DUMP.decode().encode("utf-16-le"),
        "dump.xml is UTF-16",
        flag="--wikipedia",
    ),
    text_file(
        "a text in Windows-1251",
        "novel.txt",
        "Он пришёл домой поздно.\n".encode("cp1251"),
        "encoding than UTF-8",
    ),
    text_file("a PDF", "paper.pdf", b"%PDF-1.7 and so on", "is a PDF"),
    text_file(
        "the index of a dump",
        "index.txt",
        b"616:10:AccessibleComputing\n616:12:Anarchism\n",
        "and not needed",
        flag="--wikipedia",
    ),
    text_file(
        "plain text for Wikipedia",
        "novel.txt",
        b"Ada wrote.\n",
        "parquet or CSV",
        flag="--wikipedia",
    ),
    text_file("a dump for plain text", "dump.xml", DUMP, "a MediaWiki dump"),
    text_file(
        "wikiextractor's output for books",
        "wiki_00",
        b'<doc id="1" title="A">\n',
        "is wikiextractor output",
        flag="--books",
    ),
    text_file(
        "LaTeX by its name, for books",
        "paper.tex.gz",
        gzip.compress(b"Ada wrote.\n"),
        "named like LaTeX",
        flag="--books",
    ),
    text_file(
        "JSON lines with the text under other keys",
        "rows.jsonl",
        b'{"id": 1, "body": {"text": "Ada."}, "title": "A"}\n',
        "under body.text, title",
    ),
    text_file("JSON lines without text", "rows.jsonl", b'{"a": 1}', "nor any text"),
    text_file(
        "a table without the column",
        "rows.tsv",
        b"id\tbody\n1\tAda wrote.\n",
        "under id, body",
    ),
    found(
        "parquet without the column",
        f"{TEXTS} rows.parquet --text-key body",
        "under title, content.text",
        table("rows.parquet", id=[1], title=["A"], content=[{"text": "Ada."}]),
    ),
    found(
        "parquet without its end",
        f"{TEXTS} rows.parquet",
        "file is missing",
        all_of(table("rows.parquet", text=["Ada wrote."]), cut_off("rows.parquet", 9)),
    ),
    typed(
        "a format that the flag cannot have",
        "vocab --output out --books text --input-format mediawiki",
        "parquet, parquet-sentences, sentences",
    ),
    typed(
        "a column for texts that have none",
        f"{TEXTS} text --text-key body",
        "given has rows",
    ),
    typed(
        "a language that is no code",
        f"{TEXTS} text --language Klingonese",
        "en, not 'Klingonese'",
    ),
    found(
        "a page that is no article",
        f"{DATA.replace('--text text', '--wikipedia talk.xml')}",
        "to train on",
        file("talk.xml", TALK),
    ),
]

SETTING_CASES = [
    typed("no folder to write", "vocab --text text", "Missing option '--output'"),
    typed(
        "an unknown flag",
        f"{TEXTS} text --vocabulary-size 8000",
        "you mean '--vocab-size'?",
    ),
    typed(
        "a size that is no number", f"{TEXTS} text --vocab-size many", "a valid integer"
    ),
    typed("a size too small for any text", f"{TEXTS} text --vocab-size 8", "32, not 8"),
    found(
        "a size too small for the text",
        f"{TEXTS} fox.txt --vocab-size 33",
        "for 40 pieces",
        file("fox.txt", b"The quick brown fox jumps over the lazy dog."),
    ),
    found(
        "a size too large for the text",
        f"{TEXTS} fox.txt --vocab-size 9000",
        "most 41 pieces",
        file("fox.txt", b"The quick brown fox jumps over the lazy dog. Why? " * 9),
    ),
    typed(
        "a settings file that does not exist",
        "vocab --config none.json",
        "does not exist",
    ),
    found(
        "a settings file that is no JSON",
        "vocab --config settings.json",
        "not valid JSON",
        file("settings.json", b"vocab_size: 8000\n"),
    ),
    typed(
        "an unknown setting in a file",
        f"{DATA} --config settings.json",
        "of albert make-data",
        json_file("settings.json", max_seq_len=64),
    ),
    typed(
        "a setting of another type in a file",
        "vocab --config settings.json",
        "int, not 8000.5",
        json_file("settings.json", vocab_size=8000.5),
    ),
    typed(
        "the settings of another command",
        f"{TEXTS} text --config data/config.json",
        "by albert make-data",
    ),
    typed("sequences too short", f"{DATA} --max-seq-length 4", "8, not 4"),
    typed("a share of more than one", f"{DATA} --eval-fraction 1.5", "0.9, not 1.5"),
    typed(
        "lines that may stand in no document",
        f"{DATA} --max-line-repeats 0",
        "at least 1, not 0",
    ),
    typed(
        "removed text among the data",
        f"{DATA} --removed out/removed",
        "neither in --output nor around it",
    ),
    typed(
        "removed text among other files", f"{DATA} --removed vocab", "give a new folder"
    ),
    typed("all text held out", f"{DATA} --eval-text text", "none is left to train on"),
    typed(
        "text to hold out that is not there",
        f"{DATA} --eval-text none.txt",
        "--eval-text: none.txt does not exist",
    ),
    found(
        "rows to hold out without their key",
        f"{DATA} --eval-text task.csv",
        "--eval-text: task.csv has no column",
        file("task.csv", b"number,sentence\n1,It rains.\n2,It snows.\n"),
    ),
    typed(
        "an unknown sentence task",
        f"{DATA} --sentence-task cloze",
        "'sop', 'nsp', 'none'",
    ),
    typed(
        "a setting of another schedule",
        f"{PRETRAIN} --constant-steps 100",
        "schedule is linear",
    ),
    typed(
        "an unknown runner",
        f"{DATA} --runner HadoopRunner",
        "PrismRunner, not HadoopRunner",
    ),
    typed(
        "a job to check where it would be run",
        f"{DATA} -- --dry_run=true",
        "for a cluster",
    ),
    typed(
        "a job to write to a file",
        f"{DATA} --runner FlinkRunner -- --output_executable_path=job.jar",
        "set is made",
    ),
    typed(
        "a flag where none is taken",
        "vocab --text text --output out -- --vocab-size 100",
        "command takes nothing",
    ),
    typed(
        "no vocabulary",
        "make-data --text text --output out",
        "Missing option '--vocab'",
    ),
    typed(
        "no folder for the data",
        "make-data --text text --vocab vocab",
        "folder to write",
    ),
    typed(
        "copies to store of examples that are not stored",
        f"{DATA} --examples on-the-fly --dupe-factor 5",
        "on-the-fly stores none",
    ),
]

OUTPUT_CASES = [
    typed(
        "a folder of other files",
        f"{TEXTS} text",
        "holds other files",
        all_of(folder("out"), file("out/thesis.txt", b"mine")),
    ),
    typed(
        "a folder of other files, with --overwrite",
        f"{TEXTS} text --overwrite",
        "holds other files",
        all_of(folder("out"), file("out/thesis.txt", b"mine")),
    ),
    typed("a file as the folder", f"{TEXTS} text", "is a file", file("out", b"mine")),
    typed(
        "a folder below a file",
        "vocab --text text --output notes.txt/vocab",
        "cannot be made",
        file("notes.txt", b"mine"),
    ),
    typed(
        "a vocabulary on a cluster",
        "vocab --text text --output gs://bucket/vocab",
        "on this machine",
    ),
    typed(
        "the output of another command",
        "make-data --text text --vocab vocab --output run",
        "of albert pretrain",
    ),
    typed(
        "a finished folder and another setting",
        "make-data --config data/config.json --text text --output data --seed 7",
        "and is 7",
    ),
    found(
        "a folder that is being written",
        f"{TEXTS} text",
        "by process 4711",
        written_by(4711),
    ),
    typed(
        "an export into a folder of other files",
        "export run --to hf --output text",
        "holds other files",
    ),
    typed(
        "an export into its run", "export run --to hf --output run", "holds other files"
    ),
    typed(
        "an export into the current folder",
        "export run --to hf --output .",
        "cannot be replaced",
    ),
    typed(
        "another export into the folder of one",
        "export run --to saved-model --output hf",
        "for another program",
    ),
    typed("a page that is no HTML", "report data --output page.pdf", "end with .html"),
    typed("a page in no folder", "report data --output pages/a.html", "does not exist"),
    typed(
        "a figure that is neither SVG nor PNG",
        "analyze layers run --data data --plot layers.gif",
        ".svg or .png",
    ),
]

VOCABULARY_CASES = [
    typed("a vocabulary that does not exist", f"{WITH_VOCAB} none", "does not exist"),
    found(
        "a WordPiece vocabulary",
        f"{WITH_VOCAB} vocab.txt",
        "a SentencePiece model",
        file("vocab.txt", b"[PAD]\n[UNK]\n"),
    ),
    found(
        "a vocabulary with other special pieces",
        f"{WITH_VOCAB} other.model",
        "and is <unk>",
        foreign_vocabulary,
    ),
    found(
        "a vocabulary that is cut off",
        DATA,
        "a SentencePiece model",
        cut_off("vocab/spiece.model", 400),
    ),
]

DATA_CASES = [
    found("a folder that is no data set", "inspect text", "a finished data set"),
    found("a run that is no data set", "evaluate run --data run", "a data set"),
    found(
        "a data set that is not finished",
        PRETRAIN,
        "finished data set",
        without("data/manifest.json"),
    ),
    found(
        "a manifest that is cut off",
        "inspect data",
        "not valid JSON",
        file("data/manifest.json", b'{\n  "format": "albert-pre'),
    ),
    found(
        "a manifest of another program",
        "inspect data",
        "of albert make-data",
        json_file("data/manifest.json", name="data"),
    ),
    found(
        "a manifest with a setting edited",
        "inspect data",
        "vocabulary and versions",
        with_values("data/manifest.json", inputs=[]),
    ),
    found(
        "manifest and vocabulary of two data sets",
        "inspect data",
        "was made with",
        lambda: shutil.copy("other.model", "data/spiece.model"),
    ),
    found(
        "a shard that is missing",
        "inspect data --verify",
        "data is damaged",
        without(FIRST_SHARD),
    ),
    found(
        "a shard that is cut off",
        "inspect data --verify",
        "data is damaged",
        cut_off(FIRST_SHARD, 7),
    ),
    found(
        "a shard with a byte changed",
        "inspect data --verify",
        "data is damaged",
        with_bytes(FIRST_SHARD, 40, b"\xff"),
    ),
    found(
        "a record that says it is huge",
        "inspect data",
        "match its checksum",
        with_bytes(FIRST_SHARD, 0, struct.pack("<Q", 1 << 40)),
    ),
    found(
        "training on a shard that is missing",
        f"{PRETRAIN} --model tiny",
        "data/train/copy-00/part-00000-of-00008.tfrecord is missing",
        without(FIRST_SHARD),
    ),
]

TRAINING_CASES = [
    typed(
        "data that do not exist", "pretrain --data none --output out", "not a folder"
    ),
    typed("an unknown model", f"{PRETRAIN} --model huge", "file, not huge"),
    typed(
        "an unknown field of the model",
        f"{PRETRAIN} --set width=3",
        "its value, FIELD=VALUE",
    ),
    typed(
        "a field of another type",
        f"{PRETRAIN} --set hidden_size=wide",
        "int, not 'wide'",
    ),
    typed(
        "a field that follows from the data",
        f"{PRETRAIN} --set vocab_size=9",
        "from the data",
    ),
    typed(
        "absurdly many layers",
        f"{PRETRAIN} --set num_hidden_layers=1000000000",
        "1024, not 1000000000",
    ),
    typed(
        "a model file with an unknown field",
        f"{PRETRAIN} --model model.json",
        "not a setting",
        json_file("model.json", width=3),
    ),
    typed(
        "a budget for a position table shorter than the sequences",
        f"{PRETRAIN} --set max_position_embeddings=16 --budget 1h",
        "max_position_embeddings is 16",
    ),
    typed(
        "a position table shorter than the sequences",
        f"{PRETRAIN} --set max_position_embeddings=16",
        "max_position_embeddings is 16",
    ),
    typed(
        "a sentence task that the data lack",
        f"{PRETRAIN} --set sentence_task=nsp",
        "with --sentence-task sop",
    ),
    typed(
        "a micro-batch larger than the batch",
        f"{PRETRAIN} --batch-size 10 --micro-batch-size 12",
        "10, not 12",
    ),
    typed("a time that is none", f"{PRETRAIN} --max-time soon", "not a time"),
    found("weights from no run", f"{PRETRAIN} --init-from text", "not a run"),
    found(
        "weights of a fine-tuned model",
        f"{PRETRAIN} --init-from run",
        "that pretraining needs",
        file("run/task.json", "{}"),
    ),
    found(
        "weights of a model with BERT's vocabulary",
        f"{PRETRAIN} --init-from run",
        "can be made",
        all_of(file("run/vocab.txt", "[PAD]"), without("run/spiece.model")),
    ),
    found(
        "weights of another width",
        f"{PRETRAIN} --init-from run --model tiny",
        "layer_norm/beta has shape",
    ),
    typed(
        "a length beside the data that have one",
        "plan --data data --max-seq-length 64",
        "follows from --data",
    ),
    typed(
        "sequences longer than the position table",
        "plan --max-seq-length 1024",
        "512, not 1024",
    ),
]

RUN_CASES = [
    found("a folder that is no run", "evaluate text --data data", "nor an export"),
    found(
        "a run without a checkpoint",
        EVALUATE,
        "no checkpoint yet",
        without("run/checkpoints"),
    ),
    found(
        "a run without its best checkpoint",
        f"{EVALUATE} --checkpoint best",
        "nothing was evaluated",
        all_of(
            with_values(f"{RUN_STEP}/state.json", is_best=False),
            without("run/checkpoints/best"),
        ),
    ),
    found(
        "weights that are cut off",
        EVALUATE,
        "can be read",
        cut_off(f"{RUN_STEP}/model.safetensors", 100),
    ),
    found(
        "another vocabulary in a run",
        EXPORT,
        "and is <unk>",
        lambda: shutil.copy("other.model", "run/spiece.model"),
    ),
    found(
        "held-out text that there is none of",
        EVALUATE,
        "no held-out examples",
        in_manifest(
            lambda m: (
                m["splits"].update(eval={"documents": 0, "copies": []}),
                m.update(shards=[s for s in m["shards"] if s["name"][0] == "t"]),
            )
        ),
    ),
    found(
        "data of another vocabulary",
        EVALUATE,
        "with another vocabulary",
        in_manifest(lambda m: m["vocabulary"].update(sha256="0" * 64)),
    ),
    typed(
        "minimal pairs that do not exist",
        f"{EVALUATE} --minimal-pairs none",
        "does not exist",
    ),
    typed(
        "a folder without minimal pairs",
        f"{EVALUATE} --minimal-pairs vocab",
        ".jsonl or .txt",
    ),
    typed(
        "nothing to measure on",
        "evaluate run",
        "--data: give a data set to measure on, or --text",
    ),
    typed(
        "text to measure on that is not there",
        "evaluate run --text none.txt",
        "--text: none.txt does not exist",
    ),
    typed(
        "a language without a text",
        f"{EVALUATE} --language de",
        "--language reads --text",
    ),
    found(
        "text that gives no examples",
        "evaluate run --text one.txt",
        "no examples to measure on",
        file("one.txt", b"One\n"),
    ),
    found(
        "minimal pairs with one sentence",
        f"{EVALUATE} --minimal-pairs pairs.jsonl",
        "sentence_good and sentence_bad",
        file("pairs.jsonl", b'{"sentence_good": "Ada wrote."}\n'),
    ),
    found(
        "a minimal pair longer than the model reads",
        f"{EVALUATE} --words 0 --minimal-pairs pairs.txt",
        "model reads 48",
        file("pairs.txt", b"Ada wrote.\n" + b"Ada " * 60 + b"\n"),
    ),
    found(
        "an evaluation that was edited",
        "report run",
        "has no 'data_fingerprint'",
        file("run/evaluation.json", b'{"step": "one"}\n'),
    ),
    typed(
        "a run compared with itself",
        "analyze layers run run --data data",
        "is given twice",
    ),
    typed("a report of a file", "report text/assert.txt", "not a folder"),
    found("a report of a vocabulary", "report vocab", "of albert make-data"),
    found(
        "a report of a run without metrics",
        "report run",
        "no metrics yet",
        without("run/metrics.jsonl"),
    ),
    found(
        "settings of a run that are none",
        "report run",
        "dict, not list",
        with_values("run/config.json", identity=[1]),
    ),
]

IMPORT_CASES = [
    typed("a model that does not exist", "import none --output out", "does not exist"),
    typed(
        "a run as a model from elsewhere", "import run --output out", "a run already"
    ),
    found(
        "a model that is no ALBERT",
        IMPORT,
        "can be read",
        with_values("hf/config.json", model_type="bert"),
    ),
    found(
        "weights as a pickle",
        IMPORT,
        "it is read",
        lambda: os.rename("hf/model.safetensors", "hf/pytorch_model.bin"),
    ),
    found(
        "weights that nothing describes",
        IMPORT,
        "to read them",
        without("hf/config.json"),
    ),
    found(
        "tensors that are cut off",
        IMPORT,
        "is not whole",
        cut_off("hf/model.safetensors", 100),
    ),
    found(
        "a file that says which checkpoint is the newest, and is no text",
        "import google --output out",
        "invalid start byte",
        file("google/checkpoint", b"\xff\xfe"),
    ),
    found(
        "a tokenizer of another kind",
        IMPORT,
        "can be read",
        all_of(
            without("hf/spiece.model"),
            json_file("hf/tokenizer.json", model={"type": "BPE"}),
        ),
    ),
    found(
        "a tokenizer with half a character",
        IMPORT,
        "of an ALBERT",
        all_of(
            without("hf/spiece.model"),
            json_file(
                "hf/tokenizer.json", model={"type": "Unigram", "vocab": [["\ud800", 0]]}
            ),
        ),
    ),
    found(
        "a WordPiece vocabulary without its special pieces",
        IMPORT,
        "to be one",
        all_of(
            without("hf/spiece.model"),
            without("hf/tokenizer.json"),
            file("hf/vocab.txt", b"[PAD]\n"),
        ),
    ),
    found(
        "a folder with neither model nor vocabulary",
        "import text --output out",
        "no SentencePiece model",
    ),
]

QUESTION_CASES = [
    found("a model that is none", 'fill-mask text "A [MASK]."', "nor an export"),
    found(
        "a vocabulary as a model",
        'fill-mask vocab "A [MASK]."',
        "Face or google-research/albert",
    ),
    found(
        "a text longer than the model reads",
        f'fill-mask run "{"(" * 30}[MASK]{")" * 30}"',
        "model reads 32",
    ),
    typed("no text at all", "fill-mask run", "one per line"),
    found(
        "a passage that is empty", 'order run "" "Then she left."', "passage is empty"
    ),
    typed(
        "a second passage that is missing",
        'order run "She came."',
        "Missing argument 'SECOND'",
    ),
    found(
        "a model without a sentence-order head",
        'order run "She came." "She left."',
        "task is nsp",
        with_values("run/model.json", sentence_task="nsp"),
    ),
]

FINETUNE = "finetune run --output out --train train --task"
TASK_CASES = [
    found(
        "a training file without examples",
        f"{FINETUNE} classify",
        "holds no examples",
        file("train"),
    ),
    found(
        "a table that is a workbook",
        f"{FINETUNE} classify",
        "an Excel workbook",
        file("train", WORKBOOK),
    ),
    typed(
        "a table whose text is in no known column",
        f"{FINETUNE} classify",
        "is the text",
        file("train", "a,b,label\nGood.,x,1\n"),
    ),
    found(
        "a label that a named task does not have",
        f"{FINETUNE} rte --eval train",
        "rte: entailment, not_entailment",
        file("train", "sentence1\tsentence2\tlabel\na\tb\tneutral\n"),
    ),
    found(
        "a label that only the evaluation has",
        f"{FINETUNE} classify --eval eval",
        "the label '2'",
        all_of(
            file("train", "text,label\nGood.,1\nBad.,0\n"),
            file("eval", "text,label\nSo-so.,2\n"),
        ),
    ),
    typed(
        "a folder without files of the task",
        "finetune run --output out --task rte --data text",
        "test in them",
    ),
    found(
        "predictions of a model without a task",
        'predict run "Good."',
        "a fine-tuned model",
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
