"""Many runs of one task: with several seeds, and with several values of settings."""

import dataclasses
import itertools
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from albert_tf.finetuning.task_worth import shown
from schemas.config import plain_type
from schemas.errors import AlbertError, SettingError
from schemas.finetune_config import FineTuneConfig
from schemas.json_file import read_json
from schemas.json_shape import ANY_NUMBER, TEXT, Each, problem
from schemas.layout import TASK_RUNS
from schemas.report import Table

_SHAPE: Any = {
    "metric": TEXT,
    "settings": [
        {
            "setting": TEXT,
            "median": ANY_NUMBER,
            "least": ANY_NUMBER,
            "most": ANY_NUMBER,
            "values": [ANY_NUMBER],
            "best": TEXT,
        }
    ],
    "baselines": Each(TEXT, Each(TEXT, ANY_NUMBER)),
}


class Variant(NamedTuple):
    """One run of several.

    Attributes:
        setting: What it has that others have not, as `learning_rate=0.0001`; "" where
            only the seed differs.
        folder: Of the run, below that of all.
        config: Its settings.
    """

    setting: str
    folder: str
    config: FineTuneConfig


def variants(
    config: FineTuneConfig, sweeps: Sequence[str], *, runs: int
) -> list[Variant]:
    """The runs that are asked for: every combination of values, with every seed.

    Args:
        config: The settings of all.
        sweeps: Each a field with its values, as `learning_rate=1e-5,3e-5`.
        runs: How many seeds, from that of the settings on.

    Raises:
        SettingError: There is no such field, it cannot have such a value, or a field or
            a value is given twice.

    >>> found = variants(FineTuneConfig(seed=7), ["epochs=1,3"], runs=2)
    >>> [each.folder for each in found]
    ['epochs=1/run-1', 'epochs=1/run-2', 'epochs=3/run-1', 'epochs=3/run-2']
    >>> [(each.config.epochs, each.config.seed) for each in found]
    [(1, 7), (1, 8), (3, 7), (3, 8)]
    """
    fields = [_swept(sweep) for sweep in sweeps]
    _check_differ(fields)
    found = []
    for values in itertools.product(*(values for _, values in fields)):
        changes = {name: v for (name, _), v in zip(fields, values, strict=True)}
        setting = ",".join(f"{name}={value}" for name, value in changes.items())
        for number in range(runs):
            changed = dataclasses.replace(config, **changes)
            seeded = dataclasses.replace(changed, seed=changed.seed + number)
            parts = [setting, f"run-{number + 1}"] if setting else [f"run-{number + 1}"]
            found.append(Variant(setting, "/".join(parts), seeded))
    return found


def swept_field(sweep: str) -> str:
    """The field of a sweep, whether there is one of that name or not.

    >>> swept_field("learning-rate=1e-5,3e-5")
    'learning_rate'
    """
    return sweep.partition("=")[0].replace("-", "_")


def _swept(sweep: str) -> tuple[str, list[Any]]:
    """The field of a sweep and its values."""
    name, listed = swept_field(sweep), sweep.partition("=")[2]
    kinds = {f.name: plain_type(f.type) for f in dataclasses.fields(FineTuneConfig)}
    if name not in kinds or not listed:
        raise SettingError(
            f"--sweep {sweep!r:.60} is not a setting with its values, such as "
            f"learning_rate=1e-5,3e-5; the settings are {', '.join(kinds)}."
        )
    kind = kinds[name] if kinds[name] in (int, float, bool) else str
    try:
        if kind is bool:
            names = {"true": True, "false": False}
            return name, [names[value] for value in listed.split(",")]
        return name, [kind(value) for value in listed.split(",")]
    except (KeyError, ValueError):
        raise SettingError(
            f"--sweep {sweep!r:.60}: {name} must be of type {kind.__name__}."
        ) from None


def _check_differ(fields: Sequence[tuple[str, list[Any]]]) -> None:
    """Refuse a field or a value that is given twice: its runs would be the same."""
    names = [name for name, _ in fields]
    for name, values in fields:
        if names.count(name) > 1:
            raise SettingError(
                f"--sweep {name} is given twice; give all of its values at once, as "
                f"{name}=A,B."
            )
        if len(set(values)) < len(values):
            raise SettingError(f"--sweep {name} has a value twice; leave one out.")


def summary(
    found: Sequence[Variant], results: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """What came out of all runs, the best setting first by its median.

    Args:
        found: The runs.
        results: What `eval.json` of each says.
    """
    metric = results[0]["metric"]
    by_setting: dict[str, list[tuple[float, str]]] = {}
    for variant, result in zip(found, results, strict=True):
        pair = (result["metrics"][metric], variant.folder)
        by_setting.setdefault(variant.setting, []).append(pair)
    settings: list[dict[str, Any]] = []
    for setting, pairs in by_setting.items():
        values = [value for value, _ in pairs]
        settings.append(
            {
                "setting": setting,
                "median": statistics.median(values),
                "least": min(values),
                "most": max(values),
                "values": values,
                "best": max(pairs)[1],
            }
        )
    settings.sort(key=lambda row: -row["median"])
    return {
        "metric": metric,
        "settings": settings,
        "baselines": results[0]["baselines"],
    }


def read_summary(folder: Path) -> dict[str, Any]:
    """What `runs.json` says.

    Raises:
        AlbertError: It cannot be read, or is not as it was written.
    """
    path = folder / TASK_RUNS
    found = read_json(path)
    if wrong := problem(found, _SHAPE):
        raise AlbertError(f"{path}: {wrong}; put the file back as it was written.")
    return found


def settings_table(found: Mapping[str, Any]) -> Table:
    """What came out of all runs, the best setting first.

    Args:
        found: What `runs.json` says.
    """
    names = ("median", "least", "most")
    return Table(
        title=f"Settings by {found['metric']}",
        columns=("setting", "runs", *names, "best run"),
        rows=tuple(
            (
                row["setting"] or "as given",
                len(row["values"]),
                *(shown(row[name]) for name in names),
                row["best"],
            )
            for row in found["settings"]
        ),
    )
