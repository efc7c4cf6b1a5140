"""What `finetune` was asked to do, and the model that it begins with."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from albert_tf.model.initial_weights import draw_first_weights, initialize_weights
from albert_tf.model.parameters import TASK_HEAD
from albert_tf.model.task_model import TaskModel
from albert_tf.runs.checkpoints import check_shapes, shapes_of
from albert_tf.runs.tensor_files import Arrays
from albert_tf.tasks.kinds import task_of
from schemas.config import Initializer, ModelConfig
from schemas.finetune_config import ResolvedFineTuneConfig
from schemas.task import EncodedExample, TaskExample, TaskSpec


@dataclasses.dataclass(frozen=True)
class TaskRows:
    """Examples, and the rows that they are encoded as."""

    examples: Sequence[TaskExample]
    rows: Sequence[EncodedExample]

    @property
    def lengths(self) -> list[int]:
        """Tokens of each row, of `choose` of its longest option."""
        return [row.length for row in self.rows]

    @property
    def options(self) -> int:
        """Sequences of the row with most of them."""
        return max(len(row.sequences) for row in self.rows)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TuningJob:
    """A task, a model to start from, and where to write.

    Attributes:
        spec: The task.
        config: The resolved settings.
        model_config: The architecture of the encoder.
        source: The weights to start from, by path: of the encoder, and of the head
            where that is taken along; none at all for a start from scratch.
        train: To train on.
        held_out: To evaluate on.
        run: The folder to write.
        initializer: What a start from scratch begins with.
        trained_length: Tokens in the longest sequences that the encoder was trained on
            before.
    """

    spec: TaskSpec
    config: ResolvedFineTuneConfig
    model_config: ModelConfig
    source: Arrays
    train: TaskRows
    held_out: TaskRows
    run: Path
    initializer: Initializer = "range"
    trained_length: int = 0

    def new_model(self) -> TaskModel:
        """The model as it is before the first step."""
        dropout = self.config.dropout
        config = dataclasses.replace(
            self.model_config,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
        model = TaskModel(
            config,
            kind=self.spec.kind,
            labels=len(self.spec.labels),
            head_dropout=self.config.head_dropout,
            precision=self.config.precision,
        )
        seed, head = self.config.seed, model.task_head
        draw_first_weights(model, initializer=self.initializer, seed=seed)
        # As published, whatever the encoder begins with.
        deviation = self.model_config.initializer_range
        initialize_weights(head, standard_deviation=deviation, seed=seed)
        start_from(model, self.source)
        return model

    def label_weights(self) -> list[float]:
        """Of each label in the loss; none where all are alike.

        As scikit-learn's "balanced": n / (L n_c) for the n_c of n rows, or words, that
        have label c. A label that does not occur has no weight.
        """
        if self.config.class_weights == "none":
            return []
        targets = map(task_of(self.spec).target, self.train.examples)
        numbers = np.concatenate([np.atleast_1d(target) for target in targets])
        counts = np.bincount(numbers.astype(int), minlength=len(self.spec.labels))
        weights = len(numbers) / (len(counts) * np.maximum(counts, 1))
        return [float(w) if n else 0.0 for w, n in zip(weights, counts, strict=True)]


def start_from(model: TaskModel, source: Arrays) -> None:
    """Give a model the weights that it shares with another.

    A pooler that the other lacks keeps its random first weights, and so does the head.

    Raises:
        AlbertError: A weight has another shape, or is missing.
    """
    if not source:
        return
    ours = model.weights_by_path
    optional = ("/pooler/", TASK_HEAD)
    wanted = {
        path: weight
        for path, weight in ours.items()
        if path in source or not any(part in path for part in optional)
    }
    taken = {path: source[path] for path in wanted if path in source}
    check_shapes(shapes_of(wanted), shapes_of(taken))
    for path, array in taken.items():
        ours[path].assign(array)
