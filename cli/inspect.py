"""`albert inspect`: what a data set is, and whether it is whole."""

import itertools
from pathlib import Path

import click

from schemas.errors import AlbertError
from schemas.layout import EVAL, TRAIN
from schemas.manifest import read_manifest


@click.command(epilog="Example:  albert inspect data --examples 2 --verify")
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--examples",
    default=3,
    show_default=True,
    type=click.IntRange(min=0),
    help="Examples to show.",
)
@click.option(
    "--split",
    default=TRAIN,
    show_default=True,
    type=click.Choice([TRAIN, EVAL]),
    help="Where the examples are taken from.",
)
@click.option(
    "--verify",
    is_flag=True,
    help="Hash every file again and hold every record against the feature table.",
)
@click.option("--debug", is_flag=True, help="Show where an error happened.")
def inspect(data: Path, examples: int, split: str, verify: bool, debug: bool) -> None:
    """Show what a data set is, with examples.

    A masked piece stands in brackets, [MASK] or what replaced it; below it the text is
    restored, with what was masked in guillemets.
    """
    from pipeline.dataset import data_card
    from pipeline.example_view import show_example
    from pipeline.tokenizer import load_tokenizer, read_model
    from pipeline.verification import read_examples
    from pipeline.verification import verify as find_problems

    manifest = read_manifest(data)
    if verify:
        problems = list(find_problems(data, manifest))
        for problem in problems:
            click.echo(problem)
        if problems:
            raise AlbertError(f"{data} is damaged; make it again with --overwrite.")
    click.echo(data_card(manifest))
    tokenizer = load_tokenizer(read_model(data))
    if examples and not any(f.examples for f in manifest.shard_files(split, 0)):
        click.echo(f"{data} has no examples in its {split} split.")
    records = read_examples(data, manifest, split=split, copy=0)
    for features in itertools.islice(records, examples):
        task = manifest.config.sentence_task
        click.echo(show_example(features, tokenizer.piece, task=task) + "\n")
    if verify:
        click.echo(f"{data} is whole: {len(manifest.shards)} files verified.")
