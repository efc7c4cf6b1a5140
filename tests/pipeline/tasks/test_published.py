"""The forms in which tasks are published, and rows with options."""

import dataclasses
import json

import pytest

from pipeline.tasks.named_tasks import task_called
from pipeline.tasks.published import MOVED, NOT_FOUND
from pipeline.tasks.task_files import find_task_files, read_task_file
from schemas.errors import AlbertError, SettingError
from schemas.task import Answer
from tests.pipeline.tasks.task_file import read
from tests.refusals import refusal

HEADER = "article,option0,option1,option2,label\n"
RACE = {
    "answers": ["B", "A"],
    "options": [["red", "blue", "green", "grey"], ["in", "out", "up", "down"]],
    "questions": ["What colour is it?", "He went _ ."],
    "article": "It is blue. He went in.",
    "id": "high7.txt",
}


def test_a_folder_of_race_has_a_folder_for_each_part(tmp_path):
    for part in ("train", "dev", "test"):
        for level in ("middle", "high"):
            folder = tmp_path / "RACE" / part / level
            folder.mkdir(parents=True)
            (folder / "7.txt").write_text(json.dumps({**RACE, "id": f"{level}7.txt"}))
    task = task_called("race")
    found = find_task_files(str(tmp_path / "RACE"), task)
    assert found == find_task_files(str(tmp_path), task)
    (train,) = found.train
    examples = read_task_file(train, task).examples
    assert [(e.id, e.text_pair, e.options[e.choice]) for e in examples] == [
        ("high7-0", "What colour is it?", "blue"),
        ("high7-1", "He went _ .", "in"),
        ("middle7-0", "What colour is it?", "blue"),
        ("middle7-1", "He went _ .", "in"),
    ]


def test_a_level_of_race_in_one_file_is_read_as_well_and_an_empty_option_is_one(tmp_path):
    options = [["red", "blue", "green", ""], ["in", "", "", ""]]
    other = {**RACE, "options": options, "answers": ["D", "A"]}
    file = read(tmp_path, json.dumps(RACE) + "\n" + json.dumps(other), task="race")
    assert [(each.options, each.choice) for each in file.examples] == [
        *((tuple(RACE["options"][0]), 1), (tuple(RACE["options"][1]), 0)),
        *((("red", "blue", "green", ""), 3), (("in", "", "", ""), 0)),
    ]


def test_c3_gives_the_answer_as_a_text_and_two_to_four_options(tmp_path):
    asked = [
        {"question": "谁？", "choice": ["女", "男", "他"], "answer": "男"},
        {"question": "几？", "choice": ["一", "一"], "answer": "一"},
    ]
    content = [[["女：你好。", "男：好。"], asked, "1-2"]]
    examples = read(tmp_path, json.dumps(content, indent=1), task="c3").examples
    assert [(e.id, e.text, e.text_pair, e.options, e.choice) for e in examples] == [
        ("1-2-0", "女：你好。\n男：好。", "谁？", ("女", "男", "他"), 1),
        ("1-2-1", "女：你好。\n男：好。", "几？", ("一", "一"), 0),
    ]


def test_an_answer_in_a_column_of_its_own_stands_where_the_next_column_says(tmp_path):
    rows = "Ada is Ada.,Who?,Ada,7\nAda is Ada.,Who?,Ada,7.0\nBo is.,Who?,,\n"
    content = f"context,question,answer_text,answer_start\n{rows}"
    file = read(tmp_path, content, task="answer")
    assert [example.answers for example in file.examples] == [(Answer("Ada", 7),)] * 2 + [()]
    assert file.remarks == ()


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("option_b,option_a", ("option_a", "option_b")),
        ("Option B,Option A", ("Option A", "Option B")),
        ("b,a", ("a", "b")),
        ("option10,option9,option8", ("option8", "option9", "option10")),
    ],
)
def test_options_have_the_order_of_their_names(tmp_path, columns, expected):
    content = f"question,{columns},answer\nWhich?,{columns},B\n"
    file = read(tmp_path, content, task="choose")
    assert file.columns.options == expected
    (example,) = file.examples
    assert (example.options, example.choice) == (expected, 1)


