"""What `eval.json` says of a fine-tuned model, as tables and in sentences."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from albert_tf.runs.run_record import recorded_settings
from schemas.errors import AlbertError
from schemas.files import read_json, undamaged
from schemas.layout import TASK_EVALUATION
from schemas.report import Table


def shown(value: float) -> str:
    """A measure, to four decimal places.

    >>> shown(-0.00001)
    '0.0000'
    """
    return f"{value:z.4f}"


def read_worth(folder: Path) -> dict[str, Any]:
    """What `eval.json` of a fine-tuned model says."""
    path = folder / TASK_EVALUATION
    if not path.exists():
        if recorded_settings(folder).get("command") == "import":
            raise AlbertError(
                f"{folder} was imported and has no {TASK_EVALUATION}; measure it with "
                "albert evaluate --data FILE instead."
            )
        raise AlbertError(
            f"{folder} is not finished yet; run the same albert finetune again."
        )
    result: dict[str, Any] = read_json(path)
    with undamaged(path, remedy="put the file back as it was written"):
        name = result["metric"]
        _ = result["step"], result["examples"], result["metrics"][name] + 0.0
        for values in (result["metrics"], *result["baselines"].values()):
            _ = [value + 0.0 for value in values.values()]
        for measure in result["metrics"]:
            low, high = result["intervals"][measure]
            _ = low + high
    return result


def measures_table(result: dict[str, Any]) -> Table:
    """The measures with their intervals, beside those of guessing."""
    baselines = result["baselines"]
    rows = []
    for name, value in result["metrics"].items():
        low, high = result["intervals"][name]
        others = (shown(values[name]) for values in baselines.values())
        rows.append((name, shown(value), f"{shown(low)} to {shown(high)}", *others))
    return Table(
        title="Measures",
        columns=("measure", "model", "95 %", *baselines),
        rows=tuple(rows),
    )


def labels_table(result: dict[str, Any]) -> Table | None:
    """Precision, recall and F1 of each label, the most frequent first, if it has any.

    A label of tags that are entities is a type of them, and `all` stands for all types.
    """
    if "labels" not in result:
        return None
    names = ("precision", "recall", "f1")
    found = sorted(result["labels"].items(), key=lambda item: -item[1]["support"])
    return Table(
        title="Labels",
        columns=("label", *names, "examples"),
        rows=tuple(
            (label, *(shown(values[name]) for name in names), values["support"])
            for label, values in found
        ),
        is_folded=True,
    )


def verdict(result: dict[str, Any]) -> Iterator[str]:
    """What the measures say, in sentences."""
    name = result["metric"]
    value = result["metrics"][name]
    guesses = result["baselines"]
    majority = guesses.get("majority", {}).get(name)
    words = guesses.get("words", {}).get(name)
    if majority is not None and value <= majority:
        is_same = result["metrics"] == guesses["majority"]
        relation = "stuck at" if is_same else "no better than"
        yield (
            f"The model is {relation} the majority: {name} {shown(value)}, and always "
            f"giving the same answer scores {shown(majority)}."
        )
    elif words is not None and value <= words:
        yield (
            f"Words alone give {shown(words)}: the model is no better than they are."
        )
    if epochs := result.get("still_improving_after_epochs"):
        yield (
            f"It was still improving at the last step: give --epochs {2 * epochs} "
            f"instead of {epochs}, or a higher --learning-rate."
        )
