"""The examples of a task, from files to rows of tokens, with what a person should know.

Shared by fine-tuning, prediction and evaluation.
"""

import dataclasses
import hashlib
import io
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from cli.support.console import Say
from pipeline.dataset.manifest import load_vocabulary, read_examples
from pipeline.encoding.task_rows import encode_examples, question_room
from pipeline.records.reading import CorruptRecord, read_tokens
from pipeline.tasks.crops import Passage, pairs_of_examples, passages_of
from pipeline.tasks.task_files import TaskFile, TaskPaths, by_parts, find_task_files, read_task_file
from pipeline.tasks.training_data import (
    check_examples,
    hold_out,
    labels_of,
    task_summary,
    warnings_about,
    with_labels,
)
from schemas.config import deciding, flag_name
from schemas.errors import AlbertError, SettingError
from schemas.example import UNK_ID
from schemas.files import Values
from schemas.layout import EVAL, MANIFEST, TRAIN
from schemas.manifest import read_manifest
from schemas.readable import counted, percent
from schemas.task import TARGETS, TaskExample, TaskRecord, TaskRows, TaskSpec

if TYPE_CHECKING:
    from albert_tf.finetuning.job import TuningJob
    from pipeline.vocabulary.tokenizer import Tokenizer

# From this share of unknown tokens on, texts do not suit a vocabulary: in the language
# that it was made for there are hardly any.
_MUCH_UNKNOWN = 0.05

# Examples that are shown before training, and how much of each text.
_SHOWN_EXAMPLES, _SHOWN_CHARACTERS = 3, 200

# Standard input is read as it comes, at most so much at a time.
_BLOCK_BYTES = 1 << 16

# Pairs that crops are measured on.
MOST_HELD_OUT = 2000

# What the files of `TaskPaths` are for.
_ROLES = ("to train on", "to choose the best by", "to predict", "not used")


# The kinds of tasks that do not read what some flags name.
_UNREAD = {
    "pair_column": ("tag",),
    "option_columns": ("classify", "multilabel", "regress", "answer", "tag"),
}


class TaskData(NamedTuple):
    """A task with its labels and columns, and its examples.

    Attributes:
        tests: To predict, by the name of the file that the predictions get.
        redraw: The example to train on of a number in an epoch, if they are drawn anew.
    """

    spec: TaskSpec
    train: list[TaskExample]
    held_out: list[TaskExample]
    tests: dict[str, list[TaskExample]] = {}  # noqa: RUF012
    redraw: Callable[[int, int], TaskExample] | None = None


def with_columns(spec: TaskSpec, flags: Mapping[str, Any]) -> TaskSpec:
    """A task with the columns that --text-column and its like name, else its own."""
    for name, kinds in _UNREAD.items():
        if flags.get(name) and spec.kind in kinds:
            raise SettingError(
                f"{flag_name(name)} names what a task of kind {spec.kind} does not read; leave it "
                "out."
            )
    columns = {name: flags.get(f"{name}_column") for name in ("text", "pair", "label")}
    named: Values = {name: value for name, value in columns.items() if value}
    if options := flags.get("option_columns"):
        named["options"] = tuple(options.split(","))
    return dataclasses.replace(spec, columns=dataclasses.replace(spec.columns, **named))


def read_task(paths: TaskPaths, spec: TaskSpec, *, say: Say) -> TaskData:
    """Read all files of a task and check them, and show what is in them.

    Three examples are shown as they will be learned, so that a wrong column is seen.
    """
    if sum(map(len, paths)) > 1:
        for role, files in zip(_ROLES, paths, strict=True):
            for path in files:
                say(f"{path}: {role}")
    train: list[TaskExample] = []
    for path in paths.train:
        before = spec.columns.label
        examples, spec = _read(path, spec, say=say)
        if spec.kind == "embed" and train and spec.columns.label != before:
            raise AlbertError(
                f"{path} has scores and the training files before it have none; give all of them "
                "scores, or none."
            )
        train += examples
    if paths.evaluation:
        spec = with_labels(spec, train)
        held_out = [e for path in paths.evaluation for e in _read(path, spec, say=say)[0]]
    else:
        train, held_out = hold_out(train)
        say(f"A tenth of the training examples, {len(held_out):,}, is held out.")
        spec = with_labels(spec, train)
    held_out = find_each_other(held_out, spec, say=say)
    check_examples(spec, train, evaluation=held_out)
    measures = " and ".join(spec.metrics)
    say(f"Task {spec.name}, measured by {measures}.")
    say(f"{len(train):,} examples to train on, {len(held_out):,} to choose the best by.")
    for line in (*task_summary(spec, train), *warnings_about(spec, train, evaluation=held_out)):
        say(line)
    named = dict(enumerate(spec.submissions))
    tests = {
        named.get(number, f"predictions-{number + 1}.jsonl"): read_unlabelled(
            path, spec, say=say
        ).examples
        for number, path in enumerate(paths.test)
    }
    say("The first training examples, as they will be learned:")
    for example in train[:_SHOWN_EXAMPLES]:
        parts = [example.text, example.text_pair, *example.options]
        shown = " | ".join(" ".join(part.split()) for part in parts if part is not None)
        say(f"  {shown:.{_SHOWN_CHARACTERS}} -> {_target_text(example, spec)}")
    return TaskData(spec, train, held_out, tests)


