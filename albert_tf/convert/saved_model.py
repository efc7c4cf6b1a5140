"""A trained model as a SavedModel of TensorFlow, with named signatures on piece ids."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from albert_tf.convert.model_card import Call
from albert_tf.model.pretrainer import AlbertPretrainer, gather_rows
from albert_tf.model.task_model import TaskModel

Tensor = Any

_IDS = ("input_ids", "input_mask", "segment_ids")


class Served(tf.Module):
    """What a SavedModel computes of `_IDS`, for any number of sequences of any length.

    Of a pretrained model all but `predict`, of a fine-tuned one that alone.
    """

    def __init__(self, model: Any) -> None:
        super().__init__(name="albert")
        self._model = model
        # What is saved with the functions below.
        self.weights = [variable.value for variable in model.trainable_variables]

    def encode(self, **inputs: Tensor) -> dict[str, Tensor]:
        """`sequence_output` `[B, S, H]`; with a pooler `pooled_output` `[B, H]`."""
        encoder, length = self._model.encoder, tf.shape(inputs["input_ids"])[1]
        rows = encoder(**inputs)
        width = self._model.config.hidden_size
        outputs = {"sequence_output": tf.reshape(rows, (-1, length, width))}
        if self._model.sentence_head is not None:
            outputs["pooled_output"] = encoder.pool(rows, length)
        return outputs

    def fill_mask(self, masked_lm_positions: Tensor, **inputs: Tensor) -> dict[str, Tensor]:
        """`logits` `[B, P, V]` of every piece at the places `[B, P]`."""
        encoder, length = self._model.encoder, tf.shape(inputs["input_ids"])[1]
        masked = gather_rows(encoder(**inputs), masked_lm_positions, length)
        logits = self._model.masked_lm_head(masked, encoder.embeddings.word_embeddings)
        shape = (-1, tf.shape(masked_lm_positions)[1], self._model.config.vocab_size)
        return {"logits": tf.reshape(logits, shape)}

    def sentence_order(self, **inputs: Tensor) -> dict[str, Tensor]:
        """`logits` `[B, 2]`: B follows A, or not."""
        return {"logits": self._model.sentence_head(self.encode(**inputs)["pooled_output"])}

    def predict(self, **inputs: Tensor) -> dict[str, Tensor]:
        """`logits`, in the shape that `TaskModel` gives them."""
        return {"logits": self._model(inputs)}


def write_saved_model(model: AlbertPretrainer | TaskModel, folder: Path) -> None:
    """Write a SavedModel with the signatures `encode`, `fill_mask`, `sentence_order`.

    `encode` is the default of a server as well. Without a sentence task there is no
    `sentence_order`. Of a fine-tuned model the only signature is `predict`, of token ids
    `[B, S]`, of one that chooses `[B, O, S]`.

    Args:
        model: One that is not compiled: TensorFlow Serving may be built without XLA,
            and compiling would begin again with every other length.
    """
    axes, names = 2, ["predict"]
    if isinstance(model, TaskModel):
        axes = 3 if model.kind == "choose" else 2
    else:
        names = ["encode", "fill_mask", "sentence_order"][: 2 + (model.sentence_head is not None)]
    served, signatures = Served(model), dict[str, Any]()
    for name in names:
        function = tf.function(getattr(served, name), autograph=False)
        inputs = (*_IDS, "masked_lm_positions") if name == "fill_mask" else _IDS
        signatures[name] = function.get_concrete_function(
            **{key: tf.TensorSpec([None] * axes, tf.int32, name=key) for key in inputs}
        )
    default = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    signatures[default] = signatures[names[0]]
    try:
        tf.saved_model.save(served, str(folder), signatures=signatures)
    except tf.errors.OpError as error:
        # TensorFlow's words begin with its own names and a path.
        reason = str(error.message).rpartition(";")[2].split("[Op:")[0].strip()
        raise OSError(None, reason) from error


def example_call(folder: Path, ids: Sequence[int], *, options: int = 0) -> Call:
    """What a server answers about one text, computed by the SavedModel itself.

    Args:
        ids: Its token ids, special ones included.
        options: How many texts a model that chooses is given.
    """
    texts = [[list(ids)] * options] if options else [list(ids)]
    values = {"input_ids": np.array(texts, np.int32)}
    values["input_mask"] = np.ones_like(values["input_ids"])
    values["segment_ids"] = np.zeros_like(values["input_ids"])
    predict = tf.saved_model.load(str(folder)).signatures["predict"]
    inputs = {name: tf.constant(value) for name, value in values.items()}
    logits = predict(**inputs)["logits"].numpy().astype(np.float64).round(4)
    asked = {name: value.tolist() for name, value in values.items()}
    return {"signature_name": "predict", "inputs": asked}, {"outputs": logits.tolist()}
