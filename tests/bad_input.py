"""The table of refusals: how bad input is made, what is typed, what must be said.

Each case is a command in a folder of its own, with whole things beside the bad one:
`text`, `vocab`, `data`, `run`, the run as `hf` and `google`, as Hugging Face and
google-research/albert keep it, `tuned`, a fine-tuned model, and what `put_beside` adds.
"""

import contextlib
import gzip
import io
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import sentencepiece

from pipeline.job.runners import DATAFLOW, WORKERS_OPTION
from schemas.layout import shard_file
from schemas.task import Columns
from tests.commands import attempt
from tests.manifests import edit_manifest
from tests.refusals import rows_of

Make = Callable[[], Any]

RUN_STEP = "run/checkpoints/step-00000007"
FIRST_SHARD = "data/" + shard_file("train", 0, shard=0, num_shards=8)
TEXTS = "vocab --output out --text"
PRETRAIN = "pretrain --data data --output out"
EVALUATE = "evaluate run --data data"
LAYERS = "analyze layers --data data run"
EXPORT = "export run --to hf --output out"
IMPORT = "import hf --output out"
FINETUNE = "finetune run --output out --train train --task"
WITH_VOCAB = "make-data --text text --output out --vocab"
DATA = f"{WITH_VOCAB} vocab"
ZIP = b"PK\x03\x04" + bytes(26)
WORKBOOK = ZIP + b"[Content_Types].xml..." + ZIP + b"xl/workbook.xml"
NEUTRAL = "sentence1\tsentence2\tlabel\na\tb\tneutral\n"
DUMP = b"<mediawiki>\n<page>\n<title>A</title><ns>0</ns>\n</page>\n</mediawiki>\n"
TALK = (
    b"<mediawiki><page><title>Talk:A</title><ns>1</ns><revision><text>Talk, only talk."
    b"</text></revision></page></mediawiki>"
)


class Case(NamedTuple):
    """Bad input.

    Attributes:
        command: What is typed after `albert`.
        make: Makes the bad thing, in the folder in which the command runs. A file that
            it returns stays open until the command has ended.
        exit_code: 2 for what was typed or set, 1 for a file or for work that failed.
        says: What the sentence must say: the reason, or the way out.
    """

    command: str
    make: Make
    exit_code: int
    says: str


def file(name: str, content: bytes | str = b"") -> Make:
    data = content.encode() if isinstance(content, str) else content
    return lambda: Path(name).write_bytes(data)


def json_file(name: str, /, **values: Any) -> Make:
    return file(name, json.dumps(values))


def folder(name: str) -> Make:
    return lambda: Path(name).mkdir()


def pipe(name: str) -> Make:
    """A pipe that nobody writes into."""
    return lambda: os.mkfifo(name)


def all_of(*makes: Make) -> Make:
    return lambda: [make() for make in makes]


def without(name: str) -> Make:
    path = Path(name)
    return lambda: shutil.rmtree(path) if path.is_dir() else path.unlink()


def with_values(name: str, /, **changes: Any) -> Make:
    def make() -> None:
        values = json.loads(Path(name).read_text("utf-8"))
        Path(name).write_text(json.dumps(values | changes), "utf-8")

    return make


def with_bytes(name: str, place: int, new: bytes) -> Make:
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


def with_a_piece_more(name: str) -> Make:
    """A whole vocabulary, and another one than before."""
    piece = b"\x0a\x09\x0a\x02zz\x15\x00\x00\x80\xbf"  # a SentencePiece of its proto
    return lambda: Path(name).write_bytes(Path(name).read_bytes() + piece)


def other_tokenizer(**model: Any) -> Make:
    """A tokenizer.json with a model of its own, and no vocabulary of SentencePiece."""
    return all_of(without("hf/spiece.model"), json_file("hf/tokenizer.json", model=model))


def table(name: str, **columns: Any) -> Make:
    return lambda: pq.write_table(pa.table(columns), name)


def put_beside() -> None:
    """A file of labels, and a vocabulary with other special pieces, as SentencePiece makes it."""
    Path("train").write_text("text,label\nGood.,1\nBad.,0\n")
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


