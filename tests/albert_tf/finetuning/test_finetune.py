"""Fine-tuning from end to end on random examples that a small model can learn."""

import dataclasses
import errno
import gc
import itertools
import json
import signal
import typing
import weakref
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from albert_tf.finetuning import predictor
from albert_tf.finetuning.batches import task_batches
from albert_tf.finetuning.card import tuned_card
from albert_tf.finetuning.finetune import finetune
from albert_tf.finetuning.job import TuningJob, TuningState
from albert_tf.finetuning.predictor import Predictor, evaluate_tuned
from albert_tf.model.initial_weights import draw_first_weights
from albert_tf.model.parameters import is_of_encoder
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.model.trained_model import TrainedModel, read_tuned, with_scores_scaled
from albert_tf.runs.checkpoints import arrays_of, newest_step
from albert_tf.runs.metrics import QUIET
from albert_tf.runs.task_record import write_record
from albert_tf.training import tensorflow_steps
from albert_tf.training.loop import Training
from schemas.config import Initializer
from schemas.files import write_json
from schemas.finetune_config import FineTuneConfig
from schemas.task import KINDS, TaskRecord, TaskRows
from tests.albert_tf.finetuning.task_rows import TINY, random_rows, spec_of
from tests.refusals import refusal
from tests.runs import take_light_steps

# One width and one layer, where neither matters: less to compile.
QUICK = {"shortest": 17, "layers": 1}


def job_of(kind, run, *, shortest=8, layers=2, **settings):
    """A job that starts at random weights and is evaluated on what it learns."""
    given = random_rows(kind, shortest=shortest)
    values = {"learning_rate": 3e-3, "epochs": 2, "batch_size": 16, **settings}
    shape = {"rows": len(given.rows), "width": 32, "options": given.options}
    config = FineTuneConfig(**values).resolved(max_seq_length=32, **shape)
    run.mkdir(exist_ok=True)
    model = dataclasses.replace(TINY, num_hidden_layers=layers)
    return TuningJob(
        record=TaskRecord(spec=spec_of(kind), max_seq_length=32, trained_length=32),
        config=config,
        source=TrainedModel(folder=run, config=model, weights={}, max_seq_length=32),
        train=given,
        held_out=given,
        run=run,
    )


def measured_by(job, *metrics):
    spec = dataclasses.replace(job.spec, metrics=metrics)
    return dataclasses.replace(job, record=dataclasses.replace(job.record, spec=spec))


def trained(job):
    vocabulary = job.run.parent / "spiece.model"
    vocabulary.write_bytes(b"a model")
    _, result = finetune(job, vocabulary=vocabulary, progress=QUIET)
    write_json(job.run / "eval.json", result)
    return result


def weights_of(run):
    return {path.relative_to(run): path.read_bytes() for path in run.rglob("model.saf*")}


def lines_of(run):
    """The metrics without the times."""
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(x).items() if k != "seconds"} for x in lines]


