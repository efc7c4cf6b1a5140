"""Whether a run has anything left to do, told from its files without TensorFlow."""

import json
from pathlib import Path
from typing import Any

from albert_tf.checkpoints import newest_state
from schemas.layout import DATA_MANIFEST, METRICS


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
    except (OSError, ValueError, KeyError, TypeError):
        return None
    is_evaluated = any((e["step"], e["split"]) == (step, "eval") for e in lines)
    return step if is_evaluated or not held_out else None


def read_metrics(run: Path) -> list[dict[str, Any]]:
    """The whole lines of a run's metrics; a last one cut off by a kill is left out."""
    path = run / METRICS
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    return [json.loads(line) for line in whole.splitlines()]
