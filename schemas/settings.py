"""What a setting is: help, bounds and type; how values are held against these.

Also the settings that are gone: the value that had no effect, and what to use instead.
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Container
from typing import Any, NamedTuple, TypeVar

from schemas.errors import SettingError

Config = TypeVar("Config")

# Every number in a setting is less than this, so that 64 bits can hold it.
MAX_NUMBER = 2**63


def option(
    default: Any,
    help: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    changes_result: bool = True,
) -> Any:
    """A field with its default, its help text and its bounds (both inclusive).

    Args:
        changes_result: False for what may differ when a run is continued.
    """
    metadata = {
        "help": help,
        "minimum": minimum,
        "maximum": maximum,
        "changes_result": changes_result,
    }
    return dataclasses.field(default=default, metadata=metadata)


def same_as(config_class: type, field_name: str, *, default: Any = dataclasses.MISSING) -> Any:
    """A field that another config has too, with its own default or required."""
    (field,) = (f for f in dataclasses.fields(config_class) if f.name == field_name)
    return dataclasses.field(default=default, metadata=field.metadata)


def deciding(config: Any) -> dict[str, Any]:
    """The settings of a config that decide the result, by name."""
    return {
        field.name: getattr(config, field.name)
        for field in dataclasses.fields(config)
        if field.metadata["changes_result"]
    }


def flag_name(field_name: str) -> str:
    """The flag of a field.

    >>> flag_name("max_seq_length")
    '--max-seq-length'
    """
    return "--" + field_name.replace("_", "-")


def plain_type(annotation: Any) -> Any:
    """The type of a field without its `| None`.

    >>> plain_type(int | None)
    <class 'int'>
    """
    if isinstance(annotation, types.UnionType):
        (annotation,) = (t for t in annotation.__args__ if t is not type(None))
    return annotation


def check_bounds(config: Any, *, named: Callable[[str], str] = flag_name) -> None:
    """Refuse a value outside the bounds or choices of its field.

    Args:
        named: What a message calls a field: its flag, where it has one.
    """
    for field in dataclasses.fields(config):
        value, metadata = getattr(config, field.name), field.metadata
        if value is None:
            continue
        minimum, maximum = metadata["minimum"], metadata["maximum"]
        choices = typing.get_args(plain_type(field.type))
        if choices and value not in choices:
            rule = f"one of {', '.join(choices)}"
        elif minimum is not None and not value >= minimum:
            rule = f"at least {minimum}"
        elif maximum is not None and not value <= maximum:
            rule = f"at most {maximum}"
        elif isinstance(value, int | float) and not abs(value) < MAX_NUMBER:
            rule = f"less than {MAX_NUMBER}"
        else:
            continue
        raise SettingError(f"{named(field.name)} must be {rule}, not {value!r:.60}.")


def check_micro_batch(micro_batch_size: int | None, *, batch_size: int) -> None:
    """Refuse micro-batches that are larger than a batch."""
    if micro_batch_size is not None and micro_batch_size > batch_size:
        raise SettingError(
            f"--micro-batch-size must be at most --batch-size {batch_size}, not {micro_batch_size}."
        )


def config_from_dict(config_class: type[Config], values: dict[str, Any]) -> Config:
    """A config from a JSON object whose keys are the names of its fields."""
    check_names_and_types(config_class, values)
    return config_class(**values)


def check_names_and_types(config_class: type[Any], values: dict[str, Any]) -> None:
    """Refuse a JSON object whose keys or values are not those of a config."""
    fields = {f.name: f for f in dataclasses.fields(config_class)}
    for name, value in values.items():
        if name not in fields:
            raise SettingError(f"{name!r} is not a setting; the settings are {', '.join(fields)}.")
        check_type(name, value, fields[name].type)


def check_type(name: str, value: Any, annotation: Any) -> None:
    """Refuse a JSON value of another type than its field has."""
    expected = plain_type(annotation)
    if value is None and expected is not annotation:
        return
    if typing.get_args(expected):
        expected = str
    allowed = (int, float) if expected is float else expected
    if not isinstance(value, allowed) or (isinstance(value, bool) and expected is not bool):
        raise SettingError(f"{name} must be of type {expected.__name__}, not {value!r:.60}.")


class Gone(NamedTuple):
    """A setting that an older `config.json` may still name.

    Attributes:
        neutral: The value with which it had no effect; null says that none was given.
        remedy: What to do instead of another value, as a clause.
    """

    neutral: Any
    remedy: str


_ANEW = "leave it out and begin a new run"

# By the command that wrote the file.
GONE: dict[str, dict[str, Gone]] = {
    "vocab": {
        "character_coverage": Gone(
            0.99995, "leave it out and give another --output: the coverage is 0.99995"
        )
    },
    "pretrain": {
        "causal_share": Gone(0.0, f"{_ANEW}: every step predicts masked tokens"),
        "skip_corrupt": Gone(False, "leave it out: albert make-data makes a damaged file again"),
        "keep_optimizer": Gone(
            False,
            f"{_ANEW}, with a schedule such as --max-seq-length 128:0.9,512 to train "
            "on several lengths in one run",
        ),
        "init_checkpoint": Gone("latest", f"{_ANEW}: --init-from takes the latest checkpoint"),
        "max_ngram": Gone(None, f"{_ANEW} on data made with --max-ngram"),
        "short_seq_prob": Gone(None, f"{_ANEW} on data made with --short-seq-prob"),
    },
    "finetune": {
        "runs": Gone(1, "leave it out and run the command once for each --seed"),
        "sweep": Gone([], "leave it out and run the command once for each value"),
    },
}


def without_gone(
    values: dict[str, Any], *, command: str, known: Container[str], place: object
) -> tuple[dict[str, Any], list[str]]:
    """The settings of a file that there still are, and the names of those ignored.

    >>> old = {"steps": 7, "causal_share": 0.0}
    >>> without_gone(old, command="pretrain", known=("steps",), place="config.json")
    ({'steps': 7}, ['causal_share'])
    """
    gone = {n: rule for n, rule in GONE.get(command, {}).items() if n not in known}
    named = {n: values[n] for n in gone if values.get(n) is not None}
    for name, value in named.items():
        if value != gone[name].neutral:
            raise SettingError(
                f"{place}: {name} is {value!r:.60}, and the setting is gone; {gone[name].remedy}."
            )
    return {n: v for n, v in values.items() if n not in gone}, list(named)
