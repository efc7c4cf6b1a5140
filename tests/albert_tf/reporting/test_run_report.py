"""What a report shows of runs."""

import json
import math

import pytest

from albert_tf.reporting.run_report import runs_section, tuned_section
from albert_tf.runs.metrics import write_evaluation
from albert_tf.runs.run_record import read_run
from albert_tf.runs.task_record import write_record
from schemas.files import read_json, write_json
from schemas.layout import CONFIG, DATA_MANIFEST
from schemas.report import Curve
from schemas.task import TaskRecord, TaskSpec
from tests.evaluations import evaluation
from tests.manifests import edit_manifest
from tests.refusals import refusal
from tests.runs import eval_line, manifest_of, train_line, write_records


def section(*folders):
    return runs_section([read_run(folder, title=folder.name) for folder in folders])


def tables(*folders):
    return {table.title: table for table in section(*folders).tables}


def test_a_run_says_how_far_it_is_and_what_it_is_and_its_curves_are_its_lines(tmp_path):
    found = section(write_records(tmp_path / "run"))
    assert dict(found.facts) == {
        "steps": "2 of 10",
        "time": "6 s",
        "model": "tiny",
        "encoder parameters": 11_683_584,
        "all parameters": 11_813_810,
        "examples in a step": 4096,
        "precision": "float32",
        "optimizer": "lamb",
        "started": "2026-01-02",
    }
    plots = found.plots
    assert [plot.title for plot in plots] == [
        *("Masked-LM loss", "Masked-LM accuracy", "Sentence loss", "Sentence accuracy"),
        *("Learning rate", "Gradient norm", "Throughput"),
    ]
    assert plots[0].curves == (
        Curve(run=0, is_held_out=False, points=((1, 2.0), (2, 2.0))),
        Curve(run=0, is_held_out=True, points=((0, 3.0), (2, 2.0))),
    )
    assert plots[-1].curves == (Curve(run=0, is_held_out=False, points=((1, 8.0), (2, 8.0))),)


@pytest.mark.parametrize("given", [{"overrides": ["dropout=0.1"]}, {"model": "/run/model.json"}])
def test_a_model_without_a_name_is_called_by_its_shape(tmp_path, given):
    facts = dict(section(write_records(tmp_path / "run", **given)).facts)
    assert facts["model"] == "12 layers of 768, sharing all"


def held_out_rows(folder, *lines, **given):
    return tables(write_records(folder, lines=lines, **given))["Held-out evaluation"].rows


def test_the_last_evaluation_is_shown_and_the_best_where_that_is_another(tmp_path):
    lines = (eval_line(0, loss=1.0), eval_line(1, loss=2.0, accuracy=0.5), eval_line(2, loss=3.0))
    assert held_out_rows(tmp_path / "run", *lines) == (
        ("run", "last", 2, 3.0, math.exp(3.0), "25.0%", 0.5, "50.0% (40.4 to 59.6%)"),
        ("run", "best", 1, 2.0, math.exp(2.0), "50.0%", 0.5, "50.0% (40.4 to 59.6%)"),
    )
    # Before the first step it is of fewer examples.
    ((*_, share),) = held_out_rows(tmp_path / "begun", lines[0], held_out=5000)
    assert share == "50.0% (43.1 to 56.9%)"
    nothing = (("old", "no held-out evaluation", *[None] * 6),)
    assert held_out_rows(tmp_path / "old", train_line(1)) == nothing


def test_bits_per_character_are_drawn_where_they_were_measured(tmp_path):
    lines = [eval_line(n) | {"bits_per_character": 3.0 - n} for n in (1, 2)]
    plots = section(write_records(tmp_path / "run", lines=[eval_line(0), *lines])).plots
    (plot,) = (plot for plot in plots if plot.title == "Bits per character")
    assert [curve.points for curve in plot.curves] == [((1, 2.0), (2, 1.0))]
    without = section(write_records(tmp_path / "old")).plots
    assert "Bits per character" not in [plot.title for plot in without]