@pytest.mark.parametrize(
    ("answers", "first"),
    [
        *(("1" * 15 + "2" * 15, 1), ("1" * 14 + "2" * 15, 0), ("0" + "1" * 15 + "2" * 15, 0)),
        *(("122", 0), ("123", 1), ("ABC", None)),
    ],
)
def test_options_are_counted_from_1_where_of_many_none_is_0(tmp_path, answers, first):
    content = HEADER + "".join(f"a,b,c,d,{answer}\n" for answer in answers)
    assert read(tmp_path, content, task="choose").columns.first_option == first


def test_other_files_count_options_as_the_training_file_does(tmp_path):
    train = read(tmp_path, f"{HEADER}a,b,c,d,1\na,b,c,d,3\n", task="choose")
    assert train.columns.first_option == 1
    # In none of its rows the last option is right.
    content = f"{HEADER}a,b,c,d,1\na,b,c,d,2\n"
    file = read(tmp_path, content, task="choose", **dataclasses.asdict(train.columns))
    assert [example.choice for example in file.examples] == [0, 1]


def test_a_number_that_the_training_file_cannot_have_is_refused(tmp_path):
    for first, number in ((0, 3), (1, 0)):
        content = f"{HEADER}a,b,c,d,{number}\n"
        assert refusal(read, tmp_path, content, task="choose", first_option=first) == (
            f"{tmp_path}/file, line 2: the right answer {number} counts the options from "
            f"{1 - first}, and the other files of the task count from {first}; correct one of them."
        )


@pytest.mark.parametrize(
    ("content", "choices"),
    [
        # 1 is among the options of the second row, but not of the first.
        (f"{HEADER}a,10,20,30,1\na,1,2,3,1\n", [1, 1]),
        # A number of no option withholds the answer.
        ("article,option0,option1,label\na,1,2,2\na,0,1,0\na,1,2,-1\n", [1, 0, None]),
        # 30 is the number of no option.
        (f"{HEADER}a,10,20,30,30\na,1,2,3,1\n", [2, 0]),
        # Options that are numbers are not taken for their places.
        ("article,option0,option1,label\na,1,2,2\na,0,1,0\n", [1, 0]),
        # Letters are places or options in all rows.
        (f"{HEADER}a,red,blue,green,B\na,C,A,B,A\na,C,A,B,c\n", [1, 0, 2]),
        (f"{HEADER}a,red,blue,green,blue\na,C,A,B,A\n", [1, 1]),
    ],
)
def test_a_file_gives_either_places_of_options_or_options(tmp_path, content, choices):
    file = read(tmp_path, content, task="choose")
    assert [example.choice for example in file.examples] == choices


# ARC as the hub has it.
HUB = (
    '{"question": "Which?", "choices": {"text": ["red", "blue"], '
    '"label": ["%s", "%s"]}, "answerKey": "%s"}\n'
)
IN_CELLS = (
    '[""red"", ""blue""]',
    "['red', 'blue']",
    '{""text"": [""red"", ""blue""], ""label"": [""A"", ""B""]}',
    '{""A"": ""red"", ""B"": ""blue""}',
    '[{""text"": ""red"", ""label"": ""A""}, {""text"": ""blue"", ""label"": ""B""}]',
)
NUMBERED = [{"text": "red", "label": 0}, {"text": "blue", "label": 1}]
# Which of red and blue: what a file holds, the right ones, and the columns that a person names.
RED_OR_BLUE = {
    "names of their own": (HUB % ("A", "B", "B") + HUB % ("1", "2", "1"), [1, 0]),
    "numbers beside options, which say what is right and name none": (
        json.dumps({"question": "Which?", "choices": NUMBERED, "answerKey": 1}),
        [1],
    ),
    "columns of any names": (
        '{"goal": "Which?", "sol1": "red", "sol2": "blue", "label": 1}',
        *([1], {"text": "goal", "options": ("sol1", "sol2")}),
    ),
    "a list of any name": (
        '{"context": "Which?", "answers": ["red", "blue"], "label": 1}',
        *([1], {"options": ("answers",)}),
    ),
    **{
        f"in a cell: {cell}": (f'question,choices,answerKey\nWhich?,"{cell}",B\n', [1])
        for cell in IN_CELLS
    },
    **{
        f"by its column, text, number or letter: {label!r}": (
            json.dumps({"premise": "Which?", "choice1": "red", "choice2": "blue", "label": label}),
            [right],
        )
        for label, right in (("choice2", 1), ("choice1", 0), ("blue", 1), (1, 1), ("A", 0))
    },
}


