"""Fine-tuned ALBERTs as transformers keeps them, both ways.

`AlbertForSequenceClassification`, `ForMultipleChoice`, `ForQuestionAnswering` and
`ForTokenClassification`: the encoder under the same names as without a task, a head,
and in `config.json` what the labels are called (`id2label`, `problem_type`).
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from albert_tf.convert.external import HUGGINGFACE, SENTENCE_TASK, model_of, renamed
from albert_tf.convert.huggingface import (
    huggingface_config,
    identity_projection,
    is_huggingface,
    read_parts,
)
from albert_tf.model.parameters import (
    num_outputs,
    task_weight_shapes,
    whole_layers,
    whole_layers_source,
)
from albert_tf.model.trained_model import TrainedModel
from albert_tf.runs.checkpoints import Arrays
from albert_tf.runs.task_record import exported_record
from schemas.architecture import ModelConfig
from schemas.errors import AlbertError
from schemas.files import read_json
from schemas.layout import CONFIG
from schemas.task import Kind, TaskRecord, TaskSpec

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


def task_config(
    config: ModelConfig, spec: TaskSpec, *, order: list[int] | None = None
) -> dict[str, Any]:
    """`config.json` for the model of a task; see `huggingface_config`."""
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


def task_tensors(weights: Mapping[str, Any], config: ModelConfig, spec: TaskSpec) -> Arrays:
    """The tensors of the same model in transformers: its encoder and its head."""
    shapes = task_weight_shapes(whole_layers(config), kind=spec.kind, labels=len(spec.labels))
    arrays = {path: weights[whole_layers_source(path, config)] for path in shapes}
    tensors = renamed(arrays, HUGGINGFACE) | identity_projection(config)
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
    tensors, config, notes = read_parts(folder, values)
    head = "qa_outputs" if "Answering" in architecture else "classifier"
    shape = tensors.shapes.get(f"{head}.weight", ())
    if len(shape) != 2 or tensors.shapes.get(f"{head}.bias") != shape[:1]:
        raise AlbertError(
            f"{tensors.source} has no {head} with weights and a bias for each label; "
            f"give the whole folder of an {architecture}."
        )
    spec = _task_of(values, architecture, outputs=shape[0], source=source)
    has_pooler = HUGGINGFACE.name("encoder/pooler/bias") in tensors.shapes
    config = dataclasses.replace(config, sentence_task="sop" if has_pooler else "none")
    shapes = task_weight_shapes(config, kind=spec.kind, labels=len(spec.labels))
    model = model_of(tensors, config, HUGGINGFACE, shapes)
    # What an export says of its task; of another model, the defaults.
    record = exported_record(folder)
    if record is not None and record.spec.kind == spec.kind:
        # What its labels are called may have been changed for transformers.
        named = dataclasses.replace(record.spec, labels=spec.labels)
        record = dataclasses.replace(record, spec=named)
    else:
        length = model.max_seq_length
        spec = dataclasses.replace(spec, max_seq_length=length)
        record = TaskRecord(spec=spec, max_seq_length=length)
    remarks = (*notes, *model.remarks)
    return dataclasses.replace(model, remarks=remarks, task=record)


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
    if num_outputs(kind, len(labels)) != outputs or (kind == "classify" and outputs == 1):
        raise AlbertError(
            f"{source}: a model of {architecture} for {kind} cannot have a head with "
            f"{outputs} outputs; give the files of one model."
        )
    return TaskSpec(name=kind, kind=kind, labels=labels)


def _labels(values: Mapping[str, Any], *, number: int, source: Path) -> tuple[str, ...]:
    """The names of labels in the order of their numbers."""
    named = values.get("id2label")
    if named is None:
        return tuple(f"LABEL_{n}" for n in range(number))
    keys = [str(n) for n in range(number)]
    is_whole = isinstance(named, dict) and sorted(named) == sorted(keys)
    names = [named[key] for key in keys] if is_whole else []
    if not all(isinstance(name, str) for name in names) or len(set(names)) != number:
        raise AlbertError(
            f"{source}: id2label has to name each of the {number} labels of the head "
            "once, by its number from 0; put the names there."
        )
    return tuple(names)