def task_paths(values: Values, spec: TaskSpec) -> TaskPaths:
    """The files to read: those that are named, else those of --data.

    None of a data set, whose documents are cut into pairs.
    """
    folder, found = values["data"], TaskPaths()
    if folder is not None:
        if spec.kind == "embed" and (Path(folder) / MANIFEST).exists() and not values["train"]:
            if values["evaluation"] or values["test"]:
                raise SettingError(
                    "--data is a data set, measured on documents of its own; leave --eval and "
                    "--test out, and give a file to albert evaluate afterwards."
                )
            return found
        found = find_task_files(folder, spec)
    paths = TaskPaths(
        values["train"] or found.train,
        values["evaluation"] or found.evaluation[:1],
        values["test"] or found.test,
    )
    if not paths.train:
        raise SettingError(
            "There is nothing to train on; name a file with --train, or the folder of "
            "a named task with --data."
        )
    read = {os.path.realpath(path) for path in itertools.chain(*paths)}
    others = [path for path in itertools.chain(*found) if os.path.realpath(path) not in read]
    return paths._replace(others=others)


def read_crops(
    folder: Path, spec: TaskSpec, *, length: int | None, say: Say, trains: bool = True
) -> TaskData:
    """Pairs of texts from the documents of a data set.

    Those of its held-out split are measured on, else a tenth of its passages.

    Args:
        trains: Whether more is wanted than what is measured on.
    """
    manifest = read_manifest(folder)
    if not manifest.has_documents:
        raise SettingError(
            f"--data: {folder} has examples and no documents; make the data with "
            "--examples on-the-fly."
        )
    tokenizer = load_vocabulary(folder, manifest)
    passages: list[Passage] = []
    has_own = manifest.config.sentence_task != "none" and manifest.num_examples(EVAL)
    for shard in manifest.shard_files(TRAIN, 0):
        is_enough = has_own or sum(each.is_held_out for each in passages) >= MOST_HELD_OUT
        if is_enough and passages and not trains:
            break
        tokens = read_tokens(folder, shard, manifest, config=manifest.config)
        if isinstance(tokens, CorruptRecord):
            raise AlbertError(f"{tokens}; make the data again.")
        seed = manifest.config.seed
        passages += passages_of(tokens, length=length or spec.max_seq_length, seed=seed)
    if has_own:
        records = read_examples(folder, manifest, split=EVAL, copy=0)
        # Of nsp every other second segment is from elsewhere.
        task, label = manifest.config.sentence_task, "next_sentence_labels"
        own = (record for record in records if task == "sop" or record[label] == [0])
        held_out = [*pairs_of_examples(itertools.islice(own, MOST_HELD_OUT), tokenizer)]
        what = "held-out examples, whose segments"
    else:
        halves = [each.halves(tokenizer) for each in passages if each.is_held_out]
        held_out, what = (
            halves[:MOST_HELD_OUT],
            "other passages of the same documents, whose halves",
        )
        passages = [each for each in passages if not each.is_held_out]
    if not passages or not held_out:
        raise AlbertError(
            f"{folder} has {len(passages) + len(held_out):,} passages, too few to learn from; "
            "give more text."
        )
    say(
        f"{folder}: {len(passages):,} passages to train on, by other crops in each epoch; measured "
        f"on {len(held_out):,} {what} are to find each other."
    )

    def redraw(number: int, epoch: int) -> TaskExample:
        return passages[number].crops(tokenizer, epoch=epoch)

    train = [redraw(number, 0) for number in range(len(passages) if trains else 0)]
    spec = dataclasses.replace(spec, metrics=("recall_at_1", "recall_at_10"))
    return TaskData(spec, train, held_out, redraw=redraw)