@pytest.mark.parametrize("kind", RED_OR_BLUE)
def test_options_and_the_right_one_are_written_in_many_ways(tmp_path, kind):
    content, right, *columns = RED_OR_BLUE[kind]
    examples = read(tmp_path, content, task="choose", **dict(*columns)).examples
    found = [(each.text, each.options, each.choice) for each in examples]
    assert found == [("Which?", ("red", "blue"), choice) for choice in right]


PASSAGE = "Ada wrote the first program. She wrote it in 1843."


def question(identity, text, start, **more):
    answers = [{"text": text, "answer_start": start}]
    return {"id": identity, "question": "When?", "answers": answers, **more}


def squad(*questions, passage=PASSAGE):
    paragraph = {"context": passage, "qas": list(questions)}
    return json.dumps({"version": "x", "data": [{"paragraphs": [paragraph]}]})


FOUND = {"text": "1843", "answer_start": 45}
ASKED = {"id": "x", "question": "When?"}
TWO = {"text": ["1843", "in 1843"], "answer_start": [45, 42]}
FLAT = {**ASKED, "context": PASSAGE, "answers": TWO}
FIRST = (Answer("1843", 45),)
BOTH = (*FIRST, Answer("in 1843", 42))
CMRC = {"query_id": "x", "query_text": "When?", "answers": ["1843"]}
ONE, TWENTY = question("1", "1843", 45), [question(str(n), "wrote", 4) for n in range(20)]
# By task: a file of questions, the answers to the last of them, and what is counted.
ANSWERS = {
    "no answer": ("squad2", squad(ONE, {**ASKED, "answers": [], "is_impossible": True}), ()),
    "plausible answers where there is none": (
        *("squad2", squad(ONE, question("x", "1843", 45, is_impossible=True)), ()),
    ),
    "beside its place": (
        *("squad", squad(*TWENTY, question("x", "wrote", 30)), (Answer("wrote", 33),), {MOVED: 1}),
    ),
    "not in the passage": (
        *("squad", squad(*TWENTY, question("x", "1844", 45)), (Answer("1844", -1),)),
        {NOT_FOUND: 1},
    ),
    "the flat form of Hugging Face": ("answer", json.dumps({"data": [FLAT]}), BOTH),
    "a record of it": ("answer", json.dumps(FLAT), BOTH),
    "CMRC in its own form, without places": (
        *("cmrc", json.dumps([{"context_id": "x", "context_text": PASSAGE, "qas": [CMRC]}]), FIRST),
    ),
    **{
        name: ("answer", json.dumps({"data": [{"context": PASSAGE, "qas": [asked]}]}), FIRST)
        for name, asked in (
            ("KLUE", {"guid": "x", "question": "When?", "answers": [FOUND]}),
            ("KorQuAD 2", {**ASKED, "answer": FOUND}),
        )
    },
    **{
        f"a cell: {cell}": (
            "answer",
            f'id,context,question,answers,is_impossible\nx,{PASSAGE},When?,"{cell}",False\n',
            FIRST,
        )
        for cell in (
            '{""text"": [""1843""], ""answer_start"": [45]}',
            '[{""text"": ""1843"", ""answer_start"": 45}]',
        )
    },
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_the_answers_to_a_question_are_read_from_every_form(tmp_path, kind):
    task, content, answers, *counts = ANSWERS[kind]
    file = read(tmp_path, content, task=task)
    last = file.examples[-1]
    assert (last.id, last.text, last.text_pair) == ("x", PASSAGE, "When?")
    assert (last.answers, last.is_impossible) == (answers, not answers)
    assert file.counts == dict(*counts)


def test_a_test_set_withholds_all_answers(tmp_path):
    content = squad({**ASKED, "answers": []})
    (example,) = read(tmp_path, content, task="squad2", is_labelled=False).examples
    assert example.answers is None


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        ("classify", "{path} is a folder; name a file."),
        ("race", "{path} has no files of questions (.txt with JSON, as in RACE)."),
    ],
)
def test_a_folder_is_read_only_where_it_holds_questions(tmp_path, task, sentence):
    with pytest.raises((AlbertError, SettingError)) as error:
        read_task_file(str(tmp_path), task_called(task))
    assert str(error.value) == sentence.format(path=tmp_path)
