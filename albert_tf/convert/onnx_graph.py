"""A trained model as an ONNX graph, of standard operators, with each weight once.

Layers that share weights name the same initializer: converters that trace a model
write a copy for each layer. Inputs and outputs have the names that optimum gives them.
"""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from keras import ops
from onnx import TensorProto, helper, numpy_helper

from albert_tf.model.encoder import MASKED_SCORE
from albert_tf.model.parameters import TASK_HEAD, head_name, needs_pooler, sublayers
from albert_tf.model.trained_model import TrainedModel, pretrainer_of, task_model_of
from schemas import __version__
from schemas.architecture import ModelConfig
from schemas.errors import AlbertError
from schemas.readable import prefixed

Array = np.ndarray[Any, Any]
Batch = Mapping[str, Array]

# Of the first that has GELU in its tanh approximation; onnxruntime reads it from 1.17 on.
_OPSET, _IR_VERSION = 20, 9

# Our names of the inputs by theirs.
INPUTS = {"input_ids": "input_ids", "attention_mask": "input_mask", "token_type_ids": "segment_ids"}
_EMBEDDINGS = "encoder/embeddings"
WORDS = f"{_EMBEDDINGS}/word_embeddings"

# A message of protobuf has no more than 2 GiB; nodes and names take some of it.
MOST_BYTES = (1 << 31) - (1 << 24)

# How far outputs may be from those of the model itself, for each unit of the largest.
_TOLERANCE = 1e-4

# A vector of zeros keeps its length.
_LEAST_NORM = 1e-12


class Graph:
    """A graph to which nodes are added, each with one output that has its name.

    Args:
        weights: By path.
        int8: Whether the kernels of the layers and the table of pieces are rounded to 8
            bits: each output of a kernel, and each piece, with a scale of its own.
        left: Paths of such weights that stay float32.
    """

    def __init__(
        self, weights: Mapping[str, Array], *, int8: bool = False, left: Collection[str] = ()
    ) -> None:
        self._weights = {path.removeprefix("albert/"): each for path, each in weights.items()}
        self.int8, self._left = int8, left
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}

    def add(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        """A node of a kind of operator; what its output is called.

        Args:
            inputs: What outputs and initializers are called, and constants: numbers, lists
                and arrays of them.
        """
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, names, [name], name=name, **attributes))
        return name

    def constant(self, value: Any, name: str = "") -> str:
        """An initializer, written once whoever uses it; numbers are float32 and int64."""
        array = np.asarray(value, order="C")
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        name = name or f"{array.dtype}_{array.ndim}_{'_'.join(map(str, array.ravel()))}"
        if name not in self.initializers:
            self.initializers[name] = numpy_helper.from_array(array, name)
        return name

    def weight(self, path: str) -> str:
        """The weight at a path, float32."""
        return self.constant(self._weights[path], path)

    def dense(self, rows: str, *paths: str, rounded: bool = False) -> str:
        """Rows times the kernels of layers side by side, plus their biases.

        Args:
            rounded: Whether `int8` is about it.
        """
        name = "+".join(paths)
        kernels, biases = (
            np.concatenate([self._weights[f"{path}/{part}"] for path in paths], axis=-1)
            for part in ("kernel", "bias")
        )
        bias = self.constant(biases, f"{name}/bias")
        if not (self.int8 and rounded):
            kernel = self.constant(kernels, f"{name}/kernel")
            return self.add("Add", self.add("MatMul", rows, kernel), bias)
        # To 7 bits: processors without VNNI add up two products of more in 16 bits, which
        # overflows. Kernels without a sign would not, and take twice the time elsewhere.
        whole, scales = _rounded(kernels, axis=0, largest=63)
        kernel = self.constant(whole, f"{name}/kernel_int8")
        outputs = [f"{part}_{len(self.nodes)}" for part in ("quantized", "scale", "zero")]
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [rows], outputs))
        quantized, scale, zero_of_rows = outputs
        product = self.add("MatMulInteger", quantized, kernel, zero_of_rows, np.int8(0))
        scaled = self.add("Mul", scale, self.constant(scales, f"{name}/scale"))
        return self.add("Add", self.add("Mul", self.add("Cast", product, to=1), scaled), bias)

    def table(self, path: str, numbers: str | None = None) -> str:
        """The rows of a table with these numbers, or all of it."""
        if not self.int8 or path in self._left:
            table = self.weight(path)
            return self.add("Gather", table, numbers) if numbers else table
        whole, scales = _rounded(self._weights[path], axis=1)
        table = self.constant(whole, f"{path}_int8")
        scale = self.constant(scales[:, None], f"{path}_scale")
        if numbers is None:
            return self.add("Mul", self.add("Cast", table, to=1), scale)
        rows = self.add("Cast", self.add("Gather", table, numbers), to=1)
        return self.add("Mul", rows, self.add("Gather", scale, numbers))

    def activate(self, rows: str, config: ModelConfig) -> str:
        """GELU in its tanh approximation, or ReLU."""
        is_relu = config.hidden_act == "relu"
        return self.add("Relu", rows) if is_relu else self.add("Gelu", rows, approximate="tanh")

    def normalize(self, rows: str, path: str, *, epsilon: float) -> str:
        """Layer normalisation."""
        parts = (self.weight(f"{path}/layer_norm/{part}") for part in ("gamma", "beta"))
        return self.add("LayerNormalization", rows, *parts, epsilon=epsilon)


