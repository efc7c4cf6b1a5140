"""What all other programs' forms of an ALBERT have in common, both ways.

They share whole layers only, and always have a pooler and a sentence head.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from albert_tf.checkpoints import Arrays
from albert_tf.name_maps import Naming, renamed
from albert_tf.parameters import weight_shapes
from albert_tf.sharing import whole_layers, whole_layers_source
from schemas.config import ModelConfig, config_from_dict
from schemas.errors import AlbertError, SettingError

# Which task the sentence head was trained on; a field of ours in their configuration.
SENTENCE_TASK = "sentence_task"

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


def whole_model(weights: Mapping[str, Any], config: ModelConfig) -> Arrays:
    """Weights that compute the same in a model as others know it.

    What is shared in part becomes groups of equal weights. Without a sentence task the
    pooler and the sentence head are zero, where both labels are equally likely.
    """
    whole = whole_layers(config)
    with_head = dataclasses.replace(whole, sentence_task="sop")
    arrays = {
        path: weights[whole_layers_source(path, config)]
        for path in weight_shapes(whole)
    }
    return {
        path: arrays.get(path, np.zeros(shape, np.float32))
        for path, shape in weight_shapes(with_head).items()
    }


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


def take_over(
    tensors: Mapping[str, Any],
    values: Mapping[str, Any],
    naming: Naming,
    *,
    config_source: Path,
    source: Path,
) -> ForeignModel:
    """A model out of another program's tensors and configuration.

    Without pooler and sentence head, or where they are known to be untrained, it is a
    model without sentence task; a head alone may be missing, and then is zero.

    Args:
        tensors: By the other program's names; further ones are left out.
        values: The configuration.
        naming: Of the other program.
        config_source: Where the configuration is from, for messages.
        source: Where the tensors are from, for messages.

    Raises:
        AlbertError: The configuration is of no use, or tensors are missing or of
            another shape; names them.
    """
    notes = []
    task = values.get(SENTENCE_TASK)
    config = dataclasses.replace(
        architecture(values, source=config_source),
        sentence_task="nsp" if task == "nsp" else "sop",
    )
    names = {path: naming.name(path) for path in weight_shapes(config)}
    pooler = {path: name for path, name in names.items() if "/pooler/" in path}
    head = {path: name for path, name in names.items() if "/sentence_head/" in path}
    if task == "none":
        untrained = {*pooler.values(), *head.values()}
        tensors = {n: array for n, array in tensors.items() if n not in untrained}
    if not any(name in tensors for name in head.values()):
        if any(name in tensors for name in pooler.values()):
            notes.append(_ABSENT_HEAD)
        else:
            head = {}
            config = dataclasses.replace(config, sentence_task="none")
        tensors = {**_zero_tensors(head, config, naming), **tensors}
    weights = _by_path(tensors, config, naming, source=source)
    left_out = sorted(tensors.keys() - {naming.name(path) for path in weights})
    if left_out:
        notes.append(f"Left out: {listed(left_out)}.")
    return ForeignModel(config, weights, tuple(notes))


def _zero_tensors(
    names: Mapping[str, str], config: ModelConfig, naming: Naming
) -> Arrays:
    """Zeros under the other program's names of some paths."""
    shapes = weight_shapes(config)
    zeros = {path: np.zeros(shapes[path], np.float32) for path in names}
    return renamed(zeros, naming)


def _by_path(
    tensors: Mapping[str, Any], config: ModelConfig, naming: Naming, *, source: Path
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
