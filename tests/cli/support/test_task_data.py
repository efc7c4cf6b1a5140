"""What a person is told of the examples of a task before they are trained on."""

import dataclasses
from array import array
from pathlib import Path

import pytest

from cli.support import task_data
from cli.support.task_data import read_labelled, read_task, read_unlabelled
from pipeline.tasks.named_tasks import task_called
from pipeline.tasks.task_files import TaskPaths
from schemas.errors import SettingError
from schemas.example import UNK_ID
from schemas.task import Answer, EncodedExample, TaskExample, TaskRecord, TaskRows, TokenSequence
from tests.refusals import refusal


def row_of(ids, **values):
    sequence = TokenSequence(array("i", ids), first_length=len(ids))
    return EncodedExample(**{"example": 0, **values}, sequences=(sequence,))


def test_answers_that_no_window_has_whole_are_counted():
    answers = [(Answer("a", 3),), (Answer("a", 7),), (), (Answer("a", -1),)]
    examples = [
        TaskExample(id=str(number), place="", text="a passage", answers=each)
        for number, each in enumerate(answers)
    ]
    targets = [(0, (0, 0)), (0, (4, 5)), (1, (0, 0)), (2, (0, 0)), (3, (0, 0))]
    rows = [row_of([2, 3], example=n, target=target) for n, target in targets]
    said = []
    task_data.say_divided(TaskRows(examples, rows), stride=128, say=said.append)
    assert said == [
        "50.0% of the answers fit in no window of their passage and are not learned; a "
        "--doc-stride below 128 leaves fewer out."
    ]
    task_data.say_divided(TaskRows(examples[:1], rows[:2]), stride=128, say=said.append)
    assert len(said) == 1


def rows_of(*rows):
    """Rows with as many examples as they are of."""
    number = 1 + max(row.example for row in rows)
    examples = [TaskExample(id=str(n), place="", text="") for n in range(number)]
    return TaskRows(examples, rows)


def record_of(kind, *, max_query_tokens=64):
    lengths = {"max_seq_length": 64, "doc_stride": 16, "max_answer_tokens": 30}
    return TaskRecord(spec=task_called(kind), max_query_tokens=max_query_tokens, **lengths)


def test_what_is_cut_or_unknown_is_said_and_each_long_question_counted_once_with_its_room():
    said = []
    known, unknown = [2, *range(10, 48), 3], [2, UNK_ID, UNK_ID, UNK_ID, 10, 3]
    task_data.say_lost(rows_of(row_of(known)), record_of("classify"), say=said.append)
    assert said == []
    rows = rows_of(row_of(known, cut_tokens=5), row_of(unknown, example=1))
    task_data.say_lost(rows, record_of("classify"), say=said.append)
    assert said == [
        "50.0% of the texts are cut after 64 tokens.",
        "6.5% of the tokens are unknown to the model's vocabulary, which was made of "
        "other text: the model cannot tell them apart.",
    ]
    cut = [row_of([2, 10, 3], cut_tokens=5) for _window in range(3)]
    rows = rows_of(*cut, row_of([2, 10, 3], example=1))
    for most, room in ((64, 30), (16, 16)):
        said = []
        record = record_of("answer", max_query_tokens=most)
        task_data.say_lost(rows, record, say=said.append)
        assert said == [f"50.0% of the questions are cut after {room} tokens."]


def test_from_what_options_are_counted_is_said_where_answers_are_numbers(tmp_path):
    table = tmp_path / "table.csv"
    said = []
    for answer in "1B":
        table.write_text(f"article,option0,option1,label\na,b,c,{answer}\n")
        read_labelled(str(table), task_called("choose"), say=said.append)
    start = f"{table}: 1 example; text from article; label from label; options from "
    assert said == [f"{start}option0, option1; options numbered from 0", f"{start}option0, option1"]


def test_a_file_that_counts_options_otherwise_than_the_first_is_refused(tmp_path):
    # The last option is right in the second file alone.
    files = []
    for name, numbers in (("1.csv", "12"), ("2.csv", "3")):
        rows = "".join(f"a,b,c,d,{number}\n" for number in numbers)
        (tmp_path / name).write_text(f"article,option0,option1,option2,label\n{rows}")
        files.append(str(tmp_path / name))
    said = []
    paths = TaskPaths(train=files[:1], evaluation=files[1:])
    sentence = refusal(read_task, paths, task_called("choose"), say=said.append)
    assert "counts the options from 1, and the other files of" in sentence
    assert said == [
        f"{files[0]}: to train on",
        f"{files[1]}: to choose the best by",
        f"{files[0]}: 2 examples; text from article; label from label; options from option0, "
        "option1, option2; options numbered from 0",
    ]


def test_texts_to_predict_that_are_empty_are_read_and_counted(tmp_path):
    path, said = tmp_path / "lines.txt", []
    path.write_text("Good.\n\nBad.\n")
    file = read_unlabelled(str(path), task_called("classify"), say=said.append)
    texts = [(each.id, each.text) for each in file.examples]
    assert texts == [("0", "Good."), ("1", ""), ("2", "Bad.")]
    assert said == [
        f"{path}: no table, so each line is a text",
        f"{path}: examples with an empty text: 1",
    ]


