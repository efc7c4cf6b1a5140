"""`albert finetune`, `predict`, `evaluate` and `export` of fine-tuned models."""

import csv
import dataclasses
import json
import os
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from albert_tf.runs.checkpoints import load_newest, save_checkpoint
from albert_tf.runs.run_record import run_config
from cli.commands import finetune
from schemas.files import read_json, write_json
from tests.commands import contents, dialogue, refused, run
from tests.exported_runs import write_run
from tests.processes import albert
from tests.runs import take_light_steps

TEXTS = ["an object is mutable", "it's value never changes, is it"]
FAST = ("--epochs", 1, "--batch-size", 8, "--max-seq-length", 16, "--quiet")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "texts.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for number in range(32):
            writer.writerow([f"{TEXTS[number % 2]}, {number}", f"label {number % 2}"])
    return path


@pytest.fixture(scope="module")
def tuned(encoder, table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuned") / "tuned"
    files = ("--train", table, "--eval", table, "--test", table)
    run("finetune", encoder, "--task", "classify", *files, "--output", folder, *FAST)
    return folder


@pytest.fixture(scope="module")
def again(tuned, table, tmp_path_factory):
    """The same, fine-tuned again by a recipe of 800 steps, of which 200 are its warm-up."""
    folder = tmp_path_factory.mktemp("again") / "again"
    files = ("--train", table, "--eval", table, "--output", folder)
    flags = ("--task", "classify", "--keep-head", "--recipe", "mrpc")
    with pytest.MonkeyPatch.context() as patch:
        take_light_steps(patch)
        run("finetune", tuned, *files, *flags, *FAST)
    return folder


@pytest.fixture
def jobs(monkeypatch):
    """What would be trained: nothing is."""
    found = []
    monkeypatch.setattr(finetune, "train_and_predict", lambda job, *_, **__: found.append(job))
    return found


def test_a_fine_tuned_model_has_its_task_worth_and_predictions_beside_it(tuned):
    assert {name for name in contents(tuned) if "events" not in name} == {
        *("README.md", "config.json", "eval.json", "metrics.jsonl", "model.json", "spiece.model"),
        *("predictions-eval.jsonl", "predictions/predictions-1.jsonl", "task.json"),
        *("checkpoints/best", "checkpoints/latest"),
        *(
            f"checkpoints/step-{step:08d}/{name}"
            for step in (0, 4)
            for name in ("model.safetensors", "optimizer.safetensors", "state.json")
        ),
    }
    task = read_json(tuned / "task.json")
    assert task["labels"] == ["label 0", "label 1"]
    assert task["columns"]["text"] == "text"
    result = read_json(tuned / "eval.json")
    assert set(result["baselines"]) == {"majority", "words"}
    assert result["baselines"]["majority"]["accuracy"] == 0.5
    assert result["baselines"]["words"]["accuracy"] == 1.0
    assert len((tuned / "predictions-eval.jsonl").read_text().splitlines()) == 32


def test_the_same_command_again_has_nothing_to_do(encoder, table, tuned, tmp_path):
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("".join(table.read_text().splitlines(keepends=True)[:-1]))
    command = ("finetune", encoder, "--task", "classify", "--train", table, "--eval", table)
    command += ("--output", tuned, *FAST[:-1], "--test")
    assert "nothing to do" in run(*command, table)
    assert "--seed was 12345 and is 7" in refused(*command, table, "--seed", 7)
    said = refused(*command, table, "--train", fewer)
    assert "--train changed; give another --output" in said
    assert "--test changed; give another --output" in refused(*command, fewer)


def test_rows_to_predict_that_are_left_out_are_said(tuned, tmp_path):
    rows = tmp_path / "rows.tsv"
    rows.write_text("text\tnote\nAn object.\tone\nIts value.\nIt\tis.\ttwo\n")
    said = run("predict", tuned, "--input", rows, "--output", tmp_path / "said.jsonl")
    assert f"{rows}: row with more cells than the header, left out: 1\n" in said
    assert "said.jsonl: 2 predictions\n" in said


def test_weights_that_were_not_measured_say_so_on_their_card(tuned, tmp_path):
    copy = tmp_path / "tuned"
    shutil.copytree(tuned, copy, symlinks=True)
    later = dataclasses.replace(load_newest(copy, print), state={"step": 9})
    save_checkpoint(copy, later, is_best=False)
    measured = read_json(copy / "eval.json")["step"]
    card = tmp_path / "hf" / "README.md"
    command = ("export", copy, "--to", "hf", "--output", card.parent, "--quiet")
    run(*command)
    assert "These are the weights of step" not in card.read_text()
    run(*command, "--checkpoint", "latest", "--overwrite")
    assert (
        "These are the weights of step 9; what follows was measured with those of step "
        f"{measured}, the best."
    ) in card.read_text()


def test_typed_texts_and_a_file_with_labels_are_predicted_and_measured_as_they_were(tuned, table):
    (first, *_) = (tuned / "predictions-eval.jsonl").read_text().splitlines()
    answer = json.loads(run("predict", tuned, f"{TEXTS[0]}, 0", "--json"))
    expected = json.loads(first)
    assert answer["label"] == expected["label"]
    assert answer["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-5)
    assert run("predict", tuned, f"{TEXTS[0]}, 0").startswith(answer["label"])
    result = json.loads(run("evaluate", tuned, "--data", table, "--json", "--quiet"))
    kept = read_json(tuned / "eval.json")
    assert result["metrics"] == kept["metrics"]
    lines = run("evaluate", tuned, "--data", table, "--quiet").splitlines()
    assert lines[0] == f"Step {kept['step']}, 32 examples of {table}"
    assert lines[2].split() == ["measure", "(95", "%)", "model"]
    assert lines[3].split()[:2] == ["accuracy", f"{kept['metrics']['accuracy']:.4f}"]


def test_the_card_says_from_what_and_on_what_and_no_setting_of_other_kinds(tuned):
    card = (tuned / "README.md").read_text()
    assert "Fine-tuned from `run` on `texts.csv` with albert-pretraining " in card
    assert "On 32 held-out examples:\n\n| measure (95 %) | model | majority |" in card
    recipe = card.partition("## Recipe")[2].partition("## ")[0]
    assert "| learning_rate | 0.001 |" in recipe
    assert "None" not in recipe
    assert "doc_stride" not in recipe


def test_columns_of_other_names_are_named(tuned, table, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(table.read_text().replace("text,label", "body,mood", 1))
    assert "say which it is with --text-column." in refused("predict", tuned, "--input", other)
    body = ("--text-column", "body", "--quiet")
    assert len(run("predict", tuned, "--input", other, *body).splitlines()) == 32
    named = ("--data", other, *body, "--label-column", "mood", "--json")
    result = json.loads(run("evaluate", tuned, *named))
    assert result["metrics"] == read_json(tuned / "eval.json")["metrics"]


def test_text_of_another_vocabulary_is_said_to_be_unknown(tuned):
    said = run("predict", tuned, "选择珠江花园 的原因 就是方便")
    assert "% of the tokens are unknown to the model's vocabulary, which was" in said
    assert "unknown" not in run("predict", tuned, TEXTS[0])


@pytest.mark.slow
def test_an_encoder_without_a_masked_lm_head_is_fine_tuned(tuned, table, tmp_path):
    run("export", tuned, "--to", "hf", "--output", tmp_path / "hf", "--quiet")
    files = ("--train", table, "--eval", table, "--output", tmp_path / "again")
    run("finetune", tmp_path / "hf", "--task", "classify", *files, *FAST)
    assert (tmp_path / "again" / "eval.json").exists()


def test_a_fine_tuned_model_is_tuned_again_with_its_head_for_the_epochs_asked_for(tuned, again):
    assert read_json(again / "eval.json")["step"] <= 4
    first, *_ = (again / "metrics.jsonl").read_text().splitlines()
    accuracy = read_json(tuned / "eval.json")["metrics"]["accuracy"]
    assert json.loads(first)["accuracy"] == pytest.approx(accuracy)


@pytest.mark.slow
def test_a_start_from_scratch_begins_as_the_run_began(encoder, small, table, tmp_path):
    write_run(tmp_path / "run", run_config(encoder), small, initializer="positional-heads")
    files = ("--train", table, "--eval", table, *FAST, "--from-scratch")
    for model, output in (("run", "first"), ("first", "second")):
        folder = tmp_path / output
        command = ("finetune", tmp_path / model, "--task", "classify", *files)
        run(*command, "--output", folder)
        assert read_json(folder / "config.json")["identity"]["initializer"] == ("positional-heads")
    card = (tmp_path / "first" / "README.md").read_text()
    assert "Trained from scratch in the shape of `run` on `texts.csv` with" in card
    ours = [load_newest(tmp_path / name, print).weights for name in ("first", "second")]
    for path, weight in ours[0].items():
        np.testing.assert_array_equal(weight, ours[1][path])


def test_texts_that_are_not_utf_8_are_refused(tuned, send):
    said = refused("predict", tuned, "caf\udce9", code=1)
    assert said.endswith(" is not UTF-8; convert it first.\n")
    send(b"one\ncaf\xe9\n")
    assert refused("predict", tuned, code=1) == (
        "Error: Line 2 of standard input is not UTF-8; convert it first.\n"
    )


def test_each_line_that_is_sent_is_answered_before_the_next(tuned):
    """As a program does that keeps `albert predict` beside it."""
    given = ("predict", tuned, "--json", "--quiet")
    answers = [json.loads(answer) for answer in dialogue((TEXTS[0], "", TEXTS[1]), *given)]
    assert [answer["id"] for answer in answers] == ["0", "1", "2"]
    assert answers[2] == {**json.loads(run(*given, TEXTS[1])), "id": "2"}


@pytest.mark.slow
def test_the_settings_of_keras_do_not_choose_the_backend(tuned, tmp_path):
    (tmp_path / ".keras").mkdir()
    settings = {"backend": "torch", "floatx": "float16"}
    (tmp_path / ".keras" / "keras.json").write_text(json.dumps(settings))
    environment = {**os.environ, "HOME": str(tmp_path)}
    for name in ("KERAS_HOME", "KERAS_BACKEND"):
        environment.pop(name, None)
    given = ("predict", tuned, TEXTS[0], "--json", "--quiet")
    done = albert(*given, env=environment)
    said = json.loads(run(*given))
    assert json.loads(done.stdout)["probabilities"] == pytest.approx(said["probabilities"])


def test_a_screen_shows_task_and_damaged_checkpoint_before_training(encoder, table, tmp_path, jobs):
    model = shutil.copytree(encoder, tmp_path / "model")
    checkpoints = model / "checkpoints"
    later = shutil.copytree(checkpoints / "step-00000007", checkpoints / "step-00000009")
    (later / "model.safetensors").write_bytes(b"half")
    command = ("finetune", model, "--task", "classify", "--train", table, *FAST[:-1])
    said = run(*command, "--output", tmp_path / "new").splitlines()
    assert [line for line in said if line.startswith(f"{later} is damaged (")]
    first = said.index(f"{table}: 32 examples; text from text; label from label")
    assert said[first + 1 : first + 5] == [
        "A tenth of the training examples, 4, is held out.",
        "Task classify, measured by accuracy and macro_f1.",
        "28 examples to train on, 4 to choose the best by.",
        "2 labels: label 0 14, label 1 14",
    ]
    shown = said.index("The first training examples, as they will be learned:")
    labels = [line.rpartition(" -> ")[2] for line in said[shown + 1 : shown + 4]]
    assert labels == ["label 0", "label 1", "label 0"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classify", "tag"])
def test_an_export_holds_no_text_that_was_trained_on(encoder, kind, tmp_path):
    """No 20 characters of it, in any file, whatever the export is for."""
    names = [f"patient {n} called Quentin{n} of Ward{n} has a fever" for n in range(32)]
    rows = {
        "classify": ["text,label", *(f"{t},{n % 2}" for n, t in enumerate(names))],
        "tag": [line for t in names for line in (*(f"{w} B-X" for w in t.split()), "")],
    }
    (tmp_path / "file").write_text("\n".join(rows[kind]).replace("has B-X", "has O"))
    files = ("--train", tmp_path / "file", "--output", tmp_path / "tuned")
    run("finetune", encoder, "--task", kind, *files, *FAST)
    secrets = {t[n : n + 20].encode() for t in names for n in range(len(t) - 19)}

    def quoted(folder):
        files = (path for path in folder.rglob("*") if path.is_file())
        return [each.name for each in files if any(map(each.read_bytes().__contains__, secrets))]

    assert quoted(tmp_path / "tuned") != []  # its report has the errors
    for target in ("hf", "saved-model"):
        output = tmp_path / target
        run("export", tmp_path / "tuned", "--to", target, "--output", output, "--quiet")
        assert len(contents(output)) > 3
        assert quoted(output) == []


def test_a_model_with_padded_tables_is_tuned_without_their_rows(encoder, table, tmp_path, jobs):
    folder, name = tmp_path / "hf", "albert.embeddings.word_embeddings.weight"
    run("export", encoder, "--to", "hf", "--output", folder, "--quiet")
    (folder / "export.json").unlink()
    config = read_json(folder / "config.json")
    rows = -(-(config["vocab_size"] + 1) // 64) * 64
    missing = rows - config["vocab_size"]
    tensors = load_file(folder / "model.safetensors")
    for tensor in (name, "predictions.bias", "predictions.decoder.bias"):
        if tensor in tensors:
            ends = ((0, missing), (0, 0))[: tensors[tensor].ndim]
            tensors[tensor] = np.pad(tensors[tensor], ends)
    save_file(tensors, folder / "model.safetensors")
    write_json(folder / "config.json", {**config, "vocab_size": rows})
    files = ("--train", table, "--eval", table, "--output", tmp_path / "tuned")
    said = run("finetune", folder, "--task", "classify", *files, *FAST[:-1])
    assert f"Left out: {missing} rows with which its tables of {rows} are padded." in (said)
    (job,) = jobs
    embeddings = job.source.weights["albert/encoder/embeddings/word_embeddings"]
    assert len(embeddings) == config["vocab_size"]
