"""What `finetune` was asked to do, the model that it begins with, where it stands."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np

from albert_tf.model.initial_weights import draw_first_weights, initialize_weights
from albert_tf.model.parameters import TASK_HEAD
from albert_tf.model.task_model import TaskModel
from albert_tf.model.trained_model import TrainedModel, with_scores_scaled
from albert_tf.runs.checkpoints import check_shapes, shapes_of
from albert_tf.runs.metrics import Metrics
from albert_tf.training.steps import StepDone
from schemas.finetune_config import ResolvedFineTuneConfig
from schemas.layout import TRAIN
from schemas.task import EncodedExample, TaskRecord, TaskRows, TaskSpec


@dataclasses.dataclass(frozen=True, kw_only=True)
class TuningJob:
    """A task, a model to start from, and where to write.

    Attributes:
        source: Its weights are those to start from: of the encoder, and of the head
            where that is taken along; none at all for a start from scratch.
        redraw: The row to train on of a number in an epoch, if others come in each.
    """

    record: TaskRecord
    config: ResolvedFineTuneConfig
    source: TrainedModel
    train: TaskRows
    held_out: TaskRows
    run: Path
    redraw: Callable[[int, int], EncodedExample] | None = None

    @property
    def spec(self) -> TaskSpec:
        """The task."""
        return self.record.spec

    def new_model(self, state: "TuningState") -> TaskModel:
        """The model as it is before the first step.

        Args:
            state: Says how scores are standardised, which a head that is taken along
                does not know.
        """
        dropout = self.config.dropout
        config = dataclasses.replace(
            self.source.config, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout
        )
        model = TaskModel(
            config,
            kind=self.spec.kind,
            labels=len(self.spec.labels),
            head_dropout=self.config.head_dropout,
            precision=self.config.precision,
        )
        seed, head = self.config.seed, model.task_head
        draw_first_weights(model, initializer=self.source.initializer, seed=seed)
        if head is not None:
            # As published, whatever the encoder begins with.
            deviation = self.source.config.initializer_range
            initialize_weights(head, standard_deviation=deviation, seed=seed)
        mean, deviation = state.score_mean, state.score_deviation
        weights = with_scores_scaled(
            self.source.weights, mean=-mean / deviation, deviation=1 / deviation
        )
        if not weights:
            return model
        # A pooler that the other lacks keeps its random first weights, and so does the head.
        ours, optional = model.weights_by_path, ("/pooler/", TASK_HEAD)
        wanted = {
            path: weight
            for path, weight in ours.items()
            if path in weights or not any(part in path for part in optional)
        }
        taken = {path: weights[path] for path in wanted if path in weights}
        check_shapes(shapes_of(wanted), shapes_of(taken))
        for path, array in taken.items():
            ours[path].assign(array)
        return model


@dataclasses.dataclass
class TuningState:
    """Where fine-tuning stands, as `state.json` has it.

    Attributes:
        micro_batch_size: As in the settings, which stay those of the run.
        losses: Loss and weight of the steps since the last line of metrics, added up.
        threshold: See `Task.best_threshold`: that of the newest evaluation.
        score_mean: Of the scores that are trained on; the model learns how many
            deviations a score is above it.
    """

    step: int
    micro_batch_size: int
    losses: tuple[float, ...] = (0.0, 0.0)
    window_seconds: float = 0.0
    learning_rate: float = 0.0
    threshold: float | None = None
    score_mean: float = 0.0
    score_deviation: float = 1.0

    @classmethod
    def of(cls, job: TuningJob) -> "TuningState":
        """Before the first step."""
        state = cls(step=0, micro_batch_size=job.config.micro_batch_size)
        if job.spec.kind == "regress":
            scores = np.array([row.target for row in job.train.rows], np.float64)
            state.score_mean = float(scores.mean())
            state.score_deviation = float(scores.std()) or 1.0
        elif job.spec.metrics[:1] == ("spearman",):
            # From 0 to 1, as cosines of texts that have nothing in common or all.
            scores = np.array([row.target for row in job.train.rows], np.float64)
            low, high = job.spec.score_range or (scores.min(), scores.max())
            state.score_mean, state.score_deviation = float(low), float(high - low) or 1.0
        return state

    def add(self, done: StepDone, seconds: float) -> None:
        """Count what a step adds up and takes."""
        self.losses = tuple((np.array(self.losses) + done.sums).tolist())
        self.window_seconds += seconds
        self.learning_rate = done.learning_rate

    def take_line(self) -> Metrics:
        """What the steps since the last such line come to; the next ones begin anew."""
        loss, weight = self.losses
        line = {
            "step": self.step,
            "split": TRAIN,
            "loss": loss / weight,
            "learning_rate": self.learning_rate,
            "seconds": self.window_seconds,
        }
        self.losses, self.window_seconds = (0.0, 0.0), 0.0
        return line
