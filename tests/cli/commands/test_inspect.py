"""`albert inspect`: of a run where it stands, of text how it is divided."""

import json

import pytest

from albert_tf.runs.checkpoints import Checkpoint, save_checkpoint
from pipeline.vocabulary.tokenizer import load_tokenizer, read_spm_model
from schemas.files import write_json
from tests.commands import refused, run
from tests.runs import write_records


def test_a_run_says_where_it_stands_and_what_the_same_command_would_do(tmp_path):
    folder = write_records(tmp_path / "run", steps=2, batch_size=2)
    save_checkpoint(folder, Checkpoint({}, {}, {"step": 2}), is_best=False)
    said = run("inspect", folder).splitlines()
    assert said[0].startswith(f"{folder}: step 2 of 2, in batches of 2; ")
    assert said[1].startswith("training:  ")
    assert said[2].startswith("held out:  ")
    assert said[-1] == (
        "All steps are done; the same command would find nothing to do. Another run "
        f"goes on from its weights with --init-from {folder}."
    )


def test_two_runs_are_told_apart_in_the_first_line(tmp_path):
    for name, seed in (("a", 1), ("b", 2)):
        write_records(tmp_path / name, seed=seed)
    said = run(*("report", tmp_path / "a", tmp_path / "b"), *("--output", tmp_path / "report.html"))
    assert said.splitlines()[0] == "What differs: seed (1; 2)."


def test_of_raw_text_the_first_documents_are_shown_by_the_sentence(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "He came. She left.\\nWhy?"}\n{"text": "More."}\n')
    said = run("inspect", "--text", path, "--documents", 1).splitlines()
    assert said[1:] == [
        f"{path}: 0% of 4 sentences look unlike text",
        f"{path}, document 1: 2 paragraphs, 3 sentences",
        "  1. He came.",
        "  1. She left.",
        "  2. Why?",
    ]


def test_of_a_task_it_shows_what_would_be_learned_without_a_model(tmp_path):
    for name, last in (("train", "no, no"), ("val", "late"), ("notes", "none")):
        rows = "".join(f"text {n},{label}\n" for n in range(4) for label in "ab"[n % 2])
        (tmp_path / f"{name}.csv").write_text(f"text,label\n{rows}{last},a\n")
    said = run("inspect", "--task", "classify", tmp_path)
    shown = [line.removeprefix(f"{tmp_path}/") for line in said.splitlines()]
    assert shown == [
        "train.csv: to train on",
        "val.csv: to choose the best by",
        "notes.csv: not used",
        "train.csv: 4 examples; text from text; label from label",
        "train.csv: row with more cells than the header, left out: 1",
        "val.csv: 5 examples; text from text; label from label",
        "Task classify, measured by accuracy and macro_f1.",
        "4 examples to train on, 5 to choose the best by.",
        "2 labels: a 2, b 2",
        "Labels with fewer than 10 training examples: a 2, b 2.",
        "Evaluation examples with a text that is trained on: 4 of 5.",
        "The first training examples, as they will be learned:",
        "  text 0 -> a",
        "  text 1 -> b",
        "  text 2 -> a",
    ]


def test_a_fine_tuned_model_says_what_measures_it_or_goes_on(tmp_path):
    folder = tmp_path / "tuned"
    for step, is_best in ((4, True), (8, False)):
        save_checkpoint(folder, Checkpoint({}, {}, {"step": step}), is_best=is_best)
    (folder / "task.json").touch()
    assert run("inspect", folder) == (
        f"{folder} is not finished yet: its newest checkpoint is of step 8, the best of step 4; "
        "the same albert finetune goes on.\n"
    )
    write_json(folder / "config.json", {"command": "import"})
    assert run("inspect", folder) == (
        f"{folder} was imported and has no eval.json; albert evaluate {folder} --data FILE "
        "measures it.\n"
    )
    (folder / "eval.json").touch()
    assert run("inspect", folder) == (
        f"{folder}: a fine-tuned model; albert report {folder} shows its measures.\n"
    )


@pytest.mark.parametrize("place", ["vocab", "vocab/spiece.model", "data", "hf", "run"])
def test_a_text_is_shown_as_the_vocabulary_of_a_folder_divides_it(models, place):
    tokenizer = load_tokenizer(read_spm_model(models / "vocab"))
    first, *words, last = run("inspect", models / place, "Café xylophones.").splitlines()
    assert first == "read as: cafe xylophones."
    pieces = list(map(tokenizer.piece, tokenizer.encode(["Café xylophones."])[0]))
    assert " ".join(words).split() == pieces
    assert (words[0], words[-1]) == ("  ▁ c a f e", "  .")
    assert last == "Each line is masked as a whole, alone or with its neighbours (--max-ngram)."


def test_a_vocabulary_and_an_export_say_what_they_are(models):
    for path in (models / "vocab", models / "vocab/spiece.model"):
        assert run("inspect", path) == (
            f"{path}: a vocabulary of 400 pieces, which reads Café as cafe; albert inspect "
            f"{path} TEXT shows how it divides a text.\n"
        )
    said = run("inspect", models / "hf")
    assert said == f"{models}/hf: an export for hf; README.md there says more.\n"


@pytest.mark.parametrize(
    ("name", "flags", "kind", "known"),
    [
        ("vocab", (), "vocabulary", {"size"}),
        ("vocab", ("A text.",), "text", {"text", "read_as", "words"}),
        ("data", ("--examples", 1), "data", {"manifest"}),
        ("run", (), "run", {"newest"}),
        ("tuned", (), "tuned", set()),
    ],
)
def test_the_same_is_there_for_programs(models, name, flags, kind, known):
    answer = json.loads(run("inspect", models / name, *flags, "--json"))
    assert answer["kind"] == kind
    assert known | {"kind", "lines"} == answer.keys()
    assert "\n".join(answer["lines"]) + "\n" == run("inspect", models / name, *flags)


def test_a_file_of_another_form_is_refused_with_rows_of_the_one_that_is_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("I came home late,glad\nI left,sad\n")
    said = refused("inspect", "--task", "classify", path)
    assert said.splitlines() == [
        f"Error: {path}: the columns 'I came home late', 'glad' do not show which one is the "
        "text; name it with --text-column; if these are no names, put a line of names above the "
        "first row; the form that is read:",
        "  text,label",
        '  "The plot is thin.",negative',
        '  "I loved it, all of it.",positive',
    ]
