"""Models as commands read them: what is refused, and what fine-tuning takes."""

import dataclasses
import json
import shutil

import pytest
import sentencepiece

from cli.support.trained_model import Start, read_start
from schemas.errors import SettingError
from schemas.task import TaskSpec
from tests.commands import refused, run
from tests.exported_runs import SMALL_RUN, TUNED_LABELS, TUNED_LENGTH, write_run, write_tuned
from tests.refusals import refusal

SPEC = TaskSpec(name="mood", kind="classify", labels=TUNED_LABELS, metrics=("accuracy",))


@pytest.fixture
def trained(models, tmp_path):
    return shutil.copytree(models / "run", tmp_path / "run")


def test_where_the_training_is_not_known_the_positions_are_the_limit(trained):
    (trained / "data_manifest.json").unlink()
    text = "[MASK]" + " ." * 20
    assert len(json.loads(run("fill-mask", trained, text, "--json"))["masks"]) == 1
    said = refused("fill-mask", trained, text + " ." * 20, code=1)
    assert "has 83 tokens with [CLS] and [SEP] and the model reads 48;" in said


def test_an_export_answers_as_its_run(models):
    for command, *texts in (("fill-mask", "A [MASK]."), ("order", "A name.", "The end.")):
        ours, theirs = (run(command, models / name, *texts, "--json") for name in ("run", "hf"))
        assert json.loads(ours) == json.loads(theirs)


def test_a_damaged_checkpoint_is_passed_over_silently_if_asked(trained, small):
    damaged = trained / "checkpoints/step-00000009"
    shutil.copytree(trained / "checkpoints/step-00000007", damaged)
    (damaged / "model.safetensors").write_bytes(b"half")
    for asked in (
        ("order", trained, "A name.", "The end."),
        ("analyze", "layers", trained, "--data", small / "data"),
    ):
        note, _, answer = run(*asked).partition("\n")
        assert note.startswith(f"{damaged} is damaged (")
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
    write_run(tmp_path / "run", dataclasses.replace(SMALL_RUN, vocab_size=21), small)
    (tmp_path / "run/data_manifest.json").unlink()
    shutil.copy(tmp_path / "spiece.model", tmp_path / "run")
    run("export", tmp_path / "run", "--to", "hf", "--output", tmp_path / "export")
    said = run("fill-mask", tmp_path / "export", "[MASK] bridge")
    assert said.startswith(
        f"{tmp_path}/export leaves lower-casing and dropping accents to the program around it, "
        "without which words become unknown pieces; albert import "
        f"{tmp_path}/export --output NEW writes it into the vocabulary.\n[MASK] bridge\n"
    )
    assert "leaves" not in run("fill-mask", tmp_path / "run", "[MASK] bridge")
    passages = ("order", tmp_path / "export", "the bridge", "the river")
    assert "leaves" in run(*passages)
    assert "leaves" not in run(*passages, "--quiet")


def read(folder, **start):
    return read_start(folder, SPEC, start=Start(**start), say=print)


def test_from_scratch_a_run_and_a_fine_tuned_model_need_no_weights(small, tmp_path):
    write_run(tmp_path / "run", SMALL_RUN, small, initializer="positional-heads")
    write_tuned(tmp_path / "tuned", "classify", b"a vocabulary")
    for name, length, initializer in (
        ("run", 32, "positional-heads"),
        ("tuned", TUNED_LENGTH, "range"),
    ):
        shutil.rmtree(tmp_path / name / "checkpoints")
        model = read(tmp_path / name, from_scratch=True)
        assert (model.folder, model.config, model.weights) == (tmp_path / name, SMALL_RUN, {})
        assert (model.max_seq_length, model.initializer) == (length, initializer)
    assert "holds no checkpoint yet" in refusal(read, tmp_path / "run")


def test_the_head_is_taken_only_where_it_is_asked_for_and_one_of_other_labels_refused(tmp_path):
    write_tuned(tmp_path / "tuned", "classify", b"a vocabulary", trained_length=40)
    without, whole = (read(tmp_path / "tuned", keep_head=keep) for keep in (False, True))
    assert "albert/task_head/classifier/kernel" in whole.weights
    assert {p for p in whole.weights if "/task_head/" not in p} == set(without.weights)
    # The lengths are those known before the last task.
    assert without.max_seq_length == 40
    write_tuned(tmp_path / "tags", "tag", b"a vocabulary")
    assert refusal(read, tmp_path / "tags", keep_head=True, error=SettingError) == (
        f"--keep-head: {tmp_path}/tags is for tag with other labels than mood; leave it out."
    )


@pytest.mark.parametrize(
    ("flags", "name"),
    [({"keep_head": True}, "--keep-head"), ({"checkpoint": "best"}, "--checkpoint")],
)
def test_from_scratch_nothing_is_said_about_weights(flags, name):
    assert refusal(Start, from_scratch=True, **flags, error=SettingError) == (
        f"{name} is about the weights of MODEL, and --from-scratch takes none; leave "
        "one of them out."
    )
