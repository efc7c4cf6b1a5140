"""An ALBERT as Hugging Face keeps it, both ways: config.json and model.safetensors."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from albert_tf.checkpoints import Arrays
from albert_tf.foreign_model import (
    SENTENCE_TASK,
    ForeignModel,
    take_over,
    whole_model,
)
from albert_tf.name_maps import HUGGINGFACE, renamed
from albert_tf.sharing import whole_layers
from schemas.config import ModelConfig
from schemas.errors import AlbertError
from schemas.json_file import read_json
from schemas.layout import CONFIG, MODEL_WEIGHTS
from schemas.special_tokens import CLS_ID, PAD_ID, SEP_ID

# Fields that AlbertConfig has under the same names.
_FIELDS = (
    "vocab_size",
    "embedding_size",
    "hidden_size",
    "num_hidden_layers",
    "num_hidden_groups",
    "inner_group_num",
    "num_attention_heads",
    "intermediate_size",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "max_position_embeddings",
    "type_vocab_size",
    "initializer_range",
    "layer_norm_eps",
)
# The spellings of GELU in its tanh approximation, which all released ALBERTs have, and
# of the exact one.
_TANH_GELU = ("gelu_new", "gelu_pytorch_tanh")
_EXACT_GELU = "gelu"

_PREFIX = "albert."
_PROJECTION = "albert.encoder.embedding_hidden_mapping_in"
_WORD_EMBEDDINGS = "albert.embeddings.word_embeddings.weight"
_OUTPUT_BIAS = "predictions.bias"
# The output layer of the masked-LM head, tied to the table and the bias above.
_DECODER = "predictions.decoder.weight"
_DECODER_BIAS = "predictions.decoder.bias"

# Which file of several holds which tensor: what transformers writes of large models.
_INDEX = f"{MODEL_WEIGHTS}.index.json"
_FILES = "weight_map"

_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


def huggingface_config(config: ModelConfig) -> dict[str, Any]:
    """`config.json` for AlbertForPreTraining."""
    whole = whole_layers(config)
    return {
        "architectures": ["AlbertForPreTraining"],
        "model_type": "albert",
        **{name: getattr(whole, name) for name in _FIELDS},
        "hidden_act": _TANH_GELU[0],
        "classifier_dropout_prob": 0.1,
        "pad_token_id": PAD_ID,
        "bos_token_id": CLS_ID,
        "eos_token_id": SEP_ID,
        "tie_word_embeddings": True,
        "dtype": "float32",
        SENTENCE_TASK: config.sentence_task,
    }


def huggingface_tensors(weights: Mapping[str, Any], config: ModelConfig) -> Arrays:
    """The tensors of an AlbertForPreTraining that computes the same.

    That model always has a projection, here the identity where E = H.
    """
    tensors = renamed(whole_model(weights, config), HUGGINGFACE)
    width = config.hidden_size
    if config.embedding_size == width:
        tensors[f"{_PROJECTION}.weight"] = np.eye(width, dtype=np.float32)
        tensors[f"{_PROJECTION}.bias"] = np.zeros(width, np.float32)
    tensors[_DECODER_BIAS] = tensors[_OUTPUT_BIAS]
    return dict(sorted(tensors.items()))


def write_huggingface(
    weights: Mapping[str, Any], config: ModelConfig, path: Path
) -> None:
    """Write `model.safetensors`."""
    tensors = huggingface_tensors(weights, config)
    # Not `save_file`, which makes a file that only its owner may read.
    path.write_bytes(safetensors.numpy.save(tensors, metadata={"format": "pt"}))


def is_huggingface(folder: Path) -> bool:
    """Whether a folder has a `config.json` of transformers."""
    path = folder / CONFIG
    return path.is_file() and "model_type" in read_json(path)


def read_huggingface(folder: Path) -> ForeignModel:
    """Read a model that transformers, or `albert export --to hf`, saved.

    Raises:
        AlbertError: It is of another architecture, pickled, or not whole.
    """
    source = folder / CONFIG
    values = read_json(source)
    _check_kind(values, source=source)
    notes = _check_activation(values, source=source)
    tensors = _read_tensors(folder)
    weights_file = folder / MODEL_WEIGHTS
    _drop_tied(tensors, source=weights_file)
    if values.get("embedding_size") == values.get("hidden_size"):
        _drop_identity(tensors, source=weights_file)
    model = take_over(
        tensors, values, HUGGINGFACE, config_source=source, source=weights_file
    )
    return model._replace(notes=notes + model.notes)


def _check_kind(values: Mapping[str, Any], *, source: Path) -> None:
    """Refuse what is no ALBERT, or one that computes something else."""
    kind = values.get("model_type")
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


def _check_activation(values: Mapping[str, Any], *, source: Path) -> tuple[str, ...]:
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


def _read_tensors(folder: Path) -> Arrays:
    """All tensors, under the names they have in AlbertForPreTraining."""
    tensors: Arrays = {}
    for path in _weight_files(folder):
        try:
            tensors |= safetensors.numpy.load_file(path)
        except (OSError, safetensors.SafetensorError) as error:
            raise AlbertError(
                f"{path} is not whole: {error}; copy it again."
            ) from error
    if any(name.startswith(_PREFIX) for name in tensors):
        return tensors
    # An AlbertModel alone is saved without the prefix.
    return {_PREFIX + name: array for name, array in tensors.items()}


def _weight_files(folder: Path) -> list[Path]:
    """The one file of a model's tensors, or those that its index names."""
    if (folder / MODEL_WEIGHTS).exists():
        return [folder / MODEL_WEIGHTS]
    index = folder / _INDEX
    if not index.exists():
        raise AlbertError(_no_tensors(folder))
    files = read_json(index).get(_FILES)
    if not isinstance(files, dict) or not files:
        raise AlbertError(f"{index} has no {_FILES}; copy it again.")
    # By name only: an index has no business outside its folder.
    paths = [folder / Path(name).name for name in sorted(set(files.values()))]
    for path in paths:
        if not path.exists():
            raise AlbertError(
                f"{path} is missing, which {_INDEX} names; give the whole folder of a "
                "model."
            )
    return paths


