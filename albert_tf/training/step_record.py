"""What is reported of the steps: a line for the person, the means for the metrics."""

import numpy as np

from albert_tf.runs.metrics import Sums, means
from albert_tf.training.metrics_log import RememberedMetrics
from albert_tf.training.run_state import Array, RunState
from schemas.config import ModelConfig, TrainConfig
from schemas.layout import TRAIN

# About this many lines of training metrics in a run.
NUM_LINES = 1000


class StepRecord:
    """Adds up what steps give, and logs the means now and then.

    Args:
        config: The resolved settings.
        model: The architecture.
        state: Where the run stands; what is not logged yet is kept there.
        log: Of the run.
    """

    def __init__(
        self,
        config: TrainConfig,
        model: ModelConfig,
        state: RunState,
        log: RememberedMetrics,
    ) -> None:
        self._config, self._model = config, model
        self._state, self._log = state, log
        self._every = max(1, config.steps // NUM_LINES)
        self._of_step: dict[str, float] = {}

    def add(
        self,
        sums: Array,
        seconds: float,
        *,
        learning_rate: float,
        gradient_norm: float,
    ) -> str:
        """Count the step that was just done; what to show of it.

        Args:
            sums: The `Sums`, and that of the layer-consistency loss if it is trained.
            seconds: What it took.
            learning_rate: Of the step.
            gradient_norm: Before clipping.
        """
        sums, consistency = np.split(sums, [len(Sums._fields)])
        state = self._state
        state.add_to_window(sums, seconds)
        self._of_step = {"learning_rate": learning_rate, "gradient_norm": gradient_norm}
        if state.step % self._every == 0 or state.step == self._config.steps:
            self.log_window()
        return self._text(means(Sums(*sums.tolist())), consistency.tolist())

    def log_window(self) -> None:
        """Log the means of all steps since the last line."""
        state = self._state
        if not (state.window_steps and self._of_step):
            return
        examples = state.window_steps * self._config.batch_size
        self._log.write(
            {
                "step": state.step,
                "split": TRAIN,
                **means(Sums(*state.window)),
                **self._of_step,
                "sequences_per_second": examples / state.window_seconds,
                "seconds": state.seconds,
            }
        )
        state.clear_window()

    def _text(self, values: dict[str, float | None], consistency: list[float]) -> str:
        parts = [f"step {self._state.step}/{self._config.steps}"]
        task = self._model.sentence_task.upper()
        for name, loss in (("mlm", "masked LM"), ("sentence", task)):
            value = values[f"{name}_loss"]
            if value is not None:
                parts.append(f"{loss} {value:.3f}")
        parts += [f"layer consistency {mean:.4f}" for mean in consistency]
        return ", ".join(parts)
