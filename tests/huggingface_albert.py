"""The same ALBERT in transformers: its configuration, its weights, its inputs."""

import functools
import math
import re

import numpy as np

from albert_tf.model.initial_weights import truncated_normal
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.runs.checkpoints import assign_arrays
from schemas.architecture import ModelConfig

SMALL = ModelConfig(
    vocab_size=40,
    embedding_size=8,
    hidden_size=16,
    num_hidden_layers=4,
    num_hidden_groups=2,
    num_attention_heads=2,
    intermediate_size=24,
    max_position_embeddings=16,
)

NAMES = {
    "word_embeddings": "albert.embeddings.word_embeddings.weight",
    "position_embeddings": "albert.embeddings.position_embeddings.weight",
    "token_type_embeddings": "albert.embeddings.token_type_embeddings.weight",
    "embeddings/layer_norm": "albert.embeddings.LayerNorm",
    "embeddings/projection": "albert.encoder.embedding_hidden_mapping_in",
    "attention/query": "{block}.attention.query",
    "attention/key": "{block}.attention.key",
    "attention/value": "{block}.attention.value",
    "attention/output": "{block}.attention.dense",
    "attention/layer_norm": "{block}.attention.LayerNorm",
    "ffn/intermediate": "{block}.ffn",
    "ffn/output": "{block}.ffn_output",
    "ffn/layer_norm": "{block}.full_layer_layer_norm",
    "pooler": "albert.pooler",
    "masked_lm_head/transform": "predictions.dense",
    "masked_lm_head/layer_norm": "predictions.LayerNorm",
    "masked_lm_head/output_bias": "predictions.bias",
    "sentence_head/classifier": "sop_classifier.classifier",
}
ENDINGS = {"kernel": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}


def huggingface_name(path):
    """The name transformers gives to one of our weights.

    >>> huggingface_name("albert/encoder/group_1_inner_0_attention/query/kernel")
    'albert.encoder.albert_layer_groups.1.albert_layers.0.attention.query.weight'
    """
    owner = re.search(r"group_(\d+)_inner_(\d+)", path)
    block = owner and (f"albert.encoder.albert_layer_groups.{owner[1]}.albert_layers.{owner[2]}")
    path = re.sub(r".*(encoder/|albert/)(group_\d+_inner_\d+_)?", "", path)
    path = path.removeprefix("embeddings/") if path.endswith("embeddings") else path
    if path in NAMES:
        return NAMES[path]
    stem, ending = path.rsplit("/", 1)
    return f"{NAMES[stem]}.{ENDINGS[ending]}".format(block=block)


def to_huggingface(arrays):
    """Our arrays by path as transformers' by name; its kernels are transposed."""
    return {
        huggingface_name(path): array.T if path.endswith("kernel") else array
        for path, array in arrays.items()
    }


def assert_equal_but_for_ties(theirs, ours, tokenizer, *, share=0.001):
    """The same pieces for all but a few texts, where two divisions score the same."""
    differing = [(a, b) for a, b in zip(theirs, ours, strict=True) if list(a) != b]
    assert len(differing) <= share * len(ours)
    for a, b in differing:
        scores = [sum(tokenizer.score(int(i)) for i in ids) for ids in (a, b)]
        assert math.isclose(*scores, abs_tol=1e-3)


def lively_weights(model, *, scale=0.3, seed=7):
    """Values for every weight, biases and scales too, so that each shows in results."""
    return {
        path: truncated_normal(tuple(weight.shape), path=path, seed=seed) * np.float32(scale)
        + np.float32(path.endswith("gamma"))
        for path, weight in model.weights_by_path.items()
    }


@functools.cache
def lively_arrays(config):
    """Those of a model of pretraining, to be read."""
    return lively_weights(AlbertPretrainer(config))


def lively_model(config=SMALL, *, seed=7, **settings):
    """A model of pretraining with such weights."""
    model = AlbertPretrainer(config, **settings)
    assign_arrays(model.weights_by_path, lively_weights(model, seed=seed))
    return model


def huggingface_model(config, arrays):
    """An AlbertForPreTraining of transformers with these weights, without dropout."""
    import torch
    import transformers

    names = (
        "vocab_size embedding_size hidden_size num_hidden_layers num_hidden_groups "
        "inner_group_num num_attention_heads intermediate_size "
        "max_position_embeddings type_vocab_size layer_norm_eps"
    )
    model = transformers.AlbertForPreTraining(
        transformers.AlbertConfig(
            **{name: getattr(config, name) for name in names.split()},
            hidden_act="gelu_new",
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            classifier_dropout_prob=0.0,
        )
    )
    state = {
        name: torch.tensor(np.ascontiguousarray(array))
        for name, array in to_huggingface(arrays).items()
    }
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected
    assert set(missing) <= {"predictions.decoder.weight", "predictions.decoder.bias"}
    model.tie_weights()
    return model


def huggingface_losses(model, batch):
    """Logits at the masked positions, sentence logits and both losses, as tensors.

    The logits are gathered and the losses summed as ours: padding counts nowhere.
    """
    import torch

    inputs = {name: torch.tensor(np.asarray(v)) for name, v in batch.items()}
    outputs = model(
        input_ids=inputs["input_ids"].long(),
        attention_mask=inputs["input_mask"].long(),
        token_type_ids=inputs["segment_ids"].long(),
    )
    positions = inputs["masked_lm_positions"].long()
    width = outputs.prediction_logits.shape[-1]
    logits = torch.gather(
        outputs.prediction_logits, 1, positions[:, :, None].expand(-1, -1, width)
    ).flatten(0, 1)
    losses = torch.nn.functional.cross_entropy(
        logits, inputs["masked_lm_ids"].long().flatten(), reduction="none"
    )
    weights = inputs["masked_lm_weights"].flatten()
    sentence_loss = torch.nn.functional.cross_entropy(
        outputs.sop_logits, inputs["sentence_order_labels"].long()
    )
    return (logits, outputs.sop_logits, (losses * weights).sum() / weights.sum(), sentence_loss)