def _rounded(values: Array, *, axis: int, largest: int = 127) -> tuple[Array, Array]:
    """Values as int8 up to `largest`, and the scales that they are multiplied by.

    >>> _rounded(np.array([[0.5, 2.54], [-1.27, 0.0]]), axis=0)[0].tolist()
    [[50, 127], [-127, 0]]
    """
    scales = np.maximum(np.abs(values).max(axis=axis, keepdims=True), 1e-30) / largest
    return np.round(values / scales).astype(np.int8), scales.astype("float32").squeeze(axis)


def _encoded(graph: Graph, config: ModelConfig, *, ids: str, types: str, mask: str) -> str:
    """The rows `[B, S, H]` of the last layer, zeros at padding.

    Only tokens have rows, `[1, T, H]`, but in attention. One Gather turns the rows of all
    parts and heads into what a head attends with, in place of a Split and Transposes.

    Args:
        mask: 1 at tokens, 0 at padding, int64 `[B, S]`.
    """
    add, epsilon = graph.add, config.layer_norm_eps
    heads, width = config.num_attention_heads, config.hidden_size
    size = width // heads
    flat = add("Reshape", mask, [-1])
    # The first place has a row in any case, so that there is one.
    flat = add("Slice", flat, [1], add("Shape", flat))
    flat = add("Concat", [1], flat, axis=0)
    places = add("NonZero", flat)  # of tokens in [B * S]
    counted = add("CumSum", flat, 0)
    tokens = add("Reshape", add("Sub", counted, 1), add("Shape", mask))  # at [B, S]
    # The rows of each head [B, A, S] in those of the tokens, [T * 3 * A, D].
    queries = add("Unsqueeze", add("Mul", tokens, 3 * heads), [1])
    queries = add("Add", queries, np.arange(heads)[:, None])
    keys = add("Add", queries, heads)
    values = add("Add", queries, 2 * heads)
    # The rows of each token [1, T, A] in those of the heads, [B * A * S, D].
    length = add("Slice", add("Shape", mask), [1], [2])
    positions = add("Mod", places, length)
    back = add("Add", add("Mul", add("Sub", places, positions), heads), positions)
    back = add("Unsqueeze", back, [2])
    back = add("Add", back, add("Mul", length, range(heads)))
    ids, types = (add("Gather", add("Reshape", each, [-1]), places) for each in (ids, types))
    rows = add("Gather", graph.weight(f"{_EMBEDDINGS}/position_embeddings"), positions)
    rows = add("Add", graph.table(WORDS, ids), rows)
    types = add("Gather", graph.weight(f"{_EMBEDDINGS}/token_type_embeddings"), types)
    rows = graph.normalize(add("Add", rows, types), _EMBEDDINGS, epsilon=epsilon)
    if config.has_projection:
        rows = graph.dense(rows, f"{_EMBEDDINGS}/projection")
    present = add("Unsqueeze", add("Cast", mask, to=TensorProto.FLOAT), [2])
    absent = add("Mul", add("Sub", 1.0, present), MASKED_SCORE)
    absent = add("Reshape", absent, [0, 1, 1, -1])
    for part, name in sublayers(config):
        path, before = f"encoder/{name}", rows
        if part == "attention":
            names = [f"{path}/{each}" for each in ("query", "key", "value")]
            projected = graph.dense(rows, *names, rounded=True)
            projected = add("Reshape", projected, [-1, size])
            query, key, value = (add("Gather", projected, each) for each in (queries, keys, values))
            query = add("Mul", query, size**-0.5)
            scores = add("MatMul", query, add("Transpose", key, perm=(0, 1, 3, 2)))
            scores = add("Softmax", add("Add", scores, absent), axis=-1)
            context = add("Reshape", add("MatMul", scores, value), [-1, size])
            context = add("Reshape", add("Gather", context, back), [1, -1, width])
            rows = graph.dense(context, f"{path}/output", rounded=True)
        else:
            inner = graph.activate(graph.dense(rows, f"{path}/intermediate", rounded=True), config)
            rows = graph.dense(inner, f"{path}/output", rounded=True)
        rows = graph.normalize(add("Add", before, rows), path, epsilon=epsilon)
    rows = add("Gather", add("Reshape", rows, [-1, width]), tokens)
    return add("Mul", rows, present)


