import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipeline.tasks.task_file import read

FEWER, MORE = (f"row with {n} cells than the header, left out" for n in ("fewer", "more"))


def labelled(file):
    return [(example.text, example.label) for example in file.examples]


def in_parquet(folder, **columns):
    path = folder / "table"
    pq.write_table(pa.table(columns), path)
    return path.read_bytes()


# Tables, and the texts and labels in them.
TABLES = {
    "a quotation mark between tabs is text": (
        'sentence\tlabel\n" It is good .\t1\nHe said " no\t0\n',
        [('" It is good .', "1"), ('He said " no', "0")],
    ),
    "cells between tabs are quoted where a program quoted them": (
        'text\tlabel\n"a ""b""\tc\nd\te"\tx\nplain\ty\n',
        [('a "b"\tc\nd\te', "x"), ("plain", "y")],
    ),
    "tabs, all quoted": ('text\tlabel\n"So."\t"a"\n"No."\t"b"\n', [("So.", "a"), ("No.", "b")]),
    "tabs, texts quoted": ('"text"\t"label"\n"So."\t1\n"No."\t0\n', [("So.", "1"), ("No.", "0")]),
    "marks between tabs are escaped as R does": (
        '"text"\t"label"\n"a \\"b\\" c"\t"x"\n"d"\t"y"\n',
        [('a "b" c', "x"), ("d", "y")],
    ),
    "marks between commas may be escaped": (
        '"text","label"\n"a \\"b, c\\"","x"\n"d","y"\n',
        [('a "b, c"', "x"), ("d", "y")],
    ),
    "a backslash before a mark is text where cells are not quoted": (
        'text\tlabel\nsay \\"so\\"\tx\n\\"no\\"\ty\n',
        [('say \\"so\\"', "x"), ('\\"no\\"', "y")],
    ),
    "Excel quotes what has a comma": (
        'text\tlabel\r\n"a, b"\tx\r\nd\ty\r\n',
        [("a, b", "x"), ("d", "y")],
    ),
    "marks between tabs are text where some of them do not fit together": (
        'text\tlabel\n"Yes, sir"\tx\n"No," she said\ty\n',
        [('"Yes, sir"', "x"), ('"No," she said', "y")],
    ),
    "Excel writes its Unicode text in UTF-16": (
        'text\tlabel\r\n"Zo\u00eb: ""no"""\tx\r\n"two\nlines"\ty\r\n'.encode("utf-16"),
        [('Zo\u00eb: "no"', "x"), ("two\nlines", "y")],
    ),
    "marks of bytes and ends of lines are no text": (
        b"\xef\xbb\xbflabel\ttext\r\n1\tSo.\r\n0\tNo.",
        [("So.", "1"), ("No.", "0")],
    ),
    "carriage returns end lines": ("text\tlabel\rone\tx\rtwo\ty\r", [("one", "x"), ("two", "y")]),
    "zeros are no text": ("text,label\no\0ne,x\ntwo,y\n", [("one", "x"), ("two", "y")]),
    "an unusual line end is text": ("text\tlabel\na\u2028b\x85\t1\n", [("a\u2028b\x85", "1")]),
    "of two columns one needs no known name": ("phrase,label\nGood.,1\n", [("Good.", "1")]),
    "row numbers, no name": (",phrase,label\n0,So.,1\n1,No.,0\n", [("So.", "1"), ("No.", "0")]),
    "row numbers of pandas": ("Unnamed: 0,phrase,label\n0,So.,1\n", [("So.", "1")]),
    "ignored labels": ("text,label\nSo.,1\nNo.,-100\nYes.,0\n", [("So.", "1"), ("Yes.", "0")]),
    "of two columns either": ("text,mood\nGood.,glad\n", [("Good.", "glad")]),
    "columns that a person names go before those that are found": (
        *("text,body,label,mood\nTitle,Good.,7,glad\n", [("Good.", "glad")]),
        {"text": "body", "label": "mood"},
    ),
    "a column may be called as lists of records are": (
        json.dumps({"examples": ["Good.", "Bad."], "label": ["pos", "neg"]}),
        *([("Good.", "pos"), ("Bad.", "neg")], {"text": "examples"}),
    ),
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_has_the_texts_and_labels_that_its_writer_meant(tmp_path, kind):
    content, expected, *columns = TABLES[kind]
    assert labelled(read(tmp_path, content, **dict(*columns))) == expected


def test_a_file_that_is_not_utf8_is_read_as_every_other_text(tmp_path):
    file = read(tmp_path, "text\tlabel\ncafé\t1\n".encode("latin-1"))
    assert labelled(file) == [("café", "1")]
    assert file.counts == {"line not UTF-8, read as Windows-1252": 1}


def test_a_row_of_csv_is_told_by_its_line(tmp_path):
    content = 'text,label\n"One\ntwo",1\nThree,\n'
    assert read(tmp_path, content).examples[0].place == f"{tmp_path}/file, line 2"


STORY = {"story": "It is.", "question": "Is it?"}
# By kind: rows with two texts, and the columns that a person names.
PAIRS = {
    **{
        f"classify, {names}": ("{1},{0},label\nIt is.,Is it?,1\n".format(*names.split()), {})
        for names in (
            *("question passage", "question context", "question paragraph"),
            *("query passage", "query text"),
        )
    },
    "classify, the second is named": ("question,text,label\nIs it?,It is.,1\n", {"pair": "text"}),
    "choose, the first is named": (
        *(json.dumps({**STORY, "options": ["a", "b"], "answer": "b"}), {"text": "story"}),
    ),
    "answer, the first is named": (json.dumps({**STORY, "answers": ["It"]}), {"text": "story"}),
    "embed, one has a third text alone": (
        '{"anchor": "Is it?", "positive": "It is."}',
        {"text": "anchor", "pair": "positive", "options": ("negative",)},
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_two_texts_of_a_row_are_a_pair_the_passage_first_where_it_is_asked_about(tmp_path, name):
    kind, (content, columns) = name.partition(",")[0], PAIRS[name]
    file = read(tmp_path, content, task=kind, **columns)
    (example,) = file.examples
    pair = ("It is.", "Is it?") if kind in ("choose", "answer") else ("Is it?", "It is.")
    assert (example.text, example.text_pair) == pair
    assert example.options == (("a", "b") if kind == "choose" else ())
    assert file.remarks == ()


@pytest.mark.parametrize(
    ("task", "content", "names"),
    [
        ("classify", "id,text,reply,label,source\n1,Who?,Ada.,1,web\n", "'reply', 'source'"),
        ("tag", '{"tokens": ["Ada"], "text": "Ada", "tags": ["O"], "meta": 1}', "'meta'"),
        (
            "answer",
            '{"context": "Ada", "question": "Who?", "is_impossible": false, '
            '"answers": {"text": ["Ada"], "answer_start": [0]}}',
            "",
        ),
    ],
)
def test_columns_that_are_not_read_are_told(tmp_path, task, content, names):
    told = (f"columns that are not read: {names}",) if names else ()
    assert read(tmp_path, content, task=task).remarks == told


def test_the_cola_files_have_no_header(tmp_path):
    train = read(tmp_path, "gj04\t1\t\tHe ran.\ngj04\t0\t*\tRan he.\n", task="cola")
    assert labelled(train) == [("He ran.", "1"), ("Ran he.", "0")]


# The names of the columns of GLUE, a row, and its label.
GLUE = {
    "mrpc": ("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "1\t7\t8\tOne.\tTwo.", "1"),
    "sts-b": (
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore",
        "0\tnews\tf\t2012\t0001\tnone\tnone\tOne.\tTwo.\t5.000",
        5.0,
    ),
    "qqp": ("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "0\t1\t2\tOne.\tTwo.\t0", "0"),
    "qnli": ("index\tquestion\tsentence\tlabel", "0\tOne.\tTwo.\tentailment", "entailment"),
    "rte": ("index\tsentence1\tsentence2\tlabel", "0\tOne.\tTwo.\tentailment", "entailment"),
    "mnli": (
        "index\tpromptID\tsentence1\tsentence2\tlabel1\tgold_label",
        "0\t1\tOne.\tTwo.\tneutral\tcontradiction",
        "contradiction",
    ),
}


@pytest.mark.parametrize("task", GLUE)
def test_the_columns_of_every_glue_file_are_found_by_their_names(tmp_path, task):
    header, row, label = GLUE[task]
    (example,) = read(tmp_path, f"{header}\n{row}\n", task=task).examples
    found = example.score if task == "sts-b" else example.label
    assert (example.text, example.text_pair, found) == ("One.", "Two.", label)


def test_a_row_with_too_few_or_too_many_cells_is_left_out_and_counted(tmp_path):
    content = "text,text_pair,label\na,b,1\nc\nGood, but long,d,0\ne,f,0,\n"
    file = read(tmp_path, content)
    assert labelled(file) == [("a", "1"), ("e", "0")]
    assert file.counts == {FEWER: 1, MORE: 1}
    # They are called by their places in the file, those left out included.
    assert [example.id for example in file.examples] == ["0", "3"]


# Rows that end early, the ids of those that are read, and what is counted.
RAGGED = {
    "classify": ("id,text,label,note\n1,a,x\n2,b\n3,c,y,so\n", {}, ["1", "3"]),
    "multilabel": ("text,labels,note\na,\nb\nc,x\n", {}, ["0", "2"]),
    "regress": ("sentence1,score,sentence2,note\na,1,b\nc,2\n", {}, ["0"]),
    "choose": ("label,article,option0,option1,note\n1,a,x,y\n0,b,x\n", {}, ["0"]),
    "tag": ("tokens,tags,note\na b,O O\nc d\n", {}, ["0"]),
    "several": ("text,rude,loud,note\na,1,0\nb,1\n", {"label": "rude,loud"}, ["0"]),
    "ids": ("text,label,id\na,x,7\nb,y\n", {}, ["7", "1"]),
}


@pytest.mark.parametrize("kind", RAGGED)
def test_a_row_is_left_out_where_it_lacks_a_cell_that_is_read(tmp_path, kind):
    content, columns, ids = RAGGED[kind]
    task = {"several": "multilabel", "ids": "classify"}.get(kind, kind)
    file = read(tmp_path, content, task=task, **columns)
    assert [example.id for example in file.examples] == ids
    assert file.counts == ({} if kind == "ids" else {FEWER: 1})


@pytest.mark.parametrize(
    "write",
    [
        lambda _, rows: "".join(json.dumps(row) + "\n" for row in rows),
        lambda _, rows: json.dumps(rows),
        lambda _, rows: json.dumps({"version": "1", "data": rows}, indent=2),
        lambda _, rows: json.dumps({n: [row[n] for row in rows] for n in rows[0]}),
        lambda _, rows: json.dumps({n: dict(enumerate(row[n] for row in rows)) for n in rows[0]}),
        lambda _, rows: json.dumps({str(k): row for k, row in enumerate(rows)}),
        lambda folder, rows: in_parquet(folder, **{n: [row[n] for row in rows] for n in rows[0]}),
    ],
    ids=[*("lines", "list", "data", "columns", "columns of pandas", "index of pandas"), "parquet"],
)
def test_records_of_json_and_parquet_are_rows(tmp_path, write):
    rows = [{"text": "Good.", "label": 1}, {"text": "Bad.", "label": 0}]
    file = read(tmp_path, write(tmp_path, rows))
    assert labelled(file) == [("Good.", "1"), ("Bad.", "0")]
    texts = [{"text": "Good."}, {"text": "Bad."}]
    file = read(tmp_path, write(tmp_path, texts), is_labelled=False)
    assert labelled(file) == [("Good.", None), ("Bad.", None)]
    rude = [{"text": "Go.", "labels": "rude, loud"}, {"text": "Come.", "labels": ""}]
    file = read(tmp_path, write(tmp_path, rude), task="multilabel")
    assert [example.labels for example in file.examples] == [("rude", "loud"), ()]


def test_a_missing_number_is_no_label_and_the_word_nan_is_one(tmp_path):
    file = read(tmp_path, in_parquet(tmp_path, text=["a", "b"], label=[1.0, math.nan]))
    assert labelled(file) == [("a", "1")]
    assert file.counts == {"row without a label, left out": 1}
    # The code of Min Nan.
    assert labelled(read(tmp_path, "text,label\na,nan\n")) == [("a", "nan")]


def test_options_are_columns_and_the_right_one_a_number(tmp_path):
    # SWAG as Hugging Face's examples have it.
    content = "sent1,sent2,ending0,ending1,ending2,ending3,label\nHe sat.,He,a.,b.,c.,d.,2\n"
    (example,) = read(tmp_path, content, task="choose").examples
    assert (example.text, example.text_pair) == ("He sat.", "He")
    assert (example.options, example.choice) == (("a.", "b.", "c.", "d."), 2)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("A", "(C)", [0, 2]), (0, 2, [0, 2]), (1.0, "3.0", [0, 2]), ("red", "ray", [0, 2])],
    ids=["letters", "from 0", "from 1", "texts"],
)
def test_the_right_option_is_a_letter_a_number_or_a_text(tmp_path, first, second, expected):
    rows = [
        {"article": "a", "question": "q", "options": options, "answer": answer}
        for options, answer in ((["red", "blue", ""], first), (["sun", "moon", "ray"], second))
    ]
    file = read(tmp_path, json.dumps(rows), task="choose")
    assert [example.choice for example in file.examples] == expected
    assert file.examples[0].options == ("red", "blue")


def test_a_score_is_a_number_in_every_format_and_may_be_none_where_it_is_predicted(tmp_path):
    file = read(tmp_path, in_parquet(tmp_path, text=["a", "b"], score=[1, 2.5]), task="regress")
    assert [example.score for example in file.examples] == [1.0, 2.5]
    file = read(tmp_path, "text,score\na,none yet\n", task="regress", is_labelled=False)
    assert (file.examples[0].score, file.columns.label) == (None, "score")


@pytest.mark.parametrize(
    ("table", "texts"),
    [
        ('label\ttext\nx\t"I came.\ny\tHe left."\nx\tno\n', ['"I came.', 'He left."']),
        ('text\tlabel\n"I came.\tx\nHe left."\ty\nno\tx\n', ['"I came.', 'He left."']),
        ('"text"\t"label"\n"I came.\tx\nHe left.\ty\n', ['"I came.', "He left."]),
        ('id\ttext\tlabel\n1\t"I\nran.\tSo\tI\tgo."\tx\n2\tno\ty\n', ["I\nran.\tSo\tI\tgo.", "no"]),
        ('id\ttext\tlabel\n1\t"I ran.\tSo\nit\tis."\tx\n2\tno\ty\n', ["I ran.\tSo\nit\tis.", "no"]),
        ('text\tlabel\n"I came.\tSo."\tx\nno\ty\n', ["I came.\tSo.", "no"]),
        ('text\ttwo\n"I came.\tSo."\nno\tno\n', ['"I came.', "no"]),
        *(
            (f"text\tlabel\n{text}\tx\nno\ty\n", [text, "no"])
            for text in ('"Yes," he said, "so."', 'say "so"', '"so" he said', '"open', "''so''")
        ),
    ],
)
def test_between_tabs_are_cells_and_lines_unless_marks_surely_hold_them(tmp_path, table, texts):
    assert [example.text for example in read(tmp_path, table).examples][:2] == texts


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (['"[""Arts, crafts""]"', '"[""Food""]"'], [("Arts, crafts",), ("Food",)]),
        (["\"['Arts, crafts']\"", "\"('Food',)\""], [("Arts, crafts",), ("Food",)]),
        (["a#b", "a", "b"], [("a#b",), ("a",), ("b",)]),
        (["C#", "C"], [("C#",), ("C",)]),
        (["{[1]}", "{a}"], [("{[1]}",), ("{a}",)]),
        (["\"{'b': 1, 'a': 0}\"", '"{""a"": 0}"'], [("b",), ()]),
        (['"[""(old) music""]"', '"[""Food""]"'], [("(old) music",), ("Food",)]),
        (['"a, b"', "a"], [("a", "b"), ("a",)]),
        (['"[a, b]"', "a"], [("a", "b"), ("a",)]),
        (["[]", "[a]"], [(), ("a",)]),
        (["rude;loud", ""], [("rude", "loud"), ()]),
        (["\"['rude', 'loud']\"", "[]"], [("rude", "loud"), ()]),
    ],
)
def test_labels_are_read_as_they_are_written(tmp_path, cells, labels):
    rows = "".join(f"t{n},{cell}\n" for n, cell in enumerate(cells))
    file = read(tmp_path, f"text,labels\n{rows}", task="multilabel")
    assert [example.labels for example in file.examples] == labels


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ('{"text": "Go.", "labels": ["rude", "loud"]}\n{"text": "Come."}', {}),
        ("text,rude,loud\nGo.,1.0,True\nCome.,0,0\n", {"label": "rude,loud"}),
        (
            '{"text": "Go.", "labels": {"rude": 1, "calm": 0, "loud": true}}\n'
            '{"text": "Come.", "labels": {"rude": 0, "calm": 0, "loud": false}}\n',
            {},
        ),
    ],
    ids=["list", "columns", "object"],
)
def test_several_labels_may_be_a_list_columns_or_an_object(tmp_path, content, columns):
    file = read(tmp_path, content, task="multilabel", **columns)
    assert [example.labels for example in file.examples] == [("rude", "loud"), ()]


