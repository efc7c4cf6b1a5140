"""`albert plan`: what a run will take, before it is begun."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cli import STARTED
from cli.support.asked import (
    BUDGET_RECIPE,
    RECIPES,
    Asked,
    apply_recipe,
    check_beside_budget,
    model_options,
    resolve_model,
    take_jax,
    useful,
)
from cli.support.budget import budget_lines, budget_table, choose_model, models_to_choose_from
from cli.support.console import Console, silent_stderr
from cli.support.inputs import data_here
from cli.support.options import (
    FOLDER_ANYWHERE,
    Duration,
    config_options,
    debug_option,
    flag_time,
    is_given,
    json_option,
    refuse_given,
)
from pipeline.storage.output_folder import unused
from schemas.config import DataConfig, TrainConfig, flag_name
from schemas.errors import SettingError
from schemas.files import Values
from schemas.layout import TRAIN
from schemas.manifest import read_manifest
from schemas.readable import duration, percent, prefixed, rounded
from schemas.report import Section, Table, as_text

# What the data set decides.
DATA_FIELDS = ("max_seq_length", "max_predictions_per_seq")

# The settings of training that a plan depends on.
TRAIN_FIELDS = ("batch_size", "steps", "precision")

Show = Callable[[float], str]


@click.command(epilog="Example:  albert plan --model large --measure")
@model_options
@click.option(
    "--data",
    type=FOLDER_ANYWHERE,
    help="Data set to take the vocabulary, sentence task and both lengths from, here "
    "or on storage such as s3://bucket/data.",
)
@config_options(DataConfig, only=DATA_FIELDS)
@config_options(TrainConfig, only=TRAIN_FIELDS)
@click.option(
    "--measure",
    is_flag=True,
    help="Estimate the time on this machine: a few steps of the model are timed now.",
)
@click.option(
    "--budget",
    type=Duration(),
    help="Say what albert pretrain would choose for this much time on this machine, "
    "such as 1h or 24h, and what to expect: steps of a few shapes are timed now.",
)
@json_option()
@debug_option
def plan_command(data: Path | str | None, measure: bool, as_json: bool, **values: Any) -> None:
    """Estimate what training takes: parameters, operations, memory, time.

    Beside each figure is that of the BERT of the same shape, which shares no weights
    and whose embeddings are as wide as its layers: sharing saves parameters, not
    computation.
    """
    as_given = str(data)
    if isinstance(data, str):
        # Steps of a budget are timed on records, the rest takes the manifest alone.
        wanted = None if values["budget"] is not None else lambda _: ()
        data = data_here(data, Console(quiet=True), choose=wanted)
    if values["budget"] is None:
        figures = figures_of(data, values, is_measured=measure)
        click.echo(json.dumps(figures) if as_json else figures_table(figures))
        return
    if data is None:
        raise SettingError("--budget plans for a data set; name it with --data.")
    take_jax(Console(quiet=as_json))
    from albert_tf.data.data_check import check_data, check_settings_fit

    check_beside_budget()
    why = "has no effect with --budget; leave one of them out."
    refuse_given("measure", *DATA_FIELDS, why=why)
    manifest = read_manifest(data)
    recipe = RECIPES[BUDGET_RECIPE]
    given = apply_recipe(TrainConfig, values, recipe=recipe)
    names = {*useful(recipe, has_documents=manifest.has_documents), "batch_size", "precision"}
    config = TrainConfig(**{name: values[name] for name in names})
    asked = Asked(
        **{name: values[name] for name in ("model", "overrides", "budget")},
        is_model_given=is_given("model"),
        config=config,
        given=given,
        data=data,
        data_as_given=as_given,
        started=STARTED,
    )
    check_data(manifest, data=data)
    models = models_to_choose_from(asked, manifest)
    # In the fields that are checked all of them are equal.
    check_settings_fit(asked.config, next(iter(models)), manifest, data=data)
    chosen, choice = choose_model(asked, manifest, models, console=Console(quiet=as_json))
    if as_json:
        click.echo(json.dumps(chosen.record))
        return
    lines = budget_lines(choice, begins_anew=True)
    # The command that does what was planned, with the flags that were given.
    words = ["albert", "pretrain", "--budget", flag_time(values["budget"])]
    if asked.is_model_given:
        words += ["--model", asked.model]
    for override in asked.overrides:
        words += ["--set", override]
    for name in ("batch_size", "precision"):
        if name in given:
            words += [flag_name(name), str(getattr(config, name))]
    words += ["--data", as_given, "--output", unused("run")]
    said = "\n".join([*lines, f"Next:  {shlex.join(words)}"])
    click.echo(as_text(Section(parts=(budget_table(choice), said))))


def figures_of(data: Path | None, values: Values, *, is_measured: bool) -> Values:
    """The figures of a run without a budget."""
    if is_measured:
        take_jax(Console(quiet=False))
    from albert_tf.data.data_check import check_has_training_examples, check_model_fits
    from albert_tf.planning import cost

    manifest = read_manifest(data) if data is not None else None
    config = resolve_model(values["model"], values["overrides"], manifest)
    if data is None or manifest is None:
        shape = {name: values[name] for name in DATA_FIELDS}
        examples = DataConfig(**shape).resolved(input_bytes=0)
        length = examples.max_seq_length
        if length > config.max_position_embeddings:
            raise SettingError(
                f"--max-seq-length must be at most the model's max_position_embeddings "
                f"{config.max_position_embeddings}, not {length}; give "
                f"--set max_position_embeddings={length}."
            )
    else:
        refuse_given(*DATA_FIELDS, why="follows from --data; leave one of them out.")
        check_model_fits(config, manifest, data=data)
        check_has_training_examples(manifest, data=data)
        examples, length = manifest.config, round(manifest.statistics["mean_length"])
    train = TrainConfig(**{name: values[name] for name in TRAIN_FIELDS})
    machines = cost.MACHINES
    if is_measured:
        with silent_stderr():
            from albert_tf.training.timing import step_seconds

            rate = train.batch_size / step_seconds(config, examples, train, length=length)
        predictions = cost.predictions_of(examples, length)
        flops = rate * cost.training_flops(config, length=length, predictions=predictions)
        machines = {
            f"this machine, {rounded(rate)} sequences/s, {prefixed(flops, 'FLOP')}/s": flops
        }
    figures = cost.plan(config, examples, train, machines, length=length)
    if manifest is not None:
        number = manifest.num_examples(TRAIN)
        figures["passes_over_data"] = figures["sequences"] / number
    return figures


def figures_table(figures: Values) -> str:
    """A plan for a person."""
    costs = figures["models"]
    rows = [
        _row(label, [cost[key] for cost in costs.values()], show=show)
        for label, key, show in (
            ("parameters", "parameters", "{:,}".format),
            ("encoder and pooler", "encoder_parameters", "{:,}".format),
            ("forward MFLOP/token", "forward_flops", _mega),
            ("training MFLOP/token", "step_flops", _mega),
            ("  with --recompute", "step_flops_recomputed", _mega),
            ("weights and optimizer", "state_bytes", _bytes),
            ("counting --pmi-embeddings", "counting_bytes", _bytes),
            ("activations of a sequence", "activation_bytes", _bytes),
            ("  with --recompute", "activation_bytes_recomputed", _bytes),
            ("whole run", "training_flops", "{:.2e} FLOP".format),
        )
    ]
    rows += [
        _row(f"  {machine}", [each * 86400 for each in days.values()], show=duration)
        for machine, days in figures["days"].items()
    ]
    longest, mean = figures["max_seq_length"], figures["mean_length"]
    length = f"{longest} tokens"
    if mean < longest:
        length = f"at most {longest} tokens, {mean} on average"
    line = (
        f"{figures['steps']:,} steps of {figures['batch_size']:,} sequences of "
        f"{length}, up to {figures['max_predictions_per_seq']} of them predicted: "
        f"{figures['tokens']:,} tokens"
    )
    if "passes_over_data" in figures:
        line += f", {rounded(figures['passes_over_data'])} times the data set"
    line += f"; {figures['precision']}."
    remarks = [
        "FLOP counts matrix products, a multiplication with its addition as two.",
        "Training takes three forward passes; --recompute adds one of the layers.",
    ]
    if len(costs) == 2:
        (name, ours), (bert, theirs) = costs.items()
        weights = ours["parameters"] / theirs["parameters"]
        work = ours["step_flops"] / theirs["step_flops"]
        remarks += [
            f"{name}: {percent(weights)} of the parameters of {bert}, {percent(work)}",
            "of its computation. Layers that share weights are still computed one by",
            "one; only narrower embeddings save operations.",
        ]
    shown = Table(columns=("", *costs, ""), rows=rows)
    return as_text(Section(parts=(line, shown, "\n".join(remarks))))


def _row(label: str, figures: list[float], *, show: Show) -> tuple[str, ...]:
    """One figure of each model, and the first as a share of the second."""
    has_share = len(figures) == 2 and figures[1]
    share = percent(figures[0] / figures[1]) if has_share else ""
    return (label, *map(show, figures), share)


def _mega(number: float) -> str:
    return f"{number / 1e6:,.1f}"


def _bytes(number: float) -> str:
    mebibytes = number / 2**20
    return f"{mebibytes:.0f} MiB" if mebibytes < 1024 else f"{mebibytes / 1024:.1f} GiB"