def _no_tensors(folder: Path) -> str:
    """Why there is nothing to read."""
    pickles = sorted(path for glob in _PICKLES for path in folder.glob(glob))
    if pickles:
        return (
            f"{pickles[0]} is a pickle, which can run any program when it is read; "
            "convert the model to safetensors first (in transformers "
            'AlbertForPreTraining.from_pretrained("FOLDER").save_pretrained("NEW")).'
        )
    return f"{folder} has no {MODEL_WEIGHTS}; give the whole folder of a model."


def _drop_tied(tensors: Arrays, *, source: Path) -> None:
    """Drop the second names of the tensors that the output layer shares.

    Raises:
        AlbertError: They are other tensors.
    """
    decoder_bias = tensors.pop(_DECODER_BIAS, None)
    if decoder_bias is not None:
        tensors.setdefault(_OUTPUT_BIAS, decoder_bias)
    decoder = tensors.pop(_DECODER, None)
    table = tensors.get(_WORD_EMBEDDINGS)
    if decoder is None or table is None:
        return
    if not np.array_equal(decoder, table):
        raise AlbertError(
            f"{source}: {_DECODER} differs from {_WORD_EMBEDDINGS}; only ALBERTs whose "
            "output layer is the embedding table can be read."
        )


def _drop_identity(tensors: Arrays, *, source: Path) -> None:
    """Drop the projection from E to H where both are the same and it does nothing.

    Raises:
        AlbertError: It does something.
    """
    kernel = tensors.pop(f"{_PROJECTION}.weight", None)
    bias = tensors.pop(f"{_PROJECTION}.bias", None)
    if kernel is None or bias is None:
        return
    if bias.any() or not np.array_equal(kernel, np.eye(len(bias))):
        raise AlbertError(
            f"{source}: {_PROJECTION} is no identity although the embedding size is "
            "the hidden size; such a model cannot be read."
        )
