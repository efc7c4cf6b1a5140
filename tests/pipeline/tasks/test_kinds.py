"""Task files as people have them: each is read rightly, or refused with what is wrong."""

import json

import pytest

from pipeline.tasks.named_tasks import task_called, wanted
from pipeline.tasks.table_examples import NO_LABEL, NO_TEXT, UNSETTLED
from pipeline.tasks.tags import MOVED, NO_SPANS, PARTIAL
from pipeline.tasks.training_data import check_examples, with_labels
from schemas.errors import AlbertError
from schemas.task import KINDS
from tests.pipeline.tasks.task_file import read

TEXT = "Ada Lovelace met Bo in New York"
ENTITIES = {"PER": ["Ada Lovelace", "Bo"], "LOC": ["New York"]}
TAGS = ("B-PER", "I-PER", "O", "B-PER", "O", "B-LOC", "I-LOC")


def lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def spans(text=TEXT, *, units=str):
    """Where the entities of a text begin and end, in characters, or as `units` counts."""
    found = []
    for kind, names in ENTITIES.items():
        for name in names:
            start = len(units(text[: text.index(name)]))
            found.append((start, start + len(units(name)), kind, name))
    return sorted(found)


def utf16(text):
    return text.encode("utf-16-le")[::2]


def row(key, write, *, text=TEXT, units=str):
    """A text with its spans, each as `write` makes it of start, end, kind and name."""
    return {"text": text, key: [write(*span) for span in spans(text, units=units)]}


SMILED = "\U0001f600 " + TEXT
ACCENTED = "Été : " + TEXT


def as_list(start, end, kind, _):
    return [start, end, kind]


# Spans that count characters, of which the first begins at 0: where they stand, how each is
# written, and what is counted.
READ_SPANS = {
    "lists": ("label", as_list),
    "objects": ("spans", lambda a, b, k, t: {"start": a, "end": b, "label": k, "text": t}),
    "offsets as texts": (
        *("entities", lambda a, b, k, _: {"start": str(a), "end": str(b), "label": k}),
    ),
    "Doccano with relations": (
        *("entities", lambda a, b, k, _: {"id": 1, "start_offset": a, "end_offset": b, "label": k}),
    ),
    "Label Studio": ("label", lambda a, b, k, t: {"start": a, "end": b, "text": t, "labels": [k]}),
    "without a last letter, where no text says more": (
        *("label", lambda a, b, k, _: [a, b - (a == 0), k], {PARTIAL: 1}),
    ),
    "of which one has slipped": (
        "spans",
        lambda a, b, k, t: {"start": a + (not a), "end": b + (not a), "label": k, "text": t},
        {MOVED: 1},
    ),
}


@pytest.mark.parametrize("form", READ_SPANS)
def test_spans_of_characters_become_tags(tmp_path, form):
    key, write, *counts = READ_SPANS[form]
    content = lines([row(key, write), *[row(key, as_list)] * 10])
    file = read(tmp_path, content, task="tag")
    assert {example.tags for example in file.examples} == {TAGS}
    assert file.counts == dict(*counts)


# Spans that count something else, and what.
WORDS = TEXT.split()
WORD_SPANS = [(0, 2, "PER"), (3, 4, "PER"), (5, 7, "LOC")]
BYTES = "bytes, UTF-16 or another text"
WRONG_SPANS = {
    "words of a text": ({"text": TEXT, "spans": [[a, b, k] for a, b, k in WORD_SPANS]}, "words"),
    "bytes": (row("label", as_list, text=ACCENTED, units=str.encode), BYTES),
    "UTF-16": (row("label", as_list, text=SMILED, units=utf16), BYTES),
    "a text that was stripped later": (row("label", lambda a, b, k, _: [a + 2, b + 2, k]), BYTES),
    "UTF-16, with the texts beside": (
        row("label", READ_SPANS["Label Studio"][1], text=SMILED, units=utf16),
        BYTES,
    ),
}


def test_a_row_without_a_value_for_its_spans_has_no_entities(tmp_path):
    rows = [{"text": TEXT, "label": [[0, 12, "PER"]]}, {"text": "no one", "label": None}]
    file = read(tmp_path, lines(rows), task="tag")
    assert file.examples[1].tags == ("O", "O")
    assert file.counts == {NO_SPANS: 1}


