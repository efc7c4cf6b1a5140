"""`albert predict`: what a fine-tuned model says of texts."""

import itertools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.support.console import Console, silent_stderr
from cli.support.options import (
    UserPath,
    column_options,
    debug_option,
    is_given,
    json_option,
    quiet_option,
)
from cli.support.trained_model import (
    check_sizes,
    checkpoint_option,
    vocabulary_for_text,
)
from schemas.config import flag_name
from schemas.errors import AlbertError, SettingError
from schemas.files import write_text
from schemas.readable import percent
from schemas.task import Columns, TaskExample, TaskSpec

if TYPE_CHECKING:
    from albert_tf.model.trained_model import TrainedModel
    from albert_tf.runs.checkpoints import Which
    from pipeline.vocabulary.tokenizer import Tokenizer

# Labels whose probabilities are shown of a text, the likeliest first.
_MOST_SHOWN = 5


@click.command(
    epilog="Example:  albert predict tuned 'The plot is thin, but the songs are good.'"
)
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
    help="File to write the predictions to, as JSON lines.",
)
@checkpoint_option
@json_option("Print one JSON object per line.")
@quiet_option("Print the predictions and errors only.")
@debug_option
def predict(
    model: Path,
    first: str | None,
    second: str | None,
    options: tuple[str, ...],
    source: str | None,
    text_column: str | None,
    pair_column: str | None,
    output: Path | None,
    checkpoint: "Which | None",
    as_json: bool,
    quiet: bool,
    debug: bool,
) -> None:
    """Show what a fine-tuned model predicts for texts.

    TEXT is the text; SECOND is the second text of a pair or, if TEXT is a passage, the
    question about it. Without TEXT and --input, each line of standard input is a text,
    with a tab before the second one.
    """
    with silent_stderr():
        from albert_tf.model.trained_model import read_tuned
    from cli.support.task_data import read_unlabelled, with_columns

    console = Console(quiet=quiet)
    check_source(source, first, options=options, output=output)
    tuned = read_tuned(model, which=checkpoint, say=console.say)
    tokenizer = vocabulary_for_text(model, say=console.say)
    check_sizes(tokenizer, tuned.config, path=model)
    spec = tuned.record.spec
    if source is not None:
        named = with_columns(spec, Columns(text=text_column, pair=pair_column))
        examples = read_unlabelled(source, named, say=console.say)
    else:
        texts = typed(first, second, is_divided=spec.kind != "tag")
        examples = examples_of(texts, spec, options=options)
    predictions = predictions_of(tuned, examples, tokenizer=tokenizer, say=console.say)
    is_json = as_json or output is not None
    lines = list(lines_of(spec, examples, predictions, as_json=is_json))
    if output is None:
        for line in lines:
            click.echo(line)
    else:
        write_text(output, "".join(f"{line}\n" for line in lines))
        console.say(f"{output}: {len(examples):,} predictions")