def onnx_graph(
    model: TrainedModel, *, int8: bool = False, left: Collection[str] = ()
) -> onnx.ModelProto:
    """The graph of a model, for any number of sequences of any length.

    It takes `input_ids`, `attention_mask`, `token_type_ids`, int64 `[B, S]`, of `choose`
    `[B, O, S]`, and gives: with the heads of pretraining `logits` `[B, S, V]`, of `embed`
    `sentence_embedding` `[B, H]`, each with `last_hidden_state` `[B, S, H]`; of `answer`
    `start_logits` and `end_logits` `[B, S]`; of other tasks `logits`.

    Args:
        int8: See `Graph`.
    """
    size = sum(array.nbytes for array in model.weights.values())
    if size > MOST_BYTES:
        raise AlbertError(
            f"{model.folder} has {prefixed(size, 'B')} of weights, and one file of ONNX holds "
            f"{prefixed(MOST_BYTES, 'B')}; export it with --to hf."
        )
    config, graph = model.config, Graph(model.weights, int8=int8, left=left)
    kind = model.task.spec.kind if model.task else None
    add, width = graph.add, config.hidden_size
    inputs = list(INPUTS)
    if kind == "choose":
        length = add("Slice", add("Shape", "input_ids"), [2], [3])
        flat = add("Concat", [-1], length, axis=0)
        inputs = [add("Reshape", each, flat) for each in INPUTS]
    rows = _encoded(graph, config, ids=inputs[0], types=inputs[2], mask=inputs[1])
    axes = ["batch", "options", "sequence"] if kind == "choose" else ["batch", "sequence"]
    outputs: dict[str, tuple[str, list[Any]]] = {}
    if kind is None:
        head = "masked_lm_head"
        x = graph.activate(graph.dense(rows, f"{head}/transform"), config)
        x = graph.normalize(x, head, epsilon=config.layer_norm_eps)
        logits = add("MatMul", x, add("Transpose", graph.table(WORDS), perm=(1, 0)))
        logits = add("Add", logits, graph.weight(f"{head}/output_bias"))
        outputs["logits"] = (logits, [*axes, config.vocab_size])
    elif kind == "embed":
        total = add("ReduceSum", rows, [1], keepdims=0)
        present = add("Cast", inputs[1], to=TensorProto.FLOAT)
        count = add("ReduceSum", present, [1], keepdims=1)
        mean = add("Div", total, add("Max", count, 1.0))
        norm = add("ReduceL2", mean, [1], keepdims=1)
        mean = add("Div", mean, add("Max", norm, _LEAST_NORM))
        outputs["sentence_embedding"] = (mean, ["batch", width])
    else:
        if needs_pooler(kind):
            first = add("Gather", rows, 0, axis=1)
            rows = add("Tanh", graph.dense(first, "encoder/pooler"))
        logits = graph.dense(rows, f"task_head/{head_name(kind)}")
        labels = model.weights[f"{TASK_HEAD}{head_name(kind)}/bias"].size
        if kind == "answer":
            for place, name in enumerate(("start_logits", "end_logits")):
                outputs[name] = (add("Gather", logits, place, axis=2), axes)
        elif kind == "choose":
            options = add("Slice", add("Shape", "input_ids"), [0], [2])
            outputs["logits"] = (add("Reshape", logits, options), axes[:2])
        else:
            outputs["logits"] = (logits, [*(axes if kind == "tag" else axes[:1]), labels])
    if kind in (None, "embed"):
        outputs["last_hidden_state"] = (rows, [*axes, width])
    for name, (value, _) in outputs.items():
        graph.nodes.append(helper.make_node("Identity", [value], [name]))
    whole = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "albert",
            [helper.make_tensor_value_info(name, TensorProto.INT64, axes) for name in INPUTS],
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                for name, (_, shape) in outputs.items()
            ],
            initializer=list(graph.initializers.values()),
        ),
        producer_name="albert-pretraining",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
    )
    onnx.checker.check_model(whole, full_check=True)
    return whole


