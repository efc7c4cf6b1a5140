"""`albert embed`: texts to vectors, and which texts are most like one."""

import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.support.console import Console, silent_stderr
from cli.support.options import UserPath, column_options, debug_option, quiet_option
from cli.support.trained_model import checkpoint_option, open_model, vocabulary_for_text
from schemas.errors import AlbertError, SettingError
from schemas.files import whole_file
from schemas.readable import printable
from schemas.task import TaskExample

if TYPE_CHECKING:
    import numpy as np

# Texts that are embedded between two looks at the time.
_AT_ONCE = 1024

_STANDARD_INPUT = "-"


@click.command(epilog="Example:  albert embed tuned notes.txt --output notes.npy")
@click.argument("model", type=UserPath(path_type=Path))
@click.argument("source", metavar="[FILE]", default=_STANDARD_INPUT)
@column_options("text")
@click.option(
    "--output",
    type=UserPath(dir_okay=False, path_type=Path),
    help="File to write: .npy, .parquet or .jsonl  [default: JSON lines, shown]",
)
@click.option(
    "--similar", metavar="TEXT", help="Show the texts that are most like this one instead."
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Texts that --similar shows.",
)
@click.option(
    "--dimensions",
    type=click.IntRange(min=1),
    help="First numbers of each vector to keep, such as 64 or 128, which a model of --task "
    "embed learned to need alone  [default: all]",
)
@checkpoint_option
@quiet_option("Print the results and errors only.")
@debug_option
def embed(model: Path, source: str, quiet: bool, debug: bool, **values: Any) -> None:
    """Turn texts into vectors of length 1, a row for each, in their order.

    MODEL is a run, an export or a fine-tuned model; one of finetune --task embed learned
    to. FILE has a text in each line, or is a table; without it standard input is read.
    The product of two vectors says how alike their texts are.
    """
    with silent_stderr():
        from albert_tf.finetuning.evaluate import Predictor
        from albert_tf.model.trained_model import as_embedder
    import numpy as np

    from pipeline.encoding.encoding import encode_examples
    from pipeline.encoding.queries import check_text

    output, similar, dimensions = values["output"], values["similar"], values["dimensions"]
    console = Console(quiet=quiet)
    if output is not None and (output.suffix not in _WRITERS or similar is not None):
        raise SettingError(
            f"--output: {output} "
            + (
                "is not for --similar"
                if similar is not None
                else f"does not end with one of {', '.join(_WRITERS)}"
            )
            + "; give another one."
        )
    tokenizer = vocabulary_for_text(model, say=console.say)
    found = open_model(model, tokenizer, which=values["checkpoint"], say=lambda note: None)
    embedder = as_embedder(found)
    record = embedder.record
    if dimensions is not None and dimensions > embedder.config.hidden_size:
        raise SettingError(
            f"--dimensions {dimensions} is more than the {embedder.config.hidden_size} numbers "
            "of a vector; give less."
        )
    examples = read_texts(source, values["text_column"], say=console.say)
    asked = [TaskExample(id="", place="--similar", text=similar)] if similar is not None else []
    for example in asked:
        check_text(example.text)
    predictor, vectors = Predictor(embedder, is_compiled=False), []
    with console:
        console.start("", total=len(examples) + len(asked), unit="texts")
        for first in range(0, len(examples) + len(asked), _AT_ONCE):
            some = [*examples, *asked][first : first + _AT_ONCE]
            given = encode_examples(some, record, tokenizer=tokenizer)
            vectors += [each[0] for each in predictor.logits(given.rows)]
            console.advance(len(some))
    matrix = np.stack(vectors).astype(np.float32)
    if dimensions is not None:
        matrix = matrix[:, :dimensions]
        matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    if asked:
        likeness = matrix[:-1] @ matrix[-1]
        for place in np.argsort(-likeness, kind="stable")[: values["top"]]:
            line = " ".join(examples[place].text.split())
            click.echo(f"{likeness[place]:.4f}  {printable(line)}")
    elif output is None:
        click.echo(_json_lines(examples, matrix).decode(), nl=False)
    else:
        with whole_file(output) as file:
            file.write(_WRITERS[output.suffix](examples, matrix))
        console.say(f"{output}: {len(matrix):,} vectors of {matrix.shape[1]} numbers")


def read_texts(source: str, column: str | None, *, say: Any) -> list[TaskExample]:
    """The texts of a file, or the lines of standard input; empty ones too."""
    from cli.support.task_data import read_unlabelled
    from schemas.task import Columns, TaskSpec

    if source != _STANDARD_INPUT:
        spec = TaskSpec(name="embed", kind="embed", columns=Columns(text=column))
        return read_unlabelled(source, spec, say=say)
    if not sys.stdin or sys.stdin.isatty():
        raise SettingError("There is nothing to embed; give a FILE, or send lines of text.")
    try:
        lines = sys.stdin.buffer.read().decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        raise AlbertError("Standard input is not UTF-8; convert it first.") from None
    return [
        TaskExample(id=str(number), place=f"line {number + 1}", text=line.rstrip("\r"))
        for number, line in enumerate(lines)
    ]


def _json_lines(examples: list[TaskExample], matrix: "np.ndarray[Any, Any]") -> bytes:
    lines = (
        json.dumps({"id": example.id, "vector": vector.tolist()}) + "\n"
        for example, vector in zip(examples, matrix, strict=True)
    )
    return "".join(lines).encode()


def _npy(examples: list[TaskExample], matrix: "np.ndarray[Any, Any]") -> bytes:
    import numpy as np

    file = io.BytesIO()
    np.save(file, matrix)
    return file.getvalue()


def _parquet(examples: list[TaskExample], matrix: "np.ndarray[Any, Any]") -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    rows = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
    columns = {
        "id": [example.id for example in examples],
        "text": [example.text for example in examples],
        "vector": rows,
    }
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


_WRITERS = {".npy": _npy, ".parquet": _parquet, ".jsonl": _json_lines}