# Cells of labels, the sign that divides them all, and the labels.
DIVIDED = {
    "angles": (["<a>", "<b><c#>", "<c#>"], "><", [("a",), ("b", "c#"), ("c#",)]),
    "bars around": (["|a|", "|b|c|"], "|", [("a",), ("b", "c")]),
    "semicolons, with commas in names": (
        ["Food, Drink", "Food, Drink;Travel", "Travel"],
        ";",
        [("Food, Drink",), ("Food, Drink", "Travel")],
    ),
    "semicolons, with & in names": (["a & b", "a & b; c", "a"], ";", [("a & b",), ("a & b", "c")]),
    "commas, with / in names": (["a/b", "a", "a/b, c"], ",", [("a/b",), ("a",), ("a/b", "c")]),
    "spaces between what stands alone": (["c++", "c++ c#", "c#"], " ", [("c++",), ("c++", "c#")]),
    "lines": (["sea\nair", "sea", "air"], "\n", [("sea", "air"), ("sea",)]),
    "slashes with spaces": (["sea / air", "sea", "air"], " / ", [("sea", "air"), ("sea",)]),
    "hashes in names": (["c#", "c#;sea", "sea"], ";", [("c#",), ("c#", "sea")]),
    "spaces in names": (["sci fi", "drama", "sci fi"], "", [("sci fi",), ("drama",)]),
    "commas in names alone": (["Arts, Food", "Sport"], "", [("Arts, Food",), ("Sport",)]),
    "levels": (["Arts", "Arts/Music", "Sport"], "", [("Arts",), ("Arts/Music",), ("Sport",)]),
    "brackets": (["[a, b]", "[a]"], ",", [("a", "b"), ("a",)]),
    "marks": ([{"a": "0", "b": "1"}, {"a": True, "b": "false"}], "", [("b",), ("a",)]),
}


@pytest.mark.parametrize(("cells", "sign", "expected"), DIVIDED.values(), ids=DIVIDED)
def test_labels_are_divided_at_one_sign_that_is_said(tmp_path, cells, sign, expected):
    rows = lines({"text": f"t{n}", "labels": cell} for n, cell in enumerate(cells))
    file = read(tmp_path, rows, task="multilabel")
    assert [example.labels for example in file.examples][: len(expected)] == expected
    assert file.columns.divider == (sign or None)
    assert [r for r in file.remarks if "divided" in r] == (
        [f"labels are divided at {sign!r} alone"] if sign else []
    )


def test_another_file_is_divided_as_the_training_file_was(tmp_path):
    row = lines([{"text": "t", "labels": "Food, Drink"}])
    (example,) = read(tmp_path, row, task="multilabel", divider=";").examples
    assert example.labels == ("Food, Drink",)


@pytest.mark.parametrize(
    "cells", [["0,1,1", "1,0,0"], ["0 1 1", "1 0 0"], [[0, 1], [1, 0]], [["1"], ["0"]], [[0.0, 1]]]
)
def test_marks_without_names_are_refused(tmp_path, cells):
    rows = lines({"text": f"t{n}", "labels": cell} for n, cell in enumerate(cells))
    examples = read(tmp_path, rows, task="multilabel").examples
    with pytest.raises(AlbertError, match="has 0 or 1 for each label and not their names; give"):
        with_labels(task_called("multilabel"), examples)


SENTENCES = [[*zip(WORDS, TAGS, strict=True)], [("No", "O"), ("1848", "O")]] * 6


def rows_of(pattern, *, between="\n"):
    """The sentences with a line for each word."""
    blocks = (
        "".join(pattern.format(n=n, w=w, t=t) for n, (w, t) in enumerate(each, 1))
        for each in SENTENCES
    )
    return between.join(blocks)


LONG_NAMES = "TOKEN\tCOARSE\tFINE\tA\tB\tC\tD\tE\tF\tMISC\n"
TEN = "{w}\t{t}\tO\tO\tO\tO\tO\t_\t_\t_\n"
COLUMNS = {
    "ten columns with a year among the words": (LONG_NAMES + TEN, "COARSE", ""),
    "ten columns, comments and names": (LONG_NAMES + "# id = 7\n" + TEN, "COARSE", ""),
    "CoNLL-U Plus without ids": ("# global.columns = FORM UPOS CONLL:NER\n{w}\tX\t{t}\n", None, ""),
    "tags first": ("{t}\t{w}\n", None, ""),
    "tags first, between spaces": ("{t} {w}\n", None, ""),
    "numbers, tags, words": ("{n}\t{t}\t{w}\n", None, ""),
    "columns of nothing last": ("{n}\t{w}\t{t}\t-\t-\n", None, ""),
    "a column of nothing, between spaces": ("{w} {t} _\n", None, ""),
    "tags before a lemma": ("{w}\t{t}\tx{w}\n", None, ""),
    "a spreadsheet": ("Word,Tag\n{w},{t}\n", None, ",\n"),
    "a spreadsheet with numbers": (",Word,Tag\n{n},{w},{t}\n", None, "9,,\n"),
    "a spreadsheet with semicolons": ("Word;POS;Tag\n{w};X;{t}\n", None, ";;\n"),
    "a number that is in the first line too": ("{n}\t{w}\t_\t{t}\t4\t_\n", "4", ""),
    "a key before each tag": ("{n}\t{w}\t_\tX\t_\t_\t0\t_\t_\tname={t}\n", "misc", ""),
    "a key after others": ("{n}\t{w}\t_\tX\t_\t_\t0\t_\t_\tA=1|NER={t}\n", "misc", ""),
}


