"""Where a run stands: what a person asks of one that goes on, was stopped or has ended."""

import fcntl
import itertools
import shlex
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from albert_tf.runs.checkpoints import newest_state
from albert_tf.runs.metrics import (
    Metrics,
    best_evaluation,
    collapse_warning,
    metrics_text,
    read_metrics,
)
from albert_tf.runs.run_record import (
    finished_step,
    recorded_settings,
    recorded_training,
    run_config,
)
from schemas.config import ResolvedTrainConfig
from schemas.layout import EVAL, LOCK, TRAIN
from schemas.readable import counted, duration

# So many of the newest lines tell how long a step takes.
_RECENT = 20


def standing(run: Path) -> Iterator[str]:
    """What a person asks of a run that goes on, was stopped or has ended."""
    settings, model = recorded_settings(run), run_config(run)
    if settings.get("command") == "import":
        yield f"{run}: a model from another program, not trained here; {model.shape}."
        return
    config = recorded_training(run, settings).resolved()
    lines = read_metrics(run)
    trained = [line for line in lines if line["split"] == TRAIN]
    step = max((line["step"] for line in lines), default=0)
    saved = (newest_state(run) or {"step": 0})["step"]
    # A run that is stopped is saved between two lines of metrics.
    is_live = _is_being_written(run)
    yield (
        f"{run}: {'running, ' * is_live}step {max(step, saved):,} of {config.steps:,}, in "
        f"batches of {config.batch_size:,}; {model.shape}."
    )
    if trained:
        yield f"training:  {metrics_text(trained[-1])}"
    evaluations = [line for line in lines if line["split"] == EVAL]
    if evaluations:
        yield f"held out:  {metrics_text(evaluations[-1])}"
    best = best_evaluation(evaluations)
    if best and best != evaluations[-1]:
        yield f"best:      {metrics_text(best)}"
    if warning := collapse_warning(evaluations):
        yield warning
    yield from _next(run, config, step=step, saved=saved, lines=lines, is_live=is_live)


def _is_being_written(run: Path) -> bool:
    """Whether a process holds the folder of a run, which trains then."""
    try:
        with (run / LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _next(
    run: Path,
    config: ResolvedTrainConfig,
    *,
    step: int,
    saved: int,
    lines: list[Metrics],
    is_live: bool,
) -> Iterator[str]:
    """What comes next and how long it takes, and what the same command would do.

    Args:
        step: Of the newest line of metrics.
        saved: Of the newest checkpoint, 0 if there is none.
        is_live: Whether it runs.
    """
    if saved >= config.steps and finished_step(run) is None:
        yield "All steps are done; the same command would measure what is held out, and end."
        return
    if saved >= config.steps:
        yield (
            "All steps are done; the same command would find nothing to do. Another "
            f"run goes on from its weights with --init-from {shlex.quote(str(run))}."
        )
        return
    # A run that is stopped goes on from its checkpoint.
    steps_left = config.steps - (max(step, saved) if is_live else saved)
    seconds = _step_seconds(lines)
    left = f", about {duration(steps_left * seconds)}" if seconds else ""
    yield f"left: {counted(steps_left, 'step')}{left}."
    for name, every in (("evaluation", config.eval_every), ("checkpoint", config.checkpoint_every)):
        if every:
            after = min(config.steps, every * (step // every + 1))
            yield f"The next {name} comes after step {after:,}."
    killed = " if it were killed" if is_live else ""
    if saved:
        lost = f", and do {step - saved:,} steps again" if step > saved else ""
        yield f"The same command would go on from step {saved:,}{lost}{killed}."
    else:
        yield f"No checkpoint is whole: the same command would begin at the first step{killed}."


def _step_seconds(lines: list[Metrics]) -> float | None:
    """Seconds a step takes, by the median of a run's newest lines: some may have compiled.

    None of fewer than two lines; where a run was continued, its clock starts anew.

    >>> times = {1: 9.0, 5: 17.0, 9: 95.0, 13: 103.0}
    >>> _step_seconds([{"step": step, "seconds": times[step]} for step in times])
    2.0
    """
    pairs = [
        (after["seconds"] - before["seconds"], after["step"] - before["step"])
        for before, after in itertools.pairwise(lines[-_RECENT:])
        if before.get("seconds") is not None and after.get("seconds") is not None
    ]
    return median([t / n for t, n in pairs if t >= 0 and n > 0] or [0.0]) or None
