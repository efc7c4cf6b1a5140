"""What a run has written about itself is read, or refused by file and line."""

import dataclasses
import json

import pytest

from albert_tf.runs import run_record
from albert_tf.runs.checkpoints import Checkpoint, save_checkpoint
from albert_tf.runs.run_record import finished_step, read_run, recorded_settings, trained_length
from schemas.architecture import ModelConfig
from schemas.config import TrainConfig
from schemas.files import read_json, write_json
from schemas.layout import CONFIG, DATA_MANIFEST, METRICS, MODEL_CONFIG
from tests.refusals import refusal
from tests.runs import LINES, manifest_of, train_line, write_records


def test_a_run_is_read_as_it_was_resolved_and_may_keep_neither_settings_nor_data(tmp_path):
    folder = write_records(tmp_path / "run", steps=4000, batch_size=8, micro_batch_size=4)
    # As it was given; the identity of the run has what it became.
    write_json(folder / CONFIG, read_json(folder / CONFIG) | {"micro_batch_size": None})
    run = read_run(folder, title="mine")
    assert (run.title, run.lines, run.model) == ("mine", LINES, ModelConfig())
    assert run.config == TrainConfig(steps=4000, batch_size=8, micro_batch_size=4).resolved()
    assert run.data.fingerprint == manifest_of(100).fingerprint
    for name in (CONFIG, DATA_MANIFEST):
        (folder / name).unlink()
    run = read_run(folder, title="run")
    assert (run.settings, run.data) == ({}, None)
    assert run.config == TrainConfig().resolved()


FIELDS = ", ".join(field.name for field in dataclasses.fields(ModelConfig))
NOT_YET = "{} has no metrics yet; let albert pretrain take its first steps, then ask again."


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        (
            *(MODEL_CONFIG, '{"hidden_size": "768"}'),
            "{}/model.json: hidden_size must be of type int, not '768'; put the file back as it "
            "was written.",
        ),
        (
            *(MODEL_CONFIG, '{"width": 768}'),
            f"{{}}/model.json: 'width' is not a setting; the settings are {FIELDS}; put the file "
            "back as it was written.",
        ),
        (METRICS, "", NOT_YET),
        (METRICS, '{"step": 1, "spl', NOT_YET),
        (
            *(CONFIG, '{"command": "import"}'),
            "{} was imported and not trained further, so it has no curves to draw; the card of "
            "albert export shows what albert evaluate measured of it.",
        ),
    ],
)
def test_what_cannot_be_shown_of_a_run_is_said_with_the_way_out(tmp_path, name, content, says):
    folder = write_records(tmp_path / "run", lines=LINES if name == MODEL_CONFIG else ())
    (folder / name).write_text(content)
    assert refusal(read_run, folder, title="run") == says.format(folder)


@pytest.mark.parametrize(
    ("given", "length"), [({}, 512), ({"length_before": 768}, 768), ({"length_before": 128}, 512)]
)
def test_a_model_that_was_begun_from_one_of_longer_sequences_knows_them(tmp_path, given, length):
    model = ModelConfig(max_position_embeddings=1024)
    assert trained_length(write_records(tmp_path / "run", **given), model) == length


@pytest.mark.parametrize(
    "bad",
    [
        *("{", "[]", "\udcff", '{"step": "2", "split": "train"}', '{"step": 2, "split": "test"}'),
        *('{"step": -1, "split": "train"}', '{"step": 2, "split": "train", "mlm_loss": "low"}'),
    ],
)
def test_a_line_that_is_no_line_of_metrics_is_named(tmp_path, bad):
    folder = write_records(tmp_path / "run", lines=[train_line(1)])
    with (folder / METRICS).open("ab") as file:
        file.write(bad.encode("utf-8", "surrogateescape") + b"\n")
    assert refusal(read_run, folder, title="run").startswith(
        f"{folder / METRICS}: line 2 is not a line of metrics; "
    )


def save_checkpointed(run, *, evaluated=12, held_out=1):
    save_checkpoint(run, Checkpoint({}, {}, {"step": 12}), is_best=False)
    write_json(run / "data_manifest.json", manifest_of(held_out).to_dict())
    line = {"step": evaluated, "split": "eval"}
    (run / "metrics.jsonl").write_text(json.dumps(line) + "\n")


@pytest.mark.parametrize(
    ("given", "finished"),
    [({}, 12), ({"evaluated": 10}, None), ({"evaluated": 0, "held_out": 0}, 12)],
    ids=["evaluated", "its last evaluation is missing", "nothing is held out"],
)
def test_a_run_is_finished_at_a_checkpoint_that_was_evaluated(tmp_path, given, finished):
    save_checkpointed(tmp_path, **given)
    assert finished_step(tmp_path) == finished
    assert finished_step(tmp_path / "none") is None
    (tmp_path / "checkpoints").rename(tmp_path / "elsewhere")
    assert finished_step(tmp_path) is None


def test_damaged_files_are_left_to_training(tmp_path):
    of_step = (f"checkpoints/step-00000012/{name}" for name in ("state.json", "model.safetensors"))
    for name in ("metrics.jsonl", "data_manifest.json", *of_step):
        save_checkpointed(tmp_path)
        (tmp_path / name).write_text("{\n")
        assert finished_step(tmp_path) is None


def test_a_run_with_other_steps_keeps_those_that_it_began_with(tmp_path):
    run = write_records(tmp_path / "run")
    before = recorded_settings(run)
    for steps in (20, 30):
        run_record.record_training(run, TrainConfig(steps=steps, eval_every=7).resolved())
    config = dataclasses.asdict(TrainConfig(steps=30, eval_every=7).resolved())
    now = recorded_settings(run)
    assert now.pop("began") == {"steps": 10}
    changed = {name: config[name] for name in ("steps", "warmup_steps")}
    assert now.pop("identity") == before.pop("identity") | changed
    assert now == before | config
