import dataclasses
from collections import Counter

import pytest

from pipeline.encoding.task_rows import encode_examples
from pipeline.tasks.named_tasks import task_called
from schemas.errors import SettingError
from schemas.example import SEP_ID
from schemas.task import Answer, TaskExample, TaskRecord
from tests.refusals import refusal

PASSAGE = (
    "The Python interpreter was written by Guido van Rossum. It reads statements, and "
    "an error is raised where one cannot be understood. Modules are imported once."
)


def example(text, **fields):
    return TaskExample(id="0", place="", text=text, **fields)


def rows_of(tokenizer, task, *examples, max_seq_length=64, labels=()):
    spec = dataclasses.replace(task_called(task), labels=labels)
    record = TaskRecord(spec=spec, max_seq_length=max_seq_length, doc_stride=8, max_query_tokens=16)
    return encode_examples(examples, record, tokenizer=tokenizer).rows


def pieces(tokenizer, row, number=0):
    """The tokens of a sequence as a line."""
    return " ".join(map(tokenizer.piece, row.sequences[number].token_ids))


# A task, an example, its row as a line, what is to be predicted, and how many tokens
# were cut off to make 12.
ROWS = {
    "a text": ("classify", example("the list", label="b"), "▁the ▁list [SEP]", 1, 0),
    "a pair": ("regress", example("a", text_pair="is", score=2.5), "▁a [SEP] ▁is [SEP]", 2.5, 0),
    "a pair of which the longer text loses its end": (
        "classify",
        example("the " * 20, text_pair="list " * 3, label="a"),
        *("▁the " * 6 + "[SEP] " + "▁list " * 3 + "[SEP]", 0, 14),
    ),
    "nothing": ("classify", example(""), "[SEP]", None, 0),
    "labels": ("multilabel", example("", labels=("c", "a")), "[SEP]", (1, 0, 1), 0),
    "no labels": ("multilabel", example("", labels=()), "[SEP]", (0, 0, 0), 0),
    "an option in the place of a blank": (
        "choose",
        example("the", text_pair="the _ is", options=("set", "list"), choice=0),
        *("▁the [SEP] ▁the ▁set ▁is [SEP]", 0, 0),
    ),
    "the end of a question and its option, beside a cut article": (
        "choose",
        example("the " * 30, text_pair="is " * 20, options=("set", "a"), choice=1),
        *("▁the " * 5 + "[SEP] " + "▁is " * 3 + "▁set [SEP]", 1, 2 * (25 + 17)),
    ),
}


@pytest.mark.parametrize(("task", "given", "expected", "target", "cut"), ROWS.values(), ids=ROWS)
def test_an_example_is_a_row_between_cls_and_sep(tokenizer, task, given, expected, target, cut):
    (row,) = rows_of(tokenizer, task, given, max_seq_length=12, labels=("a", "b", "c"))
    assert pieces(tokenizer, row) == f"[CLS] {expected}"
    assert (row.target, row.cut_tokens) == (target, cut)
    ids = list(row.sequences[0].token_ids)
    first = ids.index(SEP_ID) + 1
    assert list(row.sequences[0].segment_ids) == [0] * first + [1] * (len(ids) - first)
    assert row.length == len(ids)


def test_each_option_is_a_sequence_of_its_own(tokenizer):
    (row,) = rows_of(
        tokenizer, "choose", example("the list", text_pair="the", options=("set", "list"), choice=1)
    )
    assert [pieces(tokenizer, row, number) for number in (0, 1)] == [
        "[CLS] ▁the ▁list [SEP] ▁the ▁set [SEP]",
        "[CLS] ▁the ▁list [SEP] ▁the ▁list [SEP]",
    ]
    assert row.target == 1


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("the ____ is", "the set is"),
        ("____", "set"),
        ("is `the_list` the", "is `the_list` the set"),
        ("是____的", "是set的"),
    ],
    ids=["a line", "nothing else", "a name", "no spaces"],
)
def test_a_blank_is_filled_once_and_a_name_has_none(tokenizer, question, expected):
    asked, written = (
        rows_of(tokenizer, "choose", example("the", text_pair=question, options=options, choice=0))
        for question, options in ((question, ("set", "list")), (None, (expected, "a")))
    )
    assert pieces(tokenizer, asked[0]) == pieces(tokenizer, written[0])


def windows_of(tokenizer, *answers, passage=PASSAGE, max_seq_length=32):
    asked = example(passage, text_pair="who wrote it?", answers=answers)
    return rows_of(tokenizer, "answer", asked, max_seq_length=max_seq_length)


def text_of(row, passage=PASSAGE):
    first, last = row.target
    return passage[row.window.starts[first] : row.window.ends[last]]


