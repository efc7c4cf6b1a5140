"""What is no model to ask, and in which words it is refused."""

import json
import shutil

import pytest
import sentencepiece

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


def test_another_vocabulary_beside_the_weights_is_refused(trained, model):
    (trained / "spiece.model").write_bytes(model)
    code, said = attempt("fill-mask", trained, "A [MASK].")
    assert code == 1
    assert said.startswith(
        f"Error: {trained}/spiece.model is not the vocabulary that the model was "
        "trained with (its sha256 is "
    )


def test_a_vocabulary_of_another_size_is_refused(trained, model):
    (trained / "spiece.model").write_bytes(model)
    (trained / "data_manifest.json").unlink()
    code, said = attempt("fill-mask", trained, "A [MASK].")
    assert (code, said) == (
        1,
        f"Error: {trained}/spiece.model has 2000 pieces and the model has 400; put "
        "back the vocabulary that the model was trained with.\n",
    )


def test_what_is_no_vocabulary_is_refused(trained):
    (trained / "spiece.model").write_bytes(b"[PAD]\n[UNK]\n")
    code, said = attempt("fill-mask", trained, "A [MASK].")
    assert code == 1
    assert "spiece.model is not a SentencePiece model" in said


def test_where_the_training_is_not_known_the_positions_are_the_limit(trained):
    (trained / "data_manifest.json").unlink()
    text = "[MASK]" + " ." * 30
    assert len(json.loads(run("fill-mask", trained, text, "--json"))["masks"]) == 1
    code, said = attempt("fill-mask", trained, text + " ." * 30)
    assert code == 1
    assert "has 123 tokens with [CLS] and [SEP] and the model reads 64;" in said


def test_an_export_answers_as_its_run(trained, tmp_path):
    export = tmp_path / "export"
    run("export", trained, "--to", "hf", "--output", export)
    for command, texts in ASK:
        answers = [
            json.loads(run(command, folder, *texts, "--json"))
            for folder in (trained, export)
        ]
        assert answers[1] == answers[0]


def test_another_vocabulary_in_an_export_is_refused(trained, tmp_path, model):
    run("export", trained, "--to", "hf", "--output", tmp_path / "export")
    assert "[MASK]" in run("fill-mask", tmp_path / "export", "A [MASK].")
    (tmp_path / "export/spiece.model").write_bytes(model)
    code, said = attempt("fill-mask", tmp_path / "export", "A [MASK].")
    assert code == 1
    assert said.startswith(
        f"Error: {tmp_path}/export/spiece.model is not the vocabulary that the model "
        "was trained with (its sha256 is "
    )
    assert "and export.json says" in said


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (("order",), ("A name.", "The end.")),
        (("analyze", "layers"), ("--data", "DATA")),
    ],
)
def test_a_damaged_checkpoint_is_passed_over_in_silence_if_that_is_asked_for(
    trained, small, command, arguments
):
    checkpoints = trained / "checkpoints"
    shutil.copytree(checkpoints / "step-00000003", checkpoints / "step-00000009")
    (checkpoints / "step-00000009" / "model.safetensors").write_bytes(b"half")
    given = [small / "data" if each == "DATA" else each for each in arguments]
    asked = (*command, trained, *given)
    note, _, answer = run(*asked).partition("\n")
    assert note.startswith(f"{checkpoints}/step-00000009 is damaged (")
    assert run(*asked, "--quiet") == answer


def test_a_model_from_elsewhere_whose_vocabulary_needs_help_is_told(small, tmp_path):
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(["the old bridge crosses the river"] * 3),
        model_prefix=str(tmp_path / "spiece"),
        vocab_size=21,
        minloglevel=9,
        **{"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1},
        pad_piece="<pad>",
        control_symbols=["[CLS]", "[SEP]", "[MASK]"],
    )
    write_run(tmp_path / "run", data=small / "data", vocab_size=21)
    (tmp_path / "run/data_manifest.json").unlink()
    shutil.copy(tmp_path / "spiece.model", tmp_path / "run")
    run("export", tmp_path / "run", "--to", "hf", "--output", tmp_path / "export")
    said = run("fill-mask", tmp_path / "export", "[MASK] bridge")
    assert said.startswith(
        f"{tmp_path}/export/spiece.model leaves lower-casing and dropping accents to "
        f"the program around it; albert import {tmp_path}/export makes a run whose "
        "vocabulary does it.\n[MASK] bridge\n"
    )
    assert "leaves" not in run("fill-mask", tmp_path / "run", "[MASK] bridge")
    passages = ("order", tmp_path / "export", "the bridge", "the river")
    assert "leaves" in run(*passages)
    assert "leaves" not in run(*passages, "--quiet")