def test_what_albert_evaluate_found_is_shown_and_compared_of_the_runs_that_have_it(tmp_path):
    folders = [write_records(tmp_path / name) for name in ("one", "two", "three")]
    write_evaluation(folders[0], evaluation(pairs=False))
    write_evaluation(folders[2], evaluation())
    (note,) = section(folders[2]).notes
    assert note.startswith(
        "Step 7, 300 held-out examples of the data set (abababababab), float32: "
        "The model beats counting both neighbours by 0.250 bits per character"
    )
    found = tables(*folders)
    rows = found["Against counting"].rows
    assert rows[0] == (
        *("one", "the data set (abababababab)", 7, "the model"),
        *("1.750 (1.700 to 1.800)", "5.500", "12.5% (11.5 to 13.6%)"),
    )
    assert [row[0] for row in rows] == ["one"] * 3 + ["three"] * 3
    pairs = found["Minimal pairs right, by paradigm"]
    assert pairs.columns == ("paradigm", "three, step 7")
    assert pairs.rows[0] == ("agreement", "60.0% (31.3 to 83.2%)")
    assert [note.split(":")[0] for note in section(*folders).notes[3:]] == ["one", "three"]


def test_minimal_pairs_are_those_of_the_last_step_with_some(tmp_path):
    folder = write_records(tmp_path / "run")
    for text, step, pairs in (("a", 9, True), ("b", 7, True), ("c", 11, False)):
        write_evaluation(folder, evaluation(step=step, pairs=pairs) | {"text": text})
    (table,) = (t for t in section(folder).tables if t.title.startswith("Minimal"))
    assert table.columns == ("paradigm", "run, step 9")


def test_the_configuration_is_the_resolved_one_and_that_a_run_began_with(tmp_path):
    folder = write_records(tmp_path / "run", steps=4000)
    write_json(folder / CONFIG, read_json(folder / CONFIG) | {"began": {"steps": 5}})
    rows = dict(section(folder).tables[-1].rows)
    assert (rows["steps"], rows["steps at first"]) == ("4000", "5")
    assert (rows["warmup_steps"], rows["eval_every"]) == ("100", "160")
    assert rows["hidden_size"] == "768"
    assert rows["data fingerprint"] == manifest_of(100).fingerprint[:12]


def test_several_runs_share_their_plots_and_settings_that_differ_come_first_marked(tmp_path):
    one = write_records(tmp_path / "one")
    two = write_records(tmp_path / "two", optimizer="adamw", learning_rate=0.001)
    found = section(one, two)
    assert (found.title, found.runs) == ("2 runs", ("one", "two"))
    drawn = [(curve.run, curve.is_held_out) for curve in found.plots[0].curves]
    assert drawn == [(0, False), (0, True), (1, False), (1, True)]
    table = found.tables[-1]
    assert table.columns == ("setting", "one", "two")
    assert table.marked == {0, 1}
    assert table.rows[:2] == (("learning_rate", "0.00176", "0.001"), ("optimizer", "lamb", "adamw"))


def test_losses_of_other_shares_of_masked_tokens_are_in_plots_of_their_own(tmp_path):
    plain = section(write_records(tmp_path / "plain")).plots
    folder = write_records(tmp_path / "run", masked_lm_prob="0.4")
    first, second, *_ = plots = section(folder).plots
    assert (first.title, second.title) == ("Masked-LM loss in training", "Masked-LM loss, held out")
    for plot, is_held_out in ((first, False), (second, True)):
        assert {curve.is_held_out for curve in plot.curves} == {is_held_out}
        assert "40% of the tokens in training and 15% of the tokens in" in plot.about
    assert len(plots) == len(plain) + 2


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        (lambda values: [], None),
        (lambda values: [values["vocabulary"]], "vocabularies"),
        (lambda values: values["shards"], "held-out texts"),
    ],
)
def test_runs_that_cannot_be_compared_share_no_plot_without_a_word(tmp_path, changed, what):
    one, two = (write_records(tmp_path / name) for name in ("one", "two"))
    edit_manifest(
        two / DATA_MANIFEST,
        lambda values: [each.update(sha256="f" * 64) for each in changed(values)],
    )
    found = section(one, two)
    plots = [p for p in found.plots if any(c.is_held_out for c in p.curves)]
    assert plots
    reason = f"The {what} of these runs differ, so their held-out figures are not comparable"
    for text in (" ".join(found.notes), *(plot.about for plot in plots)):
        assert (reason in text) == ("not comparable" in text) == bool(what)


