"""Hugging Face's form of a model, written and read, without Hugging Face."""

import dataclasses
import json

import numpy as np
import pytest
import safetensors.numpy

from albert_tf.convert.huggingface import (
    huggingface_config,
    huggingface_tensors,
    is_huggingface,
    read_huggingface,
    write_tensors,
)
from albert_tf.model import operations
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.runs.checkpoints import assign_arrays
from tests.batches import random_batch
from tests.huggingface_albert import SMALL, lively_arrays, to_huggingface
from tests.refusals import refusal

WIDE = {"embedding_size": 16, "embedding_projection": "always"}
# Every way of sharing, E = H, blocks inside a layer, and no sentence task.
VARIANTS = [
    WIDE,
    {},
    {"sharing": "attention"},
    {"sharing": "ffn", "num_hidden_groups": 1},
    {"sharing": "none", "inner_group_num": 2},
    {"embedding_size": 16},
    {"num_hidden_layers": 18, "num_hidden_groups": 14},
    {"sentence_task": "none"},
    {"sentence_task": "nsp"},
]


def save(folder, config, *, change=lambda tensors: None, **values):
    """An export; `change` may alter its tensors, `values` its configuration."""
    tensors = huggingface_tensors(lively_arrays(config), config)
    change(tensors)
    record = huggingface_config(config) | values
    (folder / "config.json").write_text(json.dumps(record))
    safetensors.numpy.save_file(tensors, folder / "model.safetensors")
    return tensors


def removing(*prefixes):
    """A change that removes the tensors whose names start so."""

    def change(tensors):
        for name in [name for name in tensors if name.startswith(prefixes)]:
            del tensors[name]

    return change


def without_heads(tensors):
    """A change to the names of an AlbertModel."""
    removing("predictions", "sop_classifier")(tensors)
    for name in list(tensors):
        tensors[name.removeprefix("albert.")] = tensors.pop(name)


def with_another(name, make):
    """A change that sets a tensor to what is made of all."""
    return lambda tensors: tensors.update({name: make(tensors)})


def of_type(dtype):
    """A change that turns all tensors into another type."""
    return lambda tensors: tensors.update({n: array.astype(dtype) for n, array in tensors.items()})


PROJECTION = "albert.encoder.embedding_hidden_mapping_in"


def logits(config, weights):
    model = AlbertPretrainer(config, operations=operations)
    assign_arrays(model.weights_by_path, weights)
    return model(random_batch(config))


def test_names_are_those_of_transformers():
    weights = lively_arrays(SMALL)
    tensors = huggingface_tensors(weights, SMALL)
    expected = to_huggingface(weights)
    assert tensors.keys() == expected.keys() | {"predictions.decoder.bias"}
    for name, array in expected.items():
        np.testing.assert_array_equal(tensors[name], array)


def test_the_configuration_is_an_albert_config():
    assert huggingface_config(dataclasses.replace(SMALL, sharing="ffn")) == {
        "architectures": ["AlbertForPreTraining"],
        "model_type": "albert",
        "vocab_size": 40,
        "embedding_size": 8,
        "hidden_size": 16,
        "num_hidden_layers": 4,
        "num_hidden_groups": 4,
        "inner_group_num": 1,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "max_position_embeddings": 16,
        "type_vocab_size": 2,
        "initializer_range": 0.02,
        "layer_norm_eps": 1e-12,
        "hidden_act": "gelu_new",
        "classifier_dropout_prob": 0.1,
        "pad_token_id": 0,
        "bos_token_id": 2,
        "eos_token_id": 3,
        "tie_word_embeddings": True,
        "dtype": "float32",
        "sentence_task": "sop",
    }


@pytest.mark.parametrize("changes", VARIANTS)
def test_what_is_read_back_computes_the_same_and_is_written_in_the_same_bytes(tmp_path, changes):
    config = dataclasses.replace(SMALL, **changes)
    save(tmp_path, config)
    model = read_huggingface(tmp_path)
    assert model.notes == ()
    assert model.config.sentence_task == config.sentence_task
    ours, theirs = logits(config, lively_arrays(config)), logits(model.config, model.weights)
    np.testing.assert_array_equal(ours[0], theirs[0])
    if config.sentence_task == "none":
        assert ours[1] is theirs[1] is None
    else:
        np.testing.assert_array_equal(ours[1], theirs[1])
    again = tmp_path / "again.safetensors"
    write_tensors(huggingface_tensors(model.weights, model.config), again)
    before = safetensors.numpy.load_file(tmp_path / "model.safetensors")
    after = safetensors.numpy.load_file(again)
    assert before.keys() == after.keys()
    for name, array in before.items():
        assert (array.dtype, array.tobytes()) == (after[name].dtype, after[name].tobytes()), name


