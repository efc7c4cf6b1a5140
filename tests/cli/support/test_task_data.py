"""What a person is told of the examples of a task before they are trained on."""

from array import array

from albert_tf.finetuning.tuning_job import TaskRows
from cli.support.task_data import say_divided, say_lost
from schemas.special_tokens import UNK_ID
from schemas.task import Answer, EncodedExample, TaskExample, TokenSequence


def row_of(ids, **values):
    sequence = TokenSequence(array("i", ids), first_length=len(ids))
    return EncodedExample(**{"example": 0, **values}, sequences=(sequence,))


def test_answers_that_no_window_has_whole_are_counted():
    starts = (3, 7, None, -1)
    examples = [
        TaskExample(
            id=str(number),
            place="",
            text="a passage",
            answers=() if start is None else (Answer("a", start),),
        )
        for number, start in enumerate(starts)
    ]
    targets = [(0, (0, 0)), (0, (4, 5)), (1, (0, 0)), (2, (0, 0)), (3, (0, 0))]
    rows = [row_of([2, 3], example=n, target=target) for n, target in targets]
    said = []
    say_divided(TaskRows(examples, rows), stride=128, say=said.append)
    assert said == [
        "50.0% of the answers are whole in no window of their passage and not learned; "
        "a lower --doc-stride than 128 leaves fewer out."
    ]
    say_divided(TaskRows(examples[:1], rows[:2]), stride=128, say=said.append)
    assert len(said) == 1


def test_cut_texts_and_unknown_tokens_are_said_where_there_are_enough():
    said = []
    known, unknown = [2, *range(10, 48), 3], [2, UNK_ID, UNK_ID, UNK_ID, 10, 3]
    say_lost([row_of(known)], longest=64, say=said.append)
    assert said == []
    say_lost(
        [row_of(known, cut_tokens=5), row_of(unknown)], longest=64, say=said.append
    )
    assert said == [
        "50.0% of the texts are cut after 64 tokens.",
        "6.5% of the tokens are unknown to the model's vocabulary, which was made of "
        "other text: the model cannot tell them apart.",
    ]
