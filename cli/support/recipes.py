"""The flags that bring settings: --recipe, --budget."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import click
from click.core import ParameterSource

from cli.support.options import Command, Duration, is_given, is_typed
from schemas.config import BUDGET_RECIPE, OF_FIRST_WEIGHTS, RECIPES, TrainConfig
from schemas.errors import SettingError
from schemas.phases import SETTINGS

# Where a command keeps what its recipe says, and its name if one was typed.
RECIPE_KEY, RECIPE_NAME_KEY = "albert.recipe", "albert.recipe_name"


def recipe_in_use() -> dict[str, Any]:
    """What the recipe of the command says."""
    found: dict[str, Any] = click.get_current_context().meta.get(RECIPE_KEY, {})
    return found


def given_settings(config: TrainConfig) -> frozenset[str]:
    """The settings that flags or the file of --config have, not the recipe alone."""
    return frozenset(
        field.name
        for field in dataclasses.fields(config)
        if field.name in click.get_current_context().params
        and is_given(field.name)
        and not is_of_recipe(field.name)
    )


def check_budget_steps() -> None:
    """Refuse --steps typed with --budget, or in a file beside it."""
    if is_typed("steps") or (is_given("steps") and not is_typed("budget")):
        raise SettingError(
            "--budget chooses the steps; leave out one of --budget and --steps."
        )


def check_beside_budget(*, is_several_hosts: bool) -> None:
    """Refuse flags of a run that a budget does not go with."""
    check_budget_steps()
    if is_several_hosts:
        raise SettingError(
            "--budget measures one machine and cannot choose for several hosts; leave "
            "it out, or give --num-hosts 1."
        )
    name = click.get_current_context().meta.get(RECIPE_NAME_KEY)
    if name not in (None, BUDGET_RECIPE):
        raise SettingError(
            f"--budget uses the recipe {BUDGET_RECIPE}; leave out --budget or --recipe "
            f"{name}."
        )


def recipe_option(
    recipes: Mapping[str, dict[str, Any]], *, help: str, default: str | None = None
) -> Callable[[Command], Command]:
    """The flag that names a set of settings."""

    def take(context: click.Context, _: click.Parameter, name: str | None) -> None:
        """Begin with a recipe, if one is named."""
        if name is not None:
            _begin_with(recipes[name], context)
        if is_given("recipe"):
            context.meta[RECIPE_NAME_KEY] = name

    return click.option(
        "--recipe",
        type=click.Choice(list(recipes)),
        default=default,
        show_default=default is not None,
        is_eager=True,
        expose_value=False,
        callback=take,
        help=f"Settings to start from: {help} Other flags and --config win over it.",
    )


def budget_option(*, help: str) -> Callable[[Command], Command]:
    """The flag that leaves model and settings to the program, for a time."""
    return click.option(
        "--budget",
        type=Duration(),
        is_eager=True,
        callback=_take_budget,
        help=help,
    )


def _take_budget(
    context: click.Context, _: click.Parameter, seconds: float | None
) -> float | None:
    """Begin with the recipe for budgets, if there is one."""
    if seconds is not None:
        _begin_with(RECIPES[BUDGET_RECIPE], context)
    return seconds


def _begin_with(recipe: dict[str, Any], context: click.Context) -> None:
    """Let a recipe override the defaults, and a file of settings the recipe."""
    context.default_map = {**recipe, **(context.default_map or {})}
    context.meta[RECIPE_KEY] = context.meta.get(RECIPE_KEY, {}) | recipe


def useful(
    recipe: Mapping[str, Any], *, has_documents: bool, begins_anew: bool = True
) -> dict[str, Any]:
    """The settings of a recipe that have a use.

    Args:
        has_documents: Whether examples are made on the fly.
        begins_anew: Whether no weights are there to begin with.

    >>> useful({"batch_size": 32, "masked_lm_prob": "0.4"}, has_documents=False)
    {'batch_size': 32}
    """
    useless: set[str] = set() if has_documents else set(SETTINGS)
    if not begins_anew:
        useless.update(OF_FIRST_WEIGHTS)
    return {name: value for name, value in recipe.items() if name not in useless}


def is_of_recipe(name: str) -> bool:
    """Whether a setting is what it is because the recipe says so."""
    context = click.get_current_context()
    recipe = context.meta.get(RECIPE_KEY, {})
    source = context.get_parameter_source(name)
    return (
        source is ParameterSource.DEFAULT_MAP
        and name in recipe
        and context.params[name] == recipe[name]
    )
