"""Fine-tuned ALBERTs as transformers keeps them, both ways.

`AlbertForSequenceClassification`, `ForMultipleChoice`, `ForQuestionAnswering` and
`ForTokenClassification`: the encoder under the same names as without a task, a head,
and in `config.json` what the labels are called (`id2label`, `problem_type`).
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from albert_tf.convert.external import (
    ABSENT_SENTENCE_HEAD,
    HUGGINGFACE,
    NEW_MASKED_LM_HEAD,
    SENTENCE_TASK,
    Tensors,
    loaded,
    renamed,
)
from albert_tf.convert.huggingface import (
    find_tensors,
    huggingface_config,
    identity_projection,
    is_huggingface,
    taken_over,
)
from albert_tf.model.parameters import (
    TASK_HEAD,
    head_name,
    is_of_encoder,
    needs_pooler,
    num_outputs,
    task_weight_shapes,
    whole_layers,
    whole_layers_source,
)
from albert_tf.model.trained_model import TrainedModel
from albert_tf.runs.checkpoints import Arrays
from albert_tf.runs.task_record import TaskRecord, exported_record
from schemas.config import ModelConfig
from schemas.errors import AlbertError
from schemas.files import read_json
from schemas.finetune_config import FineTuneConfig
from schemas.layout import CONFIG
from schemas.task import Kind, TaskSpec

# What transformers calls the models of tasks, and what they are trained on.
ARCHITECTURES: dict[Kind, str] = {
    "classify": "AlbertForSequenceClassification",
    "multilabel": "AlbertForSequenceClassification",
    "regress": "AlbertForSequenceClassification",
    "choose": "AlbertForMultipleChoice",
    "answer": "AlbertForQuestionAnswering",
    "tag": "AlbertForTokenClassification",
}
# What the Hugging Face Hub calls the tasks.
PIPELINES: dict[Kind, str] = {
    "classify": "text-classification",
    "multilabel": "text-classification",
    "regress": "text-classification",
    "choose": "multiple-choice",
    "answer": "question-answering",
    "tag": "token-classification",
}
_PROBLEMS: dict[Kind, str] = {
    "classify": "single_label_classification",
    "multilabel": "multi_label_classification",
    "regress": "regression",
}

# What labels are called there that have no name.
_UNNAMED = "LABEL_{}"


def task_config(
    config: ModelConfig, spec: TaskSpec, *, order: list[int] | None = None
) -> dict[str, Any]:
    """`config.json` for the model of a task (`ARCHITECTURES`).

    Args:
        order: As for `huggingface_config`.
    """
    values = huggingface_config(config, order=order)
    del values[SENTENCE_TASK]
    values["architectures"] = [ARCHITECTURES[spec.kind]]
    names = ("score",) if spec.kind == "regress" else spec.labels
    if names:
        values["id2label"] = {str(n): name for n, name in enumerate(names)}
        values["label2id"] = {name: n for n, name in enumerate(names)}
    if spec.kind in _PROBLEMS:
        values["problem_type"] = _PROBLEMS[spec.kind]
    return values


def task_tensors(
    weights: Mapping[str, Any], config: ModelConfig, spec: TaskSpec
) -> Arrays:
    """The tensors of the same model in transformers: its encoder and its head."""
    shapes = task_weight_shapes(
        whole_layers(config), kind=spec.kind, labels=len(spec.labels)
    )
    arrays = {path: weights[whole_layers_source(path, config)] for path in shapes}
    encoder = {path: array for path, array in arrays.items() if is_of_encoder(path)}
    head = head_name(spec.kind)
    tensors = renamed(encoder, HUGGINGFACE) | identity_projection(config)
    tensors[f"{head}.weight"] = np.ascontiguousarray(
        arrays[f"{TASK_HEAD}{head}/kernel"].T
    )
    tensors[f"{head}.bias"] = arrays[f"{TASK_HEAD}{head}/bias"]
    return dict(sorted(tensors.items()))


def read_huggingface_task(folder: Path) -> TrainedModel | None:
    """Read a fine-tuned model that transformers saved; None where it is not one."""
    if not is_huggingface(folder):
        return None
    source = folder / CONFIG
    values = read_json(source)
    architecture = _architecture(values)
    if architecture is None:
        return None
    tensors = find_tensors(folder)
    name = "qa_outputs" if "Answering" in architecture else "classifier"
    names = (f"{name}.weight", f"{name}.bias")
    shape = tensors.shapes.get(names[0], ())
    if len(shape) != 2 or tensors.shapes.get(names[1]) != shape[:1]:
        raise AlbertError(
            f"{tensors.source} has no {name} with weights and a bias for each label; "
            f"give the whole folder of an {architecture}."
        )
    spec = _task_of(values, architecture, outputs=shape[0], source=source)
    model = taken_over(folder, tensors.without(names), needs_head=False)
    model = _with_head(model, spec, tensors)
    return dataclasses.replace(model, task=_record(folder, spec, model))


def _architecture(values: Mapping[str, Any]) -> str | None:
    """The name of the model of a task; None where it is another model."""
    named = values.get("architectures")
    first = named[0] if isinstance(named, list) and named else None
    return first if first in ARCHITECTURES.values() else None


def _task_of(
    values: Mapping[str, Any], architecture: str, *, outputs: int, source: Path
) -> TaskSpec:
    """The task, as transformers understands the configuration."""
    kind = next(kind for kind, name in ARCHITECTURES.items() if name == architecture)
    if kind in _PROBLEMS:
        default: Kind = "regress" if outputs == 1 else "classify"
        problem = values.get("problem_type") or _PROBLEMS[default]
        kinds = [kind for kind, name in _PROBLEMS.items() if name == problem]
        if not kinds:
            raise AlbertError(
                f"{source}: problem_type is {problem!r:.60}, and only "
                f"{', '.join(_PROBLEMS.values())} are known."
            )
        (kind,) = kinds
    labels: tuple[str, ...] = ()
    if kind in ("classify", "multilabel", "tag"):
        labels = _labels(values, number=outputs, source=source)
    if num_outputs(kind, len(labels)) != outputs or (
        kind == "classify" and outputs == 1
    ):
        raise AlbertError(
            f"{source}: a model of {architecture} for {kind} cannot have a head with "
            f"{outputs} outputs; give the files of one model."
        )
    return TaskSpec(name=kind, kind=kind, labels=labels)


def _labels(values: Mapping[str, Any], *, number: int, source: Path) -> tuple[str, ...]:
    """The names of labels in the order of their numbers."""
    named = values.get("id2label")
    if named is None:
        return tuple(map(_UNNAMED.format, range(number)))
    keys = [str(n) for n in range(number)]
    is_whole = isinstance(named, dict) and sorted(named) == sorted(keys)
    names = [named[key] for key in keys] if is_whole else []
    if not all(isinstance(name, str) for name in names) or len(set(names)) != number:
        raise AlbertError(
            f"{source}: id2label has to name each of the {number} labels of the head "
            "once, by its number from 0; put the names there."
        )
    return tuple(names)


def _record(folder: Path, spec: TaskSpec, model: TrainedModel) -> TaskRecord:
    """What an export says of its task; of another model, the defaults."""
    ours = exported_record(folder)
    if ours is not None and ours.spec.kind == spec.kind:
        # What its labels are called may have been changed for transformers.
        named = dataclasses.replace(ours.spec, labels=spec.labels)
        return dataclasses.replace(ours, spec=named)
    length = model.max_seq_length
    spec = dataclasses.replace(spec, max_seq_length=length)
    return TaskRecord.of(spec, FineTuneConfig(), max_seq_length=length)


def _with_head(model: TrainedModel, spec: TaskSpec, tensors: Tensors) -> TrainedModel:
    """The encoder of a model with the head of a task in place of all other heads."""
    name = head_name(spec.kind)
    head = f"{TASK_HEAD}{name}"
    weights = {
        **model.weights,
        f"{head}/kernel": np.ascontiguousarray(loaded(tensors, f"{name}.weight").T),
        f"{head}/bias": loaded(tensors, f"{name}.bias"),
    }
    shapes = task_weight_shapes(model.config, kind=spec.kind, labels=len(spec.labels))
    if missing := [path for path in shapes if path not in weights]:
        raise AlbertError(
            f"{tensors.source} lacks {HUGGINGFACE.name(missing[0])}; give the whole "
            "folder of a model."
        )
    of_pretraining = (NEW_MASKED_LM_HEAD, ABSENT_SENTENCE_HEAD)
    notes = [note for note in model.notes if note not in of_pretraining]
    if not needs_pooler(spec.kind) and model.config.sentence_task != "none":
        notes.append("Left out: its pooler, which the task does not use.")
    kept = {path: weights[path] for path in shapes}
    return dataclasses.replace(model, weights=kept, notes=tuple(notes))