@pytest.mark.parametrize(("pattern", "label", "between"), COLUMNS.values(), ids=COLUMNS)
def test_words_and_tags_are_found_in_their_columns(tmp_path, pattern, label, between):
    *head, words = pattern.splitlines(keepends=True)
    columns = {"label": label} if label else {}
    content = "".join(head) + rows_of(words, between=between or "\n")
    file = read(tmp_path, content, task="tag", **columns)
    assert [[*zip(e.words, e.tags, strict=True)] for e in file.examples] == SENTENCES


@pytest.mark.parametrize(
    ("tag", "outside", "expected", "said"),
    [
        ("b-per", "o", "B-per", "b-per as B-per"),
        ("b-PER", "o", "B-PER", "b-PER as B-PER"),
        ("s-loc", "o", "B-loc", "s-loc as S-loc"),
        ("m_loc", "o", "B-loc", "m_loc as M_loc"),
        ("B-PER", "_", "B-PER", "_ as O"),
        ("B-PER", "0", "B-PER", "0 as O"),
        ("b-per", "-", "B-per", "b-per as B-per"),
    ],
)
def test_tags_of_another_form_are_said_to_be_of_entities(tmp_path, tag, outside, expected, said):
    file = read(tmp_path, f"Ada {tag}\nran {outside}\n", task="tag")
    assert file.examples[0].tags == (expected, "O")
    assert file.remarks[-1] == f"tags are read as those of entities: {said}"


@pytest.mark.parametrize(
    ("name", "values", "shown"),
    [
        ("split", ["train", "train", "dev"], "train 2, dev 1"),
        ("is_valid", [False, False, True], "false 2, true 1"),
        ("Fold", [0, 1, 2], "0 1, 1 1, 2 1"),
        ("purpose", ["train", "test"], "train 1, test 1"),
    ],
)
def test_a_column_that_divides_the_rows_is_told(tmp_path, name, values, shown):
    rows = [{"text": f"t{n}", "label": str(n), name: each} for n, each in enumerate(values)]
    assert read(tmp_path, lines(rows)).remarks[0] == (
        f"column {name!r} divides the rows ({shown}) and is not read: all are in one part; write "
        "each part to a file of its own"
    )


# Where a program writes whether a row is settled, of one that is left out and of one that is kept.
SETTLED = {
    "Argilla 1": ("status", "Discarded", "Validated"),
    "Argilla 2": ("label.status", ["discarded"], ["submitted"]),
    "Prodigy": ("answer", "reject", "accept"),
    "drafts": ("status", "draft", "completed"),
    "Mechanical Turk": ("AssignmentStatus", "Rejected", "Approved"),
}
UNSETTLED_ROWS = {
    "no agreement": ([{"label": "-"}, {"label": "yes"}], "yes", NO_LABEL),
    "minus one": ([{"label": -1}, *({"label": n} for n in (0, 1, 2))], "0 1 2", NO_LABEL),
    "nobody answered": ([{"label": []}, {"label": ["y"]}], "y", NO_LABEL),
    **{
        program: (
            [{"label": [*"x"], name: left_out}, {"label": [*"y"], name: kept}],
            *("y", UNSETTLED.format(f"{name!r} is {''.join(left_out).lower()}")),
        )
        for program, (name, left_out, kept) in SETTLED.items()
    },
}


@pytest.mark.parametrize(("rows", "labels", "why"), UNSETTLED_ROWS.values(), ids=UNSETTLED_ROWS)
def test_rows_that_annotators_did_not_settle_are_left_out_and_counted(tmp_path, rows, labels, why):
    file = read(tmp_path, lines({"text": f"t{n}", **row} for n, row in enumerate(rows)))
    assert [example.label for example in file.examples] == labels.split()
    assert file.counts == {why: 1}


