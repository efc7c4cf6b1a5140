"""An ALBERT as other programs keep it: its names and tensors, both ways.

They share whole layers only, so the paths are those of a model whose groups share all
(`sharing.whole_layers`), and they always have a pooler and a sentence head.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from albert_tf.model.initial_weights import truncated_normal
from albert_tf.model.parameters import weight_shapes, whole_layers, whole_layers_source
from albert_tf.model.trained_model import TrainedModel
from albert_tf.runs.checkpoints import Arrays, Shapes
from albert_tf.runs.run_record import trained_length
from schemas.config import ModelConfig, config_from_dict
from schemas.errors import AlbertError, SettingError

# Which task the sentence head was trained on; a field of ours in their configuration.
SENTENCE_TASK = "sentence_task"

# The weights that have a row for each token of the vocabulary.
_OF_PIECES = ("/word_embeddings", "/output_bias")

ABSENT_SENTENCE_HEAD = (
    "It has no sentence-order head; that starts at zero, where both orders are "
    "equally likely."
)


NEW_MASKED_LM_HEAD = (
    "It has no masked-LM head, so it gets a new one: fine-tune the model, or train it "
    "further before it fills masks."
)

# Hugging Face's and google-research's name of each layer, by our path of it.
# {block} is a group's inner block, which both spell in their own way.
_LAYERS = {
    "encoder/embeddings/layer_norm": (
        "albert.embeddings.LayerNorm",
        "bert/embeddings/LayerNorm",
    ),
    "encoder/embeddings/projection": (
        "albert.encoder.embedding_hidden_mapping_in",
        "bert/encoder/embedding_hidden_mapping_in",
    ),
    "attention/query": ("{block}.attention.query", "{block}/attention_1/self/query"),
    "attention/key": ("{block}.attention.key", "{block}/attention_1/self/key"),
    "attention/value": ("{block}.attention.value", "{block}/attention_1/self/value"),
    "attention/output": (
        "{block}.attention.dense",
        "{block}/attention_1/output/dense",
    ),
    "attention/layer_norm": ("{block}.attention.LayerNorm", "{block}/LayerNorm"),
    "ffn/intermediate": ("{block}.ffn", "{block}/ffn_1/intermediate/dense"),
    "ffn/output": ("{block}.ffn_output", "{block}/ffn_1/intermediate/output/dense"),
    "ffn/layer_norm": ("{block}.full_layer_layer_norm", "{block}/LayerNorm_1"),
    "encoder/pooler": ("albert.pooler", "bert/pooler/dense"),
    "masked_lm_head/transform": (
        "predictions.dense",
        "cls/predictions/transform/dense",
    ),
    "masked_lm_head/layer_norm": (
        "predictions.LayerNorm",
        "cls/predictions/transform/LayerNorm",
    ),
}
# The same for tensors that stand alone.
_TENSORS = {
    f"encoder/embeddings/{table}": (
        f"albert.embeddings.{table}.weight",
        f"bert/embeddings/{table}",
    )
    for table in ("word_embeddings", "position_embeddings", "token_type_embeddings")
} | {
    "masked_lm_head/output_bias": ("predictions.bias", "cls/predictions/output_bias"),
    "sentence_head/classifier/kernel": (
        "sop_classifier.classifier.weight",
        "cls/seq_relationship/output_weights",
    ),
    "sentence_head/classifier/bias": (
        "sop_classifier.classifier.bias",
        "cls/seq_relationship/output_bias",
    ),
}
_ENDINGS = {"kernel": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}

_BLOCK = re.compile(r"encoder/group_(\d+)_inner_(\d+)_(?=attention|ffn)")


class Naming(NamedTuple):
    """How another program spells the weights.

    Attributes:
        name: Its name of the weight at one of our paths.
        is_transposed: Whether it keeps that weight with its two axes exchanged.
    """

    name: Callable[[str], str]
    is_transposed: Callable[[str], bool]


def huggingface_name(path: str) -> str:
    """The name of a weight in AlbertForPreTraining of transformers.

    >>> huggingface_name("albert/encoder/group_1_inner_0_ffn/output/kernel")
    'albert.encoder.albert_layer_groups.1.albert_layers.0.ffn_output.weight'
    """
    rest, block = _split(path, "albert.encoder.albert_layer_groups.{}.albert_layers.{}")
    if rest in _TENSORS:
        return _TENSORS[rest][0]
    layer, ending = rest.rsplit("/", 1)
    return f"{_LAYERS[layer][0]}.{_ENDINGS[ending]}".format(block=block)


def google_name(path: str) -> str:
    """The name of a variable in a checkpoint of google-research/albert.

    >>> google_name("albert/encoder/group_1_inner_0_ffn/output/kernel")
    'bert/encoder/transformer/group_1/inner_group_0/ffn_1/intermediate/output/dense/kernel'
    """
    rest, block = _split(path, "bert/encoder/transformer/group_{}/inner_group_{}")
    if rest in _TENSORS:
        return _TENSORS[rest][1]
    layer, ending = rest.rsplit("/", 1)
    return f"{_LAYERS[layer][1]}/{ending}".format(block=block)


def _split(path: str, block: str) -> tuple[str, str]:
    """A path without its block, and the block as the other program spells it."""
    rest = path.removeprefix("albert/")
    found = _BLOCK.match(rest)
    if found is None:
        return rest, ""
    return rest[found.end() :], block.format(found[1], found[2])


# A dense layer of torch keeps [outputs, inputs]; google-research does in one place.
HUGGINGFACE = Naming(huggingface_name, lambda path: path.endswith("/kernel"))
GOOGLE = Naming(google_name, lambda path: path.endswith("/classifier/kernel"))


def renamed(weights: Mapping[str, Any], naming: Naming) -> Arrays:
    """Weights by our paths as another program keeps them."""
    return {
        naming.name(path): np.ascontiguousarray(
            array.T if naming.is_transposed(path) else array
        )
        for path, array in weights.items()
    }


class Tensors(NamedTuple):
    """The tensors of another program's model, none of them loaded yet.

    Attributes:
        source: Where they are, for messages.
        shapes: By the other program's names.
        load: Gives the tensor of a name.
    """

    source: Path
    shapes: Shapes
    load: Callable[[str], Any]

    def without(self, names: Iterable[str]) -> "Tensors":
        """These tensors without the given names."""
        dropped = set(names)
        kept = {name: s for name, s in self.shapes.items() if name not in dropped}
        return self._replace(shapes=kept)


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


# What tables are padded to a multiple of, for the sake of speed.
_PADDED_TO = (8, 16, 32, 64, 128)


def without_padding_rows(model: TrainedModel, pieces: int) -> TrainedModel:
    """A model without the rows that pad its tables behind those of all pieces."""
    rows = model.config.vocab_size
    if rows not in {-(-pieces // size) * size for size in _PADDED_TO} - {pieces}:
        return model
    note = (
        f"Left out: {rows - pieces} rows with which its tables of {rows:,} are padded."
    )
    return dataclasses.replace(
        model,
        config=dataclasses.replace(model.config, vocab_size=pieces),
        weights={
            path: array[:pieces] if path.endswith(_OF_PIECES) else array
            for path, array in model.weights.items()
        },
        notes=(*model.notes, note),
    )


def in_order_of_ids(model: TrainedModel, order: Sequence[int] | None) -> TrainedModel:
    """A model whose rows were in the order of its vocabulary's file.

    Args:
        model: Of another program.
        order: The place in the file of each token id; None where that is the id.
    """
    return model if order is None else _reordered(model, np.array(order))


def in_order_of_file(model: TrainedModel, order: Sequence[int] | None) -> TrainedModel:
    """The same model with its rows in the order of its vocabulary's file."""
    return model if order is None else _reordered(model, np.argsort(order))


