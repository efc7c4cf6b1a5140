"""Whether a run has anything left to do, told from its files without TensorFlow."""

import json
from pathlib import Path

from albert_tf.checkpoints import newest_state
from albert_tf.metrics import read_metrics
from schemas.errors import AlbertError
from schemas.layout import DATA_MANIFEST, EVAL


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
        held_out = any(
            shard["examples"] and shard["name"].startswith(f"{EVAL}/")
            for shard in manifest["shards"]
        )
        lines = read_metrics(run)
    except (OSError, ValueError, KeyError, TypeError, AlbertError):
        return None
    is_evaluated = any((e["step"], e["split"]) == (step, EVAL) for e in lines)
    return step if is_evaluated or not held_out else None
