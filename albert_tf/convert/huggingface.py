"""An ALBERT as Hugging Face keeps it, both ways: config.json and model.safetensors.

`AlbertForSequenceClassification`, `ForMultipleChoice`, `ForQuestionAnswering` and
`ForTokenClassification`: the encoder under the same names as without a task, a head,
and in `config.json` what the labels are called (`id2label`, `problem_type`).
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from albert_tf.convert.external import (
    HUGGINGFACE,
    OWN_FIELDS,
    SENTENCE_TASK,
    Tensors,
    architecture,
    model_of,
    renamed,
    take_over,
    whole_model,
)
from albert_tf.model.parameters import (
    huggingface_group,
    num_outputs,
    task_weight_shapes,
    whole_layers,
    whole_layers_source,
)
from albert_tf.model.trained_model import TrainedModel, as_embedder
from albert_tf.runs.checkpoints import (
    Arrays,
    Shapes,
    TensorFileError,
    TensorTypeError,
    read_tensors,
    tensor_shapes,
)
from albert_tf.runs.task_record import exported_record
from schemas.architecture import Activation, ModelConfig
from schemas.errors import AlbertError
from schemas.example import CLS_ID, PAD_ID, SEP_ID
from schemas.files import Values, read_json
from schemas.layout import CONFIG, MODEL_WEIGHTS
from schemas.task import Kind, TaskRecord, TaskSpec

# By their names there. GELU is computed in its tanh approximation, which all released
# ALBERTs have and which is spelled in two ways.
_ACTIVATIONS: dict[str, Activation] = {
    "gelu_new": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "gelu": "gelu",
    "relu": "relu",
}

_PREFIX = "albert."
_PROJECTION = "albert.encoder.embedding_hidden_mapping_in"
_OUTPUT_BIAS, _DECODER_BIAS = "predictions.bias", "predictions.decoder.bias"
# Tensors that the output layer of the masked-LM head shares, and what it calls them.
_TIED = {
    ("albert.embeddings.word_embeddings.weight", "predictions.decoder.weight"): "whose output "
    "layer is the embedding table",
    (_OUTPUT_BIAS, _DECODER_BIAS): "with one bias of the output layer",
}

# Which file of several holds which tensor: what transformers writes of large models.
_INDEX = f"{MODEL_WEIGHTS}.index.json"
_FILES = "weight_map"
_ENDING = ".safetensors"

# What else holds weights: its files, what it is, and how transformers reads it.
_OTHER_WEIGHTS = dict.fromkeys(
    ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl"),
    ("is a pickle, which can run any program when it is read", "transformers", ""),
) | {
    "tf_model*": ("has weights of TensorFlow", "transformers 4", ", from_tf=True"),
    "flax_model*": ("has weights of Flax", "transformers 4", ", from_flax=True"),
}


def huggingface_config(
    config: ModelConfig, task: TaskSpec | None = None, *, order: Sequence[int] | None = None
) -> Values:
    """`config.json` for AlbertForPreTraining, or for the model of a task.

    Args:
        order: The id there of each piece; None where it is the same.
    """
    pad, bos, eos = (order[i] if order else i for i in (PAD_ID, CLS_ID, SEP_ID))
    fields = dataclasses.asdict(whole_layers(config))
    left_out = {*OWN_FIELDS, "layer_consistency_weight"}
    values = {
        "architectures": [ARCHITECTURES[task.kind] if task else "AlbertForPreTraining"],
        "model_type": "albert",
        **{name: value for name, value in fields.items() if name not in left_out},
        "hidden_act": "gelu_new" if config.hidden_act == "gelu" else "relu",
        "classifier_dropout_prob": 0.1,
        "pad_token_id": pad,
        "bos_token_id": bos,
        "eos_token_id": eos,
        "tie_word_embeddings": True,
        "dtype": "float32",
    }
    if task is None:
        return {**values, SENTENCE_TASK: config.sentence_task}
    if names := ("score",) if task.kind == "regress" else task.labels:
        values["id2label"] = {str(n): name for n, name in enumerate(names)}
        values["label2id"] = {name: n for n, name in enumerate(names)}
    if task.kind in _PROBLEMS:
        values["problem_type"] = _PROBLEMS[task.kind]
    return values


def huggingface_tensors(
    weights: Mapping[str, Any], config: ModelConfig, task: TaskSpec | None = None
) -> Arrays:
    """The tensors of an AlbertForPreTraining, or of the model of a task, that computes the same.

    Such a model always has a projection: the identity for one that has none.
    """
    width = config.hidden_size
    if task is None:
        arrays = whole_model(weights, config)
    else:
        shapes = task_weight_shapes(whole_layers(config), kind=task.kind, labels=len(task.labels))
        arrays = {path: weights[whole_layers_source(path, config)] for path in shapes}
        if task.kind == "embed":
            # An AlbertModel has one, which embedding does not ask.
            arrays["albert/encoder/pooler/kernel"] = np.zeros((width, width), np.float32)
            arrays["albert/encoder/pooler/bias"] = np.zeros(width, np.float32)
    tensors = renamed(arrays, HUGGINGFACE)
    if not config.has_projection:
        tensors[f"{_PROJECTION}.weight"] = np.eye(width, dtype=np.float32)
        tensors[f"{_PROJECTION}.bias"] = np.zeros(width, np.float32)
    if task is None:
        tensors[_DECODER_BIAS] = tensors[_OUTPUT_BIAS]
    return dict(sorted(tensors.items()))


def write_tensors(tensors: Arrays, path: Path) -> None:
    """Write a file of tensors as transformers reads it."""
    # Not `save_file`, which makes a file that only its owner may read.
    path.write_bytes(safetensors.numpy.save(tensors, metadata={"format": "pt"}))


def is_huggingface(folder: Path) -> bool:
    """Whether a folder has a `config.json` of transformers."""
    path = folder / CONFIG
    return path.is_file() and "model_type" in read_json(path)


def read_huggingface(folder: Path, *, needs_head: bool = True) -> TrainedModel:
    """Read a model that transformers, or `albert export --to hf`, saved."""
    values = read_json(folder / CONFIG)
    tensors, config, notes = read_parts(folder, values)
    model = take_over(
        tensors, config, HUGGINGFACE, sentence_task=values.get(SENTENCE_TASK), needs_head=needs_head
    )
    return dataclasses.replace(model, remarks=(*notes, *model.remarks))


def read_parts(folder: Path, values: Values) -> tuple[Tensors, ModelConfig, tuple[str, ...]]:
    """The tensors of a folder, their architecture, and notes on it.

    Args:
        values: Of its `config.json`.
    """
    source, kind = folder / CONFIG, values.get("model_type")
    if kind != "albert":
        raise AlbertError(
            f"{source} describes a model of type {kind}, and only albert can be read; "
            "give the folder of an ALBERT."
        )
    positions = values.get("position_embedding_type", "absolute")
    if positions != "absolute":
        raise AlbertError(
            f"{source}: position_embedding_type is {positions}; only ALBERTs with "
            "absolute positions can be read."
        )
    named = str(values.get("hidden_act", "gelu_new"))
    if named not in _ACTIVATIONS:
        raise AlbertError(
            f"{source}: hidden_act is {named}; only ALBERTs with GELU or ReLU can be read."
        )
    config = architecture(
        values, source=source, activation=_ACTIVATIONS[named], group_of=huggingface_group
    )
    tensors = _without_tied(find_tensors(folder))
    names = (f"{_PROJECTION}.weight", f"{_PROJECTION}.bias")
    if not config.has_projection and any(name in tensors.shapes for name in names):
        if _is_identity(tensors, *names):
            tensors = tensors.without(names)
        else:
            config = dataclasses.replace(config, embedding_projection="always")
    exact = (
        "Its hidden_act is the exact gelu; here it is computed in its tanh "
        "approximation, as google-research/albert trained it."
    )
    return tensors, config, (exact,) if named == "gelu" else ()


def _is_identity(tensors: Tensors, kernel: str, bias: str) -> bool:
    """Whether a dense layer `[H, H]` gives its input."""
    shape = tensors.shapes.get(kernel, ())
    if shape != 2 * tensors.shapes.get(bias, ()):
        return False
    is_zero = not np.any(tensors.load(bias))
    return is_zero and np.array_equal(tensors.load(kernel), np.eye(shape[0]))


def find_tensors(folder: Path) -> Tensors:
    """All tensors, under the names they have in AlbertForPreTraining."""
    places: dict[str, Path] = {}
    shapes: Shapes = {}
    for path in _weight_files(folder):
        try:
            found = tensor_shapes(path)
        except TensorFileError as error:
            raise _unreadable(path, error) from error
        places |= dict.fromkeys(found, path)
        shapes |= found
    # An AlbertModel alone is saved without it.
    prefix = "" if any(name.startswith(_PREFIX) for name in shapes) else _PREFIX

    def load(name: str) -> Any:
        original = name.removeprefix(prefix)
        path = places[original]
        try:
            return read_tensors(path, [original])[original]
        except TensorFileError as error:
            raise _unreadable(path, error) from error

    shapes = {prefix + name: shape for name, shape in shapes.items()}
    return Tensors(folder / MODEL_WEIGHTS, shapes, load)


def _unreadable(path: Path, error: TensorFileError) -> AlbertError:
    if isinstance(error, TensorTypeError):
        return AlbertError(f"{path}: {error}; save the model in one of these.")
    return AlbertError(f"{path} is not whole: {error}; copy it again.")


def _without_weights(folder: Path) -> AlbertError:
    """Of a folder without safetensors: what makes them of the weights that it has."""
    config = folder / CONFIG
    names = read_json(config).get("architectures") if config.exists() else None
    # The class that keeps all of a model, its head included.
    name = str(names[0]) if isinstance(names, list) and names else ""
    if not (name.startswith("AlbertFor") and name.isidentifier()):
        name = "AlbertForPreTraining"
    for glob, (what, program, flag) in _OTHER_WEIGHTS.items():
        for path in sorted(folder.glob(glob)):
            return AlbertError(
                f"{path} {what}; convert the model to safetensors first (in {program} "
                f'{name}.from_pretrained("FOLDER"{flag})'
                '.save_pretrained("NEW")).'
            )
    return AlbertError(f"{folder} has no {MODEL_WEIGHTS}; give the whole folder of a model.")


def _weight_files(folder: Path) -> list[Path]:
    """The one file of a model's tensors, or those that its index names."""
    if (folder / MODEL_WEIGHTS).exists():
        return [folder / MODEL_WEIGHTS]
    index = folder / _INDEX
    if not index.exists():
        raise _without_weights(folder)
    files = read_json(index).get(_FILES)
    if not isinstance(files, dict) or not files:
        raise AlbertError(f"{index} has no {_FILES}; copy it again.")
    for name in files.values():
        if not isinstance(name, str) or not name.endswith(_ENDING):
            raise AlbertError(
                f"{index} names {name!r:.60}, which is not the name of a file of "
                f"tensors (*{_ENDING}); copy it again."
            )
    # By name only: an index has no business outside its folder.
    paths = [folder / Path(name).name for name in sorted(set(files.values()))]
    for path in paths:
        if not path.is_file():
            raise AlbertError(
                f"{path} is missing, which {_INDEX} names; give the whole folder of a model."
            )
    return paths


