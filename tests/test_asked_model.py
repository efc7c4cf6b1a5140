"""What is no model to ask, and in which words it is refused."""

import json
import shutil

import pytest

from tests.commands import attempt, run
from tests.trained_run import write_run

ASK = [
    ("fill-mask", ("A [MASK].",)),
    ("order", ("A name.", "The end.")),
]


@pytest.fixture
def trained(small, tmp_path):
    write_run(tmp_path / "run", data=small / "data")
    return tmp_path / "run"


@pytest.mark.parametrize(("command", "texts"), ASK)
def test_a_folder_that_is_neither_run_nor_export_is_refused(tmp_path, command, texts):
    code, said = attempt(command, tmp_path / "nothing", *texts)
    assert (code, said) == (
        1,
        f"Error: {tmp_path}/nothing has no spiece.model, so it is neither a run nor an "
        "export; give a folder that albert pretrain or albert export has written.\n",
    )


@pytest.mark.parametrize("folder", ["vocab", "data"])
def test_a_vocabulary_or_a_data_set_is_no_model(small, folder):
    code, said = attempt("fill-mask", small / folder, "A [MASK].")
    assert code == 1
    assert said.startswith(f"Error: {small}/{folder} has no ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(("command", "texts"), ASK)
def test_a_run_without_checkpoint_is_refused(trained, command, texts):
    shutil.rmtree(trained / "checkpoints")
    code, said = attempt(command, trained, *texts)
    assert (code, said) == (
        1,
        f"Error: {trained} holds no checkpoint yet; let albert pretrain save one "
        "first.\n",
    )


def test_another_vocabulary_beside_the_weights_is_refused(trained, model):
    (trained / "spiece.model").write_bytes(model)
    code, said = attempt("fill-mask", trained, "A [MASK].")
    assert code == 1
    assert said.startswith(
        f"Error: {trained}/spiece.model is not the vocabulary that the run was trained "
        "with (its sha256 is "
    )


def test_a_vocabulary_of_another_size_is_refused(trained, model):
    (trained / "spiece.model").write_bytes(model)
    (trained / "data_manifest.json").unlink()
    code, said = attempt("fill-mask", trained, "A [MASK].")
    assert (code, said) == (
        1,
        f"Error: {trained}/spiece.model has 2000 pieces and the model 400; put the "
        "vocabulary there that the model was trained with.\n",
    )


def test_what_is_no_vocabulary_is_refused(trained):
    (trained / "spiece.model").write_bytes(b"[PAD]\n[UNK]\n")
    code, said = attempt("fill-mask", trained, "A [MASK].")
    assert code == 1
    assert "spiece.model is no SentencePiece model" in said


def test_where_the_training_is_not_known_the_positions_are_the_limit(trained):
    (trained / "data_manifest.json").unlink()
    text = "[MASK]" + " ." * 30
    assert len(json.loads(run("fill-mask", trained, text, "--json"))["masks"]) == 1
    code, said = attempt("fill-mask", trained, text + " ." * 30)
    assert code == 1
    assert "has 123 pieces with [CLS] and [SEP] and the model reads 64;" in said
