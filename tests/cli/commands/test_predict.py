"""`albert predict`: what a person reads of a prediction, and texts that do not fit."""

import csv
import json
from datetime import date
from types import SimpleNamespace

import pytest

from albert_tf.inference import examples_of
from cli.commands.predict import csv_text, shown_lines, typed
from pipeline.tasks.named_tasks import task_called
from schemas.errors import SettingError
from schemas.task import Columns, TaskExample, TaskSpec
from tests.commands import run
from tests.refusals import refusal

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
        ("embed", {"vector": [0.6, -0.8]}, ["0.6000 -0.8000"]),
        ("embed", {"similarity": 0.25}, ["0.2500"]),
    ],
)
def test_a_prediction_is_shown_as_its_task_has_it(task, prediction, lines):
    assert list(shown_lines(task_called(task), EXAMPLE, prediction)) == lines


UNFIT = {
    "no options": (
        *(task_called("choose"), None),
        "choose chooses between options; give two or more with --option.",
    ),
    "a pair to tag": (
        *(task_called("tag"), "second"),
        "text 1: the model learned from single texts; leave the second one out.",
    ),
    "no question": (
        *(task_called("answer"), None),
        "text 1: answer answers questions; give the passage as TEXT and the question as SECOND, "
        "or in a line after a tab.",
    ),
    "half a pair": (
        *(PAIRS, None),
        "text 1: the model learned from pairs of texts; give the second one as SECOND, or in a "
        "line after a tab.",
    ),
}


@pytest.mark.parametrize(("task", "second", "sentence"), UNFIT.values(), ids=UNFIT)
def test_texts_that_are_not_what_the_task_has_are_refused(task, second, sentence):
    assert refusal(examples_of, [("first", second)], task, error=SettingError) == sentence


SINGLE = TaskSpec(name="classify", kind="classify", columns=Columns(text="text"))
# What is read of a line with a tab in it.
OF_A_LINE = {
    "tags": (task_called("tag"), ("a\tb", None)),
    "single texts": (SINGLE, ("a\tb", None)),
    "imported": (TaskSpec(name="classify", kind="classify"), ("a", "b")),
    "pairs": (PAIRS, ("a", "b")),
    "answers": (task_called("answer"), ("a", "b")),
}


@pytest.mark.parametrize(("spec", "texts"), OF_A_LINE.values(), ids=OF_A_LINE)
def test_a_tab_divides_a_line_where_the_model_may_have_a_second_text(send, spec, texts):
    send(b"a\tb\n")
    ((example,),) = typed(None, None, spec, options=())
    assert (example.text, example.text_pair) == texts


def test_a_line_that_does_not_fit_is_named(send):
    send(b"a\tb\nonly one\n")
    said = refusal(lambda: list(typed(None, None, PAIRS, options=())), error=SettingError)
    assert said.startswith("Line 2 of standard input: the model learned from pairs of ")


def test_answers_stand_in_a_csv_beside_all_columns_of_the_input(models, tmp_path):
    texts = ["it is", 'a "quoted", text', "two\nlines"]
    table, out = tmp_path / "rows.csv", tmp_path / "said.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        rows = [["here", text, "fine", str(n)] for n, text in enumerate(texts)]
        csv.writer(file).writerows([["source", "text", "label", "note"], *rows])
    run("predict", models / "tuned", "--input", table, "--output", out)
    with out.open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    named = [f"probabilities {label}" for label in ("dull", "fair", "fine")]
    columns = ["id", "source", "text", "label", "note", "predicted label"]
    assert list(found[0]) == [*columns, *named]
    assert [[row[name] for name in columns[1:5]] for row in found] == rows
    expected = json.loads(run("predict", models / "tuned", texts[0], "--json"))
    assert found[0]["predicted label"] == expected["label"]


class Said:
    """What a model that takes all for good says of examples."""

    task = SimpleNamespace(spec=task_called("classify"))

    def __init__(self, *cells, **also):
        self.also = also
        self.examples = [
            TaskExample(id=str(number), place="", text="a", cells=each)
            for number, each in enumerate(cells)
        ]

    def shown(self):
        return ({"label": "good", **self.also} for _ in self.examples)


def test_a_column_of_a_csv_has_answers_alone_and_those_of_another_model_stay_as_they_are():
    assert csv_text(Said({"text": "a"})) == "id,text,label\n0,a,good\n"
    rows = [{"text": "a"}, {"text": "b", "label": "bad", "when": [date(2026, 1, 2)]}]
    assert csv_text(Said(*rows)) == (
        'id,text,predicted label,label,when\n0,a,good,,\n1,b,good,bad,"[""2026-01-02""]"\n'
    )
    row = {"text": "a", "label": "bad", "predicted label": "fair", "probabilities good": "0.1"}
    assert csv_text(Said(row, probabilities={"bad": 0.25, "good": 0.75})) == (
        "id,text,label,predicted label,probabilities good,predicted predicted label,"
        "predicted probabilities bad,predicted probabilities good\n"
        "0,a,bad,fair,0.1,good,0.25,0.75\n"
    )