BLANKS = 'text\n\nHe came.\n"So\n\n it is."\n\n\nAnd she.\n\n'
LONG_NAME = "Was hat Ihnen am Kurs nicht gefallen?"
IDS = (([None], "0"), (["x", None], "x 1"), (["", "x"], "0 x"), (["x", "x"], "0 1"))
# By tasks: what is to be predicted, its ids and texts, and the columns that a person names.
TO_PREDICT = {
    "classify embed: rows, whatever they lack": (
        *("nr,text,label\n1\n2,b\n3,c,x\n", [("0", ""), ("1", "b"), ("2", "c")]),
    ),
    "classify tag embed: blank lines in a table of one column": (
        *(BLANKS, ["", "He came.", "So\n\n it is.", "", "", "And she."]),
    ),
    "classify: rows without the ids of the training file": ('{"text": "a"}', ["a"], {"id": "id"}),
    "regress: scores that are none": ("text,score\na,none yet\nb,2.5\n", ["a", "b"]),
    "cola: a file with a header": ("index\tsentence\n7\tShe ran.\n", [("7", "She ran.")]),
    "trec: questions with their labels": (
        *("0 How far is it ?\n3 Who ran ?\n", ["How far is it ?", "Who ran ?"]),
    ),
    "classify: a column with a long name": (
        *(f"{LONG_NAME}\nNichts.\n", ["Nichts."], {"text": LONG_NAME}),
    ),
    "classify: a table of one column": ("text\nthe list\n", ["the list"]),
    **{
        f"classify: rows with the ids {ids}": (
            "".join(json.dumps({"text": "a", "id": each}) + "\n" for each in ids),
            [(each, "a") for each in expected.split()],
        )
        for ids, expected in IDS
    },
    **{
        f"cola trec: a table with the name {name} and {divider!r}": (
            f"id{divider}{name}\n7{divider}She ran all the way home.\n",
            *([("7", "She ran all the way home.")], {"text": name}),
        )
        for divider in (",", ";", "|", "\t")
        for name in ("text", "Sentence", "my words")
    },
    **{
        f"classify cola sst-2 trec: texts alone: {texts[0]}": ("\n".join(texts), texts)
        for texts in (
            ["[Applause] Thank you.", "Yes."],
            ["{laughs} Well, so it is.", "Yes."],
            ["Well, so it is."],
            ["He came home late.", "I do not know."],
            ["the list is returned", "the tuple, too", '"quoted" start', "", "last"],
        )
    },
}


