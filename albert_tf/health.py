"""Training that went wrong, said in words with the likely cause."""

import math
from pathlib import Path
from typing import Any

from schemas.errors import AlbertError

# A collapsed model predicts the frequencies of pieces: published collapses stay at 6.6
# to 7.3 nats, with the sentence task at chance (huggingface/transformers 4727, 5984).
STUCK_EVALUATIONS = 4
STUCK_NATS = 0.02
STUCK_ABOVE_NATS = 5.0


def check_is_number(
    value: float, what: str, *, step: int, run: Path, is_saved: bool
) -> None:
    """Stop a run whose loss or gradient overflowed.

    Args:
        value: What was computed.
        what: Its name.
        step: When.
        run: The run directory.
        is_saved: Whether it has a checkpoint.

    Raises:
        AlbertError: Says the likely cause and what is kept.
    """
    if math.isfinite(value):
        return
    remedy = "a lower --learning-rate or more --warmup-steps"
    raise AlbertError(
        f"the {what} of step {step} is {value}: the learning rate is most likely "
        "too high for this batch size; "
        + (
            f"the checkpoints in {run} are kept, start a new run with {remedy} and "
            f"--init-from {run}."
            if is_saved
            else f"start again with {remedy}."
        )
    )


def collapse_warning(evaluations: list[dict[str, Any]]) -> str | None:
    """A warning when the last evaluations show that nothing is being learned.

    >>> stuck = [
    ...     {"step": s, "mlm_loss": 7.1, "sentence_accuracy": 0.5} for s in range(4)
    ... ]
    >>> collapse_warning(stuck).split(":")[0]
    'The masked-LM loss has stayed at 7.10 since step 0'
    """
    recent = evaluations[-STUCK_EVALUATIONS:]
    losses = [line["mlm_loss"] for line in recent]
    if len(recent) < STUCK_EVALUATIONS or None in losses:
        return None
    accuracy = recent[-1]["sentence_accuracy"]
    is_at_chance = accuracy is None or abs(accuracy - 0.5) < 0.02
    is_stuck = min(losses) > STUCK_ABOVE_NATS and losses[0] - min(losses) < STUCK_NATS
    if not (is_stuck and is_at_chance):
        return None
    return (
        f"The masked-LM loss has stayed at {losses[-1]:.2f} since step "
        f"{recent[0]['step']}: the model predicts how frequent pieces are and nothing "
        "else; most likely the learning rate is too high for this batch size "
        "(--learning-rate, --scale-lr-to-batch) or the warm-up too short "
        "(--warmup-steps)."
    )
