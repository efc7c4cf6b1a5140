"""`albert predict`: what a fine-tuned model says of texts."""

import csv
import io
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.support.asked import take_jax
from cli.support.console import Console
from cli.support.options import (
    FILE,
    PATH,
    UNCHECKED,
    check_output,
    column_options,
    debug_option,
    json_option,
    quiet_option,
    refuse_given,
)
from cli.support.trained_model import checkpoint_option, open_model
from schemas.errors import SettingError
from schemas.files import Values, write_text
from schemas.readable import percent
from schemas.task import TaskExample, TaskSpec

if TYPE_CHECKING:
    from albert_tf.tasks.evaluation import Answered

# Labels whose probabilities are shown of a text, the likeliest first.
_MOST_SHOWN = 5

# How files that are written end: CSV, the others JSON lines.
_WRITTEN = (".csv", ".jsonl", ".json", ".txt", "")


@click.command(epilog="Example:  albert predict tuned 'The plot is thin, but the songs are good.'")
@click.argument("model", type=PATH)
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
    type=UNCHECKED,
    help="Predict all examples of a file instead, in a format that albert finetune "
    "reads; its columns are named as in the training examples.",
)
@column_options("text", "pair")
@click.option(
    "--output",
    type=FILE,
    help="File to write the predictions to: .csv with all columns of the input beside them, "
    "or JSON lines, as .jsonl, .json, .txt or without an ending.",
)
@checkpoint_option
@json_option("Print one JSON object per line.")
@quiet_option("Print the predictions and errors only.")
@debug_option
def predict_command(
    model: Path, first: str | None, second: str | None, console: Console, **values: Any
) -> None:
    """Show what a fine-tuned model predicts for texts.

    TEXT is the text; SECOND is the second text of a pair or, if TEXT is a passage, the
    question about it. Without TEXT and --input, each line of standard input is a text,
    with a tab before the second one, and is answered as soon as it is sent.
    """
    source, output, options = values["source"], values["output"], values["options"]
    say = console.say
    if source is None:
        why = "names a column of --input; give that too."
        refuse_given("text_column", "pair_column", why=why)
    if source is not None and (first is not None or options):
        raise SettingError(
            "Give either a TEXT (and --option where the model chooses) or --input, not both."
        )
    check_output(output, source)
    if output is not None and output.suffix not in _WRITTEN:
        raise SettingError(
            f"--output: {output} would be CSV or JSON lines; give a name that ends with "
            f"{' or '.join(_WRITTEN[:2])}."
        )
    is_csv = output is not None and output.suffix == ".csv"
    if is_csv and values["as_json"]:
        raise SettingError(f"--json: {output} would be CSV; leave --json out.")
    if source is not None:
        # Of a text or a line JAX would compile for longer than the CPU takes.
        take_jax(console)
    found = open_model(model, which=values["checkpoint"], say=say)
    from albert_tf.finetuning.predictor import prediction_lines
    from albert_tf.inference import has_second
    from cli.support.task_data import read_unlabelled, say_lost

    spec = found.tuned.record.spec
    if has_second(spec) is False:
        why = "names a second text, of which this model learned nothing; leave it out."
        refuse_given("pair_column", why=why)
    groups: Iterable[Sequence[TaskExample]]
    if source is not None:
        groups = [read_unlabelled(source, spec, say=say, flags=values).examples]
    else:
        groups = typed(first, second, spec, options=options)
    if output is not None:
        groups = [[*itertools.chain(*groups)]]
    lost: list[str] = []
    for examples in groups:
        given = found.encoded(examples)
        if not lost:
            say_lost(given, found.tuned.record, say=lost.append)
            say(*lost)
        answered = found.answers(given)
        if output is not None:
            write_text(output, csv_text(answered) if is_csv else prediction_lines(answered))
            say(f"{output}: {len(given.examples):,} predictions")
        elif values["as_json"]:
            click.echo(prediction_lines(answered), nl=False)
        else:
            for example, shown in zip(examples, answered.shown(), strict=True):
                for line in shown_lines(spec, example, shown):
                    click.echo(line)


def csv_text(answered: "Answered") -> str:
    """Predictions as a table: all columns of the input, and the answers.

    Without columns the texts stand under the names that their columns had in training. What
    an answer has for each label is a column each, such as `probabilities good`; where the input
    has a column of such a name, `predicted` stands before it.
    """
    named, rows = answered.task.spec.columns, list[Values]()
    for example in answered.examples:
        cells = dict(example.cells)
        if not cells:
            cells = {named.text or "text": example.text}
            if example.text_pair is not None:
                cells[named.pair or "text_pair"] = example.text_pair
        rows.append({"id": example.id, **cells})
    taken = {*itertools.chain(*rows)}
    for place, shown in enumerate(answered.shown()):
        row = rows[place]
        for name, value in shown.items():
            parts = {name: value}
            if isinstance(value, dict):
                parts = {f"{name} {label}": each for label, each in value.items()}
            while taken & parts.keys():
                parts = {f"predicted {column}": each for column, each in parts.items()}
            row |= parts
        rows[place] = {
            name: json.dumps(each, ensure_ascii=False, default=str)
            if isinstance(each, list | dict)
            else each
            for name, each in row.items()
        }
    text = io.StringIO()
    writer = csv.DictWriter(text, dict.fromkeys(itertools.chain(*rows)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def typed(
    text: str | None, second: str | None, spec: TaskSpec, *, options: tuple[str, ...]
) -> Iterator[list[TaskExample]]:
    """What was typed: TEXT with SECOND, or lines of standard input as they come."""
    from albert_tf.inference import examples_of, has_second
    from cli.support.task_data import decoded, typed_lines

    if text is not None:
        row = {"text": text, "text_pair": second, "options": options, "place": "TEXT"}
        yield examples_of([row], spec)
        return
    # Where there is no second text a tab is one of the text.
    number, most_tabs = 0, int(has_second(spec) is not False)
    for lines in typed_lines("There is nothing to predict; give a TEXT or --input."):
        rows: list[Values] = []
        for line_number, line in enumerate(lines, number + 1):
            place = f"Line {line_number} of standard input"
            parts = decoded(line, what=place).split("\t", most_tabs)
            texts = dict(zip(("text", "text_pair"), parts, strict=False))
            rows.append({**texts, "options": options, "place": place})
        yield examples_of(rows, spec, first=number)
        number += len(lines)


def shown_lines(spec: TaskSpec, example: TaskExample, prediction: Values) -> Iterator[str]:
    """One prediction for a person."""
    if spec.kind == "regress":
        yield f"{prediction['score']:.4f}"
    elif spec.kind == "embed":
        numbers = prediction.get("vector") or [prediction["similarity"]]
        yield " ".join(f"{number:.4f}" for number in numbers)
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