@pytest.mark.parametrize("computes", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_signal_saves_the_steps_that_are_done_by_two_devices(tmp_path, monkeypatch, computes):
    if not computes:
        take_light_steps(monkeypatch)
    names = 2 * ["/device:CPU:0"]
    monkeypatch.setattr(tensorflow_steps, "local_devices", lambda: names)
    settings = {"dropout": 0.1, "eval_every": 4, "micro_batch_size": 8, **QUICK}
    whole = job_of("tag", tmp_path / "whole", **settings)
    result = trained(whole)
    parts = dataclasses.replace(whole, run=tmp_path / "parts")
    parts.run.mkdir()
    add = TuningState.add

    def interrupted(self, done, seconds):
        if self.step == 3:
            signal.raise_signal(signal.SIGINT)
        add(self, done, seconds)

    with monkeypatch.context() as patch:
        patch.setattr(TuningState, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            trained(parts)
    assert newest_step(parts.run) == 3
    assert not (parts.run / "eval.json").exists()
    assert trained(parts) == result
    assert lines_of(parts.run) == lines_of(whole.run)
    last = Path("checkpoints/step-00000008/model.safetensors")
    assert weights_of(parts.run)[last] == weights_of(whole.run)[last]


@pytest.fixture(scope="module")
def secretive(tmp_path_factory):
    """A job of one step whose held-out texts are not for everybody, and its result."""
    run = tmp_path_factory.mktemp("secretive") / "run"
    job = job_of("classify", run, steps=1, epochs=None, eval_every=1, **QUICK)
    examples = [dataclasses.replace(one, text=f"secret {one.id}") for one in job.held_out.examples]
    job = dataclasses.replace(job, held_out=dataclasses.replace(job.held_out, examples=examples))
    with pytest.MonkeyPatch.context() as patch:
        take_light_steps(patch)
        return job, trained(job)


def test_a_card_quotes_texts_only_where_it_is_asked_to(secretive):
    job, result = secretive
    assert "secret" in result["errors"][0]["text"]
    assert "secret" not in (job.run / "README.md").read_text()
    config = dataclasses.replace(job.config, examples_in_card=True)
    assert "secret" in tuned_card(job.record, dataclasses.replace(job, config=config), result)


def test_a_checkpoint_says_where_fine_tuning_stands(secretive):
    job, *_ = secretive
    path = job.run / "checkpoints" / "step-00000001" / "state.json"
    state = json.loads(path.read_text())
    assert list(state.items())[:-2] == [
        ("step", 1),
        ("micro_batch_size", 16),
        ("losses", [0.0, 0.0]),
        ("window_seconds", 0.0),
        ("learning_rate", 3e-3),
        ("threshold", None),
        ("score_mean", 0.0),
        ("score_deviation", 1.0),
    ]
    assert list(state)[-2:] == ["sha256", "is_best"]


def test_what_an_earlier_attempt_left_and_cannot_be_removed_is_said(tmp_path, monkeypatch):
    refused = PermissionError(errno.EACCES, "Permission denied", f"{tmp_path}/run/metrics.jsonl")
    monkeypatch.setattr(Path, "unlink", Mock(side_effect=refused))
    assert refusal(trained, job_of("classify", tmp_path / "run")) == (
        f"{tmp_path}/run/metrics.jsonl cannot be removed: Permission denied; make the "
        "directory writable, or give another --output."
    )


def scored(job, scale):
    """The same job with scores of another mean and deviation."""
    rows = [dataclasses.replace(row, target=scale * (7 + row.target)) for row in job.train.rows]
    pairs = zip(job.train.examples, rows, strict=True)
    examples = [dataclasses.replace(example, score=row.target) for example, row in pairs]
    given = TaskRows(examples, rows)
    return dataclasses.replace(job, train=given, held_out=given)


@pytest.fixture(scope="module")
def regressed(tmp_path_factory):
    """A job of sixteen steps on scores of 14 and 16, its result, to be read, and what ran."""
    run = tmp_path_factory.mktemp("regressed") / "run"
    job = scored(job_of("regress", run, layers=1, epochs=4, eval_every=3), 2.0)
    ran = []

    def noted(*given, **settings):
        training = Training(*given, **settings)
        ran.append(weakref.ref(training.steps.model))
        return training

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("albert_tf.finetuning.finetune.Training", noted)
        return job, trained(job), ran


def test_a_run_that_has_ended_leaves_the_memory(regressed):
    *_, (kept,) = regressed
    gc.collect()
    assert kept() is None


def test_the_best_checkpoint_is_the_one_that_is_measured(regressed):
    job, result, _ = regressed
    lines = [x for x in lines_of(job.run) if x["split"] == "eval"]
    best = max(lines, key=lambda line: line["pearson"])
    assert [line["step"] for line in lines] == [0, 3, 6, 9, 12, 15, 16]
    assert result["step"] == best["step"]
    assert result["metrics"]["pearson"] == pytest.approx(best["pearson"], abs=1e-5)
    again = evaluate_tuned(read_tuned(job.run), job.held_out)
    assert again["metrics"] == result["metrics"]


def test_the_next_measure_decides_between_equals(tmp_path, monkeypatch):
    take_light_steps(monkeypatch)
    scores = [(0.5, 0.2), (0.5, 0.4), (0.25, 0.9), (0.5, 0.4)]
    measured = iter({"accuracy": first, "macro_f1": second} for first, second in scores)
    monkeypatch.setattr(predictor, "measured", lambda *_: next(measured))
    job = job_of("classify", tmp_path / "run", steps=3, epochs=None, eval_every=1, **QUICK)
    trained(measured_by(job, "accuracy", "macro_f1"))
    assert (job.run / "checkpoints" / "best").read_text() == "step-00000001\n"


def test_training_ends_when_patience_does(tmp_path, monkeypatch):
    take_light_steps(monkeypatch)
    settings = {"learning_rate": 0.0, "eval_every": 1, "patience": 2}
    job = job_of("classify", tmp_path / "run", **settings, **QUICK)
    trained(job)
    assert newest_step(job.run) == 2


def test_a_loss_that_overflows_is_said_and_nothing_counts_as_finished(tmp_path, monkeypatch):
    take_light_steps(monkeypatch)
    monkeypatch.setattr(tensorflow_steps.TensorFlowSteps, "sums", lambda *_: np.array([np.inf, 1]))
    job = job_of("regress", tmp_path / "run", **QUICK)
    assert "The loss overflowed in step 1; start again" in refusal(trained, job)
    assert not (job.run / "eval.json").exists()


def test_scores_of_any_scale_are_learned_alike(regressed):
    """And the model that is read gives scores as the file has them."""
    job, *_ = regressed
    learned = []
    for other in (scored(job, 0.001), scored(job, 100.0)):
        batches = itertools.islice(task_batches(other, TuningState.of(other)), 4)
        learned.append([batch["targets"] for batch in batches])
    np.testing.assert_allclose(*learned, atol=1e-4)
    assert np.mean(learned) == pytest.approx(0, abs=1e-4)
    assert np.std(learned) == pytest.approx(1, abs=1e-4)
    outputs = Predictor(read_tuned(job.run)).answers(job.held_out).outputs
    scores = [float(output[0]) for output in outputs]
    assert np.mean(scores) == pytest.approx(7.5 * 2, abs=0.3 * 2)


def test_a_head_that_is_taken_along_gives_the_scores_that_it_gave(regressed):
    job, *_ = regressed
    tuned = read_tuned(job.run)
    kept = dataclasses.replace(job, source=tuned)
    state = TuningState(0, 16, score_mean=5.0, score_deviation=3.0)
    given = arrays_of(kept.new_model(state).weights_by_path)
    again = with_scores_scaled(given, mean=5.0, deviation=3.0)
    for path, weight in tuned.weights.items():
        np.testing.assert_allclose(again[path], weight, atol=1e-6)


def test_each_checkpoint_has_the_threshold_that_was_chosen_for_it(tmp_path):
    settings = {"epochs": 4, "eval_every": 4, "checkpoint_every": 3}
    job = measured_by(job_of("multilabel", tmp_path / "run", **settings, **QUICK), "macro_f1")
    trained(job)
    path = job.run / "checkpoints" / "step-00000016" / "state.json"
    threshold = json.loads(path.read_text())["threshold"]
    assert read_tuned(job.run, which="latest").record.threshold == threshold
    # One between two evaluations is kept too.
    assert {15, 16} <= {int(path.parent.name[5:]) for path in weights_of(job.run)}
    of_best = json.loads((job.run / "task.json").read_text())["threshold"]
    assert read_tuned(job.run, which="best").record.threshold == of_best
    # As it is where training was stopped.
    write_record(job.run, job.record)
    assert job.record.threshold is None
    assert read_tuned(job.run).record.threshold == pytest.approx(of_best, abs=1e-6)


@pytest.mark.slow
def test_what_is_trained_in_bfloat16_is_chosen_by_what_it_is_in_float32(tmp_path):
    job = job_of("regress", tmp_path / "run", epochs=6, precision="bfloat16")
    result = trained(job)
    lines = [x for x in lines_of(job.run) if x["split"] == "eval"]
    best = max(line["pearson"] for line in lines)
    assert result["metrics"]["pearson"] == pytest.approx(best, abs=1e-6)


@pytest.mark.slow
def test_the_size_of_a_micro_batch_does_not_show(tmp_path):
    found = []
    for size in (4, 32):
        sizes = {"batch_size": 32, "micro_batch_size": size, "epochs": 2}
        job = job_of("tag", tmp_path / str(size), head_dropout=0.0, **sizes)
        trained(job)
        found.append(read_tuned(job.run, which="latest").weights)
    for path, weight in found[0].items():
        np.testing.assert_allclose(weight, found[1][path], atol=1e-5)


@pytest.mark.parametrize("initializer", typing.get_args(Initializer))
def test_a_start_from_scratch_is_that_of_pretraining(initializer, tmp_path):
    job = job_of("classify", tmp_path / "run", seed=7)
    source = dataclasses.replace(job.source, initializer=initializer)
    ours = dataclasses.replace(job, source=source).new_model(TuningState.of(job))
    pretrained = AlbertPretrainer(TINY)
    draw_first_weights(pretrained, initializer=initializer, seed=7)
    theirs = pretrained.weights_by_path
    encoder = {p: w for p, w in ours.weights_by_path.items() if is_of_encoder(p)}
    assert len(encoder) > 20
    for path, weight in encoder.items():
        np.testing.assert_array_equal(weight, theirs[path])
    plain = job.new_model(TuningState.of(job)).weights_by_path
    head = "albert/task_head/classifier/kernel"
    np.testing.assert_array_equal(ours.weights_by_path[head], plain[head])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_64_rows_are_learned(kind, tmp_path):
    job = job_of(kind, tmp_path / "run", epochs=120, head_dropout=0.0)
    result = trained(job)
    assert result["metrics"][job.spec.metrics[0]] > 0.99
    assert len(Predictor(read_tuned(job.run)).answers(job.held_out).outputs) == 64
