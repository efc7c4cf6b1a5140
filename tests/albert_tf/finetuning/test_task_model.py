"""The heads of tasks: their names and shapes, and the same in transformers."""

import dataclasses
import functools

import numpy as np
import pytest

from albert_tf.convert.huggingface import ARCHITECTURES, huggingface_config, huggingface_tensors
from albert_tf.finetuning.batches import batch_of
from albert_tf.finetuning.predictor import logits_of
from albert_tf.model.parameters import task_weight_shapes
from albert_tf.model.task_model import TaskModel, losses_of
from schemas.task import KINDS
from tests.albert_tf.finetuning.task_rows import TINY, random_rows, spec_of
from tests.huggingface_albert import lively_weights


@functools.cache
def task_model(kind, config=TINY):
    """A model with lively weights, to be read, and its task."""
    spec = spec_of(kind)
    model = TaskModel(config, kind=kind, labels=len(spec.labels))
    for path, values in lively_weights(model).items():
        model.weights_by_path[path].assign(values)
    return model, spec


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_has_the_weights_that_its_shapes_are_told_of(kind):
    model, spec = task_model(kind)
    shapes = task_weight_shapes(TINY, kind=kind, labels=len(spec.labels))
    assert {p: tuple(w.shape) for p, w in model.weights_by_path.items()} == shapes


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_shows_neither_what_else_is_in_its_batch_nor_which_targets_are_known(kind):
    model, spec = task_model(kind)
    rows = random_rows(kind, number=6).rows
    together = np.asarray(model(batch_of(rows, spec, size=8, longest=32)))
    for number, row in enumerate(rows):
        alone = np.asarray(model(batch_of([row], spec, size=1, longest=32)))[0]
        places = slice(row.length if alone.ndim == 2 else None)
        np.testing.assert_allclose(together[number][places], alone[places], atol=1e-5)
    some = [dataclasses.replace(row, target=None) if n % 2 else row for n, row in enumerate(rows)]
    found = (
        logits_of(each, lambda batch: np.asarray(model(batch)), spec, longest=32)
        for each in (some, rows)
    )
    for ours, all_known in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, all_known)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"embedding_size": 32}, {"sharing": "ffn"}])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "embed"])
def test_transformers_computes_the_same_logits_and_loss(kind, changes):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = dataclasses.replace(TINY, **changes)
    model, spec = task_model(kind, config)
    rows = random_rows(kind, number=8).rows
    batch = batch_of(rows, spec, size=8, longest=32)
    weights = {path: w.numpy() for path, w in model.weights_by_path.items()}
    values = huggingface_config(config, spec)
    theirs = getattr(transformers, ARCHITECTURES[kind])(transformers.AlbertConfig(**values)).eval()
    tensors = huggingface_tensors(weights, config, spec)
    state = {name: torch.tensor(array) for name, array in tensors.items()}
    assert set(theirs.state_dict()) == set(state)
    theirs.load_state_dict(state)
    inputs = {
        "input_ids": torch.tensor(batch["input_ids"]).long(),
        "attention_mask": torch.tensor(batch["input_mask"]).long(),
        "token_type_ids": torch.tensor(batch["segment_ids"]).long(),
    }
    targets = torch.tensor(batch["targets"])
    if kind == "answer":
        first, last = targets.long().T
        outputs = theirs(**inputs, start_positions=first, end_positions=last)
        expected = np.stack([outputs.start_logits.detach(), outputs.end_logits.detach()], axis=-1)
    else:
        if kind == "tag":
            labels = np.where(batch["weights"] > 0, batch["targets"], -100)
            targets = torch.tensor(labels)
        is_of_labels = kind in ("classify", "choose", "tag")
        outputs = theirs(**inputs, labels=targets.long() if is_of_labels else targets)
        expected = outputs.logits.detach().numpy()
    ours = model(batch)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(np.asarray(ours), expected, atol=1e-4)
    losses = np.asarray(losses_of(model, ours, batch))
    loss = (losses * batch["weights"]).sum() / batch["weights"].sum()
    assert loss == pytest.approx(float(outputs.loss.detach()), abs=1e-5)
