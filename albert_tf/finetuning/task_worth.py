"""What `eval.json` says of a fine-tuned model, as tables and in sentences."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from schemas.errors import AlbertError
from schemas.json_file import read_json
from schemas.json_shape import COUNT, TEXT, Each, Rule, problem
from schemas.layout import TASK_EVALUATION

# Labels that a table has room for.
_MOST_LABELS = 30

_NUMBER = Rule("a number", lambda value: type(value) in (int, float))
_VALUES = Each(TEXT, _NUMBER)
_SHAPE: Any = {
    "step": COUNT,
    "examples": COUNT,
    "metric": TEXT,
    "metrics": _VALUES,
    "intervals": Each(TEXT, [_NUMBER]),
    "baselines": Each(TEXT, _VALUES),
}


def read_worth(folder: Path) -> dict[str, Any]:
    """What `eval.json` of a fine-tuned model says.

    Raises:
        AlbertError: It is not there yet, or not as it was written.
    """
    path = folder / TASK_EVALUATION
    if not path.exists():
        raise AlbertError(
            f"{folder} is not finished yet; run the same albert finetune again."
        )
    result = read_json(path)
    found = problem(result, _SHAPE)
    if not found and result["metric"] not in result["metrics"]:
        found = f"metrics has no {result['metric']}"
    if found:
        raise AlbertError(f"{path}: {found}; put the file back as it was written.")
    return result


def measures(result: dict[str, Any]) -> Iterator[str]:
    """The measures beside those of guessing, as a table and in words."""
    baselines = result["baselines"]
    yield f"On {result['examples']:,} held-out examples:"
    yield ""
    yield f"| | model | 95 % | {' | '.join(baselines)} |".replace("|  |", "|")
    yield f"|---|--:|:-:|{'--:|' * len(baselines)}"
    for name, value in result["metrics"].items():
        low, high = result["intervals"][name]
        others = "".join(f" {values[name]:.4f} |" for values in baselines.values())
        yield f"| {name} | {value:.4f} | {low:.4f} to {high:.4f} |{others}"
    yield ""
    yield from verdict(result)


def verdict(result: dict[str, Any]) -> Iterator[str]:
    """What the measures say, in sentences."""
    name = result["metric"]
    value = result["metrics"][name]
    guesses = result["baselines"]
    majority = guesses.get("majority", {}).get(name)
    if majority is not None and value <= majority:
        yield (
            f"The model is stuck at the majority: {name} {value:.4f}, and always "
            f"guessing the most frequent gives {majority:.4f}."
        )
    elif guesses.get("words", {}).get(name, value - 1) >= value:
        yield (
            f"Words alone give {guesses['words'][name]:.4f}: the model is no better "
            "than they are."
        )
    if "temperature" in result:
        yield (
            f"Calibration error {result['calibration_error']:.3f}; with logits divided "
            f"by {result['temperature']:.2f} it is "
            f"{result['calibration_error_with_temperature']:.3f}."
        )


def labels(result: dict[str, Any]) -> Iterator[str]:
    """Precision, recall and F1 of each label."""
    if "labels" not in result:
        return
    yield from (
        "| label | precision | recall | F1 | examples |",
        "|---|--:|--:|--:|--:|",
    )
    found = sorted(result["labels"].items(), key=lambda item: -item[1]["support"])
    for name, row in found[:_MOST_LABELS]:
        yield (
            f"| {name} | {row['precision']:.4f} | {row['recall']:.4f} | "
            f"{row['f1']:.4f} | {row['support']:,} |"
        )
    yield ""
