"""`albert evaluate`: how good a run is on held-out text."""

import json
from pathlib import Path
from typing import Any

import click

from cli.console import silent_stderr


@click.command(epilog="Example:  albert evaluate run --data data")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--data",
    required=True,
    type=click.Path(path_type=Path),
    help="Data set made with the same vocabulary; its held-out split is used.",
)
@click.option(
    "--eval-examples",
    type=click.IntRange(min=1),
    help="Most examples to evaluate on  [default: all]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--debug", is_flag=True, help="Show where an error happened.")
def evaluate(
    run: Path,
    data: Path,
    eval_examples: int | None,
    as_json: bool,
    quiet: bool,
    debug: bool,
) -> None:
    """Measure a run on held-out text.

    The masks of the held-out split of any data set are fixed, so that runs compare.
    """
    with silent_stderr():
        from albert_tf.evaluation import evaluate as measure

    metrics = measure(run, data=data, eval_examples=eval_examples, quiet=quiet)
    click.echo(json.dumps(metrics) if as_json else table(metrics))


def table(metrics: dict[str, Any]) -> str:
    """Metrics for a person.

    >>> print(table({"step": 7, "mlm_loss": 5.25, "sentence_loss": None}))
    step             7
    mlm_loss         5.2500
    sentence_loss    none
    """
    width = max(map(len, metrics)) + 4
    return "\n".join(f"{name:{width}}{_shown(v)}" for name, v in metrics.items())


def _shown(value: float | int | None) -> str:
    if value is None:
        return "none"
    return f"{value:.4f}" if isinstance(value, float) else f"{value:,}"
