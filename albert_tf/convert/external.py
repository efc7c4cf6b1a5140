"""An ALBERT as other programs keep it: its names and tensors, both ways.

They share whole layers only, so the paths are those of a model whose groups share all
(`sharing.whole_layers`), and they always have a pooler and a sentence head.
"""

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from albert_tf.model.initial_weights import truncated_normal
from albert_tf.model.parameters import (
    GroupOf,
    has_groups_of,
    weight_shapes,
    whole_layers,
    whole_layers_source,
)
from albert_tf.model.trained_model import TrainedModel
from albert_tf.runs.checkpoints import Arrays, Shapes
from albert_tf.runs.run_record import trained_length
from schemas.architecture import Activation, ModelConfig
from schemas.config import SentenceTask, config_from_dict
from schemas.errors import AlbertError, SettingError
from schemas.readable import listed

# Which task the sentence head was trained on; a field of ours in their configuration.
SENTENCE_TASK = "sentence_task"

# Fields that AlbertConfig does not have, or not with the same values.
OWN_FIELDS = {"sharing", "sentence_task", "hidden_act", "embedding_projection"}

_WHOLE = (
    "give a whole ALBERT with its masked-LM head, or make a run of one that has no "
    "head at all with albert import"
)

_OTHER = (
    "it is a model of another kind, such as BERT or albert_zh of brightmart; those of "
    "google-research/albert and of Hugging Face's AlbertModel can be read"
)

# Hugging Face's and google-research's name of each layer and each tensor that stands
# alone, by our path of it. {block} is a group's inner block, spelled in two ways.
_NAMES: dict[str, tuple[str, ...]] = {
    "encoder/embeddings/word_embeddings": (
        "albert.embeddings.word_embeddings.weight",
        "bert/embeddings/word_embeddings",
    ),
    "encoder/embeddings/position_embeddings": (
        "albert.embeddings.position_embeddings.weight",
        "bert/embeddings/position_embeddings",
    ),
    "encoder/embeddings/token_type_embeddings": (
        "albert.embeddings.token_type_embeddings.weight",
        "bert/embeddings/token_type_embeddings",
    ),
    "encoder/embeddings/layer_norm": ("albert.embeddings.LayerNorm", "bert/embeddings/LayerNorm"),
    "encoder/embeddings/projection": (
        "albert.encoder.embedding_hidden_mapping_in",
        "bert/encoder/embedding_hidden_mapping_in",
    ),
    "attention/query": ("{block}.attention.query", "{block}/attention_1/self/query"),
    "attention/key": ("{block}.attention.key", "{block}/attention_1/self/key"),
    "attention/value": ("{block}.attention.value", "{block}/attention_1/self/value"),
    "attention/output": ("{block}.attention.dense", "{block}/attention_1/output/dense"),
    "attention/layer_norm": ("{block}.attention.LayerNorm", "{block}/LayerNorm"),
    "ffn/intermediate": ("{block}.ffn", "{block}/ffn_1/intermediate/dense"),
    "ffn/output": ("{block}.ffn_output", "{block}/ffn_1/intermediate/output/dense"),
    "ffn/layer_norm": ("{block}.full_layer_layer_norm", "{block}/LayerNorm_1"),
    "encoder/pooler": ("albert.pooler", "bert/pooler/dense"),
    "masked_lm_head/transform": ("predictions.dense", "cls/predictions/transform/dense"),
    "masked_lm_head/layer_norm": ("predictions.LayerNorm", "cls/predictions/transform/LayerNorm"),
    "masked_lm_head/output_bias": ("predictions.bias", "cls/predictions/output_bias"),
    "sentence_head/classifier/kernel": (
        "sop_classifier.classifier.weight",
        "cls/seq_relationship/output_weights",
    ),
    "sentence_head/classifier/bias": (
        "sop_classifier.classifier.bias",
        "cls/seq_relationship/output_bias",
    ),
    "task_head/classifier": ("classifier",),
    "task_head/qa_outputs": ("qa_outputs",),
}
_BLOCK = re.compile(r"encoder/group_(\d+)_inner_(\d+)_(?=attention|ffn)")


