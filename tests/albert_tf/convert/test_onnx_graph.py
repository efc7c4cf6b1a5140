"""ONNX graphs compute what the model does, with each weight once."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from albert_tf.convert import onnx_graph as graphs
from albert_tf.convert.onnx_graph import Session, check_graph, masked_lm_loss, onnx_graph
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.model.task_model import TaskModel
from albert_tf.model.trained_model import TrainedModel
from schemas.errors import AlbertError
from schemas.task import TaskRecord, TaskSpec
from tests.exported_runs import SMALL_RUN
from tests.huggingface_albert import lively_weights
from tests.refusals import refusal

OTHER = dataclasses.replace(
    SMALL_RUN, hidden_act="relu", sharing="attention", sentence_task="none", embedding_size=16
)
OUTPUTS = {
    None: ["logits", "last_hidden_state"],
    "classify": ["logits"],
    "regress": ["logits"],
    "choose": ["logits"],
    "tag": ["logits"],
    "answer": ["start_logits", "end_logits"],
    "embed": ["sentence_embedding", "last_hidden_state"],
}


def trained(kind, config=SMALL_RUN):
    labels = ("a", "b", "c") if kind in ("classify", "tag") else ()
    record, built = None, AlbertPretrainer(config)
    if kind:
        built = TaskModel(config, kind=kind, labels=len(labels))
        spec = TaskSpec(name=kind, kind=kind, labels=labels)
        record = TaskRecord(spec=spec, max_seq_length=48)
    given = {"weights": lively_weights(built), "max_seq_length": 48, "task": record}
    return TrainedModel(folder=Path("run"), config=config, **given)


@pytest.mark.parametrize("config", [SMALL_RUN, OTHER], ids=["gelu", "relu"])
@pytest.mark.parametrize("kind", OUTPUTS)
def test_onnxruntime_computes_what_the_model_does_with_each_weight_once(kind, config):
    model = trained(kind, config)
    graph = onnx_graph(model)
    assert check_graph(model, graph) < 1e-5
    assert Session(graph).names == OUTPUTS[kind]
    # As a server that warms up has them.
    shape = (1, 2, 5) if kind == "choose" else (1, 5)
    nothing = dict.fromkeys(("input_ids", "input_mask", "segment_ids"), np.zeros(shape, np.int32))
    assert all(np.isfinite(each).all() for each in Session(graph)(nothing).values())
    sizes = sum(len(each.raw_data) for each in graph.graph.initializer)
    # Neither of them is asked for `logits` of pieces.
    unused = ("pooler", "sentence_head") if kind is None else ()
    used = [a for path, a in model.weights.items() if not any(n in path for n in unused)]
    weights = sum(array.nbytes for array in used)
    assert weights <= sizes <= weights + 300


def test_a_graph_of_something_else_or_of_more_weights_than_a_file_holds_is_refused(monkeypatch):
    model = trained("classify")
    path = "albert/encoder/pooler/bias"
    moved = model.weights[path] + np.float32(0.01)
    other = dataclasses.replace(model, weights={**model.weights, path: moved})
    assert "computes something else of the graph" in refusal(check_graph, model, onnx_graph(other))
    monkeypatch.setattr(graphs, "MOST_BYTES", 10_000)
    with pytest.raises(AlbertError, match=r"^run has .* of weights, and one file of ONNX holds 10"):
        onnx_graph(model)


def test_rounding_to_8_bits_changes_little_and_leaves_what_it_is_told_to():
    model = trained(None)
    small = onnx_graph(model, int8=True)
    left = onnx_graph(model, int8=True, left=(graphs.WORDS,))
    names = {each.name for each in small.graph.initializer}
    assert f"{graphs.WORDS}_int8" in names
    assert graphs.WORDS not in names
    assert graphs.WORDS in {each.name for each in left.graph.initializer}
    rng = np.random.default_rng(0)
    ids = rng.integers(5, SMALL_RUN.vocab_size, (4, 20))
    batch = {
        "input_ids": ids,
        "input_mask": np.ones_like(ids),
        "segment_ids": np.zeros_like(ids),
        "masked_lm_positions": np.tile(np.arange(20), (4, 1)),
        "masked_lm_ids": ids,
        "masked_lm_weights": np.ones(ids.shape, np.float32),
    }
    losses = [masked_lm_loss(Session(graph), [batch]) for graph in (onnx_graph(model), small, left)]
    logits = Session(onnx_graph(model))(batch)["logits"].astype(np.float64)
    right = np.take_along_axis(logits, ids[..., None], axis=2)[..., 0]
    expected = np.mean(np.logaddexp.reduce(logits, axis=2) - right)
    assert losses[0] == pytest.approx(expected, abs=1e-9)
    assert losses[1:] == pytest.approx([losses[0]] * 2, abs=0.05)
