"""Whether a run has anything left to do, told from its files without TensorFlow."""

import json
from pathlib import Path
from typing import Any

from albert_tf.checkpoints import newest_state
from schemas.errors import AlbertError
from schemas.layout import DATA_MANIFEST, EVAL, METRICS, TRAIN


def finished_step(run: Path) -> int | None:
    """The step of a run's newest checkpoint, if it is whole and was evaluated.

    A run whose last step this is has nothing left to do. None for everything else:
    training then finds out what is missing or damaged, and says so.
    """
    state = newest_state(run)
    if state is None:
        return None
    step: int = state["step"]
    try:
        manifest = json.loads((run / DATA_MANIFEST).read_text(encoding="utf-8"))
        held_out = any(s["name"].startswith("eval/") for s in manifest["shards"])
        lines = read_metrics(run)
    except (OSError, ValueError, KeyError, TypeError, AlbertError):
        return None
    is_evaluated = any((e["step"], e["split"]) == (step, "eval") for e in lines)
    return step if is_evaluated or not held_out else None


def read_metrics(run: Path) -> list[dict[str, Any]]:
    """The whole lines of a run's metrics; a last one cut off by a kill is left out.

    Raises:
        AlbertError: The file cannot be read, or a line is not what `pretrain` writes.
    """
    path = run / METRICS
    if not path.exists():
        return []
    try:
        content = path.read_bytes()
    except OSError as error:
        raise AlbertError(f"{path} cannot be read: {error.strerror}.") from error
    whole = content[: content.rfind(b"\n") + 1]
    return [
        _parsed(line, place=f"{path}: line {number}")
        for number, line in enumerate(whole.splitlines(), start=1)
    ]


def _parsed(line: bytes, *, place: str) -> dict[str, Any]:
    """A line with a step, a split, and numbers or nothing for the rest."""
    try:
        metrics: Any = json.loads(line)
    except ValueError:
        metrics = None
    if (
        isinstance(metrics, dict)
        and isinstance(metrics.get("step"), int)
        and metrics.get("split") in (TRAIN, EVAL)
        and all(
            value is None or isinstance(value, int | float)
            for name, value in metrics.items()
            if name != "split"
        )
    ):
        return metrics
    raise AlbertError(
        f"{place} is no line of metrics; remove the line and run the same command "
        "again."
    )
