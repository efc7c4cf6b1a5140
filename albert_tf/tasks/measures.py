"""What predictions are worth, by the measures of a task."""

import numpy as np

from albert_tf.runs.metrics import interval
from albert_tf.tasks.task import Targets, Task
from schemas.task import Metric

Interval = tuple[float, float]

# Of a resampled measure, and where the middle 95 % of their values end.
_SAMPLES = 200
_ENDS = (2.5, 97.5)


def measured(task: Task, targets: Targets, predictions: Targets) -> dict[str, float]:
    """All measures of a task, by name."""
    return {
        metric: task.measure(metric, targets, predictions)(None)
        for metric in task.spec.metrics
    }


def interval_of(
    task: Task, metric: Metric, targets: Targets, predictions: Targets
) -> Interval:
    """The 95 % interval of a measure.

    For a share Wilson's; for others the middle 95 % of 200 samples, drawn from the
    examples with replacement.
    """
    measure, number = task.measure(metric, targets, predictions), len(targets)
    if metric in task.share_metrics:
        return interval(measure(None), number)
    rng = np.random.Generator(np.random.PCG64(number))
    values = [measure(rng.integers(0, number, number)) for _ in range(_SAMPLES)]
    low, high = np.percentile(values, _ENDS)
    return float(low), float(high)