def test_what_is_not_a_number_leaves_a_gap_and_a_collapse_is_said_in_words(tmp_path):
    lines = [train_line(1), train_line(2, loss=math.nan), train_line(3)]
    lines += [eval_line(step, loss=7.1) for step in range(4)]
    found = section(write_records(tmp_path / "run", lines=lines))
    assert found.plots[0].curves[0].points == ((1, 2.0), (3, 2.0))
    (note,) = found.notes
    assert note.startswith("The masked-LM loss has stayed at 7.10 since step 0")


def test_long_runs_are_thinned_and_the_plot_says_so(tmp_path):
    lines = [train_line(step, norm=float(step)) for step in range(1, 1001)]
    plots = section(write_records(tmp_path / "run", lines=lines)).plots
    loss, norm = plots[0], next(p for p in plots if p.title == "Gradient norm")
    assert "the mean of up to 3 lines of the log" in loss.about
    assert loss.curves[0].points[:2] == ((3, 2.0), (6, 2.0))
    assert norm.curves[0].points[:2] == ((3, 3.0), (6, 6.0))


RESULT = {
    "step": 4,
    "examples": 10,
    "metric": "accuracy",
    "metrics": {"accuracy": 0.5},
    "intervals": {"accuracy": [0.2, 0.8]},
    "baselines": {"majority": {"accuracy": 0.5}, "words": {"accuracy": 0.75}},
    "labels": {
        "bad": {"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "support": 5},
        "good": {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 5},
    },
    "confusion": [[5, 0], [5, 0]],
    "errors": [],
}


@pytest.fixture
def folder(tmp_path):
    labels = ("bad", "good")
    spec = TaskSpec(name="reviews", kind="classify", labels=labels, metrics=("accuracy",))
    write_record(tmp_path, TaskRecord(spec=spec, max_seq_length=16))
    write_json(tmp_path / "eval.json", RESULT)
    lines = [
        {"step": 0, "split": "eval", "accuracy": 0.4},
        {"step": 4, "split": "train", "loss": 0.7, "learning_rate": 0.0, "seconds": 1.0},
        {"step": 4, "split": "eval", "accuracy": 0.5},
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_a_model_that_is_stuck_at_the_majority_is_called_that(folder):
    section = tuned_section(folder, title="tuned")
    # Older files may name a temperature.
    for name in ("task.json", "eval.json"):
        write_json(folder / name, read_json(folder / name) | {"temperature": 1.5})
    assert tuned_section(folder, title="tuned") == section
    assert section.notes == [
        "The model is stuck at the majority: accuracy 0.5000, and always giving the "
        "same answer scores 0.5000."
    ]
    assert [plot.title for plot in section.plots] == ["accuracy", "loss"]
    points = ((0, 0.4), (4, 0.5))
    assert section.plots[0].curves == (Curve(run=0, is_held_out=True, points=points),)
    measures, labels, confusion = section.tables
    assert measures.columns == ("measure (95 %)", "model", "majority", "words")
    assert measures.rows == (("accuracy", "0.5000 (0.2000 to 0.8000)", "0.5000", "0.7500"),)
    assert labels.rows[0] == ("bad", "0.5000", "1.0000", "0.6667", 5)
    assert confusion.rows == (("bad", 5, 0), ("good", 5, 0))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"metric": "f1"}, "eval.json is damaged: it has no 'f1'"),
        ({"metrics": {"accuracy": "0.75"}}, "eval.json is damaged"),
        ({"baselines": []}, "eval.json is damaged"),
    ],
)
def test_an_edited_result_is_refused_in_one_sentence_and_so_is_none(folder, change, sentence):
    write_json(folder / "eval.json", {**RESULT, **change})
    assert sentence in refusal(tuned_section, folder, title="tuned")
    (folder / "eval.json").unlink()
    assert "is not finished yet" in refusal(tuned_section, folder, title="tuned")
