"""A model from Python: what the commands say, in the form of values."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import safetensors.numpy

import albert_tf
from albert_tf.inference import examples_of
from schemas.task import Columns, TaskSpec
from tests.commands import run
from tests.processes import run_python
from tests.refusals import refusal


@pytest.fixture(scope="module")
def model(models):
    return albert_tf.load(models / "run")


def test_masks_are_filled_as_by_the_command_and_pieces_make_the_text_again(model, models):
    text = "An object is [MASK]."
    answer = json.loads(run("fill-mask", models / "run", text, "--json", "--top", 2))
    expected = [[(p["piece"], p["probability"]) for p in mask] for mask in answer["masks"]]
    (found,), (wanted,) = model.fill_mask(text, top=2), expected
    assert [piece for piece, _ in found] == [piece for piece, _ in wanted]
    assert [p for _, p in found] == pytest.approx([p for _, p in wanted])
    assert "".join(model.tokenize("it is")).replace("\u2581", " ").strip() == "it is"


def test_vectors_are_those_of_the_command(model, models, tmp_path):
    texts = ["It is.", "", "北京 ünï"]
    (tmp_path / "lines.txt").write_text("\n".join(texts) + "\n")
    run("embed", models / "run", tmp_path / "lines.txt", "--output", tmp_path / "v.npy")
    np.testing.assert_allclose(model.encode(texts), np.load(tmp_path / "v.npy"), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(model.encode(texts, dimensions=4), axis=1), 1, 1e-6)
    assert model.encode([]).shape == (0, 16)
    # Also one that learned from pairs takes single texts.
    columns = Columns(text="text", pair="positive")
    (example,) = examples_of(["it is"], TaskSpec(name="embed", kind="embed", columns=columns))
    assert (example.text, example.text_pair) == ("it is", None)


def test_rows_are_predicted_as_by_the_command(models):
    tuned = albert_tf.load(models / "tuned")
    (answer,) = tuned.predict(["it is"])
    expected = json.loads(run("predict", models / "tuned", "it is", "--json"))
    assert answer["label"] == expected["label"]
    assert answer["probabilities"] == pytest.approx(expected["probabilities"])
    assert tuned.predict([("it", "is"), {"text": "it"}])[1]["label"]


def test_what_a_model_cannot_do_or_did_not_learn_from_is_said(model, models):
    assert "is not a fine-tuned model; give a folder that" in refusal(model.predict, ["it is"])
    assert "'it is' is one text; give a list of texts" in refusal(model.encode, "it is")
    assert "is not UTF-8; convert it first" in refusal(model.encode, ["half \ud83d"])
    said = refusal(model.fill_mask, "[MASK]" + " ." * 40)
    assert "and the model reads 32; give less text" in said
    said = refusal(albert_tf.load(models / "tuned").predict, [{"text": "a", "options": ("b", "c")}])
    assert "does not choose; leave it out" in said


def test_an_encoder_without_a_head_gives_vectors_and_fills_no_mask(models, tmp_path):
    """As AlbertModel is saved, by the command and from Python."""
    export = tmp_path / "encoder"
    run("export", models / "run", "--to", "hf", "--output", export)
    tensors = safetensors.numpy.load_file(export / "model.safetensors")
    kept = {name: array for name, array in tensors.items() if name.startswith("albert.")}
    safetensors.numpy.save_file(kept, export / "model.safetensors")
    (tmp_path / "lines.txt").write_text("It is.\n")
    vectors = []
    for folder in (models / "run", export):
        run("embed", folder, tmp_path / "lines.txt", "--output", tmp_path / "v.npy")
        vectors.append(np.load(tmp_path / "v.npy"))
    np.testing.assert_array_equal(*vectors)
    said = refusal(albert_tf.load(export).fill_mask, "An object is [MASK].")
    assert "It has no masked-LM head" in said


def test_a_training_that_was_stopped_gives_its_best_checkpoint_and_it_is_said(models, tmp_path):
    """Not in silence: the newest one, which nothing has measured, may be far better."""
    stopped = tmp_path / "stopped"
    shutil.copytree(models / "tuned", stopped)
    (stopped / "checkpoints" / "step-90000000").mkdir()
    step = albert_tf.load(models / "tuned").trained.step
    said = run("predict", stopped, "it is")
    assert (
        f"{stopped} has stopped at step 90,000,000; this is the best of what was measured, step "
        f"{step} (--checkpoint latest takes the newest).\n"
    ) in said
    assert "has stopped" not in run("predict", stopped, "it is", "--checkpoint", "best")
    (stopped / "eval.json").write_text("{}")
    assert "has stopped" not in run("predict", stopped, "it is")


LOADING = "import albert_tf, sys; print(albert_tf.load(sys.argv[1]).encode(['a']).shape)"


@pytest.mark.parametrize("name", ["pipeline.py", "pipeline/__init__.py"])
def test_a_file_that_hides_a_package_of_ours_is_named(models, tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    said = run_python(LOADING, models / "run", cwd=tmp_path).stderr.splitlines()[-1]
    assert f"Python finds {path} under the name pipeline" in said


def test_tensorflow_says_nothing(models):
    command = [sys.executable, "-c", LOADING, models / "run"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (found.stdout, found.stderr) == ("(1, 16)\n", "")
