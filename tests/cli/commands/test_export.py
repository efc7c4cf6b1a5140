"""`albert export`: what it writes, and what it refuses."""

import json
import shutil

import numpy as np
import pytest

from albert_tf.runs.checkpoints import Checkpoint, arrays_of, save_checkpoint
from albert_tf.runs.metrics import write_evaluation
from cli.commands import export as export_command
from cli.support.task_data import read_crops
from pipeline.tasks.named_tasks import task_called
from schemas.files import read_json, write_json
from tests.commands import contents, refused, run
from tests.evaluations import evaluation
from tests.exported_runs import SMALL_RUN, load_pretrainer


@pytest.fixture
def copied(encoder, tmp_path):
    return shutil.copytree(encoder, tmp_path / "run")


def test_an_export_to_hugging_face_has_all_that_is_read_there(encoder, tmp_path):
    said = run("export", encoder, "--to", "hf", "--output", tmp_path / "out")
    assert said == f"{tmp_path}/out: step 7 of {encoder}, for hf\n"
    out = tmp_path / "out"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert contents(out) == [
        *("README.md", "config.json", "export.json", "model.safetensors", "spiece.model"),
        *("tokenizer.json", "tokenizer_config.json"),
    ]
    assert (out / "spiece.model").read_bytes() == (encoder / "spiece.model").read_bytes()
    vocabulary = read_json(out / "tokenizer.json")["model"]["vocab"]
    assert len(vocabulary) == SMALL_RUN.vocab_size


def test_an_export_is_made_once_and_another_replaces_it_only_when_told(copied):
    arguments = ("export", copied, "--to", "hf")
    run(*arguments)
    card = copied.parent / "run-hf" / "README.md"
    card.write_text("edited")
    assert run(*arguments) == f"{copied}-hf is finished already; nothing to do.\n"
    assert card.read_text() == "edited"
    assert run(*arguments, "--overwrite") == f"{copied}-hf: step 7 of {copied}, for hf\n"
    assert card.read_text() != "edited"
    weights = arrays_of(load_pretrainer(copied).weights_by_path)
    later = Checkpoint({k: v + 1 for k, v in weights.items()}, {}, {"step": 9})
    save_checkpoint(copied, later, is_best=False)
    assert "is finished already" in run(*arguments, "--checkpoint", "best")
    assert refused(*arguments) == (
        f"Error: --output: {copied}-hf holds an export of other weights, for another "
        "program, by another version or from before an evaluation; give another "
        "folder, or --overwrite to replace it.\n"
    )
    assert "step 9 of" in run(*arguments, "--overwrite")
    write_evaluation(copied, evaluation(step=9))
    assert "from before an evaluation; " in refused(*arguments)
    run(*arguments, "--overwrite")
    assert "step 9" in card.read_text()
    record = read_json(card.with_name("export.json"))
    assert (record["command"], record["to"], record["step"]) == ("export", "hf", 9)


def test_an_export_never_replaces_what_no_export_wrote(copied, monkeypatch):
    output = copied.parent / "run-hf"
    run("export", copied, "--to", "hf")
    (output / ".git").mkdir()
    (output / ".git" / "HEAD").touch()
    arguments = ("export", copied, "--to", "saved-model", "--output", output, "--overwrite")
    with monkeypatch.context() as patched:
        # Before anything is loaded.
        patched.delattr(export_command, "load_model")
        assert refused(*arguments) == (
            f"Error: --output: {output} holds .git, which no export wrote; move it, or "
            "give another folder.\n"
        )
    assert {".git/HEAD", "model.safetensors"} < set(contents(output))
    (output / ".git").rename(copied.parent / "elsewhere")
    run(*arguments)
    names = set(contents(output))
    assert {"README.md", "export.json", "saved_model.pb", "spiece.model"} <= names
    assert "model.safetensors" not in names


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("export.json", "another command wrote {out} meanwhile; give another folder"),
        ("notes.txt", "{out} holds other files; give a new or empty folder."),
    ],
)
def test_what_another_command_writes_meanwhile_stays(copied, tmp_path, monkeypatch, name, sentence):
    out, write = tmp_path / "out", export_command.write_files

    def write_beside(model, folder, **values):
        out.mkdir()
        (out / name).write_text(json.dumps({"files": ["export.json"]}))
        return write(model, folder, **values)

    monkeypatch.setattr(export_command, "write_files", write_beside)
    (said,) = refused("export", copied, "--to", "hf", "--output", out).splitlines()
    assert sentence.format(out=out) in said
    assert contents(out) == [name]
    assert not list(tmp_path.glob("out.tmp-*"))


def test_a_saved_model_is_not_written_by_another_backend(encoder, monkeypatch):
    monkeypatch.setattr("keras.backend.backend", lambda: "jax")
    assert refused("export", encoder, "--to", "saved-model") == (
        "Error: --to saved-model needs TensorFlow, and KERAS_BACKEND is jax; unset KERAS_BACKEND.\n"
    )


