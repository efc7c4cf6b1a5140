"""What the weights are called elsewhere: by Hugging Face and by google-research/albert.

Both share whole layers only, so the paths are those of a model whose groups share all
(`sharing.whole_layers`).
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from albert_tf.runs.tensor_files import Arrays

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
