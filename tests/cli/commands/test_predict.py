"""`albert predict`: what a person reads of a prediction, and texts that do not fit."""

import csv
import json

import pytest

from cli.commands.predict import examples_of, shown_lines
from pipeline.tasks.named_tasks import task_called
from schemas.errors import SettingError
from schemas.task import Columns, TaskExample, TaskSpec
from tests.commands import run

EXAMPLE = TaskExample(id="0", place="text 1", text="", options=("red", "blue"))
PAIRS = TaskSpec(name="rte", kind="classify", columns=Columns(text="a", pair="b"))


@pytest.mark.parametrize(
    ("task", "prediction", "lines"),
    [
        ("regress", {"score": 2.5}, ["2.5000"]),
        ("tag", {"words": ["Ada", "ran"], "tags": ["B-P", "O"]}, ["Ada/B-P ran"]),
        ("answer", {"answer": "1843", "start": 45, "end": 49}, ["1843 (45 to 49)"]),
        ("answer", {"answer": "", "start": None, "end": None}, ["no answer"]),
        ("choose", {"probabilities": [0.25, 0.75]}, [" 75.0%  blue", " 25.0%  red"]),
    ],
)
def test_a_prediction_is_shown_as_its_task_has_it(task, prediction, lines):
    assert list(shown_lines(task_called(task), EXAMPLE, prediction)) == lines


@pytest.mark.parametrize(
    ("task", "second", "sentence"),
    [
        (
            task_called("choose"),
            None,
            "choose chooses between options; give two or more with --option.",
        ),
        (task_called("tag"), "second", "tag tags the words of a TEXT; leave SECOND out."),
        (
            task_called("answer"),
            None,
            "answer answers questions: give the passage as TEXT and the question as SECOND.",
        ),
        (
            PAIRS,
            None,
            "The model learned from pairs of texts; give the second one as SECOND, or "
            "in a line after a tab.",
        ),
    ],
    ids=["no options", "a pair to tag", "no question", "half a pair"],
)
def test_texts_that_are_not_what_the_task_has_are_refused(task, second, sentence):
    with pytest.raises(SettingError) as error:
        list(examples_of([[("first", second)]], task, options=()))
    assert str(error.value) == sentence


def test_predictions_stand_in_a_csv_beside_the_texts(models, tmp_path):
    texts = ["it is", 'a "quoted", text', "two\nlines"]
    rows, out = tmp_path / "rows.jsonl", tmp_path / "said.csv"
    rows.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    run("predict", models / "tuned", "--input", rows, "--output", out)
    with out.open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert [row["text"] for row in found] == texts
    assert list(found[0]) == [
        *("id", "text", "label"),
        *(f"probabilities {label}" for label in ("dull", "fair", "fine")),
    ]
    expected = json.loads(run("predict", models / "tuned", texts[0], "--json"))
    assert found[0]["label"] == expected["label"]
