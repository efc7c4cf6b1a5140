"""Models read from runs, from exports and from checkpoints of google-research."""

import dataclasses
import itertools
import json

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.convert.reading import is_google, read_google
from schemas.errors import AlbertError
from tests.albert_tf.convert.test_huggingface import VARIANTS, logits
from tests.exported_runs import load_pretrainer
from tests.google_albert import save_google
from tests.huggingface_albert import SMALL, lively_arrays
from tests.refusals import refusal

# As the published checkpoints have them, with the shapes of this small model.
PUBLISHED = {
    "bert/embeddings/LayerNorm": {"beta": [8], "gamma": [8]},
    "bert/embeddings/position_embeddings": [16, 8],
    "bert/embeddings/token_type_embeddings": [2, 8],
    "bert/embeddings/word_embeddings": [40, 8],
    "bert/encoder/embedding_hidden_mapping_in": {"bias": [16], "kernel": [8, 16]},
    "bert/pooler/dense": {"bias": [16], "kernel": [16, 16]},
    "cls/predictions/output_bias": [40],
    "cls/predictions/transform/LayerNorm": {"beta": [8], "gamma": [8]},
    "cls/predictions/transform/dense": {"bias": [8], "kernel": [16, 8]},
    "cls/seq_relationship": {"output_bias": [2], "output_weights": [2, 16]},
    "global_step": [],
}
GROUP = {
    "LayerNorm": {"beta": [16], "gamma": [16]},
    "LayerNorm_1": {"beta": [16], "gamma": [16]},
    "attention_1/output/dense": {"bias": [16], "kernel": [16, 16]},
    "attention_1/self/key": {"bias": [16], "kernel": [16, 16]},
    "attention_1/self/query": {"bias": [16], "kernel": [16, 16]},
    "attention_1/self/value": {"bias": [16], "kernel": [16, 16]},
    "ffn_1/intermediate/dense": {"bias": [24], "kernel": [16, 24]},
    "ffn_1/intermediate/output/dense": {"bias": [16], "kernel": [24, 16]},
}
for number in range(2):
    PUBLISHED[f"bert/encoder/transformer/group_{number}/inner_group_0"] = GROUP


def flat(tree, path=""):
    """The shapes of a tree by their paths."""
    if isinstance(tree, list):
        return {path: tree}
    inner = (flat(value, f"{path}/{name}".lstrip("/")) for name, value in tree.items())
    return dict(itertools.chain.from_iterable(map(dict.items, inner)))


def save(folder, config=SMALL):
    weights = lively_arrays(config)
    save_google(folder, weights, config)
    return weights


@pytest.mark.parametrize("changes", VARIANTS)
def test_what_is_read_back_computes_the_same(tmp_path, changes):
    config = dataclasses.replace(SMALL, **changes)
    weights = save(tmp_path, config)
    model = read_google(tmp_path)
    assert model.notes == ()
    assert model.config.sentence_task == config.sentence_task
    ours, theirs = logits(config, weights), logits(model.config, model.weights)
    np.testing.assert_array_equal(ours[0], theirs[0])
    assert (ours[1] is None) == (theirs[1] is None)
    if ours[1] is not None:
        np.testing.assert_array_equal(ours[1], theirs[1])


def test_a_published_checkpoint_is_read_without_its_optimizer(tmp_path):
    """As TensorFlow 1 writes it, of variables in a graph."""
    weights = save(tmp_path)
    reader = tf.train.load_checkpoint(str(tmp_path))
    # The names and the shapes are the published ones.
    assert reader.get_variable_to_shape_map() == flat(PUBLISHED)
    tensors = {n: reader.get_tensor(n) for n in flat(PUBLISHED)}
    table = "bert/embeddings/word_embeddings"
    slots = {f"{table}/adam_m": tensors[table], f"{table}/adam_v": tensors[table]}
    for path in [*tmp_path.glob("model.ckpt*"), tmp_path / "checkpoint"]:
        path.unlink()
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        named = (tensors | slots).items()
        variables = [tf.compat.v1.get_variable(name, initializer=array) for name, array in named]
        session.run([v.initializer for v in variables])
        saver = tf.compat.v1.train.Saver(variables)
        saver.save(session, str(tmp_path / "model.ckpt-best"), write_state=False)
    model = read_google(tmp_path)
    assert (model.config, model.notes) == (SMALL, ())
    for path, array in weights.items():
        np.testing.assert_array_equal(array, model.weights[path])


def without_bytes(place):
    """Damage to the index of a checkpoint, which lacks bytes then."""

    def damage(folder):
        index = folder / "model.ckpt.index"
        content = bytearray(index.read_bytes())
        del content[place]
        index.write_bytes(content)

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "model.ckpt.data-00000-of-00001").unlink(),
        without_bytes(slice(200, None)),
        # TensorFlow raises an IndexError where the table is shorter than its footer says.
        without_bytes(slice(200, -48)),
    ],
    ids=["without its data", "cut off", "without what its footer tells of"],
)
def test_a_damaged_checkpoint_is_refused(damage, tmp_path):
    save(tmp_path)
    damage(tmp_path)
    with pytest.raises(AlbertError, match=r"model\.ckpt is not whole: .*; copy it"):
        read_google(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_act": "silu"}, "hidden_act is silu; only ALBERTs with gelu or"),
        (
            {"num_hidden_layers": 22, "num_hidden_groups": 22},
            "which of 22 layers are in which of 22 groups follows there from rounding",
        ),
        ({"hidden_size": 32}, "has shape (8, 16), but the configuration says"),
    ],
)
def test_another_architecture_is_refused(tmp_path, change, message):
    save(tmp_path)
    path = tmp_path / "albert_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert message in refusal(read_google, tmp_path)


@pytest.mark.parametrize("layer", ["layer_shared", "layer_0"])
def test_a_checkpoint_of_another_kind_of_model_is_refused_as_such(tmp_path, layer):
    save(tmp_path)
    names = [f"bert/encoder/{layer}/attention/self/query/kernel"]
    tf.raw_ops.SaveV2(
        prefix=str(tmp_path / "model.ckpt"),
        tensor_names=names,
        shape_and_slices=[""],
        tensors=[tf.zeros([16, 16])],
    )
    with pytest.raises(AlbertError, match=r"lacks .*; it is a model of another kind, s"):
        read_google(tmp_path, needs_head=False)


def test_a_checkpoint_needs_one_configuration_and_the_one_called_newest_is_read(tmp_path):
    save(tmp_path)
    for path in tmp_path.glob("model.ckpt.*"):
        (tmp_path / path.name.replace("model", "other")).write_bytes(path.read_bytes())
    (tmp_path / "albert_config.json").rename(tmp_path / "my_config_base.json")
    assert read_google(tmp_path).config == SMALL
    (tmp_path / "other_config.json").write_text("{}")
    assert "has 2 configurations; put the one of its" in refusal(read_google, tmp_path)
    (tmp_path / "other_config.json").unlink()
    (tmp_path / "checkpoint").unlink()
    assert "has 2 checkpoints; leave the files of one" in refusal(read_google, tmp_path)


def test_a_folder_is_recognised_by_its_checkpoint_and_without_one_refused(tmp_path):
    assert not is_google(tmp_path)
    assert refusal(load_pretrainer, tmp_path) == (
        f"{tmp_path} is neither a run nor a model of Hugging Face or "
        "google-research/albert; give the folder of one."
    )
    save(tmp_path)
    assert is_google(tmp_path)