def test_without_a_sentence_task_pooler_and_head_are_written_as_zeros_and_read_as_none(tmp_path):
    tensors = save(tmp_path, dataclasses.replace(SMALL, sentence_task="none"))
    assert tensors["albert.pooler.weight"].shape == (16, 16)
    heads = ("albert.pooler", "sop_classifier")
    assert not any(array.any() for name, array in tensors.items() if name.startswith(heads))
    save(tmp_path, SMALL, change=removing(*heads))
    model = read_huggingface(tmp_path)
    assert (model.config.sentence_task, model.notes) == ("none", ())


def test_the_output_bias_may_have_either_name_and_half_precision_is_read_as_float32(tmp_path):
    tensors = save(tmp_path, SMALL, change=removing("predictions.bias"))
    bias = read_huggingface(tmp_path).weights["albert/masked_lm_head/output_bias"]
    np.testing.assert_array_equal(bias, tensors["predictions.decoder.bias"])
    save(tmp_path, SMALL, change=of_type("float16"))
    weights = read_huggingface(tmp_path).weights
    assert {array.dtype for array in weights.values()} == {np.dtype("float32")}


def test_the_exact_gelu_is_read_with_a_word_and_relu_is_written_back(tmp_path):
    save(tmp_path, SMALL, hidden_act="gelu")
    (note,) = read_huggingface(tmp_path).notes
    assert note.startswith("Its hidden_act is the exact gelu")
    save(tmp_path, SMALL, hidden_act="relu")
    config = read_huggingface(tmp_path).config
    assert config == dataclasses.replace(SMALL, hidden_act="relu")
    assert huggingface_config(config)["hidden_act"] == "relu"


# Why a folder is refused, and in what it differs from one that is read.
NO_WHOLE_ALBERT = {
    "describes a model of type bert, and only albert can be read; give the": {"model_type": "bert"},
    "position_embedding_type is relative_key; only ALBERTs with absolute": {
        "position_embedding_type": "relative_key"
    },
    "hidden_act is silu; only ALBERTs with GELU or": {"hidden_act": "silu"},
    "which of 18 layers are in which of 14 groups follows there from rounding": {
        "num_hidden_layers": 18,
        "num_hidden_groups": 14,
    },
    "sentence_task must be one of sop, nsp, none, not 'SOP'.": {"sentence_task": "SOP"},
    "hidden_size must be of type int, not 'wide'.": {"hidden_size": "wide"},
    "num_attention_heads must divide hidden_size 16, and 3 does not.": {"num_attention_heads": 3},
    "albert.embeddings.word_embeddings.weight has shape (40, 8), but the configuration says (50, "
    "8); give the files of one model.": {"vocab_size": 50},
    "lacks predictions.LayerNorm.weight;": {"change": removing("predictions.LayerNorm.weight")},
    "lacks albert.pooler.weight, albert.pooler.bias; give a": {"change": removing("albert.pooler")},
    f"lacks {PROJECTION}.bias; give a whole": {"change": removing(f"{PROJECTION}.bias")},
    f"lacks {PROJECTION}.bias; give a whole ALBERT": {
        "change": removing(f"{PROJECTION}.bias"),
        "config": dataclasses.replace(SMALL, **WIDE),
    },
    f"lacks {PROJECTION}.weight, {PROJECTION}.bias, albert.encoder.albert_layer_groups.0."
    "albert_layers.0.attention.query.weight and 31 more; give a whole ALBERT with its masked-LM "
    "head, or make": {"change": removing("albert.encoder")},
    "/model.safetensors: albert.embeddings.word_embeddings.weight is of type I8, and only BF16, "
    "F16, F32, F64 can be read; save the model in one of these.": {"change": of_type("int8")},
    "predictions.decoder.bias differs from predictions.bias; only ALBERTs": {
        "change": with_another("predictions.decoder.bias", lambda has: has["predictions.bias"] + 1)
    },
    "lacks predictions": {"change": without_heads},
    "output layer is the embedding table": {
        "change": with_another("predictions.decoder.weight", lambda _: np.ones((40, 8), "float32"))
    },
}


@pytest.mark.parametrize("says", NO_WHOLE_ALBERT)
def test_what_is_no_whole_albert_is_refused(tmp_path, says):
    save(tmp_path, **{"config": SMALL} | NO_WHOLE_ALBERT[says])
    assert says in refusal(read_huggingface, tmp_path)


