"""`albert analyze`: what a trained model is like inside."""

import dataclasses
import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.support.console import Console, silent_stderr
from cli.support.inputs import data_here
from cli.support.options import ANYWHERE, COUNT, FILE, PATH, debug_option, json_option, quiet_option
from cli.support.trained_model import checkpoint_option, open_model, untrained_positions
from schemas.errors import SettingError
from schemas.manifest import read_manifest
from schemas.secrets import without_secrets

if TYPE_CHECKING:
    from albert_tf.evaluation.held_out import LayerSimilarity
    from albert_tf.runs.checkpoints import Which

Measured = dict[Path, "list[LayerSimilarity]"]


@click.group(epilog="Example:  albert analyze layers run --data data")
def analyze_group() -> None:
    """Look inside a trained model."""


@analyze_group.command(
    epilog="Example:  albert analyze layers run other-run --data data --plot layers.svg"
)
@click.argument("model", type=PATH)
@click.argument("model2", required=False, type=PATH)
@click.option(
    "--data",
    required=True,
    type=ANYWHERE,
    help="Data set made with the vocabulary of the models, here or on storage such as "
    "s3://bucket/data; its held-out split is used.",
)
@click.option(
    "--eval-examples",
    default=200,
    type=COUNT,
    help="Maximum number of held-out examples to measure on.",
)
@checkpoint_option
@click.option("--plot", type=FILE, help="Also draw the figure, to an .svg or .png file.")
@json_option()
@quiet_option("Show no progress.")
@debug_option
def layers(
    model: Path,
    model2: Path | None,
    data: Path | str,
    eval_examples: int,
    checkpoint: "Which | None",
    plot: Path | None,
    as_json: bool,
    console: Console,
) -> None:
    """Compare the input and output of each layer, as in Figure 1 of the paper.

    Prints the L2 distance, the cosine similarity and its angle in degrees for every
    layer, averaged over the pieces of held-out text. MODEL and MODEL2 are runs or
    exports --to hf; given both, their layers are printed side by side.
    """
    if plot is not None:
        from cli.report.plots import check_can_draw, draw_layers

        check_can_draw(plot)
    paths = [model] if model2 is None else [model, model2]
    if len(set(paths)) < len(paths):
        raise SettingError(f"{model} is given twice; give another MODEL2, or none.")
    here = data_here(data, console)
    manifest = read_manifest(here)
    # All models are checked before the first is measured.
    opened = {
        path: open_model(path, which=checkpoint, say=console.say, needs_head=True).trained
        for path in paths
    }
    with silent_stderr():
        from albert_tf.data.data_check import check_model_fits, check_same_vocabulary
        from albert_tf.data.input_pipeline import Records
        from albert_tf.evaluation.held_out import held_out_examples, layer_similarities
        from albert_tf.model.trained_model import pretrainer_of
    models = {}
    for path, trained in opened.items():
        check_same_vocabulary(manifest, run=path, data=here)
        check_model_fits(trained.config, manifest, data=here)
        console.say(*untrained_positions(trained, manifest, data=here))
        models[path] = pretrainer_of(trained)
    records = Records(here, manifest)
    examples = held_out_examples(records, maximum=eval_examples)
    with console:
        console.start("measuring", total=examples * len(models))
        measured = {
            path: layer_similarities(each, records, examples=examples, progress=console)
            for path, each in models.items()
        }
    if plot is not None:
        draw_layers(measured, plot)
    if as_json:
        found = [
            {"model": str(path), "layers": [*map(dataclasses.asdict, rows)]}
            for path, rows in measured.items()
        ]
        click.echo(json.dumps({"examples": examples, "models": found}))
    else:
        of_data = f"{examples:,} held-out examples of {data}"
        click.echo(f"{layers_table(measured)}\n{without_secrets(of_data)}")


def layers_table(measured: Measured) -> str:
    """What was measured, for a person: a line a layer, the models side by side."""
    heading = f"{'L2 distance':>14}{'cosine':>9}{'degrees':>10}"
    names = [name if len(name) <= 30 else f"...{name[-27:]}" for name in map(str, measured)]
    lines = [
        "layer" + "".join(f"{name:>{len(heading)}}" for name in names),
        "     " + heading * len(measured),
    ]
    for number, rows in enumerate(itertools.zip_longest(*measured.values()), start=1):
        cells = (
            f"{row.l2_distance:14.4f}{row.cosine_similarity:9.4f}{row.degrees:10.2f}"
            if row
            else " " * len(heading)
            for row in rows
        )
        lines.append(f"{number:5}" + "".join(cells).rstrip())
    return "\n".join(lines)
