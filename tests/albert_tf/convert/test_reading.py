"""Loading a trained model from a run or an export."""

import numpy as np
import pytest

from albert_tf.convert.huggingface import (
    huggingface_config,
    huggingface_tensors,
    write_tensors,
)
from albert_tf.convert.reading import load_pretrainer
from albert_tf.runs.checkpoints import (
    Checkpoint,
    arrays_of,
    run_checkpoint,
    save_checkpoint,
)
from schemas.errors import AlbertError
from schemas.json_file import write_json
from tests.google_albert import save_google
from tests.training_data import TINY, save_run


def assert_equal(model, weights):
    arrays = arrays_of(model.weights_by_path)
    assert arrays.keys() == weights.keys()
    for path, array in arrays.items():
        np.testing.assert_array_equal(array, weights[path])


def test_a_run_is_loaded_with_its_newest_weights(tmp_path):
    weights = save_run(tmp_path, TINY)
    newer = {path: array + 1 for path, array in weights.items()}
    save_checkpoint(tmp_path, Checkpoint(newer, {}, {"step": 10}), is_best=False)
    model = load_pretrainer(tmp_path)
    assert model.config == TINY
    assert_equal(model, newer)


@pytest.mark.parametrize("target", ["hf", "google"])
def test_a_model_of_another_program_is_loaded_with_its_weights(tmp_path, target):
    weights = save_run(tmp_path, TINY)
    (tmp_path / "model.json").unlink()
    if target == "google":
        save_google(tmp_path, weights, TINY)
    else:
        write_tensors(
            huggingface_tensors(weights, TINY), tmp_path / "model.safetensors"
        )
        write_json(tmp_path / "config.json", huggingface_config(TINY))
    model = load_pretrainer(tmp_path)
    assert model.config == TINY
    assert_equal(model, weights)


def test_the_best_checkpoint_may_be_an_older_one(tmp_path):
    weights = save_run(tmp_path, TINY)
    save_checkpoint(tmp_path, Checkpoint(weights, {}, {"step": 10}), is_best=True)
    save_checkpoint(tmp_path, Checkpoint(weights, {}, {"step": 11}), is_best=False)
    assert run_checkpoint(tmp_path, which="best").state == {"step": 10}
    assert run_checkpoint(tmp_path).state == {"step": 11}


def test_a_run_without_evaluation_has_no_best_checkpoint(tmp_path):
    save_run(tmp_path, TINY)
    with pytest.raises(AlbertError, match="has no best checkpoint"):
        run_checkpoint(tmp_path, which="best")


def test_a_damaged_best_checkpoint_is_refused(tmp_path):
    weights = save_run(tmp_path, TINY)
    save_checkpoint(tmp_path, Checkpoint(weights, {}, {"step": 10}), is_best=True)
    (tmp_path / "checkpoints/step-00000010/state.json").unlink()
    with pytest.raises(AlbertError, match="step-00000010 is damaged"):
        run_checkpoint(tmp_path, which="best")


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(AlbertError) as caught:
        load_pretrainer(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path} is neither a run nor a model of Hugging Face or "
        "google-research/albert; give the folder of one."
    )


def test_a_run_without_checkpoint_is_refused(tmp_path):
    save_run(tmp_path, TINY)
    (tmp_path / "checkpoints").rename(tmp_path / "elsewhere")
    with pytest.raises(AlbertError, match="holds no checkpoint yet"):
        load_pretrainer(tmp_path)