def _reordered(model: TrainedModel, places: Any) -> TrainedModel:
    weights = {
        path: array[places] if path.endswith(_OF_PIECES) else array
        for path, array in model.weights.items()
    }
    return dataclasses.replace(model, weights=weights)


def architecture(values: Mapping[str, Any], *, source: Path) -> ModelConfig:
    """The architecture in a JSON object with the fields of AlbertConfig.

    Other fields are ignored, and so is `hidden_act`, which each program spells in its
    own way.
    """
    fields = {field.name for field in dataclasses.fields(ModelConfig)}
    own = fields - {"sharing", "sentence_task", "hidden_act"}
    needed = ("vocab_size", "hidden_size", "num_attention_heads", "intermediate_size")
    missing = [name for name in needed if name not in values]
    if missing:
        raise AlbertError(
            f"{source} lacks {listed(missing)}, so it is not the configuration of an "
            "ALBERT; give the folder of one."
        )
    try:
        return config_from_dict(
            ModelConfig, {name: values[name] for name in values if name in own}
        )
    except SettingError as error:
        raise AlbertError(f"{source}: {error}") from error


def take_over(
    tensors: Tensors,
    values: Mapping[str, Any],
    naming: Naming,
    *,
    config_source: Path,
    needs_head: bool,
) -> TrainedModel:
    """A model out of another program's tensors and configuration.

    Without pooler and sentence head, or if they are known to be untrained, the model
    has no sentence task; if only the head is missing, it is zero. Nothing is loaded
    until all shapes match the configuration.

    Args:
        tensors: Those of the other program; the model leaves out what it does not know.
        config_source: Where the configuration is from, for messages.
        needs_head: Whether there has to be a masked-LM head; else one that is missing
            is a new one, as before training.
    """
    task = values.get(SENTENCE_TASK)
    config = dataclasses.replace(
        architecture(values, source=config_source),
        sentence_task="nsp" if task == "nsp" else "sop",
    )
    head = _names(config, naming, within="/sentence_head/")
    pooler = _names(config, naming, within="/pooler/")
    if task == "none":
        tensors = tensors.without([*head, *pooler])
    notes, absent = [], set[str]()
    masked_lm_head = _names(config, naming, within="/masked_lm_head/")
    if not needs_head and not any(name in tensors.shapes for name in masked_lm_head):
        absent |= set(masked_lm_head)
        notes.append(NEW_MASKED_LM_HEAD)
    if not any(name in tensors.shapes for name in head):
        absent |= set(head)
        if any(name in tensors.shapes for name in pooler):
            notes.append(ABSENT_SENTENCE_HEAD)
        else:
            config = dataclasses.replace(config, sentence_task="none")
    _check_shapes(tensors, config, naming, absent=absent)
    weights = {
        path: _new(path, shape, config)
        if naming.name(path) in absent
        else _weight(tensors, path, naming)
        for path, shape in weight_shapes(config).items()
    }
    left_out = sorted(tensors.shapes.keys() - {naming.name(path) for path in weights})
    if left_out:
        notes.append(f"Left out: {listed(left_out)}.")
    folder = config_source.parent
    return TrainedModel(
        folder=folder,
        config=config,
        weights=weights,
        max_seq_length=trained_length(folder, config),
        notes=tuple(notes),
    )


