"""`choose`: one of several options.

Outputs are logits `[O]`, targets and predictions the number of the option.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from albert_tf.tasks.calibration import softmax
from albert_tf.tasks.task import Measure, Result, Targets, Task, mean_of, most_frequent
from schemas.task import Metric, TaskExample


class Choose(Task):
    """One of the options of each example."""

    does = "chooses one of several options"

    def target(self, example: TaskExample) -> Any:
        """The number of the right option."""
        return example.choice

    def prediction(self, output: Any, *, threshold: float | None) -> int:
        """The number of the most likely option."""
        return int(np.argmax(output))

    def shown(
        self, example: TaskExample, output: Any, *, threshold: float | None
    ) -> Result:
        """The option, and the probability of each."""
        choice = self.prediction(output, threshold=threshold)
        return {
            "choice": choice,
            "option": example.options[choice],
            "probabilities": softmax(output).tolist(),
        }

    def measure(
        self, metric: Metric, targets: Targets, predictions: Targets
    ) -> Measure:
        """Accuracy."""
        return mean_of(np.asarray(targets) == np.asarray(predictions))

    def majority(self, targets: Targets, examples: Sequence[TaskExample]) -> list[Any]:
        """The option whose number is right most often."""
        return [most_frequent(Counter(targets))] * len(examples)

    def named(self, example: TaskExample, value: int, *, other: int) -> str:
        """The text of the option."""
        return example.options[value]
