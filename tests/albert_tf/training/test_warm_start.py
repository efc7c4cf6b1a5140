"""Starting from another run's weights, deeper than it or not."""

import dataclasses

import pytest

from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.runs.checkpoints import arrays_of
from albert_tf.training.origin import Origin
from albert_tf.training.warm_start import check_can_start_from, source_path, start_from
from schemas.errors import AlbertError
from tests.training_data import TINY, make_manifest, save_run

MANIFEST = make_manifest([])


def check(run, config, *, which="latest"):
    """What is refused without a model."""
    origin = Origin(run=run, which=which)
    check_can_start_from(origin, config, manifest=MANIFEST, data=run / "data")


def started(run, config, *, which="latest"):
    """The weights of a new model after starting from the run, and what was said."""
    model, said = AlbertPretrainer(config), []
    origin = Origin(run=run, which=which)
    start_from(model, origin, manifest=MANIFEST, data=run / "data", say=said.append)
    return arrays_of(model.weights_by_path), said


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
    check(tmp_path, target)
    ours, said = started(tmp_path, target)
    assert said == [f"Starting from the weights of {tmp_path}, step 9."]
    for path, array in ours.items():
        assert (array == weights[source_path(path, target, source)]).all()


def test_a_run_can_start_from_the_best_weights_of_another(tmp_path):
    save_run(tmp_path, TINY)
    best = save_run(tmp_path, TINY, step=3, seed=2, is_best=True)
    check(tmp_path, TINY, which="best")
    ours, said = started(tmp_path, TINY, which="best")
    assert said == [f"Starting from the weights of {tmp_path}, step 3."]
    assert all((ours[path] == values).all() for path, values in best.items())


@pytest.mark.parametrize("refuse", [started, check])
def test_a_run_that_was_never_evaluated_has_no_best_weights(tmp_path, refuse):
    save_run(tmp_path, TINY)
    with pytest.raises(AlbertError) as caught:
        refuse(tmp_path, TINY, which="best")
    assert str(caught.value) == (
        f"{tmp_path} has no best checkpoint, as nothing was evaluated; use its latest."
    )


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
    check(tmp_path, TINY)
    ours, _ = started(tmp_path, TINY)
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
@pytest.mark.parametrize("refuse", [started, check])
def test_other_shapes_are_refused_by_name(tmp_path, changes, tensor, refuse):
    save_run(tmp_path, TINY)
    with pytest.raises(AlbertError) as caught:
        refuse(tmp_path, dataclasses.replace(TINY, **changes))
    assert tensor in str(caught.value)


def test_another_vocabulary_is_refused(tmp_path):
    save_run(tmp_path, TINY)
    other = dataclasses.replace(MANIFEST, vocabulary={"sha256": "0" * 64, "size": 64})
    model, origin = AlbertPretrainer(TINY), Origin(run=tmp_path)
    with pytest.raises(AlbertError, match="made with another vocabulary"):
        start_from(model, origin, manifest=other, data=tmp_path, say=print)


@pytest.mark.parametrize("refuse", [started, check])
def test_a_run_without_checkpoint_is_refused(tmp_path, refuse):
    save_run(tmp_path, TINY)
    for path in (tmp_path / "checkpoints/step-00000009").iterdir():
        path.unlink()
    (tmp_path / "checkpoints/step-00000009").rmdir()
    with pytest.raises(AlbertError, match="holds no checkpoint yet"):
        refuse(tmp_path, TINY)


@pytest.mark.parametrize("refuse", [started, check])
def test_a_run_whose_weights_cannot_be_read_is_refused(tmp_path, refuse):
    save_run(tmp_path, TINY)
    path = tmp_path / "checkpoints/step-00000009/model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(AlbertError, match="has no checkpoint that can be read"):
        refuse(tmp_path, TINY)