def show_task(paths: Sequence[str], spec: TaskSpec, *, say: Say) -> None:
    """Show what would be learned of the files of a task, or of its folder."""
    is_folder = len(paths) == 1 and Path(paths[0]).is_dir()
    found = find_task_files(paths[0], spec) if is_folder else by_parts(map(Path, paths))
    if not found.train:
        # Of files without a part in their names each may be trained on.
        train = found.others or found.evaluation or found.test
        found = TaskPaths(train, *((p if p is not train else ()) for p in found[1:]))
    read_task(found, spec, say=say)


def read_labelled(
    path: str, spec: TaskSpec, *, say: Say, flags: Mapping[str, Any] = MappingProxyType({})
) -> tuple[list[TaskExample], TaskSpec]:
    """The examples of a file whose labels are known, and the task as they measure it.

    Vectors are measured by what a file has: pairs or scores, whatever they learned from.

    Args:
        flags: May name columns, see `with_columns`.
    """
    if spec.kind == "embed":
        columns = dataclasses.replace(spec.columns, label=None, options=())
        spec = dataclasses.replace(spec, columns=columns, metrics=())
    spec = with_columns(spec, flags)
    examples, _ = _read(path, spec, say=say)
    if spec.kind == "embed":
        spec = with_labels(spec, examples)
        examples = find_each_other(examples, spec, say=say)
    check_examples(spec, [], evaluation=examples)
    return examples, spec


def find_each_other(examples: list[TaskExample], spec: TaskSpec, *, say: Say) -> list[TaskExample]:
    """Examples as their task can measure them: no text of a pair may be another one's partner."""
    if spec.metrics[:1] != ("recall_at_1",):
        return examples
    seen, kept = set[str | None](), []
    for example in examples:
        texts = {example.text, example.text_pair}
        if seen.isdisjoint(texts):
            kept.append(example)
            seen |= texts
    if len(kept) < len(examples):
        say(
            f"{len(examples) - len(kept):,} pairs are not measured on: each has a text of a pair "
            "before, and which of two belongs to it cannot be told."
        )
    return kept


def read_unlabelled(
    path: str, spec: TaskSpec, *, say: Say, flags: Mapping[str, Any] = MappingProxyType({})
) -> TaskFile:
    """What is to be predicted of a file.

    Args:
        flags: May name columns, see `with_columns`.
    """
    spec, is_table = with_columns(spec, flags), flags.get("text_column") is not None
    file = read_task_file(path, spec, is_labelled=False, is_table=is_table)
    _say_how(path, file, say=say, has_columns=file.columns != spec.columns)
    if empty := sum(example.is_empty for example in file.examples):
        say(f"{path}: examples with an empty text: {empty:,}")
    return file


def typed_lines(nothing: str) -> Iterator[list[bytes]]:
    """The lines of standard input that can be read without waiting, without their ends.

    Args:
        nothing: What is said where nobody sends any.
    """
    begun, is_empty = list[bytes](), True
    stream: Any = sys.stdin.buffer if sys.stdin and not sys.stdin.isatty() else io.BytesIO()
    while block := stream.read1(_BLOCK_BYTES):
        is_empty = False
        whole, end, rest = block.rpartition(b"\n")
        if not end:
            begun.append(block)
            continue
        yield b"".join([*begun, whole]).split(b"\n")
        begun = [rest] if rest else []
    if begun:
        yield [b"".join(begun)]
    if is_empty:
        # Nobody sends what would be waited for.
        raise SettingError(nothing)


def decoded(line: bytes, *, what: str) -> str:
    """A line as text, without its end."""
    try:
        return line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise AlbertError(f"{what} is not UTF-8; convert it first.") from None


# What is read from the columns of a table, for a person.
_READ = {
    "text": "text from",
    "pair": "second text from",
    "label": "label from",
    "options": "options from",
    "id": "ids from",
    "first_option": "options numbered from",
}


def _say_how(path: str, file: TaskFile, *, say: Say, has_columns: bool = True) -> None:
    """Say what was read of which columns, and what was left out or changed."""
    if has_columns:
        columns = dataclasses.asdict(file.columns)
        named = [
            f"{words} {', '.join(map(str, value)) if name == 'options' else value}"
            for name, words in _READ.items()
            if (value := columns[name]) not in (None, ())
        ]
        say(f"{path}: {'; '.join([counted(len(file.examples), 'example'), *named])}")
    for remark in file.remarks:
        say(f"{path}: {remark}")
    for reason, count in sorted(file.counts.items()):
        say(f"{path}: {reason}: {count:,}")


