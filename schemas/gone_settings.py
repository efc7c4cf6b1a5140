"""Settings that are gone: the value that had no effect, and what to use instead."""

from collections.abc import Container
from typing import Any, NamedTuple

from schemas.errors import SettingError


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
        ),
    },
    "pretrain": {
        "causal_share": Gone(0.0, f"{_ANEW}: every step predicts masked tokens"),
        "skip_corrupt": Gone(
            False, "leave it out: albert make-data makes a damaged file again"
        ),
        "keep_optimizer": Gone(
            False,
            f"{_ANEW}, with a schedule such as --max-seq-length 128:0.9,512 to train "
            "on several lengths in one run",
        ),
        "init_checkpoint": Gone(
            "latest", f"{_ANEW}: --init-from takes the latest checkpoint"
        ),
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

    Args:
        known: The settings that it has.
        place: What a refusal calls the file.

    >>> old = {"steps": 7, "causal_share": 0.0}
    >>> without_gone(old, command="pretrain", known=("steps",), place="config.json")
    ({'steps': 7}, ['causal_share'])
    """
    gone = {n: rule for n, rule in GONE.get(command, {}).items() if n not in known}
    named = {n: values[n] for n in gone if values.get(n) is not None}
    for name, value in named.items():
        if value != gone[name].neutral:
            raise SettingError(
                f"{place}: {name} is {value!r:.60}, and the setting is gone; "
                f"{gone[name].remedy}."
            )
    return {n: v for n, v in values.items() if n not in gone}, list(named)