def test_the_state_of_a_ticket_takes_no_row_out(tmp_path):
    words = ("Done", "pending", "rejected")
    rows = lines({"text": word, "label": "x", "Status": word} for word in words)
    file = read(tmp_path, rows)
    assert [example.text for example in file.examples] == [*words]
    assert (file.counts, file.remarks) == ({}, ("columns that are not read: 'Status'",))


@pytest.mark.parametrize(
    "labels", [["-", "+"], ["-1", "0", "1"], ["-", "!", "?"], [-2, -1, 0, 1, 2], ["done", "open"]]
)
def test_what_may_be_a_label_stays_one(tmp_path, labels):
    rows = lines({"text": f"t{n}", "label": label} for n, label in enumerate(labels))
    file = read(tmp_path, rows)
    assert [example.label for example in file.examples] == [*map(str, labels)]


@pytest.mark.parametrize("kind", ["classify", "multilabel"])
def test_texts_that_come_again_with_other_labels_are_refused_if_they_are_most(tmp_path, kind):
    rows = [{"text": f"t{n}", "label": each} for n in range(4) for each in ("a", "b")[: 1 + n % 3]]
    examples = read(tmp_path, lines(rows), task=kind).examples
    task = with_labels(task_called(kind), examples)
    check_examples(task, examples, evaluation=[])
    with pytest.raises(AlbertError, match=r"^2 of 3 different texts come with several labels"):
        check_examples(task, examples[1:], evaluation=[])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, "1.0", 1, "1"], "1"),
        ([True, "True", "TRUE", "true"], "true"),
        (["2.00", 2, ["2"], "[2]"], "2"),
        ([["spam"], "spam", '["spam"]', " spam "], "spam"),
        (["1.5", 1.5], "1.5"),
        (["v1.0", ["v1.0"]], "v1.0"),
        (["caf\xe9", "cafe\u0301"], "caf\xe9"),
        (["so so", "so\xa0so", " so  so"], "so so"),
    ],
)
def test_a_label_has_one_form_in_every_format(tmp_path, values, expected):
    rows = lines({"text": "t", "label": value} for value in values)
    assert {example.label for example in read(tmp_path, rows).examples} == {expected}


@pytest.mark.parametrize("empty", ["", "N/A", "nan", None, "-", float("nan")])
def test_empty_scores_and_texts_are_left_out_and_counted(tmp_path, empty):
    rows = [{"text": "a", "score": 1.5}, {"text": "b", "score": empty}, {"text": None, "score": 1}]
    file = read(tmp_path, lines(rows), task="regress")
    assert [(example.text, example.score) for example in file.examples] == [("a", 1.5)]
    assert file.counts == {NO_LABEL: 1, NO_TEXT: 1}


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_pairs_of_which_a_text_is_missing_are_left_out_and_counted(tmp_path, missing):
    rows = [{"sentence1": a, "sentence2": b, "label": 1} for a, b in ("ab", ("a", missing))]
    file = read(tmp_path, lines([*rows, {**rows[0], "sentence1": missing}]))
    assert [(example.text, example.text_pair) for example in file.examples] == [("a", "b")]
    assert file.counts == {NO_TEXT: 2}


ALIKE = {
    "QQP": [{"question1": "a", "question2": "b", "is_duplicate": n} for n in (1, 0)],
    "MRPC": [{"Quality": n, "#1 String": "a", "#2 String": "b"} for n in (1, 0)],
    "relevance": [{"query": "a", "passage": "b", "relevance": n} for n in ("1", "0")],
    "STS-B, later": [{"sentence1": "a", "sentence2": "b", "similarity_score": n} for n in (1, 0)],
    "pairs without scores": [{"anchor": "a", "positive": "b"}] * 2,
}


@pytest.mark.parametrize("kind", ALIKE)
def test_how_alike_texts_are_is_not_passed_over(tmp_path, kind):
    examples = read(tmp_path, lines(ALIKE[kind]), task="embed").examples
    assert [(e.text, e.text_pair) for e in examples] == [("a", "b")] * 2
    assert [e.score for e in examples] == ([1.0, 1.0] if "pairs" in kind else [1.0, 0.0])


@pytest.mark.parametrize("kind", KINDS)
def test_the_rows_that_a_refusal_shows_are_read(tmp_path, kind):
    rows = wanted(kind).partition("\n")[2]
    # Of some kinds the rows are of several forms, of which a file has one.
    for content in rows.splitlines()[:2] if kind in ("tag", "embed") else [rows]:
        assert read(tmp_path, content, task=kind).examples
