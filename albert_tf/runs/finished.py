"""Whether a run has anything left to do, told from its files without TensorFlow."""

from pathlib import Path

from albert_tf.runs.checkpoints import newest_state
from albert_tf.runs.metrics import read_metrics
from albert_tf.runs.run_record import recorded_manifest
from schemas.errors import AlbertError
from schemas.layout import EVAL


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
        manifest = recorded_manifest(run)
        lines = read_metrics(run)
    except AlbertError:
        return None
    if manifest is None:
        return None
    is_evaluated = any((e["step"], e["split"]) == (step, EVAL) for e in lines)
    return step if is_evaluated or not manifest.num_examples(EVAL) else None