@pytest.mark.parametrize("kind", TO_PREDICT)
def test_each_row_or_line_to_predict_is_an_example_without_an_answer(tmp_path, kind):
    tasks, (content, rows, *columns) = kind.partition(":")[0], TO_PREDICT[kind]
    if isinstance(rows[0], str):
        rows = enumerate(rows)
    expected = [(str(number), text, None, None) for number, text in rows]
    for task in tasks.split():
        file = read(tmp_path, content, task=task, is_labelled=False, **dict(*columns))
        assert [(e.id, e.text, e.label, e.score) for e in file.examples] == expected
        assert file.counts == {}


@pytest.mark.parametrize("task", ["classify", "tag", "embed"])
def test_what_is_to_be_predicted_is_told_by_its_line(tmp_path, task):
    file = read(tmp_path, BLANKS, task=task, is_labelled=False)
    assert [e.place for e in file.examples] == [
        f"{tmp_path}/file, line {number}" for number in (2, 3, 4, 7, 8, 9)
    ]


def test_a_file_to_predict_may_be_texts_alone_which_is_told(tmp_path):
    file = read(tmp_path, "One.\n\nThree, so.", is_labelled=False)
    assert [e.place for e in file.examples] == [f"{tmp_path}/file, line {n}" for n in (1, 2, 3)]
    assert file.remarks == ("no table, so each line is a text",)