def typed(command: str, says: str, make: Make = lambda: None) -> Case:
    """What was typed or set cannot be."""
    return Case(command, make, exit_code=2, says=says)


def found(command: str, says: str, make: Make = lambda: None) -> Case:
    """A file is not as it must be, or the work fails."""
    return Case(command, make, exit_code=1, says=says)


def text_file(path: str, content: bytes | str, says: str, flag: str = "--text") -> Case:
    """A file of this content is no text to train a vocabulary on."""
    return found(f"vocab --output out {flag} {path}", says, file(path, content))


PARQUET = table("rows.parquet", id=[1], title=["A"], content=[{"text": "Ada."}])
THESIS = all_of(folder("out"), file("out/thesis.txt", b"mine"))
OTHER_VOCABULARY = in_manifest(lambda m: m["vocabulary"].update(sha256="0" * 64))
# A command in a line, and below it what must be said.
TYPED = """
status
    No such command 'status'; give albert inspect RUN.
make_data
    No such command 'make_data'; give albert make-data.
xyz
    No such command 'xyz'.
inspect none
    none does not exist; give the folder of a data set or of a run.
report none
    none does not exist; give the folder of a data set or of a run.
pretrain --data none --output out
    none does not exist; give a folder made by albert make-data.
import none --output out
    none does not exist; give a folder or a file.
vocab --output out --text text/a.txt text/b.txt
    'text/b.txt' belongs to no flag; give each path with --wikipedia, --books or --text, and put
    quotes around a pattern, as in --text 'novels/*.txt'.
vocab --output out --books text --input-format mediawiki
    parquet, parquet-sentences, sentences
make-data --text text --output out --vocab vocab --runner DirectRunner
    --runner: DirectRunner first downloads a program from the network; give FnApiRunner, which is
    the default.
make-data --text text --output out --vocab vocab -- --direct_num_workers=4
    --direct_num_workers=4: options after -- are Beam's, for a cluster; FnApiRunner takes albert's
    own, such as --workers, before the --.
worker --adress=localhost:50000
    --adress=localhost:50000 is neither an option of albert worker nor one that engines add; albert
    worker --help lists its own.
vocab --text text --output gs://bucket/vocab
    gs://bucket/vocab is not on this machine; give a path here.
make-data --text text --vocab vocab --output https://b/data
    --output: https://b/data can only be read; give a folder here or one such as
    s3://bucket/folder.
make-data --text text --vocab data --output data --overwrite
    --output: data is the folder of --vocab; give another folder.
pretrain --data data --output run --init-from run --overwrite
    --output: run is the run to start from; give another folder.
export run --to onnx --data data --output out
    --data measures what --int8 costs; give that too.
pretrain --data data --output out --set max_position_embeddings=16 --budget 1h
    max_position_embeddings is 16
pretrain --data data --output out --budget 9h --steps 10
    --budget chooses the steps; leave out one of --budget and --steps.
pretrain --data data --output out --budget 9h --num-hosts 2 --host-index 0 --coordinator node7:1
    --budget measures one machine and cannot choose for several hosts; leave it out, or give
    --num-hosts 1.
pretrain --data data --output out --steps 1 --coordinator localhost:1 --num-hosts 2 --host-index 1
    Several hosts train together on JAX only: set KERAS_BACKEND=jax on each of the 2, or give
    --num-hosts 1 to train alone.
pretrain --data data --output out --budget 9h --recipe paper
    --budget uses the recipe small-budget; leave out --budget or --recipe paper.
pretrain --data data --output out --recipe paper --budget 9h
    --budget uses the recipe small-budget; leave out --budget or --recipe paper.
plan --data data --budget 1h --measure
    --measure has no effect with --budget; leave one of them out.
plan --data data --budget 1h --max-seq-length 64
    --max-seq-length has no effect with --budget; leave one of them out.
evaluate run --data data --pairs-per-paradigm 10
    --pairs-per-paradigm limits --minimal-pairs; give --minimal-pairs too.
fill-mask run
    Give a text with [MASK] in it, or send texts on standard input, one per line.
predict tuned "a text" --text-column body
    --text-column names a column of --input; give that too.
predict tuned "a text" --input tuned/task.json
    Give either a TEXT (and --option where the model chooses) or --input, not both.
predict tuned Good. --json --output said.csv
    --json: said.csv would be CSV; leave --json out.
predict tuned --input train --output train
    --output: train is the file to read; give another one.
finetune tuned --task classify --train train --output tuned
    --output: tuned is the model to start from; give another folder.
finetune tuned --task classify --train train --output tuned --overwrite
    --output: tuned is the model to start from; give another folder.
evaluate tuned --data train --words 7
    tuned is a fine-tuned model; leave --words out.
fill-mask none "A [MASK]."
    none does not exist; give the folder of a model.
export none --to hf
    none does not exist; give the folder of a model.
predict none "A text."
    none does not exist; give the folder of a model.
evaluate none --text text
    none does not exist; give the folder of a model.
finetune none --output out --train train --task classify
    none does not exist; give the folder of a model.
finetune run --output out --train train --eval train --task classify --max-seq-length 64
    --max-seq-length 64 is more than the 48 positions of the model
finetune run --output out --train train --eval train --task classify --text-column words
    has no column 'words'
finetune run --output out --train train --eval train --task classify --option-columns text
    --option-columns names what a task of kind classify does not read; leave it out.
finetune run --output out --train train --eval train --task tag --pair-column text
    --pair-column names what a task of kind tag does not read; leave it out.
finetune run --output out --train train --eval train --task classify --keep-head
    is not a fine-tuned model
finetune run --output out --train train --eval train --task regress --class-weights balanced
    --class-weights balanced is for classify and tag, and the task is regress; leave it out.
finetune run --output out --train train --eval train --task answer --label-smoothing 0.1
    --label-smoothing divides targets among labels, and the task is answer
finetune run --output out --train train --eval train --task classify --doc-stride 64
    --doc-stride 64 is for answers in passages, and the task is classify; leave it out.
"""
FOUND = """
fill-mask run "A [MASK]." "nothing here"
    "nothing here" has no [MASK]; write [MASK] where a token is to be found.
evaluate run --data run
    run is the output of albert pretrain and not a data set; give a folder made by albert
    make-data.
pretrain --data text --output out
    text has no manifest.json, so it is not a data set; give a folder made by albert make-data.
report vocab
    there is no report of an export or a vocabulary; albert inspect shows it.
fill-mask tuned "a [MASK]"
    tuned is a fine-tuned model, which has only the head of its task; use albert predict, or give
    the run that it was tuned from.
"""
CASES = [
    *(typed(*row) for row in rows_of(TYPED)),
    *(found(*row) for row in rows_of(FOUND)),
    # Texts.
    typed("vocab --output out", "--books or --text"),
    typed(f"{TEXTS} none.txt", "does not exist"),
    typed(f"{TEXTS} empty", "has no files", folder("empty")),
    typed(f"{TEXTS} notes", "like a text", all_of(folder("notes"), file("notes/README", "So."))),
    typed(f"{TEXTS} pipe", "more than once", pipe("pipe")),
    typed(f"{WITH_VOCAB} pipe", "pipe is a pipe or a device; give a file.", pipe("pipe")),
    typed("finetune run --task classify --train a.tsv --output out", "is a pipe", pipe("a.tsv")),
    found(f"{TEXTS} novel.txt", "novel.txt is empty", file("novel.txt")),
    found(f"{TEXTS} $'a\\n\\x1b[2Jb.txt'", "a\\n\\u001b[2Jb.txt is empty", file("a\n\x1b[2Jb.txt")),
    # A packed file with nothing in it, one of which the first bytes arrived, and one
    # that ends in its text.
    text_file("novel.txt.gz", gzip.compress(b""), "novel.txt.gz is empty"),
    text_file("novel.txt.gz", gzip.compress(b"It was late. " * 99)[:10], "novel.txt.gz is damaged"),
    text_file("a.txt.gz", gzip.compress(b"It was late, and dark. " * 99)[:30], "most 24 pieces"),
    text_file("a.xml.bz2", b"BZh91AY&SY and so on", "a.xml.bz2 is damaged", flag="--wikipedia"),
    text_file("blank.txt", b"\n \n\n", "to train on"),
    text_file("novel.txt", "A novel.".encode("utf-16"), "novel.txt is UTF-16", flag="--books"),
    text_file("a.xml", DUMP.decode().encode("utf-16-le"), "a.xml is UTF-16", flag="--wikipedia"),
    text_file("novel.txt", "Он пришёл домой поздно.\n".encode("cp1251"), "encoding than UTF-8"),
    text_file("paper.pdf", b"%PDF-1.7 and so on", "is a PDF"),
    text_file("index.txt", b"616:10:Ada\n616:12:Bo\n", "and not needed", flag="--wikipedia"),
    text_file("novel.txt", b"Ada wrote.\n", "parquet or CSV", flag="--wikipedia"),
    text_file("dump.xml", DUMP, "a MediaWiki dump"),
    text_file("wiki_00", b'<doc id="1" title="A">\n', "is wikiextractor output", flag="--books"),
    text_file("paper.tex.gz", gzip.compress(b"Ada wrote.\n"), "named like LaTeX", flag="--books"),
    text_file("rows.jsonl", b'{"body": {"text": "A."}, "title": "A"}\n', "under body.text, title"),
    text_file("rows.jsonl", b'{"a": 1}', "nor any text"),
    text_file("rows.tsv", b"id\tbody\n1\tAda wrote.\n", "under id, body"),
    found(f"{TEXTS} rows.parquet --text-key body", "under title, content.text", PARQUET),
    found(f"{TEXTS} rows.parquet", "file is missing", all_of(PARQUET, cut_off("rows.parquet", 9))),
    typed(f"{TEXTS} text --text-key body", "given has rows"),
    typed(f"{TEXTS} text --language Klingonese", "en, not 'Klingonese'"),
    # A page that is no article.
    found(DATA.replace("--text text", "--wikipedia a.xml"), "to train on", file("a.xml", TALK)),
    # Settings.
    typed("vocab --text text", "Missing option '--output'"),
    typed(f"{TEXTS} text --vocabulary-size 8000", "you mean '--vocab-size'?"),
    typed(f"{TEXTS} text --vocab-size many", "a valid integer"),
    typed(f"{TEXTS} text --vocab-size 8", "32, not 8"),
    typed("vocab --config none.json", "does not exist"),
    found("vocab --config s.json", "not valid JSON", file("s.json", b"vocab_size: 8000\n")),
    typed(f"{DATA} --config s.json", "of albert make-data", json_file("s.json", max_seq_len=64)),
    typed("vocab --config s.json", "'debug' is not a setting of", json_file("s.json", debug=True)),
    *(
        typed(
            "vocab --config s.json", f"s.json: {name} {rule}.", json_file("s.json", **{name: value})
        )
        for name, value, rule in (
            ("vocab_size", 8000.5, "must be of type int, not 8000.5"),
            ("vocab_size", True, "must be of type int, not True"),
            ("cased", 1, "must be of type bool, not 1"),
            ("text", [7], "must be of type str, not 7"),
            ("output", {}, "must be of type str, not {}"),
            ("language", "d\0", "has a zero byte or half a character, which no setting can have"),
        )
    ),
    typed(
        "vocab --config settings.json --output out",
        "settings.json: text has an address without its secret part, which is never kept; give "
        "--text beside --config, and take text out of the file.",
        json_file("settings.json", text=["https://***@host/a"]),
    ),
    typed(f"{TEXTS} text --config data/config.json", "by albert make-data"),
    typed(f"{DATA} --max-seq-length 4", "8, not 4"),
    typed(f"{DATA} --eval-fraction 1.5", "0.9, not 1.5"),
    typed(f"{DATA} --max-line-repeats 0", "at least 1, not 0"),
    typed(f"{DATA} --removed out/removed", "neither in --output nor around it"),
    typed(f"{DATA} --removed vocab", "give a new folder"),
    typed(f"{DATA} --eval-text text", "none is left to train on"),
    typed(f"{DATA} --eval-text none.txt", "--eval-text: none.txt does not exist"),
    found(
        f"{DATA} --eval-text task.csv",
        "--eval-text: task.csv has no column",
        file("task.csv", b"number,sentence\n1,It rains.\n2,It snows.\n"),
    ),
    typed(f"{DATA} --sentence-task cloze", "'sop', 'nsp', 'none'"),
    typed(f"{PRETRAIN} --constant-steps 100", "schedule is linear"),
    typed(
        f"{DATA} --runner HadoopRunner",
        f"one of FnApiRunner, {', '.join(WORKERS_OPTION)}, not HadoopRunner.",
    ),
    *(
        typed(
            f"{DATA} --runner {name} -- --dry_run=true",
            "--dry_run: only DataflowRunner can check a job without running it, and "
            f"{name} would run it; leave it out.",
        )
        for name in sorted({*WORKERS_OPTION} - {DATAFLOW})
    ),
    typed(
        f"{DATA} --workers 2 --runner FlinkRunner -- --flink_master=node7:8081",
        "--workers counts processes on this machine; FlinkRunner takes --parallelism after --.",
    ),
    *(
        typed(f"worker --address {address}", f"--address: {address} may be reached from other ")
        for address in ("0.0.0.0:5", "[::]:5", "192.0.2.1:5", "node7:5")
    ),
    *(
        typed(
            f"worker --address {address}",
            f"--address: {address} is no HOST:PORT; give one such as localhost:50000.",
        )
        for address in ("localhost", "50000", ":50000", "localhost:x")
    ),
    typed(f"{DATA} -- --dry_run=true", "for a cluster"),
    typed(f"{DATA} --runner FlinkRunner -- --output_executable_path=job.jar", "set is made"),
    typed("vocab --text text --output out -- --vocab-size 100", "command takes nothing"),
    typed("make-data --text text --output out", "Missing option '--vocab'"),
    typed("make-data --text text --vocab vocab", "folder to write"),
    typed(f"{DATA} --examples on-the-fly --dupe-factor 5", "on-the-fly stores none"),
    # Where it is written.
    typed(f"{TEXTS} text", "holds other files", THESIS),
    typed(f"{TEXTS} text --overwrite", "holds other files", THESIS),
    typed(f"{TEXTS} text", "is a file", file("out", b"mine")),
    typed("vocab --text text --output a.txt/vocab", "cannot be made", file("a.txt", b"mine")),
    typed("make-data --text text --vocab vocab --output run", "of albert pretrain"),
    typed("make-data --config data/config.json --text text --output data --seed 7", "and is 7"),
    found(f"{TEXTS} text", "by process 4711", written_by(4711)),
    typed("export run --to hf --output text", "holds other files"),
    typed("export run --to hf --output run", "holds other files"),
    *(
        typed(
            f"export run --to hf --output {name}",
            f"--output: {name} is the current folder, or holds it, and cannot be "
            "replaced; give another folder.",
        )
        for name in (".", "..", "text/..")
    ),
    typed("export run --to saved-model --output hf", "for another program"),
    typed(f"{EXPORT} --int8", "--int8 is for --to onnx and sentence-transformers; leave"),
    typed("report data --output page.pdf", "end with .html"),
    typed("report data --output p/a.html", "--output: the folder p does not exist; make it first."),
    typed(
        "report data --output a.html",
        "--output: a.html is a folder; give a file in it.",
        folder("a.html"),
    ),
    typed("analyze layers run --data data --plot layers.gif", ".svg or .png"),
    # Vocabularies.
    typed(f"{WITH_VOCAB} none", "does not exist"),
    found(f"{WITH_VOCAB} vocab.txt", "a SentencePiece model", file("vocab.txt", b"[PAD]\n[UNK]\n")),
    found(f"{WITH_VOCAB} other.model", "and is <unk>"),
    found(DATA, "a SentencePiece model", cut_off("vocab/spiece.model", 400)),
    # Data sets.
    found("inspect text", "a finished data set"),
    typed("inspect data run", "Give one data set or run; several files are those of a --task."),
    typed("inspect --task classify", "Give the files of the task classify, or its folder."),
    typed("inspect data --text text", "Give the data set data or raw text, not both."),
    typed("inspect", "Give a data set, a run, or raw text with --wikipedia, --books or --text."),
    *(
        typed(f"inspect {given}", f"{given.split()[-2]} is for {of}; leave it out.")
        for given, of in (
            ("--task classify text --examples 20", "a data set"),
            ("--task classify text --wikipedia text", "raw text"),
            ("--text text --epoch 1", "a data set"),
            ("data --label-column mood", "a task"),
            ("run --documents 2", "raw text"),
            ("vocab Word. --text-key body", "raw text and a task"),
        )
    ),
    found(
        PRETRAIN,
        "data has no manifest.json, so it is not a finished data set; run albert "
        "make-data again to finish it.",
        without("data/manifest.json"),
    ),
    found("inspect data", "not valid JSON", file("data/manifest.json", b'{\n  "format": "a')),
    found("inspect data", "of albert make-data", json_file("data/manifest.json", name="data")),
    found("inspect data", "vocabulary and versions", with_values("data/manifest.json", inputs=[])),
    found("inspect data", "was made with", lambda: shutil.copy("other.model", "data/spiece.model")),
    # A record that says it is huge.
    found("inspect data", "match its checksum", with_bytes(FIRST_SHARD, 0, b"\0\0\0\0\0\1\0\0")),
    found(
        f"{PRETRAIN} --model tiny",
        "data/train/copy-00/part-00000-of-00008.tfrecord is missing",
        without(FIRST_SHARD),
    ),
    # Training.
    typed(f"{PRETRAIN} --model huge", "file, not huge"),
    typed(f"{PRETRAIN} --set width=3", "its value, FIELD=VALUE"),
    typed(f"{PRETRAIN} --set hidden_size=wide", "int, not 'wide'"),
    typed(f"{PRETRAIN} --set vocab_size=9", "from the data"),
    typed(f"{PRETRAIN} --set num_hidden_layers=1000000000", "1024, not 1000000000"),
    typed(f"{PRETRAIN} --model model.json", "not a setting", json_file("model.json", width=3)),
    typed(f"{PRETRAIN} --yes --set max_position_embeddings=16", "max_position_embeddings is 16"),
    typed(f"{PRETRAIN} --yes --set sentence_task=nsp", "with --sentence-task sop"),
    typed(f"{PRETRAIN} --batch-size 10 --micro-batch-size 12", "10, not 12"),
    typed(f"{PRETRAIN} --max-time soon", "not a time"),
    # A number stands for a schedule of one value.
    typed(
        f"{PRETRAIN} --config s.json",
        "leave --max-seq-length, --masked-lm-prob out",
        json_file("s.json", steps=1, masked_lm_prob=0.3, max_seq_length=32),
    ),
    found(f"{PRETRAIN} --init-from text", "not a run"),
    found(f"{PRETRAIN} --init-from run", "that pretraining needs", file("run/task.json", "{}")),
    found(
        f"{PRETRAIN} --init-from run",
        "can be made",
        all_of(file("run/vocab.txt", "[PAD]"), without("run/spiece.model")),
    ),
    found(f"{PRETRAIN} --init-from run --model tiny", "layer_norm/beta has shape"),
    typed("plan --budget 1h", "--budget plans for a data set; name it with --data."),
    typed("plan --data data --max-seq-length 64", "follows from --data"),
    typed("plan --max-seq-length 1024", "512, not 1024"),
    # Runs.
    found("evaluate text --data data", "nor an export"),
    found(EVALUATE, "no checkpoint yet", without("run/checkpoints")),
    found(
        f"{EVALUATE} --checkpoint best",
        "nothing was evaluated",
        all_of(
            with_values(f"{RUN_STEP}/state.json", is_best=False), without("run/checkpoints/best")
        ),
    ),
    found(EVALUATE, "can be read", cut_off(f"{RUN_STEP}/model.safetensors", 100)),
    found(EXPORT, "and is <unk>", lambda: shutil.copy("other.model", "run/spiece.model")),
    found(
        EVALUATE,
        "no held-out examples",
        in_manifest(
            lambda m: (
                m["splits"].update(eval={"documents": 0, "copies": []}),
                m.update(shards=[s for s in m["shards"] if s["name"][0] == "t"]),
            )
        ),
    ),
    found(EVALUATE, "with another vocabulary", OTHER_VOCABULARY),
    found(LAYERS, "data was made with another vocabulary (sha256 ", OTHER_VOCABULARY),
    typed(
        LAYERS,
        "data has sequences of 64 tokens and the model's max_position_embeddings is 48",
        in_manifest(
            lambda m: (m["config"].update(max_seq_length=64), m["features"][0].update(length=64))
        ),
    ),
    *(
        found(f"{EVALUATE} --words 0 --minimal-pairs {name}", says, file(name, content))
        for name, content, says in (
            ("none.jsonl", "\n", "none.jsonl has no pairs; give files of BLiMP or Zorro."),
            ("half.jsonl", '{"sentence_good": "Ada wrote."}\n', "sentence_good and sentence_bad"),
            ("long.txt", "Ada wrote.\n" + "Ada " * 60 + "\n", "model reads 48"),
        )
    ),
    typed(f"{EVALUATE} --minimal-pairs none", "does not exist"),
    typed(f"{EVALUATE} --minimal-pairs vocab", ".jsonl or .txt"),
    typed(
        "evaluate run",
        "--data: give a data set to measure on, or --text with text of yours; run was trained on "
        "'/my data'.",
        with_values("run/config.json", data="/my data"),
    ),
    typed("evaluate run --text none.txt", "--text: none.txt does not exist"),
    typed(f"{EVALUATE} --language de", "--language reads --text"),
    typed(f"{EVALUATE} --text-column a", "is not a fine-tuned model; leave --text-column out"),
    found("evaluate run --text one.txt", "no examples to measure on", file("one.txt", b"One\n")),
    found("report run", "has no 'data_fingerprint'", file("run/evaluation.json", b'{"step": "x"}')),
    typed(f"{LAYERS} run", "is given twice"),
    typed("report text/assert.txt", "not a folder"),
    found(
        "report empty",
        "empty is neither a finished data set of albert make-data nor a run of albert "
        "pretrain; give the folder that one of them wrote.",
        folder("empty"),
    ),
    found("report run", "no metrics yet", without("run/metrics.jsonl")),
    found(
        f"report run --output {'x' * 300}.html",
        f"{'x' * 100}…{'x' * 34}.html cannot be written: File name too long.",
    ),
    found("report run", "dict, not list", with_values("run/config.json", identity=[1])),
    # Models of others.
    typed("import run --output out", "a run already"),
    found(IMPORT, "to read them", without("hf/config.json")),
    found(IMPORT, "is not whole", cut_off("hf/model.safetensors", 100)),
    found("import google --output out", "invalid start byte", file("google/checkpoint", b"\xff")),
    found(IMPORT, "can be read", other_tokenizer(type="BPE")),
    found(IMPORT, "of an ALBERT", other_tokenizer(type="Unigram", vocab=[["\ud800", 0]])),
    found(
        IMPORT,
        "to be one",
        all_of(other_tokenizer(), without("hf/tokenizer.json"), file("hf/vocab.txt", b"[PAD]\n")),
    ),
    found("import text --output out", "no SentencePiece model"),
    # Questions to a model.
    found('fill-mask text "A [MASK]."', "nor an export"),
    found('fill-mask vocab "A [MASK]."', "Face or google-research/albert"),
    found(f'fill-mask run "{"(" * 30}[MASK]{")" * 30}"', "model reads 32"),
    *(
        found("fill-mask run --score texts", says, file("texts", content))
        for content, says in (
            (b"A.\n\xff\n", "texts, line 2 is not UTF-8; convert it first."),
            (
                b"B.\n" + b"a" * 99,
                f'"{"a" * 60} ..." has 101 tokens with [CLS] and [SEP] and the model reads 32; '
                "give less text.",
            ),
        )
    ),
    found(
        'fill-mask run "A [MASK]."',
        "run/spiece.model is not the vocabulary that the model was trained with (its sha256 is ",
        with_a_piece_more("run/spiece.model"),
    ),
    found(
        'fill-mask run "A [MASK]."',
        "run/spiece.model has 401 pieces and the model has 400; put back the "
        "vocabulary that the model was trained with.",
        all_of(with_a_piece_more("run/spiece.model"), without("run/data_manifest.json")),
    ),
    found(
        'fill-mask run "A [MASK]."',
        "spiece.model is not a SentencePiece model",
        file("run/spiece.model", b"[PAD]\n[UNK]\n"),
    ),
    found('fill-mask hf "A [MASK]."', "and export.json says", with_a_piece_more("hf/spiece.model")),
    typed('predict tuned "a text" --option one', "does not choose; leave it out"),
    typed(
        'predict tuned "a text" another',
        "TEXT: the model learned from single texts; leave the second one out.",
        with_values("tuned/task.json", columns=asdict(Columns(text="text"))),
    ),
    *(
        typed(f"predict tuned Good. --output {name}", "a name that ends with .csv or .jsonl.")
        for name in ("said.tsv", "said.parquet")
    ),
    typed("embed run text --top 3", "--top is for --similar; give that too."),
    typed("embed run --text-column body", "--text-column names a column of FILE; give that too."),
    *(
        typed(f"embed run a.jsonl {flags}", says, json_file("a.jsonl", text="It is."))
        for flags, says in (
            ("--output a.jsonl", "--output: a.jsonl is the file to read"),
            ("--output v.txt", "--output: v.txt does not end with one of .npy, .parquet, .jsonl"),
            ("--dimensions 99", "--dimensions 99 is not from 1 to the 16 numbers of a vector"),
            ("--similar a --output v.npy", "--output: v.npy is not for --similar"),
            ("--output a.jsonl/v.npy", "--output: nothing can be written in "),
            ("--output s3://shelf/v.npy", "s3://shelf/v.npy is not on this machine; give a path"),
        )
    ),
    typed("predict tuned Good. --output a", "a is a pipe or a device; give a file.", pipe("a")),
    typed(
        "predict tuned --input pairs.csv --pair-column reply",
        "--pair-column names a second text, of which this model learned nothing; leave it out.",
        all_of(
            with_values("tuned/task.json", columns=asdict(Columns(text="text", label="label"))),
            file("pairs.csv", "text,reply\nit is,so\n"),
        ),
    ),
    typed(
        "fill-mask run --score texts --top 3",
        "--top is for masks, of which --score takes none; leave one of them out.",
        file("texts"),
    ),
    found('order run "" "Then she left."', "passage is empty"),
    typed('order run "She came."', "Missing argument 'SECOND'"),
    found('order run "A." "B."', "task is nsp", with_values("run/model.json", sentence_task="nsp")),
    # Tasks.
    found(f"{FINETUNE} classify", "an Excel workbook", file("train", WORKBOOK)),
    typed(f"{FINETUNE} classify", "is the text", file("train", "a,b,label\nGood.,x,1\n")),
    found(
        f"{FINETUNE} rte --eval train", "rte: entailment, not_entailment", file("train", NEUTRAL)
    ),
    found(f"{FINETUNE} classify --eval e", "the label '2'", file("e", "text,label\nSo-so.,2\n")),
    typed("finetune run --output out --task rte --data text", "train, dev or test"),
    typed("finetune run --output out --task guess", "'guess' is neither a kind"),
    typed(
        "finetune run --output out --task embed --data data --eval train",
        "--data is a data set, measured on documents of its own",
        file("train", "text,positive\na,b\n"),
    ),
    typed("finetune run --output out --task classify", "There is nothing to train on"),
    typed(
        f"{FINETUNE} classify --config s.json",
        "'runs' is not a setting of albert finetune",
        json_file("s.json", runs=3),
    ),
    found('predict run "Good."', "a fine-tuned model"),
]


def end(case: Case, whole: Path, folder: Path) -> tuple[int, str, list[str]]:
    """Run a case in a folder with a copy of the whole things, with nothing on standard input.

    Returns its exit code, all it said, and what it left or changed.
    """
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    # As a shell divides it, which knows $'...' too.
    words = [
        word.encode().decode("unicode_escape") if "\\" in word else word
        for word in shlex.split(case.command.replace("$'", "'"))
    ]
    with contextlib.chdir(folder), mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO())):
        held = case.make()
        before = state(Path())
        code, said = attempt(*words)
        after = state(Path())
        if isinstance(held, io.IOBase):
            held.close()
    return code, said, sorted({name for name, _ in before.items() ^ after.items()})


def state(folder: Path) -> dict[str, tuple[int, int]]:
    """Everything below a folder, with size and time if it is a file."""
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns) if path.is_file() else (0, 0)
        for path in folder.rglob("*")
    }
