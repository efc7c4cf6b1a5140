"""A model that another program saved becomes an architecture and weights of ours."""

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from albert_tf.checkpoints import Arrays
from albert_tf.name_maps import Naming
from albert_tf.parameters import weight_shapes
from schemas.config import ModelConfig, SentenceTask, config_from_dict
from schemas.errors import AlbertError, SettingError

# GELU in its tanh approximation is the one this program and all of ALBERT's released
# models have.
_TANH_GELU = ("gelu_new", "gelu_pytorch_tanh")
_EXACT_GELU = "gelu"

_ABSENT_HEAD = (
    "It has no sentence-order head; that starts at zero, where both orders are "
    "equally likely."
)


class ForeignModel(NamedTuple):
    """A model that another program saved.

    Attributes:
        config: Its architecture.
        weights: By path.
        notes: What a person should know of how it was read.
    """

    config: ModelConfig
    weights: Arrays
    notes: tuple[str, ...]


def architecture(values: Mapping[str, Any], *, source: Path) -> ModelConfig:
    """The architecture in a JSON object with the fields of AlbertConfig.

    Further fields are left out. `hidden_act` is not looked at.

    Raises:
        AlbertError: A field that decides shapes is missing, or a value is no use.
    """
    fields = {field.name for field in dataclasses.fields(ModelConfig)}
    own = fields - {"sharing", "sentence_task"}
    needed = ("vocab_size", "hidden_size", "num_attention_heads", "intermediate_size")
    missing = [name for name in needed if name not in values]
    if missing:
        raise AlbertError(
            f"{source} lacks {listed(missing)}, so it is no configuration of an ALBERT."
        )
    try:
        return config_from_dict(
            ModelConfig, {name: values[name] for name in values if name in own}
        )
    except SettingError as error:
        raise AlbertError(f"{source}: {error}") from error


def check_activation(values: Mapping[str, Any], *, source: Path) -> tuple[str, ...]:
    """Notes on Hugging Face's activation function.

    Raises:
        AlbertError: It is another one than GELU.
    """
    activation = values.get("hidden_act", _TANH_GELU[0])
    if activation in _TANH_GELU:
        return ()
    if activation != _EXACT_GELU:
        raise AlbertError(
            f"{source}: hidden_act is {activation}; only ALBERTs with GELU can be read."
        )
    return (
        "Its hidden_act is the exact gelu; here it is computed in its tanh "
        "approximation, as google-research/albert trained it.",
    )


def take_over(
    tensors: Arrays,
    config: ModelConfig,
    naming: Naming,
    *,
    source: Path,
    sentence_task: SentenceTask = "sop",
) -> ForeignModel:
    """The weights of an architecture out of another program's tensors.

    Without pooler and sentence head it is a model without sentence task; a head alone
    may be missing, and then is zero.

    Args:
        tensors: By the other program's names; further ones are left out.
        config: The architecture, with groups that share all.
        naming: Of the other program.
        source: Where the tensors are from, for messages.
        sentence_task: What its sentence head was trained on.

    Raises:
        AlbertError: Tensors are missing or of another shape; names them.
    """
    notes = []
    own = dataclasses.replace(config, sentence_task=sentence_task)
    names = {path: naming.name(path) for path in weight_shapes(own)}
    head = [name for path, name in names.items() if "/sentence_head/" in path]
    pooler = [name for path, name in names.items() if "/pooler/" in path]
    if not any(name in tensors for name in head):
        if any(name in tensors for name in pooler):
            width = config.hidden_size
            tensors |= dict(zip(head, [np.zeros((2, width)), np.zeros(2)], strict=True))
            notes.append(_ABSENT_HEAD)
        else:
            own = dataclasses.replace(config, sentence_task="none")
    weights = _by_path(tensors, own, naming, source=source)
    left_out = sorted(tensors.keys() - {naming.name(path) for path in weights})
    if left_out:
        notes.append(f"Left out: {listed(left_out)}.")
    return ForeignModel(own, weights, tuple(notes))


def _by_path(
    tensors: Arrays, config: ModelConfig, naming: Naming, *, source: Path
) -> Arrays:
    """Tensors by our paths, in float32, once all are there in the right shape."""
    shapes = weight_shapes(config)
    missing = [name for name in map(naming.name, shapes) if name not in tensors]
    if missing:
        raise AlbertError(
            f"{source} lacks {listed(missing)}; give a whole ALBERT with its masked-LM "
            "head."
        )
    weights = {}
    for path, shape in shapes.items():
        name = naming.name(path)
        array = np.asarray(tensors[name], dtype=np.float32)
        if naming.is_transposed(path):
            array = array.T
        if array.shape != shape:
            found = tuple(tensors[name].shape)
            wanted = shape[::-1] if naming.is_transposed(path) else shape
            raise AlbertError(
                f"{source}: {name} has shape {found}, and by the configuration it is "
                f"{wanted}; give the files of one model."
            )
        weights[path] = np.ascontiguousarray(array)
    return weights


def listed(names: Iterable[str], *, most: int = 3) -> str:
    """Names for a sentence, the first few of them.

    >>> listed("abcde")
    'a, b, c and 2 more'
    """
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