class Session:
    """A graph as onnxruntime computes it, on the CPU.

    Args:
        threads: That it may use; 0 for all processors.
    """

    def __init__(self, graph: onnx.ModelProto | Path, *, threads: int = 0) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        data = str(graph) if isinstance(graph, Path) else graph.SerializeToString()
        self._session = onnxruntime.InferenceSession(
            data, options, providers=["CPUExecutionProvider"]
        )
        self.names = [output.name for output in self._session.get_outputs()]

    def __call__(self, batch: Batch) -> dict[str, Array]:
        """All outputs by name, of a batch under our names."""
        inputs = {name: np.asarray(batch[own], np.int64) for name, own in INPUTS.items()}
        return dict(zip(self.names, self._session.run(None, inputs), strict=True))

    def logits(self, batch: Batch) -> Array:
        """What `TaskModel` gives of a batch, float64."""
        shape = np.shape(batch["input_ids"])
        if "sentence_embedding" in self.names and len(shape) == 3:
            # Of `embed` the texts of a row.
            flat = {name: batch[name].reshape(-1, shape[-1]) for name in INPUTS.values()}
            return self.logits(flat).reshape(*shape[:2], -1)
        outputs = self(batch)
        if "start_logits" in outputs:
            found = np.stack([outputs["start_logits"], outputs["end_logits"]], axis=-1)
        else:
            found = outputs[self.names[0]]
        return found.astype(np.float64)


def masked_lm_loss(session: Session, batches: Iterable[Batch]) -> float:
    """The mean loss in nats of masked pieces, of evaluation batches `[B, ...]`."""
    total = count = 0.0
    for batch in batches:
        logits = session(batch)["logits"]
        places, labels, weights = (
            np.asarray(batch[f"masked_lm_{name}"]) for name in ("positions", "ids", "weights")
        )
        chosen = np.take_along_axis(logits, places[..., None], axis=1)  # [B, P, V]
        chosen = chosen.astype(np.float64)
        right = np.take_along_axis(chosen, labels[..., None], axis=2)[..., 0]
        total += float(np.sum(weights * (np.logaddexp.reduce(chosen, axis=2) - right)))
        count += float(weights.sum())
    return total / count


def check_graph(model: TrainedModel, graph: onnx.ModelProto) -> float:
    """Refuse a graph that gives onnxruntime something else than the model gives.

    Returns:
        The largest difference, for each unit of the largest value.
    """
    kind = model.task.spec.kind if model.task else None
    rng, longest = np.random.default_rng(0), model.config.max_position_embeddings
    session, worst = Session(graph), 0.0
    build = pretrainer_of if kind is None else task_model_of
    own: Any = build(model, is_compiled=False)
    for length in (2, 3, min(37, longest), longest):
        shape = (3, 2, length) if kind == "choose" else (3, length)
        batch = {
            "input_ids": rng.integers(0, model.config.vocab_size, shape).astype(np.int32),
            "input_mask": np.ones(shape, np.int32),
            "segment_ids": np.zeros(shape, np.int32),
        }
        batch["input_mask"][1:2, ..., length // 2 + 1 :] = 0
        batch["input_mask"][2:, ..., 1 : length // 4] = 0
        batch["segment_ids"][..., length // 3 + 1 :] = 1
        tensors = {name: ops.convert_to_tensor(values) for name, values in batch.items()}
        if kind is None:
            places = np.broadcast_to(np.arange(length, dtype=np.int32), shape)
            tensors["masked_lm_positions"] = ops.convert_to_tensor(places)
            logits, _, layers = own(tensors, every_layer=True)
            given = session(batch)
            pairs = [(given["logits"], logits), (given["last_hidden_state"], layers[-1])]
        else:
            pairs = [(session.logits(batch), own(tensors))]
        for found, expected in pairs:
            wanted = ops.convert_to_numpy(expected).reshape(found.shape)
            difference = np.abs(found - wanted)
            if difference.shape[:2] == shape:
                # Not at padding, which nobody reads.
                difference = difference[batch["input_mask"] > 0]
            worst = max(worst, float(difference.max() / max(1.0, np.abs(wanted).max())))
    if not worst <= _TOLERANCE:
        raise AlbertError(
            f"onnxruntime {onnxruntime.__version__} computes something else of the graph than the "
            f"model gives (they differ by {worst:.2g}); try another version of it."
        )
    return worst
