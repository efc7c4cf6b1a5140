"""What `state.json` of a checkpoint says, refused where it cannot be true."""

import math
from typing import Any

from albert_tf.runs.metrics import Sums

# Whole numbers of a state, with the least that each can be.
_COUNTS = {"step": 0, "examples": 0, "micro_batch_size": 1, "window_steps": 0}
# Times in seconds.
_TIMES = ("seconds", "window_seconds")
# How many sums there are: of pretraining, and the losses and weights of a task.
_SUMS = {"window": len(Sums._fields), "losses": 2}
# What TensorFlow and NumPy count with.
_MAX_COUNT = 2**63 - 1


def check_state(state: dict[str, Any], *, step: int) -> None:
    """Refuse a state that no training has written.

    Args:
        state: A JSON object; only `step` is needed, as an import has no other.
        step: Of the checkpoint, by the name of its folder.

    Raises:
        ValueError: Names the field and its value.
    """
    for name, value in state.items():
        if name in _COUNTS:
            is_valid = _is_count(value, least=_COUNTS[name])
        elif name in _TIMES:
            is_valid = _is_number(value) and value >= 0
        elif name == "unpadded":
            is_valid = isinstance(value, bool)
        elif name == "landmark":
            is_valid = _is_landmark(value, examples=state.get("examples", 0))
        else:
            is_valid = name in _SUMS and _is_sums(value, number=_SUMS[name])
        if not is_valid:
            raise ValueError(f"{name} is {_shortened(value)}")
    if state.get("step") != step:
        raise ValueError(f"its step is {state.get('step')} and not {step}")


def _is_count(value: Any, *, least: int) -> bool:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return is_whole and least <= value <= _MAX_COUNT


def _is_landmark(value: Any, *, examples: int) -> bool:
    """Whether a value can be an epoch, a group and the examples that come before."""
    is_list = isinstance(value, list) and len(value) == 3
    counts = is_list and all(_is_count(number, least=0) for number in value)
    return counts and value[-1] <= examples


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return _is_count(value, least=-_MAX_COUNT)


def _is_sums(value: Any, *, number: int) -> bool:
    """Whether a value can be this many sums over the steps since a line of metrics."""
    is_list = isinstance(value, list) and len(value) == number
    return is_list and all(map(_is_number, value))


def _shortened(value: Any, *, most: int = 40) -> str:
    """A value for a sentence.

    >>> _shortened([1, "a"])
    "[1, 'a']"
    """
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."
