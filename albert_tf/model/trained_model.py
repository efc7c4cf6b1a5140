"""A trained model, wherever it was read from, and what it says of one text.

It may come from a run, an import or another program.
"""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from keras import ops

from albert_tf.model import operations
from albert_tf.model.parameters import TASK_HEAD, task_weight_shapes, weight_shapes
from albert_tf.model.pretrainer import AlbertPretrainer, Batch
from albert_tf.model.task_model import TaskModel
from albert_tf.runs.checkpoints import (
    Arrays,
    Which,
    assign_arrays,
    check_shapes,
    newest_step,
    run_checkpoint,
    shapes_of,
)
from albert_tf.runs.metrics import QUIET, Say
from albert_tf.runs.run_record import is_tuned, recorded_initializer, run_config, trained_length
from albert_tf.runs.task_record import read_record
from schemas.architecture import ModelConfig
from schemas.config import Initializer, Precision
from schemas.errors import AlbertError
from schemas.example import MASK_ID, SEP_ID
from schemas.layout import TASK, TASK_EVALUATION
from schemas.task import TaskRecord, TaskSpec

# What is said of the heads that a model was given untrained, by their names.
UNTRAINED_HEADS = {
    "masked_lm_head": "It has no masked-LM head, so it gets a new one: fine-tune the "
    "model, or train it further before it fills masks.",
    "sentence_head": "It has no sentence-order head; that starts at zero, where both "
    "orders are equally likely.",
}