def predictions_of(
    tuned: "TrainedModel",
    examples: Sequence[TaskExample],
    *,
    tokenizer: "Tokenizer",
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    """What a model says of each example.

    Args:
        tuned: The model.
        examples: Of its task.
        tokenizer: Its vocabulary.
        say: Told how much of the texts it does not read.
    """
    with silent_stderr():
        from albert_tf.finetuning.predict import predicted
        from albert_tf.tasks.evaluation import task_of
    from cli.support.task_data import encoded, say_lost

    record = tuned.record
    given = encoded(examples, record, tokenizer=tokenizer)
    say_lost(given, record, say=say)
    outputs = predicted(tuned, given, is_compiled=False)
    task = task_of(record.spec)
    return [
        task.shown(example, output, threshold=record.threshold)
        for example, output in zip(examples, outputs, strict=True)
    ]


def check_source(
    source: str | None,
    text: str | None,
    *,
    options: tuple[str, ...],
    output: Path | None,
) -> None:
    """Refuse flags that contradict each other or would have no effect.

    Raises:
        SettingError: Names them.
    """
    if source is None:
        for name in ("text_column", "pair_column"):
            if is_given(name):
                raise SettingError(
                    f"{flag_name(name)} names a column of --input; give that too."
                )
        return
    if text is not None or options:
        raise SettingError(
            "Give either a TEXT (and --option where the model chooses) or --input, not "
            "both."
        )
    if output is not None and output.resolve() == Path(source).resolve():
        raise SettingError(f"--output: {output} is the file to read; give another one.")


def typed(
    text: str | None, second: str | None, *, is_divided: bool
) -> list[tuple[str, str | None]]:
    """What was typed: a text or a pair, or those of the standard input.

    Args:
        text: TEXT.
        second: SECOND.
        is_divided: Whether a tab divides a line of the standard input into a pair.

    Raises:
        SettingError: There is none.
        AlbertError: A line is not UTF-8.
    """
    if text is not None:
        return [(text, second)]
    found: list[tuple[str, str | None]] = []
    if sys.stdin and not sys.stdin.isatty():
        for number, line in enumerate(sys.stdin.buffer, start=1):
            try:
                written = line.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                raise AlbertError(
                    f"Line {number} of standard input is not UTF-8; convert it first."
                ) from None
            if is_divided and "\t" in written:
                first, _, rest = written.partition("\t")
                found.append((first, rest))
            else:
                found.append((written, None))
    if not found:
        raise SettingError("There is nothing to predict; give a TEXT or --input.")
    return found


def examples_of(
    texts: Sequence[tuple[str, str | None]],
    spec: TaskSpec,
    *,
    options: tuple[str, ...],
) -> list[TaskExample]:
    """Texts as examples of a task.

    Raises:
        SettingError: Something that the task needs is missing, or is too much.
        AlbertError: A text is not UTF-8.
    """
    from pipeline.encoding.queries import check_text
    from pipeline.tasks.table_examples import words_of

    for text in (*options, *itertools.chain.from_iterable(texts)):
        if text is not None:
            check_text(text)
    if spec.kind == "choose" and len(options) < 2:
        raise SettingError(
            f"{spec.name} chooses between options; give two or more with --option."
        )
    if spec.kind != "choose" and options:
        raise SettingError(f"--option: {spec.name} does not choose; leave it out.")
    if spec.kind == "tag" and any(second is not None for _, second in texts):
        raise SettingError(f"{spec.name} tags the words of a TEXT; leave SECOND out.")
    if spec.kind == "answer" and any(second is None for _, second in texts):
        raise SettingError(
            f"{spec.name} answers questions: give the passage as TEXT and the question "
            "as SECOND."
        )
    check_pairs([second for _, second in texts], spec)
    return [
        TaskExample(
            id=str(number),
            place=f"text {number + 1}",
            text=text,
            text_pair=second,
            options=options,
            words=words_of(text) if spec.kind == "tag" else (),
        )
        for number, (text, second) in enumerate(texts)
    ]


def check_pairs(seconds: Sequence[str | None], spec: TaskSpec) -> None:
    """Refuse pairs where a model learned from single texts, and the other way round.

    Raises:
        SettingError: They are not what it was trained on, as far as that is known.
    """
    is_known = spec.columns.text is not None
    learned_pairs = spec.columns.pair is not None
    if spec.kind not in ("classify", "multilabel", "regress") or not is_known:
        return
    if learned_pairs and None in seconds:
        raise SettingError(
            "The model learned from pairs of texts; give the second one as SECOND, or "
            "in a line after a tab."
        )
    if not learned_pairs and any(second is not None for second in seconds):
        raise SettingError(
            "The model learned from single texts; leave the second one out."
        )


def lines_of(
    spec: TaskSpec,
    examples: Sequence[TaskExample],
    predictions: Sequence[dict[str, Any]],
    *,
    as_json: bool,
) -> Iterator[str]:
    """Predictions, a line of JSON each or as a person reads them."""
    for example, prediction in zip(examples, predictions, strict=True):
        if as_json:
            values = {"id": example.id, **prediction}
            yield json.dumps(values, ensure_ascii=False)
        else:
            yield from shown_lines(spec, example, prediction)


def shown_lines(
    spec: TaskSpec, example: TaskExample, prediction: dict[str, Any]
) -> Iterator[str]:
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
