"""SavedModels compute what the model does, at any length."""

import dataclasses
import subprocess
import sys
from unittest.mock import Mock

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.convert.saved_model import write_saved_model
from albert_tf.model import operations
from tests.batches import random_batch
from tests.commands import contents, refused
from tests.exported_runs import ONE_LAYER, write_run
from tests.huggingface_albert import SMALL, lively_model

IDS = ("input_ids", "input_mask", "segment_ids")


@pytest.fixture(scope="module")
def model():
    config = dataclasses.replace(SMALL, num_hidden_layers=2)
    return lively_model(config, operations=operations)


@pytest.fixture(scope="module")
def signatures(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    write_saved_model(model, folder)
    # The functions go with the object they were loaded with.
    loaded = tf.saved_model.load(str(folder))
    return {**loaded.signatures, "folder": folder, "loaded": loaded}


def called(signature, batch, *names):
    return signature(**{name: tf.constant(batch[name]) for name in (*IDS, *names)})


def test_signatures_have_names_and_take_any_batch_and_length(signatures):
    inputs = signatures["fill_mask"].structured_input_signature[1]
    assert sorted(inputs) == sorted([*IDS, "masked_lm_positions"])
    for spec in inputs.values():
        assert (spec.dtype, spec.shape.as_list()) == (tf.int32, [None, None])
    names = ("encode", "fill_mask", "sentence_order", "serving_default")
    outputs = {name: sorted(signatures[name].structured_outputs) for name in names}
    assert outputs == {
        "encode": ["pooled_output", "sequence_output"],
        "fill_mask": ["logits"],
        "sentence_order": ["logits"],
        "serving_default": ["pooled_output", "sequence_output"],
    }
    # No part is compiled by XLA, which a server may lack.
    graphs = signatures["folder"].glob("*.pb")
    assert b"_XlaMustCompile" not in b"".join(path.read_bytes() for path in graphs)


@pytest.mark.parametrize(("rows", "length"), [(3, 12), (1, 16), (5, 7)])
def test_signatures_compute_what_the_model_does(model, signatures, rows, length):
    batch = random_batch(SMALL, rows=rows, length=length)
    mlm, sentence = model(batch)
    vectors = model.encoder(*(batch[name] for name in IDS))
    filled = called(signatures["fill_mask"], batch, "masked_lm_positions")["logits"]
    assert filled.shape == (rows, 4, SMALL.vocab_size)
    encoded = called(signatures["encode"], batch)
    for found, expected in (
        (np.reshape(filled, mlm.shape), mlm),
        (called(signatures["sentence_order"], batch)["logits"], sentence),
        (encoded["sequence_output"], np.reshape(vectors, (rows, length, -1))),
        (encoded["pooled_output"], model.encoder.pool(vectors, length)),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_model_without_sentence_task_has_two_signatures(tmp_path):
    config = dataclasses.replace(
        SMALL, sentence_task="none", num_hidden_layers=1, num_hidden_groups=1
    )
    write_saved_model(lively_model(config, operations=operations), tmp_path)
    signatures = tf.saved_model.load(str(tmp_path)).signatures
    assert sorted(signatures) == ["encode", "fill_mask", "serving_default"]
    assert sorted(signatures["encode"].structured_outputs) == ["sequence_output"]


@pytest.mark.slow
def test_it_needs_nothing_of_this_program(signatures):
    """Another process loads it with TensorFlow alone."""
    program = (
        "import sys, tensorflow as tf\n"
        "sys.path = [p for p in sys.path if p]\n"
        f"loaded = tf.saved_model.load({str(signatures['folder'])!r})\n"
        "ids = tf.constant([[2, 7, 3]])\n"
        "out = loaded.signatures['encode'](\n"
        "    input_ids=ids, input_mask=tf.ones_like(ids), segment_ids=0 * ids)\n"
        "assert 'albert_tf' not in sys.modules\n"
        "print(out['sequence_output'].shape)\n"
    )
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "(1, 3, 16)"


def test_a_full_disk_is_said_in_a_sentence(small, tmp_path, monkeypatch):
    write_run(tmp_path / "run", ONE_LAYER, small)
    message = "{{function_node SaveV2}} out/variables; No space left on device [Op:SaveV2]"
    full = tf.errors.ResourceExhaustedError(None, None, message)
    monkeypatch.setattr(tf.saved_model, "save", Mock(side_effect=full))
    command = ("--to", "saved-model", "--output", tmp_path / "out")
    said = refused("export", tmp_path / "run", *command, code=1)
    assert said.endswith("out cannot be written: No space left on device.\n")
    assert contents(tmp_path / "out") == []
