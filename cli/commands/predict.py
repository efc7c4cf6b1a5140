"""`albert predict`: what a fine-tuned model says of texts."""

import csv
import io
import itertools
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from cli.support.console import Console, Say, silent_stderr
from cli.support.options import (
    UserPath,
    column_options,
    debug_option,
    is_given,
    json_option,
    quiet_option,
)
from cli.support.trained_model import checkpoint_option, open_tuned
from schemas.config import flag_name
from schemas.errors import AlbertError, SettingError
from schemas.files import write_text
from schemas.readable import percent
from schemas.task import TaskExample, TaskSpec

if TYPE_CHECKING:
    from albert_tf.model.trained_model import TrainedModel
    from pipeline.vocabulary.tokenizer import Tokenizer

# Labels whose probabilities are shown of a text, the likeliest first.
_MOST_SHOWN = 5

# Standard input is read as it comes, at most so much at a time.
_BLOCK_BYTES = 1 << 16


@click.command(epilog="Example:  albert predict tuned 'The plot is thin, but the songs are good.'")
@click.argument("model", type=UserPath(path_type=Path))
@click.argument("first", metavar="[TEXT]", required=False)
@click.argument("second", required=False)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="TEXT",
    help="An option to choose from; give two or more, for models that choose.",
)
@click.option(
    "--input",
    "source",
    metavar="FILE",
    type=UserPath(dir_okay=True, readable=False),
    help="Predict all examples of a file instead, in a format that albert finetune "
    "reads; its columns are named as in the training examples.",
)
@column_options("text", "pair")
@click.option(
    "--output",
    type=UserPath(dir_okay=False, path_type=Path),
    help="File to write the predictions to: .csv with the texts beside them, else JSON lines.",
)
@checkpoint_option
@json_option("Print one JSON object per line.")
@quiet_option("Print the predictions and errors only.")
@debug_option
def predict(model: Path, first: str | None, second: str | None, quiet: bool, **values: Any) -> None:
    """Show what a fine-tuned model predicts for texts.

    TEXT is the text; SECOND is the second text of a pair or, if TEXT is a passage, the
    question about it. Without TEXT and --input, each line of standard input is a text,
    with a tab before the second one, and is answered as soon as it is sent.
    """
    from cli.support.task_data import read_unlabelled, with_columns

    source, output, options = values["source"], values["output"], values["options"]
    say = Console(quiet=quiet).say
    for name in ("text_column", "pair_column"):
        if source is None and is_given(name):
            raise SettingError(f"{flag_name(name)} names a column of --input; give that too.")
    if source is not None and (first is not None or options):
        raise SettingError(
            "Give either a TEXT (and --option where the model chooses) or --input, not both."
        )
    if source is not None and output is not None and output.resolve() == Path(source).resolve():
        raise SettingError(f"--output: {output} is the file to read; give another one.")
    tuned, tokenizer = open_tuned(model, which=values["checkpoint"], say=say)
    spec = tuned.record.spec
    groups: Iterable[Sequence[TaskExample]]
    if source is not None:
        groups = [read_unlabelled(source, with_columns(spec, values), say=say)]
    else:
        texts = typed(first, second, is_divided=spec.kind != "tag")
        groups = examples_of(texts, spec, options=options)
    is_json = values["as_json"] or output is not None
    examples: list[TaskExample] = []
    if output is not None:
        groups = [examples := [*itertools.chain(*groups)]]
    lines = predicted_lines(tuned, groups, tokenizer=tokenizer, is_json=is_json, say=say)
    if output is None:
        for line in lines:
            click.echo(line)
    else:
        kept = list(lines)
        if output.suffix == ".csv":
            write_text(output, csv_text(spec, examples, kept))
        else:
            write_text(output, "".join(f"{line}\n" for line in kept))
        say(f"{output}: {len(kept):,} predictions")