def _new(path: str, shape: tuple[int, ...], config: ModelConfig) -> Any:
    """A weight that another program's model does not have."""
    if path.endswith("/gamma"):
        return np.ones(shape, np.float32)
    if len(shape) == 1 or "/sentence_head/" in path:
        return np.zeros(shape, np.float32)
    drawn = truncated_normal(shape, path=path, seed=0)
    return drawn * np.float32(config.initializer_range)


def _names(config: ModelConfig, naming: Naming, *, within: str) -> list[str]:
    """The other program's names of the weights whose paths contain something."""
    return [naming.name(path) for path in weight_shapes(config) if within in path]


def _check_shapes(
    tensors: Tensors, config: ModelConfig, naming: Naming, *, absent: set[str]
) -> None:
    """Refuse missing tensors that are not in `absent`, and tensors of other shapes."""
    wanted = {
        naming.name(path): shape[::-1] if naming.is_transposed(path) else shape
        for path, shape in weight_shapes(config).items()
    }
    missing = [n for n in wanted if n not in tensors.shapes and n not in absent]
    if missing:
        raise AlbertError(
            f"{tensors.source} lacks {listed(missing)}; give a whole ALBERT with its "
            "masked-LM head, or make a run of one that has no head at all with albert "
            "import."
        )
    for name, shape in wanted.items():
        found = tensors.shapes.get(name, shape)
        if found != shape:
            raise AlbertError(
                f"{tensors.source}: {name} has shape {found}, but the configuration "
                f"says {shape}; give the files of one model."
            )


def _weight(tensors: Tensors, path: str, naming: Naming) -> np.ndarray[Any, Any]:
    """The tensor at one of our paths, in float32."""
    array = loaded(tensors, naming.name(path))
    return np.ascontiguousarray(array.T if naming.is_transposed(path) else array)


def loaded(tensors: Tensors, name: str) -> np.ndarray[Any, Any]:
    """A tensor of another program, in float32."""
    try:
        return np.asarray(tensors.load(name), dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise AlbertError(
            f"{tensors.source}: {name} does not hold numbers; copy it again."
        ) from error


def listed(names: Iterable[str], *, most: int = 3) -> str:
    """Names for a sentence, the first few of them.

    >>> listed("abcde")
    'a, b, c and 2 more'
    """
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
