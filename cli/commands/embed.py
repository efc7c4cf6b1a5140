"""`albert embed`: texts to vectors, and which texts are most like one."""

import io
import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.support.asked import take_jax
from cli.support.console import Console, Say
from cli.support.options import (
    COUNT,
    FILE,
    PATH,
    check_output,
    column_options,
    debug_option,
    quiet_option,
    refuse_given,
)
from cli.support.trained_model import checkpoint_option, open_model
from schemas.errors import SettingError
from schemas.files import whole_file
from schemas.readable import printable
from schemas.task import TaskExample, TaskSpec

if TYPE_CHECKING:
    import numpy as np

# Texts that are embedded between two looks at the time.
_AT_ONCE = 8192

_STANDARD_INPUT = "-"

# How files that are written end.
_ENDINGS = (".npy", ".parquet", ".jsonl")


@click.command(epilog="Example:  albert embed tuned notes.txt --output notes.npy")
@click.argument("model", type=PATH)
@click.argument("source", metavar="[FILE]", default=_STANDARD_INPUT)
@column_options("text")
@click.option(
    "--output",
    type=FILE,
    help="File to write: .npy, .parquet or .jsonl  [default: JSON lines, shown]",
)
@click.option(
    "--similar", metavar="TEXT", help="Show the texts that are most like this one instead."
)
@click.option("--top", type=COUNT, default=10, help="Texts that --similar shows.")
@click.option(
    "--dimensions",
    type=COUNT,
    help="First numbers of each vector to keep, such as 64 or 128, which a model of --task "
    "embed learned to need alone  [default: all]",
)
@checkpoint_option
@quiet_option("Print the results and errors only.")
@debug_option
def embed_command(model: Path, source: str, console: Console, **values: Any) -> None:
    """Turn texts into vectors of length 1, a row for each, in their order.

    MODEL is best one of finetune --task embed; of any other run, export or fine-tuned model
    a vector is the mean of its tokens. FILE has a text in each line, or is a table; without
    it standard input is read.
    The product of two vectors says how alike their texts are.
    """
    take_jax(console)
    import numpy as np

    from cli.support.task_data import say_lost

    output, similar = values["output"], values["similar"]
    if output is not None and similar is not None:
        raise SettingError(
            f"--output: {output} is not for --similar, which shows texts; leave one of them out."
        )
    if output is not None and output.suffix not in _ENDINGS:
        raise SettingError(
            f"--output: {output} does not end with one of {', '.join(_ENDINGS)}; give another one."
        )
    if source == _STANDARD_INPUT:
        refuse_given("text_column", why="names a column of FILE; give that too.")
    if similar is None:
        refuse_given("top", why="is for --similar; give that too.")
    check_output(output, source)
    # Before libraries are loaded for some seconds.
    examples = texts_of(source, say=console.say, flags=values)
    found = open_model(model, which=values["checkpoint"], say=console.say)
    texts = [example.text for example in examples]
    given = found.rows_of(texts if similar is None else [similar, *texts])
    say_lost(given, found.embedder.record, say=console.say)
    vectors = []
    with console:
        console.start("", total=len(given.rows), unit="texts")
        for first in range(0, len(given.rows), _AT_ONCE):
            some = given.rows[first : first + _AT_ONCE]
            vectors.append(found.vectors_of(some, dimensions=values["dimensions"]))
            console.advance(len(some))
    matrix = np.concatenate(vectors)
    if similar is not None:
        likeness = matrix[1:] @ matrix[0]
        for place in np.argsort(-likeness, kind="stable")[: values["top"]]:
            click.echo(f"{likeness[place]:.4f}  {printable(' '.join(texts[place].split()))}")
    elif output is None:
        click.echo(written(examples, matrix, ending=".jsonl").decode(), nl=False)
    else:
        with whole_file(output) as file:
            file.write(written(examples, matrix, ending=output.suffix))
        console.say(f"{output}: {len(matrix):,} vectors of {matrix.shape[1]} numbers")


def texts_of(source: str, *, say: Say, flags: dict[str, Any]) -> list[TaskExample]:
    """The texts of a file, or the lines of standard input; empty ones too."""
    from cli.support.task_data import decoded, read_unlabelled, typed_lines
    from pipeline.core.documents import list_reasons

    if source != _STANDARD_INPUT:
        spec = TaskSpec(name="embed", kind="embed")
        file = read_unlabelled(source, spec, say=say, flags=flags)
        lost = {reason: n for reason, n in file.counts.items() if reason.endswith("left out")}
        if lost and flags["output"] is not None and flags["output"].suffix == ".npy":
            raise SettingError(
                f"{source}: {list_reasons(lost)}; vectors in a .npy have no ids that tell which; "
                "correct these rows, or give another --output (.parquet or .jsonl)."
            )
        if file.examples[0].text_pair is not None:
            say("Of each row the first text is embedded; --text-column names another one.")
        return file.examples
    lines = typed_lines("There is nothing to embed; give a FILE, or send lines of text.")
    return [
        TaskExample(
            id=str(number),
            place="",
            text=decoded(line, what=f"Line {number + 1} of standard input"),
        )
        for number, line in enumerate(itertools.chain.from_iterable(lines))
    ]


def written(examples: list[TaskExample], matrix: "np.ndarray[Any, Any]", *, ending: str) -> bytes:
    """Vectors `[N, H]` as a file with one of the `_ENDINGS` has them."""
    import numpy as np

    file = io.BytesIO()
    if ending == ".npy":
        np.save(file, matrix)
    elif ending == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        rows = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
        columns = {
            "id": [example.id for example in examples],
            "text": [example.text for example in examples],
            "vector": rows,
        }
        parquet.write_table(pa.table(columns), file)
    else:
        for example, vector in zip(examples, matrix.tolist(), strict=True):
            file.write(json.dumps({"id": example.id, "vector": vector}).encode() + b"\n")
    return file.getvalue()