def test_a_model_without_its_heads_gets_new_ones_where_none_is_needed(tmp_path):
    # As a fine-tuned model is saved: the encoder with its pooler, and another head.
    def change(tensors):
        removing("predictions", "sop_classifier")(tensors)
        tensors["classifier.weight"] = np.ones((3, 16), "float32")

    tensors = save(tmp_path, SMALL, change=change)
    model = read_huggingface(tmp_path, needs_head=False)
    assert model.config.sentence_task == "sop"
    assert not model.weights["albert/sentence_head/classifier/kernel"].any()
    assert model.weights["albert/encoder/pooler/kernel"].any()
    assert model.notes == (
        "It has no masked-LM head, so it gets a new one: fine-tune the model, or train "
        "it further before it fills masks.",
        "It has no sentence-order head; that starts at zero, where both orders are equally likely.",
        "Left out: classifier.weight.",
    )
    table = "albert/encoder/embeddings/word_embeddings"
    np.testing.assert_array_equal(
        model.weights[table], tensors["albert.embeddings.word_embeddings.weight"]
    )
    head = {p.partition("masked_lm_head/")[2]: a for p, a in model.weights.items()}
    assert 0.01 < head["transform/kernel"].std() < 0.02
    expected = {"transform/bias": 0, "layer_norm/gamma": 1, "layer_norm/beta": 0, "output_bias": 0}
    assert {name: {*head[name]} for name in expected} == {n: {v} for n, v in expected.items()}


@pytest.mark.parametrize(
    ("file", "architectures", "reason", "reading"),
    [
        (
            *("pytorch_model.bin", ["AlbertForTokenClassification"]),
            "is a pickle, which can run any program when it is read",
            'transformers AlbertForTokenClassification.from_pretrained("FOLDER")',
        ),
        (
            *("tf_model.h5", None, "has weights of TensorFlow"),
            'transformers 4 AlbertForPreTraining.from_pretrained("FOLDER", from_tf=True)',
        ),
        (
            *("flax_model.msgpack", None, "has weights of Flax"),
            'transformers 4 AlbertForPreTraining.from_pretrained("FOLDER", from_flax=True)',
        ),
    ],
)
def test_other_weights_are_converted_by_their_class(tmp_path, file, architectures, reason, reading):
    save(tmp_path, SMALL, architectures=architectures)
    (tmp_path / "model.safetensors").rename(tmp_path / file)
    assert refusal(read_huggingface, tmp_path) == (
        f"{tmp_path / file} {reason}; convert the model to safetensors first (in {reading}"
        '.save_pretrained("NEW")).'
    )


def test_weights_may_lie_in_several_files(tmp_path):
    """With an index, as large models are saved."""
    tensors = save(tmp_path, SMALL)
    before = read_huggingface(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    files, index = {}, tmp_path / "model.safetensors.index.json"
    for number, names in enumerate((sorted(tensors)[:5], sorted(tensors)[5:]), start=1):
        file = f"model-0000{number}-of-00002.safetensors"
        safetensors.numpy.save_file({name: tensors[name] for name in names}, tmp_path / file)
        files |= dict.fromkeys(names, file)
    index.write_text(json.dumps({"metadata": {"total_size": 0}, "weight_map": files}))
    after = read_huggingface(tmp_path)
    assert after.weights.keys() == before.weights.keys()
    for path, array in before.weights.items():
        np.testing.assert_array_equal(after.weights[path], array)
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    assert refusal(read_huggingface, tmp_path) == (
        f"{tmp_path}/model-00002-of-00002.safetensors is missing, which "
        "model.safetensors.index.json names; give the whole folder of a model."
    )
    for names_none in ("{}", '{"weight_map": 3}', '{"weight_map": {}}'):
        index.write_text(names_none)
        assert "has no weight_map; copy it again" in refusal(read_huggingface, tmp_path)
    index.unlink()
    assert "has no model.safetensors; give the whole" in refusal(read_huggingface, tmp_path)


def test_a_projection_of_equal_widths_is_kept_unless_it_does_nothing(tmp_path):
    equal = dataclasses.replace(SMALL, embedding_size=16)
    save(tmp_path, equal)
    assert read_huggingface(tmp_path).config == equal

    def change(tensors):
        tensors[f"{PROJECTION}.bias"][0] = 1

    save(tmp_path, equal, change=change)
    assert read_huggingface(tmp_path).config == dataclasses.replace(SMALL, **WIDE)


def test_a_folder_is_recognised_by_its_configuration(tmp_path):
    assert not is_huggingface(tmp_path)
    (tmp_path / "config.json").write_text('{"command": "pretrain"}')
    assert not is_huggingface(tmp_path)
    save(tmp_path, SMALL)
    assert is_huggingface(tmp_path)
