"""Starting from another run's weights, deeper than it or not."""

import dataclasses

import pytest

from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.runs.checkpoints import arrays_of
from albert_tf.training.warm_start import read_source, source_path, start_from
from schemas.errors import AlbertError
from tests.training_data import TINY, make_manifest, save_run

MANIFEST = make_manifest([])


def started(run, config, *, manifest=MANIFEST):
    """The weights of a new model after starting from the run."""
    model = AlbertPretrainer(config)
    start_from(model, read_source(run, manifest=manifest, data=run / "data"))
    return arrays_of(model.weights_by_path)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ({}, {}),
        ({}, {"num_hidden_layers": 6}),
        ({"sharing": "none"}, {"sharing": "none", "num_hidden_layers": 4}),
        (
            {"num_hidden_layers": 2, "num_hidden_groups": 2},
            {"num_hidden_layers": 6, "num_hidden_groups": 3},
        ),
    ],
)
def test_every_weight_is_that_of_the_source(tmp_path, source, target):
    source, target = (dataclasses.replace(TINY, **x) for x in (source, target))
    weights = save_run(tmp_path, source)
    for path, array in started(tmp_path, target).items():
        assert (array == weights[source_path(path, target, source)]).all()


def test_layers_of_a_deeper_model_start_as_their_neighbours():
    deep = dataclasses.replace(TINY, sharing="none", num_hidden_layers=6)
    shallow = dataclasses.replace(TINY, sharing="none", num_hidden_layers=3)
    sources = [
        source_path(f"albert/encoder/layer_{n}_inner_0_ffn/x", deep, shallow)
        for n in range(6)
    ]
    assert [path.split("_")[1] for path in sources] == list("001122")


def test_a_sentence_task_the_source_lacked_starts_fresh(tmp_path):
    save_run(tmp_path, dataclasses.replace(TINY, sentence_task="none"))
    ours = started(tmp_path, TINY)
    assert not ours["albert/encoder/pooler/kernel"].any()
    assert ours["albert/encoder/embeddings/word_embeddings"].any()


@pytest.mark.parametrize(
    ("changes", "tensor"),
    [
        ({"hidden_size": 32}, "projection/bias has shape (16,)"),
        ({"sharing": "none"}, "layer_0_inner_0_attention/key/bias has shape no such"),
        ({"intermediate_size": 8}, "intermediate/bias has shape (32,)"),
    ],
)
def test_other_shapes_are_refused_by_name(tmp_path, changes, tensor):
    save_run(tmp_path, TINY)
    with pytest.raises(AlbertError) as caught:
        started(tmp_path, dataclasses.replace(TINY, **changes))
    assert tensor in str(caught.value)


def test_another_vocabulary_is_refused(tmp_path):
    save_run(tmp_path, TINY)
    other = dataclasses.replace(MANIFEST, vocabulary={"sha256": "0" * 64, "size": 64})
    with pytest.raises(AlbertError, match="made with another vocabulary"):
        started(tmp_path, TINY, manifest=other)


def test_a_run_without_checkpoint_is_refused(tmp_path):
    save_run(tmp_path, TINY)
    for path in (tmp_path / "checkpoints/step-00000009").iterdir():
        path.unlink()
    (tmp_path / "checkpoints/step-00000009").rmdir()
    with pytest.raises(AlbertError, match="holds no checkpoint yet"):
        started(tmp_path, TINY)


def test_a_run_whose_weights_cannot_be_read_is_refused(tmp_path):
    save_run(tmp_path, TINY)
    path = tmp_path / "checkpoints/step-00000009/model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(AlbertError, match="has no checkpoint that can be read"):
        started(tmp_path, TINY)
