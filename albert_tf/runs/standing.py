"""Where a run stands: its step, its figures, what is left and what comes next."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from albert_tf.runs.checkpoints import newest_state
from albert_tf.runs.metrics import (
    Metrics,
    best_evaluation,
    collapse_warning,
    metrics_text,
    read_metrics,
)
from albert_tf.runs.run_record import (
    recorded_settings,
    recorded_training,
    run_config,
)
from schemas.config import ResolvedTrainConfig
from schemas.layout import EVAL, TRAIN
from schemas.readable import duration

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
    yield (
        f"{run}: step {step:,} of {config.steps:,}, in batches of "
        f"{config.batch_size:,}; {model.shape}."
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
    yield from _next(run, config, step=step, lines=lines)


def _next(
    run: Path, config: ResolvedTrainConfig, *, step: int, lines: list[Metrics]
) -> Iterator[str]:
    """What comes next and how long it takes, and what the same command would do."""
    state = newest_state(run)
    saved = state["step"] if state else 0
    if saved >= config.steps:
        yield "All steps are done; the same command would find nothing to do."
        return
    seconds = step_seconds(lines)
    left = f"about {duration((config.steps - saved) * seconds)}" if seconds else ""
    yield f"{config.steps - saved:,} steps are left" + (f", {left}." if left else ".")
    for name, every in (
        ("evaluation", config.eval_every),
        ("checkpoint", config.checkpoint_every),
    ):
        if every:
            after = min(config.steps, every * (step // every + 1))
            yield f"The next {name} comes after step {after:,}."
    if saved:
        lost = f", and do {step - saved:,} steps again" if step > saved else ""
        yield f"The same command would go on from step {saved:,}{lost}."
    else:
        yield "No checkpoint is whole: the same command would begin at the first step."


def step_seconds(lines: list[Metrics]) -> float | None:
    """Seconds a step takes, evaluations included, by a run's newest lines.

    None of fewer than two lines; where a run was continued, its clock starts anew.

    >>> step_seconds([{"step": 1, "seconds": 9.0}, {"step": 5, "seconds": 17.0}])
    2.0
    """
    pairs = [
        (after["seconds"] - before["seconds"], after["step"] - before["step"])
        for before, after in itertools.pairwise(lines[-_RECENT:])
        if before.get("seconds") is not None and after.get("seconds") is not None
    ]
    forward = [(t, n) for t, n in pairs if t >= 0 and n >= 0]
    steps = sum(n for _, n in forward)
    return sum(t for t, _ in forward) / steps if steps else None