def _without_tied(tensors: Tensors) -> Tensors:
    """Without the second names of the tensors that the output layer shares."""
    shapes, seconds = dict(tensors.shapes), dict[str, str]()
    for first, second in _TIED:
        if second in shapes:
            shapes.setdefault(first, shapes.pop(second))
            seconds[first] = second

    def load(name: str) -> Any:
        second = seconds.get(name, name)
        if name not in tensors.shapes:
            return tensors.load(second)
        array = tensors.load(name)
        if second != name and not np.array_equal(array, tensors.load(second)):
            raise AlbertError(
                f"{tensors.source}: {second} differs from {name}; only ALBERTs "
                f"{_TIED[name, second]} can be read."
            )
        return array

    return Tensors(tensors.source, shapes, load)


# What transformers calls the models of tasks, and what they are trained on.
ARCHITECTURES: dict[Kind, str] = {
    "classify": "AlbertForSequenceClassification",
    "multilabel": "AlbertForSequenceClassification",
    "regress": "AlbertForSequenceClassification",
    "choose": "AlbertForMultipleChoice",
    "answer": "AlbertForQuestionAnswering",
    "tag": "AlbertForTokenClassification",
    "embed": "AlbertModel",
}
# What the Hugging Face Hub calls the tasks.
PIPELINES: dict[Kind, str] = {
    "classify": "text-classification",
    "multilabel": "text-classification",
    "regress": "text-classification",
    "choose": "multiple-choice",
    "answer": "question-answering",
    "tag": "token-classification",
    "embed": "feature-extraction",
}
_PROBLEMS: dict[Kind, str] = {
    "classify": "single_label_classification",
    "multilabel": "multi_label_classification",
    "regress": "regression",
}


def read_huggingface_task(folder: Path) -> TrainedModel | None:
    """Read a fine-tuned model that transformers saved; None where it is not one."""
    if not is_huggingface(folder):
        return None
    source = folder / CONFIG
    values = read_json(source)
    architecture = _architecture(values)
    if architecture is None:
        record = exported_record(folder)
        if record is None or record.spec.kind != "embed":
            return None
        model = as_embedder(read_huggingface(folder, needs_head=False))
        return dataclasses.replace(model, task=record)
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


def _architecture(values: Values) -> str | None:
    """The name of the model of a task; None where it is another model."""
    named = values.get("architectures")
    first = named[0] if isinstance(named, list) and named else None
    # An AlbertModel alone may be for anything.
    is_of_task = first != ARCHITECTURES["embed"] and first in ARCHITECTURES.values()
    return first if is_of_task else None


def _task_of(values: Values, architecture: str, *, outputs: int, source: Path) -> TaskSpec:
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


def _labels(values: Values, *, number: int, source: Path) -> tuple[str, ...]:
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