def test_options_to_predict_from_need_no_column_of_answers(tmp_path):
    content = "article,option0,option1\na,red,blue\n"
    (example,) = read(tmp_path, content, task="choose", is_labelled=False).examples
    assert (example.options, example.choice) == (("red", "blue"), None)
    assert example.cells == {"article": "a", "option0": "red", "option1": "blue"}


@pytest.mark.parametrize(
    ("task", "columns", "texts"),
    [
        ("classify", {"text": ["a", None], "text_pair": [None, "b"]}, [("a", ""), ("", "b")]),
        ("embed", {"text": ["a", None]}, [("a", None), ("", None)]),
        ("tag", {"tokens": [["a"], None]}, [("a", None), ("", None)]),
        ("answer", {"context": ["a", None], "question": [None, "b"]}, [("a", ""), ("", "b")]),
    ],
)
def test_a_text_to_predict_that_is_missing_is_an_empty_one(tmp_path, task, columns, texts):
    file = read(tmp_path, in_parquet(tmp_path, **columns), task=task, is_labelled=False)
    assert [(e.text, e.text_pair) for e in file.examples] == texts
    assert [each.is_empty for each in file.examples] == ["" in pair for pair in texts]


@pytest.mark.parametrize("name", ["data", "rows", "examples", "records"])
def test_the_records_of_an_object_of_json_may_be_in_a_list(tmp_path, name):
    rows = [{"text": "Good.", "label": "pos"}, {"text": "Bad.", "label": "neg"}]
    file = read(tmp_path, json.dumps({"features": [{"name": "text"}], name: rows}))
    assert labelled(file) == [("Good.", "pos"), ("Bad.", "neg")]
    viewed = [{"row_idx": n, "row": row} for n, row in enumerate(rows)]
    assert labelled(read(tmp_path, json.dumps({name: viewed}))) == labelled(file)
