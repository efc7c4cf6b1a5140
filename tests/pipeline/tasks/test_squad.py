import json

import pytest

from pipeline.tasks.published import MOVED, NOT_FOUND
from schemas.errors import AlbertError
from schemas.task import Answer
from tests.pipeline.tasks.task_file import read

PASSAGE = "Ada wrote the first program. She wrote it in 1843."


def question(identity, text, start, **more):
    answers = [{"text": text, "answer_start": start}]
    return {"id": identity, "question": "When?", "answers": answers, **more}


def squad(*questions, passage=PASSAGE):
    paragraph = {"context": passage, "qas": list(questions)}
    return json.dumps({"version": "x", "data": [{"paragraphs": [paragraph]}]})


def answers(file):
    return [example.answers for example in file.examples]


def test_a_question_of_squad_2_without_an_answer_is_impossible(tmp_path):
    impossible = {"id": "2", "question": "Who?", "answers": [], "is_impossible": True}
    file = read(tmp_path, squad(question("1", "1843", 45), impossible), task="squad2")
    assert answers(file) == [(Answer("1843", 45),), ()]
    assert [example.is_impossible for example in file.examples] == [False, True]
    assert file.examples[0].text == PASSAGE
    assert file.examples[0].text_pair == "When?"


def test_the_plausible_answers_of_an_impossible_question_are_none(tmp_path):
    plausible = question("2", "1843", 45, is_impossible=True)
    file = read(tmp_path, squad(question("1", "1843", 45), plausible), task="squad2")
    assert answers(file)[1] == ()


def test_the_flat_form_of_hugging_face_is_read(tmp_path):
    record = {
        "id": "1",
        "context": PASSAGE,
        "question": "When?",
        "answers": {"text": ["1843", "in 1843"], "answer_start": [45, 42]},
    }
    for content in (json.dumps({"data": [record]}), json.dumps(record)):
        (example,) = read(tmp_path, content, task="answer").examples
        assert example.answers == (Answer("1843", 45), Answer("in 1843", 42))
        assert (example.id, example.text_pair) == ("1", "When?")


def test_cmrc_in_its_own_form_gives_answers_without_their_places(tmp_path):
    content = json.dumps(
        [
            {
                "context_id": "DEV_0",
                "context_text": PASSAGE,
                "qas": [
                    {"query_id": "DEV_0_0", "query_text": "When?", "answers": ["1843"]}
                ],
            }
        ]
    )
    file = read(tmp_path, content, task="cmrc")
    assert answers(file) == [(Answer("1843", 45),)]
    assert file.counts == {}


def test_an_answer_that_is_beside_its_place_is_taken_from_the_nearest(tmp_path):
    many = [question(str(n), "wrote", 4) for n in range(20)]
    file = read(tmp_path, squad(*many, question("x", "wrote", 30)), task="squad")
    assert answers(file)[-1] == (Answer("wrote", 33),)
    assert file.counts == {MOVED: 1}


def test_an_answer_that_is_not_in_its_passage_keeps_its_text(tmp_path):
    many = [question(str(n), "wrote", 4) for n in range(20)]
    file = read(tmp_path, squad(*many, question("x", "1844", 45)), task="squad")
    assert answers(file)[-1] == (Answer("1844", -1),)
    assert file.counts == {NOT_FOUND: 1}


def test_a_test_set_withholds_all_answers(tmp_path):
    withheld = {"id": "1", "question": "When?", "answers": []}
    file = read(tmp_path, squad(withheld), task="squad2", is_labelled=False)
    assert answers(file) == [None]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            squad(question("1", "program", 22)),
            "question 1: the answer is not at its answer_start (1 of 1 in the file are "
            "not); count the characters before it.",
        ),
        (
            squad(question("1", "1843", 45), question("1", "1843", 45)),
            "the id '1' comes 2 times; make the ids different.",
        ),
        (
            squad({"id": "1", "answers": []}),
            "is not in the form of SQuAD: 'question' is missing; correct the file.",
        ),
        (
            squad({"id": "1", "question": 7, "answers": []}),
            "is not in the form of SQuAD: a value is of the wrong kind",
        ),
    ],
    ids=["all beside their places", "ids twice", "no question", "a number"],
)
def test_a_file_that_no_answers_could_be_learned_from_is_refused(
    tmp_path, content, sentence
):
    with pytest.raises(AlbertError) as error:
        read(tmp_path, content, task="squad")
    assert sentence in str(error.value)