@pytest.mark.parametrize(
    ("content", "columns"),
    [("Kommentare\nGut.\n", "'Kommentare'"), ("Nr,Note\n1,Gut, ja\n2,Nein\n", "'Nr', 'Note'")],
)
def test_a_file_that_lacks_the_column_that_is_named_is_no_list_of_texts(tmp_path, content, columns):
    path = tmp_path / "rows.csv"
    path.write_text(content)
    given = {"say": print, "flags": {"text_column": "Kommentar"}, "error": SettingError}
    assert refusal(read_unlabelled, str(path), task_called("classify"), **given) == (
        f"{path} has no column 'Kommentar'; it has {columns}; rename one, or say which it is with "
        "--text-column."
    )


@pytest.mark.parametrize(
    ("first", "label"),
    [
        ('{"text": "One.", "labels": ["Food, Drink"]}\n', "Food, Drink"),
        ("text,labels\nOne.,news\n", "news"),
        ("text,labels\nOne.,sci fi\n", "sci fi"),
        ('text,labels\nOne.,"Arts, Crafts"\nTwo.,"Food, Drink"\nSix.,Sport\n', "Food, Drink"),
    ],
    ids=["lists", "words", "words with spaces", "names with commas"],
)
def test_labels_are_divided_at_a_sign_that_only_a_later_file_shows(tmp_path, first, label):
    files = [str(tmp_path / name) for name in ("1", "2", "3")]
    contents = (first, "text,labels\nFour.,a;b\n", f'text,labels\nFive.,"{label}"\n')
    for path, content in zip(files, contents, strict=True):
        Path(path).write_text(content)
    for train in (files[:2], files[1::-1]):
        data = read_task(TaskPaths(train, files[2:]), task_called("multilabel"), say=print)
        assert {*data.spec.labels} >= {"a", "b", label}
        assert data.spec.columns.divider == ";"
    # A model that learned from such labels alone.
    data = read_task(TaskPaths(files[:1], files[2:]), task_called("multilabel"), say=print)
    assert [example.labels for example in data.held_out] == [(label,)]
    assert data.spec.columns.divider is None
    spec = dataclasses.replace(data.spec, labels=("a", "b", label))
    (example,), _ = read_labelled(files[1], spec, say=print)
    assert example.labels == ("a", "b")


# A file of each kind, and the last lines of the screen that shows it.
SCREENS = {
    # The columns are the wrong ones, and this is seen.
    "classify --text-column label --label-column text": (
        "text,label\nIt is good.,yes\nIt is bad.,no\n",
        ["2 labels: It is bad. 1, It is good. 1", "  yes -> It is good."],
    ),
    "multilabel": (
        'text,labels\nIt is good.,"a, b"\nIt is bad.,\n',
        ["2 labels: a 1, b 1", "1 example without any of them", "  It is good. -> a, b"],
    ),
    "regress": (
        "sentence1,sentence2,score\nIt is.,It was.,20\nIt is.,No.,100\n",
        ["Scores from 20 to 100, 60 in the mean; 2 different ones", "  It is. | It was. -> 20"],
    ),
    "choose": (
        "article,question,option0,option1,label\nIt is.,Is it,yes,no,0\n",
        ["2 options; the right one by its number: 1 1", "  It is. | Is it | yes | no -> yes"],
    ),
    "answer": (
        '{"id": "1", "context": "It is a list.", "question": "What", "answers": '
        '[{"text": "a list", "answer_start": 6}]}\n',
        ["1 question, 0 of them without an answer", "  It is a list. | What -> a list"],
    ),
    "tag": (
        "It O\nis O\nPython B-X\n",
        ["3 labels: O 2, B-X 1", "  It is Python -> It/O is/O Python/B-X"],
    ),
}


@pytest.mark.parametrize("asked", SCREENS)
def test_the_screen_before_training_shows_what_was_read(tmp_path, asked):
    content, expected = SCREENS[asked]
    path = tmp_path / "file"
    path.write_text(content)
    kind, *flags = asked.split()
    named = zip(flags[::2], flags[1::2], strict=True)
    columns = {flag[2:].replace("-", "_"): name for flag, name in named}
    paths = TaskPaths(train=(str(path),), evaluation=(str(path),), test=())
    spec = task_data.with_columns(task_called(kind), columns)
    said = []
    read_task(paths, spec, say=said.append)
    assert [line for line in said if line in expected] == expected, said


def test_scores_that_only_a_later_training_file_has_are_refused(tmp_path):
    pairs = [tmp_path / "pairs.csv", tmp_path / "scores.csv"]
    pairs[0].write_text("sentence1,sentence2\nIt rained.,It was wet.\n")
    pairs[1].write_text("sentence1,sentence2,score\nIt snowed.,It was white.,4\n")
    said = refusal(read_task, TaskPaths([*map(str, pairs)]), task_called("embed"), say=print)
    assert "has scores and the training files before it have none" in said


def test_files_of_the_folder_that_others_are_given_for_are_named_as_left_out(tmp_path):
    files = {name: f"{tmp_path}/{name}.csv" for name in ("train", "dev", "dev2", "test", "more")}
    for path in files.values():
        Path(path).write_text("text,label\na,b\n")
    given = {"data": str(tmp_path), "train": (), "evaluation": (), "test": ()}
    given |= {"train": (files["more"],), "evaluation": (f"{tmp_path}/./test.csv",)}
    found = task_data.task_paths(given, task_called("classify"))
    assert found.train == (files["more"],)
    assert sorted(found.others) == sorted(files[name] for name in ("train", "dev", "dev2"))
