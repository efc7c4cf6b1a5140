"""The flags that begin with a set of settings: --recipe and --budget."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from cli.support.options import Duration, is_given
from schemas.config import OF_FIRST_WEIGHTS, TrainConfig
from schemas.phases import SETTINGS
from schemas.presets import BUDGET_RECIPE, RECIPES

Command = TypeVar("Command", bound=Callable[..., Any])

# Where a command keeps what its recipe says, and its name if one was typed.
RECIPE_KEY, RECIPE_NAME_KEY = "albert.recipe", "albert.recipe_name"


def recipe_option(
    recipes: Mapping[str, dict[str, Any]], *, help: str, default: str | None = None
) -> Callable[[Command], Command]:
    """The flag that names a set of settings.

    Args:
        recipes: Settings other than the defaults, by name.
        help: One sentence for `--help`.
        default: The name where none is given; None for the defaults.
    """

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


def named_recipe() -> str | None:
    """The value of --recipe, if one was typed."""
    name: str | None = click.get_current_context().meta.get(RECIPE_NAME_KEY)
    return name


def budget_option(*, help: str) -> Callable[[Command], Command]:
    """The flag that leaves model and settings to the program, for a time.

    Args:
        help: One sentence for `--help`.
    """
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
        recipe: Settings other than the defaults.
        has_documents: Whether examples are made on the fly.
        begins_anew: Whether no weights are there to begin with.

    >>> useful({"batch_size": 32, "masked_lm_prob": "0.4"}, has_documents=False)
    {'batch_size': 32}
    """
    useless: set[str] = set() if has_documents else set(SETTINGS)
    if not begins_anew:
        useless.update(OF_FIRST_WEIGHTS)
    return {name: value for name, value in recipe.items() if name not in useless}


def fitting_recipe(
    config: TrainConfig, *, has_documents: bool, begins_anew: bool
) -> TrainConfig:
    """The settings without those of the recipe that have no use here.

    Args:
        config: As the flags and the recipe say.
        has_documents: Whether examples are made on the fly.
        begins_anew: Whether no weights are there to begin with.
    """
    recipe = click.get_current_context().meta.get(RECIPE_KEY, {})
    kept = useful(recipe, has_documents=has_documents, begins_anew=begins_anew)
    left_out = {
        name: getattr(TrainConfig, name)
        for name in recipe
        if name not in kept and is_of_recipe(name)
    }
    return dataclasses.replace(config, **left_out)


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
