"""`albert evaluate`: how good a run is on held-out text."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from cli.support.asked_model import (
    checkpoint_option,
    other_sentence_task,
    untrained_positions,
)
from cli.support.console import Console, silent_stderr
from cli.support.options import UserPath
from schemas.config import Precision
from schemas.manifest import read_manifest

if TYPE_CHECKING:
    from albert_tf.runs.checkpoints import Which
    from albert_tf.runs.metrics import Metrics


@click.command(epilog="Example:  albert evaluate run --data data")
@click.argument("run", type=UserPath(path_type=Path))
@click.option(
    "--data",
    required=True,
    type=UserPath(path_type=Path),
    help="Data set made with the same vocabulary; its held-out split is used.",
)
@click.option(
    "--eval-examples",
    type=click.IntRange(min=1),
    help="Maximum number of examples to evaluate on  [default: all]",
)
@click.option(
    "--precision",
    type=click.Choice(get_args(Precision)),
    help="Number format of the computation  [default: that of the run, whose own "
    "evaluations are in it]",
)
@checkpoint_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--debug", is_flag=True, help="Show where an error happened.")
def evaluate(
    run: Path,
    data: Path,
    eval_examples: int | None,
    precision: Precision | None,
    checkpoint: "Which",
    as_json: bool,
    quiet: bool,
    debug: bool,
) -> None:
    """Measure a run on held-out text.

    The masks of the held-out split of any data set are fixed, so that runs compare.
    """
    from albert_tf.runs.run_record import run_config

    config, manifest = run_config(run), read_manifest(data)
    for notes in (untrained_positions, other_sentence_task):
        for line in notes(run, config, manifest, data=data):
            Console(quiet=quiet).say(line)
    with silent_stderr():
        from albert_tf.training.evaluation import evaluate as measure

    with Console(quiet=quiet) as console:
        metrics = measure(
            run,
            data=data,
            eval_examples=eval_examples,
            which=checkpoint,
            precision=precision,
            progress=console,
        )
    click.echo(json.dumps(metrics) if as_json else table(metrics))


def table(metrics: "Metrics") -> str:
    """Metrics for a person.

    >>> print(table({"step": 7, "mlm_loss": 5.25, "sentence_loss": None}))
    step             7
    mlm_loss         5.2500
    sentence_loss    none
    """
    from albert_tf.runs.metrics import metric_text

    width = max(map(len, metrics)) + 4
    return "\n".join(f"{n:{width}}{metric_text(n, v)}" for n, v in metrics.items())
