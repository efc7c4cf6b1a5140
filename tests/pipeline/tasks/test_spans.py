"""Entities that are marked as spans of characters."""

import json

import pytest

from pipeline.tasks import tags
from pipeline.tasks.table_examples import UNSETTLED
from tests.pipeline.tasks.task_file import read
from tests.refusals import refusal


def test_rows_that_annotators_did_not_accept_are_left_out_and_counted(tmp_path):
    spans = [{"start": 0, "end": 3, "label": "P"}]
    rows = [
        {"text": f"Ada {answer}", "label": "P", "spans": spans, "answer": answer}
        for answer in ("reject", "accept", "ignore", "reject")
    ]
    content = "".join(json.dumps(row) + "\n" for row in rows)
    file = read(tmp_path, content, label="spans", task="tag")
    assert [e.tags for e in file.examples] == [("B-P", "O")]
    unsettled = UNSETTLED.format("'answer' is ignore or reject")
    assert unsettled == (
        "row that annotators did not settle ('answer' is ignore or reject; rename the column to "
        "keep it), left out"
    )
    assert file.counts == {unsettled: 3}
    file = read(tmp_path, content)
    assert [(e.text, e.label) for e in file.examples] == [("Ada accept", "P")]
    assert file.counts == {unsettled: 3}
    # Each is predicted.
    assert len(read(tmp_path, content, is_labelled=False).examples) == 4


def test_what_annotators_thought_may_be_the_label(tmp_path):
    file = read(tmp_path, "text,answer\nAda,accept\nBo,reject\n")
    assert [(e.text, e.label) for e in file.examples] == [("Ada", "accept"), ("Bo", "reject")]


CLUENER = "B-ORG" + " I-ORG" * 5 + " O" * 8


@pytest.mark.parametrize(
    ("spans", "found", "reason"),
    [
        ([[100, 120, "P"], [0, 3, "P"]], "B-P O O", tags.OUTSIDE),
        ([[3, 0, "P"], [0, 3, "P"]], "B-P O O", tags.OUTSIDE),
        ([[0, 3, "LOC"], [0, 10, "ORG"]], "B-ORG I-ORG O", tags.OVERLAPPING),
        ([[4, 6, "P"], [7, 10, "P"]], "O B-P O", tags.NO_WORD),
        ({"LOC": {"New": [[0, 2]]}, "ORG": {"New Yo": [[0, 5]]}}, CLUENER, tags.OVERLAPPING),
        ([[1, 3, "P"]], "B-P O O", tags.PARTIAL),
        ([{"start": 1, "end": 4, "label": "P", "text": "New"}], "B-P O O", tags.MOVED),
    ],
)
def test_a_span_that_is_tagged_otherwise_is_counted_by_its_reason(tmp_path, spans, found, reason):
    records = [{"text": "New Yo-Yos ran", "label": spans}]
    # Of ten more rows each fits.
    records += [{"text": "New Yo-Yos ran", "label": [[0, 3, "P"]]}] * 10
    file = read(tmp_path, json.dumps(records), task="tag")
    assert file.counts == {reason: 1}
    assert file.examples[0].tags == tuple(found.split())


def of_stems(number):
    """Ten rows with a name, of which in so many the ending is not marked."""
    stem = {"text": "Obamas Rede", "label": [[0, 5, "PER"]]}
    whole = {"text": "Obama redete", "label": [[0, 5, "PER"]]}
    return json.dumps([stem] * number + [whole] * (10 - number))


def test_names_may_be_marked_without_their_ending_unless_most_are(tmp_path):
    file = read(tmp_path, of_stems(4), task="tag")
    assert {example.tags for example in file.examples} == {("B-PER", "O")}
    assert file.counts == {tags.PARTIAL: 4}
    said = refusal(read, tmp_path, of_stems(6), task="tag")
    assert "the span ends before its last character, as 6 of 10" in said


SHUN = [{"start": 0, "end": 1, "label": "PER", "text": "舜"}]


@pytest.mark.parametrize(
    ("text", "spans", "rows", "tags"),
    [
        ("中美会谈", [[0, 1, "A"], [1, 2, "A"]], 2, ("B-A", "B-A", "O", "O")),
        ("中美会谈", [[0, 1, "A"], [2, 4, "A"]], 30, ("B-A", "O", "B-A", "I-A")),
        ("舜來。", SHUN, 1, ("B-PER", "O", "O")),
    ],
    ids=["few", "another ends a text", "their text says so"],
)
def test_names_of_one_character_are_names(tmp_path, text, spans, rows, tags):
    file = read(tmp_path, json.dumps([{"text": text, "spans": spans}] * rows), task="tag")
    assert [example.tags for example in file.examples] == [tags] * rows


@pytest.mark.parametrize(
    "cell",
    [
        "[[3, 11, 'LOC']]",
        "[(3, 11, 'LOC')]",
        "((3, 11, 'LOC'),)",
        "{'entities': [(3, 11, 'LOC')]}",
        "[{'start': 3, 'end': 11, 'label': 'LOC'}]",
        "[{'start_offset': 3, 'end_offset': 11, 'label': 'LOC'}]",
        "[{'start': 3, 'end': 11, 'text': 'New York', 'labels': ['LOC']}]",
    ],
    ids=["lists", "tuples", "tuple of tuples", "spaCy", "Prodigy", "Doccano", "Label Studio"],
)
def test_spans_in_a_cell_are_written_in_many_ways(tmp_path, cell):
    content = f'text,spans\nin New York now,"{cell}"\nno one,[]\n'
    file = read(tmp_path, content, task="tag")
    assert [(e.words, e.tags) for e in file.examples] == [
        (("in", "New", "York", "now"), ("O", "B-LOC", "I-LOC", "O")),
        (("no", "one"), ("O", "O")),
    ]


TWO = [("Ada", "ran"), ("Bo", "sat")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("tokens\n\"['Ada', 'ran']\"\n\"['Bo', 'sat']\"\n", TWO),
        ("text\nAda ran\nBo sat\n", TWO),
        ('{"tokens": ["Ada", "ran"]}\n{"tokens": ["Bo", "sat"]}\n', TWO),
        ('{"tokens": [["Ada", "ran"], ["Bo", "sat"]]}', TWO),
        ('{"tokens": ["Ada", "ran"]}', [("Ada", "ran")]),
        # A word a line is no table because its first is a name, nor a comment because of a #.
        ("word\nis\n\nform\n", [("word", "is"), ("form",)]),
        ("#Oslo\nwins\n\n%\n", [("#Oslo", "wins"), ("%",)]),
    ],
)
def test_what_is_to_be_tagged_may_be_words_alone(tmp_path, content, words):
    file = read(tmp_path, content, task="tag", is_labelled=False)
    assert [e.words for e in file.examples] == words