Probabilities = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainedModel:
    """A model with what is known of it.

    Attributes:
        folder: Where it was read; its vocabulary is there too.
        weights: By path; empty where only the architecture was asked for.
        step: Of the checkpoint; 0 for a model of another program.
        task: What it was fine-tuned on; None for a model with the heads of pretraining.
        max_seq_length: Tokens in the longest sequences that it was trained on or, where
            nothing says it, in the longest that it takes.
        initializer: The first weights that it began with.
        untrained: Of `UNTRAINED_HEADS` those that it has.
        remarks: What a person should know of how it was read.
    """

    folder: Path
    config: ModelConfig
    weights: Arrays
    step: int = 0
    task: TaskRecord | None = None
    max_seq_length: int
    initializer: Initializer = "range"
    untrained: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for path, array in self.weights.items():
            if not np.isfinite(array).all():
                name = path.removeprefix("albert/")
                raise AlbertError(
                    f"{self.folder}: the weight {name} has a value that is not finite, so the "
                    "model computes nothing; take an earlier checkpoint, or another model."
                )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of it, a sentence each."""
        # Of an import of an earlier version they are these sentences.
        heads = (UNTRAINED_HEADS.get(head, head) for head in self.untrained)
        return (*heads, *self.remarks)

    @property
    def record(self) -> TaskRecord:
        """The task of a model that is known to be fine-tuned."""
        assert self.task is not None, self.folder
        return self.task


def read_trained(
    folder: Path, *, which: Which | None = None, with_weights: bool = True, say: Say = QUIET.say
) -> TrainedModel:
    """A run, an import or a fine-tuned model, once its files fit together.

    Args:
        which: The checkpoint; None for the best of a fine-tuned model and the latest of
            others.
        say: Told about every damaged checkpoint passed over.
    """
    config = run_config(folder)
    task = read_record(folder) if is_tuned(folder) else None
    weights: Arrays = {}
    step, untrained, remarks = 0, (), tuple[str, ...]()
    if with_weights:
        is_told = task is not None and which is None and not (folder / TASK_EVALUATION).exists()
        which = which or ("best" if task else "latest")
        checkpoint = run_checkpoint(folder, which=which, say=say)
        weights, step = checkpoint.weights, checkpoint.state["step"]
        newest = newest_step(folder) if is_told else None
        if newest is not None and newest > step:
            remarks = (
                f"{folder} has stopped at step {newest:,}; this is the best of what was measured, "
                f"step {step:,} (--checkpoint latest takes the newest).",
            )
        untrained = tuple(checkpoint.state.get("untrained", ()))
        # Before anything is built: an edited architecture may be of any size.
        shapes = weight_shapes(config)
        if task is not None:
            spec = task.spec
            shapes = task_weight_shapes(config, kind=spec.kind, labels=len(spec.labels))
        check_shapes(shapes, shapes_of(weights))
        if task is not None:
            state = checkpoint.state
            # The record of a finished model has that of the best checkpoint; earlier versions
            # have no other.
            if which == "latest" or task.threshold is None:
                threshold = state.get("threshold", task.threshold)
                task = dataclasses.replace(task, threshold=threshold)
            mean, deviation = state.get("score_mean", 0.0), state.get("score_deviation", 1.0)
            weights = with_scores_scaled(weights, mean=mean, deviation=deviation)
    return TrainedModel(
        folder=folder,
        config=config,
        weights=weights,
        step=step,
        task=task,
        max_seq_length=(
            task.trained_length or task.max_seq_length if task else trained_length(folder, config)
        ),
        initializer=recorded_initializer(folder),
        untrained=untrained,
        remarks=remarks,
    )


def read_tuned(folder: Path, *, which: Which | None = None, say: Say = QUIET.say) -> TrainedModel:
    """A fine-tuned model; see `read_trained`."""
    if not is_tuned(folder):
        raise AlbertError(
            f"{folder} has no {TASK}, so it is not a fine-tuned model; give a folder "
            "that albert finetune, or albert import of such a model, has written."
        )
    return read_trained(folder, which=which, say=say)


def as_embedder(model: TrainedModel) -> TrainedModel:
    """The encoder of any model, to embed texts by the mean of their tokens."""
    if model.task is not None and model.task.spec.kind == "embed":
        return model
    spec = TaskSpec(name="embed", kind="embed", metrics=("recall_at_1", "recall_at_10"))
    length = model.task.max_seq_length if model.task else model.max_seq_length
    shapes = task_weight_shapes(model.config, kind="embed", labels=0)
    return dataclasses.replace(
        model,
        weights={path: model.weights[path] for path in shapes},
        task=TaskRecord(spec=spec, max_seq_length=length),
        untrained=(),
    )


def with_scores_scaled(weights: Arrays, *, mean: float, deviation: float) -> Arrays:
    """The weights of a model whose outputs are multiplied, then moved by a mean."""
    if (mean, deviation) == (0.0, 1.0):
        return weights
    moved = {"kernel": 0.0, "bias": mean}
    return {
        path: (array * deviation + moved[path.rpartition("/")[2]]).astype(array.dtype)
        if TASK_HEAD in path
        else array
        for path, array in weights.items()
    }


def pretrainer_of(
    model: TrainedModel, *, precision: Precision = "float32", is_compiled: bool = True
) -> AlbertPretrainer:
    """The model with its weights and the heads of pretraining.

    Args:
        is_compiled: False for a few texts, each of another length, and for graphs that
            programs without XLA are to run.
    """
    if model.task is not None:
        raise AlbertError(
            f"{model.folder} is a fine-tuned model, which has only the head of its "
            "task; use albert predict, or give the run that it was tuned from."
        )
    pretrainer = AlbertPretrainer(
        model.config, precision=precision, operations=None if is_compiled else operations
    )
    assign_arrays(pretrainer.weights_by_path, model.weights)
    return pretrainer


def task_model_of(model: TrainedModel, *, is_compiled: bool = True) -> TaskModel:
    """The same with the head of its task, without dropout; see `pretrainer_of`."""
    spec = model.record.spec
    built = TaskModel(
        model.config,
        kind=spec.kind,
        labels=len(spec.labels),
        operations=None if is_compiled else operations,
    )
    assign_arrays(built.weights_by_path, model.weights)
    return built


def mask_probabilities(model: AlbertPretrainer, input_ids: list[int]) -> Probabilities:
    """How likely each of V pieces is at each of the M masks of a text, `[M, V]`.

    Args:
        model: One that is not compiled, which would be done for every length.
        input_ids: Special pieces included, with [MASK] at the places asked about.
    """
    masks = [place for place, piece in enumerate(input_ids) if piece == MASK_ID]
    logits, _ = model(_batch_of_one(input_ids, masks))
    return _softmax(logits)


def in_order_probability(model: AlbertPretrainer, input_ids: list[int]) -> float:
    """How likely the second passage of a pair follows the first.

    Args:
        model: One whose sentence task is sop, not compiled either.
        input_ids: `[CLS] A [SEP] B [SEP]`.
    """
    _, logits = model(_batch_of_one(input_ids, []))
    return float(_softmax(logits)[0, 0])


def likeliest(probabilities: Probabilities, *, top: int) -> list[tuple[int, float]]:
    """The likeliest pieces at one place, best first, each with its probability.

    >>> likeliest(np.array([0.1, 0.2, 0.5, 0.2]), top=3)
    [(2, 0.5), (1, 0.2), (3, 0.2)]
    """
    best = np.argsort(-probabilities, kind="stable")[:top]
    return [(int(piece), float(probabilities[piece])) for piece in best]


def _batch_of_one(input_ids: list[int], places: list[int]) -> Batch:
    """One text as a batch: segment B begins after the first [SEP]."""
    ids = np.array([input_ids], np.int32)
    separators = np.cumsum(ids == SEP_ID, axis=1) - (ids == SEP_ID)
    features = {
        "input_ids": ids,
        "input_mask": np.ones_like(ids),
        "segment_ids": (separators > 0).astype(np.int32),
        "masked_lm_positions": np.array([places], np.int32),
    }
    return {name: ops.convert_to_tensor(value) for name, value in features.items()}


def _softmax(logits: Any) -> Probabilities:
    """Probabilities of logits `[N, C]`."""
    values = ops.convert_to_numpy(ops.cast(logits, "float32")).astype(np.float64)
    shares = np.exp(values - values.max(axis=1, keepdims=True))
    probabilities: Probabilities = shares / shares.sum(axis=1, keepdims=True)
    return probabilities