class Naming(NamedTuple):
    """How another program spells the weights.

    Attributes:
        column: Of its names in the table.
        block: With the numbers of a group and of its inner block.
        endings: What follows the name of a layer, by the last part of our path, where it
            is another.
        transposed: The ending of the paths whose two axes it exchanges.
    """

    column: int
    block: str
    endings: dict[str, str]
    transposed: str

    def name(self, path: str) -> str:
        """The name of the weight at one of our paths.

        >>> path = "albert/encoder/group_1_inner_0_ffn/output/kernel"
        >>> HUGGINGFACE.name(path)
        'albert.encoder.albert_layer_groups.1.albert_layers.0.ffn_output.weight'
        >>> GOOGLE.name(path)
        'bert/encoder/transformer/group_1/inner_group_0/ffn_1/intermediate/output/dense/kernel'
        """
        rest, block = path.removeprefix("albert/"), ""
        if found := _BLOCK.match(rest):
            rest, block = rest[found.end() :], self.block.format(found[1], found[2])
        if rest in _NAMES:
            return _NAMES[rest][self.column]
        layer, ending = rest.rsplit("/", 1)
        name = _NAMES[layer][self.column].format(block=block)
        return name + self.endings.get(ending, f"/{ending}")

    def turned(self, path: str, array: Any) -> Any:
        """A weight of ours as it keeps it, or one of its as we do."""
        return np.ascontiguousarray(array.T if path.endswith(self.transposed) else array)


# A dense layer of torch keeps [outputs, inputs]; google-research does in one place.
HUGGINGFACE = Naming(
    0,
    "albert.encoder.albert_layer_groups.{}.albert_layers.{}",
    {"kernel": ".weight", "bias": ".bias", "gamma": ".weight", "beta": ".bias"},
    transposed="/kernel",
)
GOOGLE = Naming(
    1, "bert/encoder/transformer/group_{}/inner_group_{}", {}, transposed="/classifier/kernel"
)


def renamed(weights: Mapping[str, Any], naming: Naming) -> Arrays:
    """Weights by our paths as another program keeps them."""
    return {naming.name(path): naming.turned(path, array) for path, array in weights.items()}


class Tensors(NamedTuple):
    """The tensors of another program's model, none of them loaded yet.

    Attributes:
        source: Where they are, for messages.
        shapes: By the other program's names.
    """

    source: Path
    shapes: Shapes
    load: Callable[[str], Any]

    def without(self, names: Collection[str]) -> "Tensors":
        """These tensors without the given names."""
        kept = {name: s for name, s in self.shapes.items() if name not in names}
        return self._replace(shapes=kept)


def whole_model(weights: Mapping[str, Any], config: ModelConfig) -> Arrays:
    """Weights that compute the same in a model as others know it.

    What is shared in part becomes groups of equal weights. Without a sentence task the
    pooler and the sentence head are zero, where both labels are equally likely.
    """
    whole = whole_layers(config)
    with_head = dataclasses.replace(whole, sentence_task="sop")
    arrays = {path: weights[whole_layers_source(path, config)] for path in weight_shapes(whole)}
    return {
        path: arrays.get(path, np.zeros(shape, np.float32))
        for path, shape in weight_shapes(with_head).items()
    }