def test_an_answer_comes_back_from_its_tokens_as_it_stands_in_the_passage(tokenizer):
    rows = windows_of(tokenizer, Answer("Guido van Rossum", 38))
    assert len(rows) > 2
    assert {text_of(row) for row in rows if row.target != (0, 0)} == {"Guido van Rossum"}


def test_every_token_of_a_passage_has_most_context_in_one_window(tokenizer):
    seen, best = Counter(), Counter()
    for row in windows_of(tokenizer, Answer("Guido", 38)):
        window = row.window
        places = zip(window.starts, window.ends, strict=True)
        for place, is_best in zip(places, window.has_max_context, strict=True):
            seen[place] += 1
            best[place] += is_best
    assert best.pop((-1, -1)) == 0
    del seen[-1, -1]
    assert set(best.values()) == {1}
    assert max(seen.values()) > 1
    assert len(best) == len(tokenizer.encode([PASSAGE])[0])


def test_the_question_stands_before_each_window_and_is_no_passage(tokenizer):
    for row in windows_of(tokenizer, Answer("Guido", 38)):
        (sequence,) = row.sequences
        assert len(row.window.starts) == len(sequence.token_ids) <= 32
        question = list(row.window.starts[: sequence.first_length])
        assert question == [-1] * sequence.first_length
        assert (row.window.starts[-1], row.window.ends[-1]) == (-1, -1)


def test_without_an_answer_there_is_no_place_and_one_not_in_the_passage_is_unknown(tokenizer):
    assert {row.target for row in windows_of(tokenizer)} == {(0, 0)}
    assert {row.target for row in windows_of(tokenizer, Answer("Ada", -1))} == {None}


def test_an_answer_inside_a_token_gives_way_to_one_that_is_whole(tokenizer):
    passage = "the list of the lists"
    inside, whole = Answer("is", 5), Answer("of", 9)
    (row,) = windows_of(tokenizer, inside, whole, passage=passage, max_seq_length=64)
    assert text_of(row, passage) == "of"
    (row,) = windows_of(tokenizer, inside, passage=passage, max_seq_length=64)
    assert text_of(row, passage) == "list"


def test_places_count_the_characters_of_the_text_as_it_was_given(tokenizer):
    # Spaces that the tokenizer removes, and characters that it makes several of.
    passage = "  the\u00a0  LIST \u00bd of \ufb01les "
    answer = Answer("\ufb01les", passage.index("\ufb01"))
    (row,) = windows_of(tokenizer, answer, passage=passage, max_seq_length=64)
    assert text_of(row, passage) == "\ufb01les"
    starts = [start for start in row.window.starts if start >= 0]
    ends = [end for end in row.window.ends if end >= 0]
    assert starts == sorted(starts)
    assert all(start <= end for start, end in zip(starts, ends, strict=True))


def test_each_word_has_a_tag_at_its_first_token(tokenizer):
    tagged = example("", words=("the", "xyzzyx", "list"), tags=("O", "B-P", "O"))
    (row,) = rows_of(tokenizer, "tag", tagged, labels=("O", "B-P", "I-P"))
    ids = list(row.sequences[0].token_ids)
    assert [tokenizer.piece(ids[row.word_starts[n]]) for n in (0, 2)] == ["▁the", "▁list"]
    assert row.word_starts[2] - row.word_starts[1] > 1
    assert row.target == (0, 1, 0)


@pytest.mark.parametrize(
    ("words", "expected", "word_starts"),
    [
        (("the", "\u200b", "list"), "▁the <unk> ▁list", (1, 2, 3)),
        (("\u4e2d", "\u56fd", "list"), "▁ <unk> <unk> ▁list", (1, 3, 4)),
    ],
    ids=["a word of which nothing is left", "words that are written without spaces"],
)
def test_words_that_are_unknown_have_a_token(tokenizer, words, expected, word_starts):
    (row,) = rows_of(tokenizer, "tag", example("", words=words))
    assert pieces(tokenizer, row) == f"[CLS] {expected} [SEP]"
    assert row.word_starts == word_starts


def test_a_sentence_that_is_too_long_becomes_several_rows_of_whole_words(tokenizer):
    tags = tuple("ab" * 10)
    tagged = example("", words=("the", "list") * 10, tags=tags)
    rows = rows_of(tokenizer, "tag", tagged, max_seq_length=10, labels=("a", "b"))
    assert [row.first_word for row in rows] == [0, 8, 16]
    assert [len(row.word_starts) for row in rows] == [8, 8, 4]
    assert sum((row.target for row in rows), ()) == (0, 1) * 10
    assert {row.cut_tokens for row in rows} == {0}


def test_sequences_too_short_for_any_text_are_refused(tokenizer):
    given = (tokenizer, "classify", example("the"))
    said = refusal(rows_of, *given, max_seq_length=7, error=SettingError)
    assert said == "--max-seq-length must be at least 8, not 7."
