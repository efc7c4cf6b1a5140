"""Training that went wrong, said in words with the likely cause."""

from pathlib import Path
from typing import Any

from schemas.errors import AlbertError
from schemas.layout import METRICS

# A collapsed model predicts the frequencies of tokens: published collapses stay at 6.6
# to 7.3 nats, with the sentence task at chance (huggingface/transformers 4727, 5984).
STUCK_EVALUATIONS = 4
STUCK_NATS = 0.02
STUCK_ABOVE_NATS = 5.0


def diverged(
    value: float, what: str, *, step: int, run: Path, is_saved: bool
) -> AlbertError:
    """What to say of a run whose loss or gradient overflowed.

    Args:
        value: What was computed, infinite or not a number.
        what: Its name.
        step: When.
        run: The run directory.
        is_saved: Whether it has a checkpoint.

    Returns:
        The error to raise: says the likely cause, what is kept and what to do.
    """
    remedy = "a lower --learning-rate or more --warmup-steps"
    advice = (
        f"the checkpoints in {run} are kept; start a new run with {remedy} and "
        f"--init-from {run}."
        if is_saved
        else f"start again with {remedy}; what was measured is in {run / METRICS}."
    )
    return AlbertError(
        f"the {what} of step {step} is {value}: the learning rate is most likely "
        f"too high for this batch size; {advice}"
    )


def collapse_warning(evaluations: list[dict[str, Any]]) -> str | None:
    """A warning when the last evaluations show that nothing is being learned.

    Args:
        evaluations: The lines of metrics, oldest first.

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
    has_moved = max(losses) - min(losses) >= STUCK_NATS
    is_stuck = min(losses) > STUCK_ABOVE_NATS and not has_moved
    if not (is_stuck and is_at_chance):
        return None
    return (
        f"The masked-LM loss has stayed at {losses[-1]:.2f} since step "
        f"{recent[0]['step']}: the model predicts how frequent tokens are and nothing "
        "else; most likely the learning rate is too high for this batch size "
        "(--learning-rate, --scale-lr-to-batch) or the warm-up too short "
        "(--warmup-steps)."
    )
