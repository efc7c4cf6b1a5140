"""`albert order`: which of two passages comes first."""

import json
from pathlib import Path

import click

from cli.console import Console
from schemas.errors import AlbertError


@click.command(
    epilog='Example:  albert order run "She opened the letter." "Then she read it."'
)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("first")
@click.argument("second")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Do not say that passages were cut.")
@click.option("--debug", is_flag=True, help="Show where an error happened.")
def order(
    model: Path, first: str, second: str, as_json: bool, quiet: bool, debug: bool
) -> None:
    """Say which of two passages comes first.

    MODEL is a run or an export whose sentence task is sop. Of passages that together
    are too long for it, the end of FIRST and the beginning of SECOND are compared.
    """
    from cli.asked_model import open_model, vocabulary_for_text
    from pipeline.passages import pair_passages

    tokenizer = vocabulary_for_text(model)
    asked = open_model(model, tokenizer)
    task = asked.model.config.sentence_task
    if task != "sop":
        raise AlbertError(
            f"{model} has no sentence-order head: its sentence task is {task}; give a "
            "model trained on pairs of --sentence-task sop."
        )
    pair = pair_passages(first, second, tokenizer, max_seq_length=asked.max_seq_length)
    if pair.pieces_read != pair.pieces:
        Console(quiet=quiet).say(
            f"The passages are longer than the {asked.max_seq_length} pieces that the "
            f"model reads: compared are the last {pair.pieces_read[0]} of FIRST's "
            f"{pair.pieces[0]} and the first {pair.pieces_read[1]} of SECOND's "
            f"{pair.pieces[1]}."
        )
    from albert_tf.predictions import in_order_probability

    probability = in_order_probability(asked.model, pair.input_ids)
    answer = {
        "in_order": probability >= 0.5,
        "probability_in_order": probability,
        "pieces": pair.pieces,
        "pieces_read": pair.pieces_read,
    }
    click.echo(json.dumps(answer) if as_json else shown(probability))


def shown(probability: float) -> str:
    """The answer for a person.

    >>> shown(0.25)
    'SECOND comes first: 75.0 % sure.'
    """
    name = "FIRST" if probability >= 0.5 else "SECOND"
    return f"{name} comes first: {100 * max(probability, 1 - probability):.1f} % sure."