def _read(path: str, spec: TaskSpec, *, say: Say) -> tuple[list[TaskExample], TaskSpec]:
    """The examples of a file, and the task with the columns that were found."""
    file = read_task_file(path, spec)
    _say_how(path, file, say=say)
    known = [
        example
        for example in file.examples
        if any(getattr(example, name) is not None for name in TARGETS)
    ]
    if len(known) < len(file.examples):
        say(f"{path}: left out without a label: {len(file.examples) - len(known):,}")
    return known, dataclasses.replace(spec, columns=file.columns)


def say_lost(given: TaskRows, record: TaskRecord, *, say: Say) -> None:
    """Say how much of the texts a model does not read or know, if it is much."""
    what, longest = "texts", record.max_seq_length
    if record.spec.kind == "answer":
        # Of a passage every token is in some window.
        what = "questions"
        longest = question_room(record.max_query_tokens, max_seq_length=longest)
    cut = {row.example for row in given.rows if row.cut_tokens}
    if cut:
        share = percent(len(cut) / len(given.examples))
        say(f"{share} of the {what} are cut after {longest} tokens.")
    ids = [each.token_ids for row in given.rows for each in row.sequences]
    unknown = sum(each.count(UNK_ID) for each in ids) / max(sum(map(len, ids)), 1)
    if unknown > _MUCH_UNKNOWN:
        say(
            f"{percent(unknown)} of the tokens are unknown to the model's vocabulary, "
            "which was made of other text: the model cannot tell them apart."
        )


def rows_to_train(
    examples: Sequence[TaskExample], record: TaskRecord, *, tokenizer: "Tokenizer", say: Say
) -> TaskRows:
    """Examples with those of their rows that can be trained on."""
    given = encode_examples(examples, record, tokenizer=tokenizer)
    say_lost(given, record, say=say)
    if record.spec.kind == "answer":
        say_divided(given, stride=record.doc_stride, say=say)
    rows = [row for row in given.rows if row.target is not None]
    if not rows:
        raise AlbertError("No example can be trained on: none has a label.")
    return dataclasses.replace(given, rows=rows)


def say_divided(given: TaskRows, *, stride: int, say: Say) -> None:
    """Say how many answers end up in two windows of their passage, if any do."""
    wanted = {
        number
        for number, example in enumerate(given.examples)
        if any(answer.start >= 0 for answer in example.answers or ())
    }
    whole = {row.example for row in given.rows if row.target not in (None, (0, 0))}
    if divided := len(wanted - whole):
        say(
            f"{percent(divided / len(wanted))} of the answers fit in no window of "
            f"their passage and are not learned; a --doc-stride below {stride} leaves "
            "fewer out."
        )


def _target_text(example: TaskExample, spec: TaskSpec) -> str:
    """What is right of an example, as a person reads it."""
    if spec.kind == "tag":
        tagged = zip(example.words, example.tags or (), strict=False)
        return " ".join(f"{word}/{tag}" for word, tag in itertools.islice(tagged, 10))
    if spec.kind == "choose" and example.choice is not None:
        return example.options[example.choice][:_SHOWN_CHARACTERS]
    if spec.kind == "answer":
        answers = [answer.text for answer in example.answers or ()]
        return answers[0][:_SHOWN_CHARACTERS] if answers else "no answer"
    if spec.kind in ("regress", "embed"):
        return f"{example.score:g}"
    return ", ".join(labels_of(example)) or "no label"


def identity(job: "TuningJob", *, tests: dict[str, list[TaskExample]]) -> Values:
    """What decides the result: a run goes on only with the same."""
    from albert_tf.runs.checkpoints import arrays_sha256

    return {
        **deciding(job.config),
        "initializer": job.source.initializer,
        "task": [job.spec.kind, *job.spec.metrics],
        "labels": list(job.spec.labels),
        "model": [
            arrays_sha256(job.source.weights),
            parts_sha256(dataclasses.astuple(job.source.config)),
        ],
        **{
            split: parts_sha256((r.example, r.sequences, r.target) for r in given.rows)
            for split, given in (("train", job.train), ("eval", job.held_out))
        },
        # Wherever their file lies.
        "test": {
            name: parts_sha256(dataclasses.replace(each, place="") for each in examples)
            for name, examples in tests.items()
        },
    }


def parts_sha256(parts: Iterable[object]) -> str:
    """A hash of values, each as Python writes it."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(repr(part).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
