"""`albert order`: which of two passages comes first."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.support.console import Console
from cli.support.options import PATH, debug_option, json_option, quiet_option
from cli.support.trained_model import checkpoint_option, open_model
from schemas.errors import AlbertError
from schemas.readable import percent

if TYPE_CHECKING:
    from albert_tf.runs.checkpoints import Which


@click.command(epilog='Example:  albert order run "She opened the letter." "Then she read it."')
@click.argument("model", type=PATH)
@click.argument("first")
@click.argument("second")
@checkpoint_option
@json_option()
@quiet_option("Print the answer and errors only.")
@debug_option
def order_command(
    model: Path,
    first: str,
    second: str,
    checkpoint: "Which | None",
    as_json: bool,
    console: Console,
) -> None:
    """Say which of two passages comes first.

    MODEL is a run or an export --to hf whose sentence task is sop. If the passages together
    are too long for it, the end of FIRST and the beginning of SECOND are compared.
    """
    from pipeline.encoding.queries import pair_passages

    found = open_model(model, which=checkpoint, say=console.say, needs_head=True)
    trained = found.trained
    if (task := trained.config.sentence_task) != "sop":
        raise AlbertError(
            f"{model} has no sentence-order head: its sentence task is {task}; give a "
            "model trained on pairs of --sentence-task sop."
        )
    pair = pair_passages(first, second, found.tokenizer, max_seq_length=trained.max_seq_length)
    if pair.tokens_read != pair.tokens:
        (first_tokens, second_tokens), (first_read, second_read) = pair.tokens, pair.tokens_read
        console.say(
            f"The passages are longer than the {trained.max_seq_length} tokens that the model "
            f"reads: the last {first_read} of FIRST's {first_tokens} and the first "
            f"{second_read} of SECOND's {second_tokens} are compared."
        )
    from albert_tf.model.trained_model import in_order_probability, pretrainer_of

    pretrainer = pretrainer_of(trained, is_compiled=False)
    probability = in_order_probability(pretrainer, pair.input_ids)
    answer = {
        "in_order": probability >= 0.5,
        "probability_in_order": probability,
        "pieces": pair.tokens,
        "pieces_read": pair.tokens_read,
    }
    click.echo(json.dumps(answer) if as_json else probability_text(probability))


def probability_text(probability: float) -> str:
    """The answer for a person.

    >>> probability_text(0.25)
    'SECOND comes first: 75.0% sure.'
    """
    name = "FIRST" if probability >= 0.5 else "SECOND"
    return f"{name} comes first: {percent(max(probability, 1 - probability))} sure."