def without_padding_rows(model: TrainedModel, pieces: int) -> TrainedModel:
    """A model without the rows that pad its tables behind those of all pieces."""
    rows = model.config.vocab_size
    # For the sake of speed tables are padded to a multiple of one of these.
    padded = {-(-pieces // size) * size for size in (8, 16, 32, 64, 128)}
    if rows not in padded - {pieces}:
        return model
    note = f"Left out: {rows - pieces} rows with which its tables of {rows:,} are padded."
    return dataclasses.replace(
        with_rows(model, slice(pieces)),
        config=dataclasses.replace(model.config, vocab_size=pieces),
        remarks=(*model.remarks, note),
    )


def with_rows(model: TrainedModel, places: Any) -> TrainedModel:
    """A model whose tables have the rows at these places, in this order."""
    # Those that have a row for each token of the vocabulary.
    tables = ("/word_embeddings", "/output_bias")
    weights = {
        path: array[places] if path.endswith(tables) else array
        for path, array in model.weights.items()
    }
    return dataclasses.replace(model, weights=weights)


def architecture(
    values: Mapping[str, Any], *, source: Path, activation: Activation, group_of: GroupOf
) -> ModelConfig:
    """The architecture in a JSON object with the fields of AlbertConfig and any others.

    Args:
        activation: What `hidden_act` means, which each program spells in its own way.
        group_of: As the other program rounds.
    """
    fields = {field.name for field in dataclasses.fields(ModelConfig)} - OWN_FIELDS
    needed = ("vocab_size", "hidden_size", "num_attention_heads", "intermediate_size")
    missing = [name for name in needed if name not in values]
    if missing:
        raise AlbertError(
            f"{source} lacks {listed(missing)}, so it is not the configuration of an "
            "ALBERT; give the folder of one."
        )
    known = {name: value for name, value in values.items() if name in {*fields, SENTENCE_TASK}}
    try:
        config = config_from_dict(ModelConfig, {**known, "hidden_act": activation})
    except SettingError as error:
        raise AlbertError(f"{source}: {error}") from error
    if not has_groups_of(group_of, config):
        raise AlbertError(
            f"{source}: which of {config.num_hidden_layers} layers are in which of "
            f"{config.num_hidden_groups} groups follows there from rounding, and is "
            "another group here; such a model cannot be read."
        )
    return config


def take_over(
    tensors: Tensors, config: ModelConfig, naming: Naming, *, sentence_task: Any, needs_head: bool
) -> TrainedModel:
    """A model out of another program's tensors and configuration.

    Without pooler and sentence head, or if they are known to be untrained, the model
    has no sentence task; if only the head is missing, it is zero.

    Args:
        needs_head: Whether there has to be a masked-LM head; else one that is missing
            is a new one, as before training.
    """
    task: SentenceTask = "nsp" if sentence_task == "nsp" else "sop"
    config = dataclasses.replace(config, sentence_task=task)
    head, pooler, masked_lm_head = (
        {naming.name(path) for path in weight_shapes(config) if part in path}
        for part in ("/sentence_head/", "/pooler/", "/masked_lm_head/")
    )
    if sentence_task == "none":
        tensors = tensors.without(head | pooler)
    found = tensors.shapes.keys()
    untrained, absent = [], set[str]()
    if not needs_head and not masked_lm_head & found:
        absent |= masked_lm_head
        untrained.append("masked_lm_head")
    if not head & found:
        if pooler & found:
            absent |= head
            untrained.append("sentence_head")
        else:
            config = dataclasses.replace(config, sentence_task="none")
    shapes = weight_shapes(config)
    names = {path: naming.name(path) for path in shapes}
    has_block = any(_BLOCK.search(path) and name in found for path, name in names.items())
    # Layers of another kind: none of ours, and others of an encoder.
    is_other = not has_block and any("encoder" in n for n in found - set(names.values()))
    remedy = _OTHER if is_other else _WHOLE
    model = model_of(tensors, config, naming, shapes, absent=absent, remedy=remedy)
    return dataclasses.replace(model, untrained=tuple(untrained))


def model_of(
    tensors: Tensors,
    config: ModelConfig,
    naming: Naming,
    shapes: Shapes,
    *,
    absent: Collection[str] = (),
    remedy: str = "give the whole folder of a model",
) -> TrainedModel:
    """The model with weights of these shapes, by our paths.

    Nothing is loaded until all shapes match the configuration.

    Args:
        tensors: Those that are not asked for are left out, with a note.
        absent: The names of those that begin as before training.
        remedy: What to do where another is missing.
    """
    wanted = {
        naming.name(path): shape[::-1] if path.endswith(naming.transposed) else shape
        for path, shape in shapes.items()
    }
    missing = [n for n in wanted if n not in tensors.shapes and n not in absent]
    if missing:
        raise AlbertError(f"{tensors.source} lacks {listed(missing)}; {remedy}.")
    for name, shape in wanted.items():
        found = tensors.shapes.get(name, shape)
        if found != shape:
            raise AlbertError(
                f"{tensors.source}: {name} has shape {found}, but the configuration "
                f"says {shape}; give the files of one model."
            )
    weights = {
        path: _new(path, shape, config)
        if naming.name(path) in absent
        else _loaded(tensors, path, naming)
        for path, shape in shapes.items()
    }
    left_out = sorted(tensors.shapes.keys() - wanted.keys())
    return TrainedModel(
        folder=tensors.source.parent,
        config=config,
        weights=weights,
        max_seq_length=trained_length(tensors.source.parent, config),
        remarks=(f"Left out: {listed(left_out)}.",) if left_out else (),
    )


def _new(path: str, shape: tuple[int, ...], config: ModelConfig) -> Any:
    """A weight that another program's model does not have."""
    if path.endswith("/gamma"):
        return np.ones(shape, np.float32)
    if len(shape) == 1 or "/sentence_head/" in path:
        return np.zeros(shape, np.float32)
    drawn = truncated_normal(shape, path=path, seed=0)
    return drawn * np.float32(config.initializer_range)


def _loaded(tensors: Tensors, path: str, naming: Naming) -> Any:
    """The tensor at one of our paths, in float32."""
    name = naming.name(path)
    try:
        array = np.asarray(tensors.load(name), dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise AlbertError(
            f"{tensors.source}: {name} does not hold numbers; copy it again."
        ) from error
    return naming.turned(path, array)