def csv_text(spec: TaskSpec, examples: Sequence[TaskExample], lines: Sequence[str]) -> str:
    """Predictions as a table: the texts under the names of their columns, and the answers.

    What an answer has for each label is a column each, such as `probabilities good`.

    Args:
        lines: Predictions as JSON.
    """
    rows: list[dict[str, Any]] = []
    for example, line in zip(examples, lines, strict=True):
        row = {"id": example.id, spec.columns.text or "text": example.text}
        if example.text_pair is not None:
            row[spec.columns.pair or "text_pair"] = example.text_pair
        for name, value in json.loads(line).items():
            if isinstance(value, dict):
                row |= {f"{name} {label}": each for label, each in value.items()}
            else:
                is_list = isinstance(value, list)
                row[name] = json.dumps(value, ensure_ascii=False) if is_list else value
        rows.append(row)
    text = io.StringIO()
    writer = csv.DictWriter(text, dict.fromkeys(itertools.chain(*rows)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def predicted_lines(
    tuned: "TrainedModel",
    groups: Iterable[Sequence[TaskExample]],
    *,
    tokenizer: "Tokenizer",
    is_json: bool,
    say: Say,
) -> Iterator[str]:
    """What a model says of each example, a group of examples at a time.

    Args:
        say: Told how much of the first group that has any the model does not read.
    """
    with silent_stderr():
        from albert_tf.finetuning.evaluate import Predictor
    from cli.support.task_data import say_lost
    from pipeline.encoding.encoding import encode_examples

    record, predictor = tuned.record, Predictor(tuned, is_compiled=False)
    lost: list[str] = []
    for examples in groups:
        given = encode_examples(examples, record, tokenizer=tokenizer)
        if not lost:
            say_lost(given, record, say=lost.append)
            for sentence in lost:
                say(sentence)
        answers = predictor.answers(given).shown()
        for example, shown in zip(examples, answers, strict=True):
            if is_json:
                yield json.dumps({"id": example.id, **shown}, ensure_ascii=False)
            else:
                yield from shown_lines(record.spec, example, shown)


# A text or a pair of texts, as it was typed.
Typed = tuple[str, str | None]


def typed(text: str | None, second: str | None, *, is_divided: bool) -> Iterator[list[Typed]]:
    """What was typed: TEXT with SECOND, or lines of standard input as they come."""
    if text is not None:
        yield [(text, second)]
        return
    number = 0
    if sys.stdin and not sys.stdin.isatty():
        for lines in lines_as_they_come(sys.stdin.buffer):
            yield [
                _typed_line(line, number + place, is_divided=is_divided)
                for place, line in enumerate(lines, 1)
            ]
            number += len(lines)
    if not number:
        raise SettingError("There is nothing to predict; give a TEXT or --input.")


def lines_as_they_come(stream: BinaryIO) -> Iterator[list[bytes]]:
    r"""The lines that can be read without waiting, without the ends of lines.

    >>> import io
    >>> list(lines_as_they_come(io.BytesIO(b"one\n\ntwo")))
    [[b'one', b''], [b'two']]
    """
    begun: list[bytes] = []
    while block := stream.read1(_BLOCK_BYTES):  # type: ignore[attr-defined]
        whole, end, rest = block.rpartition(b"\n")
        if not end:
            begun.append(block)
            continue
        yield b"".join([*begun, whole]).split(b"\n")
        begun = [rest] if rest else []
    if begun:
        yield [b"".join(begun)]


def _typed_line(line: bytes, number: int, *, is_divided: bool) -> Typed:
    try:
        written = line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise AlbertError(
            f"Line {number} of standard input is not UTF-8; convert it first."
        ) from None
    first, tab, rest = written.partition("\t") if is_divided else (written, "", "")
    return first, rest if tab else None


def examples_of(
    groups: Iterable[Sequence[Typed]], spec: TaskSpec, *, options: tuple[str, ...]
) -> Iterator[list[TaskExample]]:
    """Texts as examples of a task, in the groups in which they come."""
    from pipeline.encoding.queries import check_text
    from pipeline.tasks.table_examples import words_of

    if spec.kind == "choose" and len(options) < 2:
        raise SettingError(f"{spec.name} chooses between options; give two or more with --option.")
    if spec.kind != "choose" and options:
        raise SettingError(f"--option: {spec.name} does not choose; leave it out.")
    number = 0
    for texts in groups:
        for text in (*options, *itertools.chain.from_iterable(texts)):
            if text is not None:
                check_text(text)
        check_pairs([second for _, second in texts], spec)
        yield [
            TaskExample(
                id=str(place),
                place=f"text {place + 1}",
                text=text,
                text_pair=second,
                options=options,
                words=words_of(text) if spec.kind == "tag" else (),
            )
            for place, (text, second) in enumerate(texts, number)
        ]
        number += len(texts)


def check_pairs(seconds: Sequence[str | None], spec: TaskSpec) -> None:
    """Refuse pairs where a model learned from single texts, and the other way round."""
    if spec.kind == "tag" and any(second is not None for second in seconds):
        raise SettingError(f"{spec.name} tags the words of a TEXT; leave SECOND out.")
    if spec.kind == "answer" and None in seconds:
        raise SettingError(
            f"{spec.name} answers questions: give the passage as TEXT and the question as SECOND."
        )
    if spec.kind in ("tag", "answer", "choose") or spec.columns.text is None:
        return
    learned_pairs = spec.columns.pair is not None
    if learned_pairs and None in seconds:
        raise SettingError(
            "The model learned from pairs of texts; give the second one as SECOND, or "
            "in a line after a tab."
        )
    if not learned_pairs and any(second is not None for second in seconds):
        raise SettingError("The model learned from single texts; leave the second one out.")


def shown_lines(spec: TaskSpec, example: TaskExample, prediction: dict[str, Any]) -> Iterator[str]:
    """One prediction for a person."""
    if spec.kind == "regress":
        yield f"{prediction['score']:.4f}"
    elif spec.kind == "tag":
        pairs = zip(prediction["words"], prediction["tags"], strict=True)
        yield " ".join(word if tag == "O" else f"{word}/{tag}" for word, tag in pairs)
    elif spec.kind == "answer":
        place = f" ({prediction['start']} to {prediction['end']})"
        yield (prediction["answer"] + place) if prediction["answer"] else "no answer"
    elif spec.kind == "choose":
        ranked = sorted(
            zip(prediction["probabilities"], example.options, strict=True), reverse=True
        )
        for share, option in ranked:
            yield f"{percent(share):>6}  {option}"
    else:
        chosen = prediction.get("labels") or [prediction.get("label", "no label")]
        named = sorted(prediction["probabilities"].items(), key=lambda item: -item[1])
        shares = ", ".join(f"{n} {percent(p)}" for n, p in named[:_MOST_SHOWN])
        yield f"{', '.join(chosen)}  ({shares})"