def test_an_export_that_fails_leaves_nothing(encoder, tmp_path, monkeypatch):
    def fail(model, folder, **values):
        (folder / "half").touch()
        raise RuntimeError("midway")

    monkeypatch.setattr(export_command, "write_files", fail)
    given = ("--to", "hf", "--output", tmp_path / "out")
    (said,) = refused("export", encoder, *given, code=1).splitlines()
    assert said.startswith("Error: Unexpected RuntimeError: midway")
    assert list(tmp_path.iterdir()) == []


def test_the_length_that_is_recorded_is_the_one_that_was_trained(copied, tmp_path):
    run("export", copied, "--to", "hf", "--output", tmp_path / "trained")
    (copied / "data_manifest.json").unlink()
    run("export", copied, "--to", "hf", "--output", tmp_path / "unknown")
    files = (tmp_path / name / "tokenizer_config.json" for name in ("trained", "unknown"))
    lengths = [read_json(file)["model_max_length"] for file in files]
    assert lengths == [32, SMALL_RUN.max_position_embeddings]


@pytest.mark.parametrize(
    ("name", "data", "measured"),
    [("run", "data", "masked-LM loss (nats, "), ("tuned", "rows.csv", "accuracy (8 examples)")],
)
def test_an_export_to_onnx_has_a_graph_its_tokenizer_and_what_8_bits_cost_on_held_out_rows(
    encoder, models, tmp_path, name, data, measured
):
    model = {"run": encoder, "tuned": models / "tuned"}[name]
    (tmp_path / "data").symlink_to(models / "data")
    (tmp_path / "rows.csv").write_text("text,label\n" + "it is,dull\nit was,fine\n" * 4)
    flags = ("--to", "onnx", "--int8", "--data", tmp_path / data)
    said = run("export", model, *flags, "--output", tmp_path / "out")
    assert "onnxruntime computes what the model does" in said
    assert measured in said
    assert contents(tmp_path / "out") == [
        *("README.md", "config.json", "export.json", "model.onnx", "model_quantized.onnx"),
        *("spiece.model", "tokenizer.json", "tokenizer_config.json"),
    ]
    card = (tmp_path / "out" / "README.md").read_text()
    assert 'onnxruntime.InferenceSession("FOLDER/model.onnx")' in card
    assert measured in card or name == "run"


def test_what_8_bits_cost_is_measured_on_the_data_of_training_if_there(models, copied, tmp_path):
    config = read_json(copied / "config.json")
    write_json(copied / "config.json", config | {"data": str(models / "data")})
    said = run("export", copied, "--to", "onnx", "--int8", "--output", tmp_path / "a")
    assert "masked-LM loss (nats, " in said
    table, tuned = tmp_path / "rows.csv", shutil.copytree(models / "tuned", tmp_path / "tuned")
    rows = [f"it is {n},{('dull', 'fair', 'fine')[n % 3]}" for n in range(9)]
    table.write_text("\n".join(["text,label", *rows]) + "\n")
    values = {"task": "classify", "train": [str(table)], "evaluation": [str(table)]}
    write_json(tuned / "config.json", values)
    arguments = ("export", tuned, "--to", "onnx", "--int8", "--output")
    assert "accuracy (9 examples)" in run(*arguments, tmp_path / "b")
    table.unlink()
    assert "what that costs was not measured (--data)." in run(*arguments, tmp_path / "c")


def test_what_8_bits_cost_vectors_is_measured_on_pairs_of_their_length(copied, documents, tmp_path):
    values = {"data": str(documents), "max_seq_length": "16:0.9,32"}
    write_json(copied / "config.json", read_json(copied / "config.json") | values)
    shutil.copy(documents / "manifest.json", copied / "data_manifest.json")
    flags = ("--to", "sentence-transformers", "--int8", "--output", tmp_path / "out")
    said = run("export", copied, *flags)
    pairs = read_crops(documents, task_called("embed"), length=32, say=print, trains=False).held_out
    assert f"recall_at_1 ({len(pairs):,} examples)" in said


def test_an_export_to_sentence_transformers_has_the_files_that_all_versions_read(encoder, tmp_path):
    out = tmp_path / "out"
    run("export", encoder, "--to", "sentence-transformers", "--output", out)
    assert {*contents(out)} >= {
        *("modules.json", "1_Pooling/config.json", "2_Normalize/config.json"),
        *("sentence_bert_config.json", "config_sentence_transformers.json", "onnx/model.onnx"),
    }
    pooling = read_json(out / "1_Pooling/config.json")
    assert pooling["word_embedding_dimension"] == SMALL_RUN.hidden_size
    pooled = [name for name, value in pooling.items() if value is True]
    assert pooled == ["include_prompt", "pooling_mode_mean_tokens"]
    lines = tmp_path / "lines.txt"
    lines.write_text("One text.\nAnother.\n")
    vectors = []
    for model in (encoder, out):
        run("embed", model, lines, "--output", tmp_path / "v.npy")
        vectors.append(np.load(tmp_path / "v.npy"))
    np.testing.assert_allclose(*vectors, atol=1e-6)
