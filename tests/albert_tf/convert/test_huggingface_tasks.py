"""Fine-tuned models of Hugging Face, read; the live comparison is slow."""

import json

import numpy as np
import pytest
import safetensors.numpy

from albert_tf.convert.huggingface import (
    ARCHITECTURES,
    huggingface_config,
    huggingface_tensors,
    read_huggingface_task,
)
from albert_tf.model.task_model import TaskModel
from albert_tf.model.trained_model import task_model_of
from schemas.task import TaskSpec
from tests.batches import random_batch
from tests.huggingface_albert import SMALL, lively_weights
from tests.refusals import refusal

LABELS = ("no", "yes", "perhaps")
OF_OPTIONS, OF_ANSWERS = ({"architectures": [ARCHITECTURES[k]]} for k in ("choose", "answer"))
POOLER = ("albert.pooler.weight", "albert.pooler.bias")


def save(folder, *, kind="classify", drop=(), **values):
    spec = TaskSpec(name=kind, kind=kind, labels=LABELS)
    model = TaskModel(SMALL, kind=kind, labels=3)
    tensors = huggingface_tensors(lively_weights(model), SMALL, spec)
    kept = {name: array for name, array in tensors.items() if name not in drop}
    safetensors.numpy.save_file(kept, folder / "model.safetensors")
    record = huggingface_config(SMALL, spec) | values
    record = {name: value for name, value in record.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(record))


def test_a_configuration_says_the_task_as_transformers_has_it():
    values = huggingface_config(SMALL, TaskSpec(name="mood", kind="classify", labels=LABELS))
    assert values["architectures"] == ["AlbertForSequenceClassification"]
    assert values["id2label"] == {"0": "no", "1": "yes", "2": "perhaps"}
    assert values["problem_type"] == "single_label_classification"


@pytest.mark.parametrize(
    ("values", "kind", "labels"),
    [
        ({}, "classify", LABELS),
        ({"problem_type": None}, "classify", LABELS),
        ({"problem_type": "multi_label_classification"}, "multilabel", LABELS),
        ({"id2label": None}, "classify", ("LABEL_0", "LABEL_1", "LABEL_2")),
        ({"architectures": [ARCHITECTURES["tag"]]}, "tag", LABELS),
        # A head of one number.
        ({"kind": "regress", "problem_type": None}, "regress", ()),
    ],
)
def test_the_task_is_what_transformers_takes_it_for(values, kind, labels, tmp_path):
    save(tmp_path, **values)
    spec = read_huggingface_task(tmp_path).record.spec
    assert (spec.kind, spec.labels) == (kind, labels)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"problem_type": "regression"}, "for regress cannot have a head with 3 out"),
        ({"problem_type": "ranking"}, "problem_type is 'ranking', and only single_l"),
        ({"id2label": {"0": "a", "1": "b"}}, "id2label has to name each of the 3 lab"),
        ({"id2label": {"0": "a", "1": "b", "2": "b"}}, "each of the 3 labels of the "),
        ({"id2label": ["a", "b", "c"]}, "id2label has to name each of the 3 labels"),
        (OF_OPTIONS, "a model of AlbertForMultipleChoice for choose cannot have a head with 3"),
        (OF_ANSWERS, "has no qa_outputs with weights and a bias for each label"),
        ({"drop": POOLER}, "lacks albert.pooler.weight, albert.pooler.bias; give the whole fold"),
    ],
)
def test_what_cannot_be_a_model_of_a_task_is_refused(values, sentence, tmp_path):
    save(tmp_path, **values)
    assert sentence in refusal(read_huggingface_task, tmp_path)


def test_other_models_are_of_no_task(tmp_path):
    assert read_huggingface_task(tmp_path) is None
    for name in ("AlbertForPreTraining", "AlbertModel", {"name": "AlbertModel"}, 7):
        save(tmp_path, architectures=[name])
        assert read_huggingface_task(tmp_path) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "embedding_size"),
    # A model of vectors is saved without a task.
    [*((kind, 8) for kind in ARCHITECTURES if kind != "embed"), ("classify", 16), ("tag", 16)],
)
def test_what_transformers_saves_computes_the_same_here(kind, embedding_size, tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    problem = huggingface_config(SMALL, TaskSpec(name=kind, kind=kind)).get("problem_type")
    config = transformers.AlbertConfig(
        vocab_size=SMALL.vocab_size,
        embedding_size=embedding_size,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=16,
        num_labels={"regress": 1, "choose": 1, "answer": 2}.get(kind, 3),
        problem_type=problem,
        initializer_range=0.3,
    )
    theirs = getattr(transformers, ARCHITECTURES[kind])(config).eval()
    theirs.save_pretrained(tmp_path)
    found = read_huggingface_task(tmp_path)
    assert found.record.spec.kind == kind
    ours = task_model_of(found)
    batch = random_batch(found.config)
    names = ("input_ids", "input_mask", "segment_ids")
    given = {name: np.asarray(batch[name]) for name in names}
    if kind == "choose":
        given = {name: values[:, None] for name, values in given.items()}
    ids, mask, segments = (torch.tensor(given[name]).long() for name in names)
    with torch.no_grad():
        said = theirs(input_ids=ids, attention_mask=mask, token_type_ids=segments)
    if kind == "answer":
        expected = np.stack([said.start_logits, said.end_logits], axis=-1)
    else:
        expected = said.logits.numpy()
    is_token = given["input_mask"].astype(bool)
    logits = np.asarray(ours(given))
    if kind in ("answer", "tag"):
        logits, expected = logits[is_token], expected[is_token]
    np.testing.assert_allclose(logits, expected, atol=1e-4)
