"""Files of tasks that are refused: what each holds, and what is said of it."""

import json
from functools import partial

import pytest

from pipeline.tasks.named_tasks import wanted
from schemas.errors import SettingError
from tests.pipeline.tasks.task_file import read
from tests.pipeline.tasks.test_kinds import LONG_NAMES, TEN, WRONG_SPANS, lines, rows_of
from tests.pipeline.tasks.test_published import RACE, question, squad
from tests.refusals import refusal

NO_LABEL = "holds no examples (2 x row without a label, left out)."
CHARACTERS = "not of the form [start, end"
CELLS = "are no list; write them as in JSON"
NO_TEXT = "no 'text' is there whose characters"
AS_NUMPY = "as NumPy or PyTorch writes it"
OPTIONS = "article,option0,option1,label\n"
CONLL_2009 = (
    "1\tAda\t_\t_\tN\tN\t_\t_\t2\t2\tX\tX\t_\t_\tA0\n"
    "2\tran\t_\t_\tV\tV\t_\t_\t0\t0\tX\tX\tY\tr\t_\n\n"
) * 15


def spans_of(text, span):
    """Thirty rows of a text with a span."""
    return json.dumps([{"text": text, "spans": [span]}] * 30)


# By task: what a file holds, what is said, and the columns that a person names.
REFUSED = {
    "classify": {
        "no known text": (
            "a\tb\tc\n1\t2\t3\n",
            "the columns 'a', 'b', 'c' do not show which one is the text; name it with "
            "--text-column; the form that is read:\ntext,label\n",
        ),
        "no known label": (
            "text\ta\tb\n1\t2\t3\n",
            "the columns 'text', 'a', 'b' do not show which one is the label; name it with "
            "--label-column; the form that is read:\ntext,label\n",
        ),
        "no names": (
            "I love it,1\nI hate it,0\n",
            "name it with --text-column; if these are no names, put a line of names above the "
            "first row; the form that is read:",
        ),
        "a text for a name": (
            "question,How do I sort these rows?\nanswer,You sort them like this.\n",
            "which one is the label; name it with --label-column; if these are no names, put",
        ),
        "names of rows": (
            '"text","label","note"\n"1","So.","pos",""\n"2","No.","neg","x"\n',
            "FILE has one cell more in each row than names in its header; if it has row names of "
            "R, give write.table row.names=FALSE, and if its texts have in them what divides "
            "cells, put these in quotation marks.",
        ),
        "a name twice": ("text,text,label\na,b,c\n", "has 2 columns 'text'; rename all but"),
        "an open mark": ('text,label\n"a,b\n', "line 2: the quotation marks do not fit"),
        "an open mark in the names": (
            '"text" ,label\nGood,pos\nBad,neg\n',
            "line 1: the quotation marks do not fit together",
        ),
        "two names for one text": (
            "a,b,label\nx,y,1\n",
            "FILE has no column 'a,b'; it has 'a', 'b', 'label'; rename one, or say which it is "
            "with --text-column.",
            {"text": "a,b"},
        ),
        "nothing": ("", "FILE holds no examples."),
        "names alone": ("text,label\n", "holds no examples."),
        "a record cut off": ('{"text": "a"}\n{"text": \n', "line 2 is not a JSON record"),
        "an object cut off": ('{"text": "a"', "is not valid JSON"),
        "labels left empty": ("text,label\na,\nb,\n", NO_LABEL),
        "labels withheld": ('{"text": "a", "label": -1}\n{"text": "b", "label": -1}\n', NO_LABEL),
        "several labels": ('{"text": "a", "label": ["b", "c"]}', "give one label a row, or"),
        "lists in a text": ('{"text": [["a", ["b"]]], "label": "c"}', "'text' is not one text"),
    },
    **{
        f"{task}, nothing in JSON": {
            content: (content, "FILE holds no examples.")
            for content in ("{}", "[]", '{"data": []}')
        }
        for task in ("classify", "tag", "choose")
    },
    "regress": {
        score: (
            lines([{"text": "a", "score": score}]),
            f"the score {score!r} is not a number; write numbers as 1234.5",
        )
        for score in ("0,5", "40%", "1,000", "$5", "high")
    }
    | {"an object": (lines([{"text": "a", "score": {"label": 1}}]), "numbers as 1234.5")}
    | {"a line": ("text;score\na;1,5\n", "line 2: the score '1,5' is not a number; write")},
    "multilabel": {
        "no mark": ("text,a,b\nc,1,2\n", "line 2: 'b' is '2', where 0 or 1", {"label": "a,b"}),
        "a column a label": ("text,mad,sad\na,0,1\n", "--label-column, which takes several names"),
        "no list": ("text,labels\nt,\"{'a': 1\"\n", "are neither a list"),
    },
    "embed": {
        "three classes": (
            lines([{"premise": "a", "hypothesis": "b", "label": 2}]),
            "do not show which one is the text",
        ),
        "a word": ('{"sentence1": "a", "sentence2": "b", "gold_label": "n"}', "'n' is not a num"),
        "lists": (lines([{"anchor": "a", "positive": ["b", "c"]}]), "'positive' is not one text"),
        "others": (
            lines([{"anchor": "a", "positive": "b", "negative": ["c", "d"]}]),
            "'negative' is not one text",
        ),
    },
    "choose": {
        "no options": ("article,question,answer\na,b,A\n", "has no columns of options"),
        "a letter of no option": (f"{OPTIONS}a,b,c,E\n", "answer 'E' is none of the 2 options"),
        "one option": (f"{OPTIONS}a,b,,A\n", "line 2 has fewer than two options"),
        "counted from 0 and from 1": (f"{OPTIONS}a,b,c,0\nd,e,f,2\n", "other rows count from 0"),
        "an answer too few": (
            json.dumps(RACE | {"answers": ["B"]}),
            "as many questions, options and answers",
        ),
        "no such option": (
            json.dumps(RACE | {"answers": ["B", "E"]}),
            "question 1: the right answer 'E' is none of",
        ),
        "C3, no options": ('[[["a"], [{"question": "q"}], "1"]]', "1 is not in the form of C3"),
        "bars": ("question,choices,answer\nWhich?,red|blue,B\n", CELLS),
        "braces": ('question,choices,answer\nWhich?,"{red, blue}",B\n', CELLS),
    },
    "answer": {
        "numbers": ('{"context": [1, 2], "question": "q", "answers": []}', "is not one text"),
        "no question": (
            "context,answers\na,b\n",
            "the columns 'context', 'answers' do not show which one is the question; name it with "
            "--pair-column; the form that is read:",
        ),
        "a cell cut off": (
            "id,context,question,answers\n1,Ada ran,Who?,\"{'text': ['Ada]\"\n",
            "line 2: the answers are not in the form",
        ),
    },
    "squad": {
        "all beside their places": (
            squad(question("1", "program", 22)),
            "question 1: the answer is not at its answer_start (1 of 1 in the file are not); count "
            "the characters before it.",
        ),
        "ids twice": (
            squad(question("1", "1843", 45), question("1", "1843", 45)),
            "the id '1' comes several times; make the ids different.",
        ),
        "no question": (
            squad({"id": "1", "answers": []}),
            "is not in the form of SQuAD: 'question' is missing; correct the file.",
        ),
        "a number": (
            squad({"id": "1", "question": 7, "answers": []}),
            "is not in the form of SQuAD: a value is of the wrong kind",
        ),
    },
    "tag": {
        "a line without a tag": ("Ada B-P\nran\n", "line 2 ends before column 2, where the tag is"),
        "no such column": (
            "Ada B-P\n",
            "has no column 'ner'; name one by its number, 1 to 2.",
            {"label": "ner"},
        ),
        "words alone": ("Ada\nran\n", "does not say what is to be predicted."),
        "nothing": ("\n\n", "holds no examples."),
        "prose": ("Ada ran. " * 600, "line 1 has 1,200 columns, more than any word has; write"),
        "empty lines": ("A\tB-P\n\nran\tO\n\n" * 15, "has an empty line after each word; put one"),
        "CoNLL-2009": (
            CONLL_2009,
            "has 15 columns and none that is surely of tags; say which one is with",
        ),
        "a wider line": ("Ada N B-P\nran V O O\n", "line 2 has 4 columns and the first of its"),
        "a tag too many": (
            '{"tokens": ["a"], "tags": ["O", "O"]}',
            "the number of tags (2) is not that of the words (1)",
        ),
        "a word that is no text": (
            '{"id": 1, "tokens": [{"form": "Ada"}], "tags": ["O"]}',
            "is neither a text nor an object with a",
        ),
        "words with their tags in one cell": (
            "text,tags\nAda ran,\"[('Ada', 'B-PER'), ('ran', 'O')]\"\n",
            "not of the form",
        ),
        **{
            f"spans to their last character: {text}, {span}": (
                spans_of(text, span),
                "the span ends before its last character, as 30 of 30 in the file; an end is",
            )
            for text, span in (
                ("Ada ran", [0, 2, "PER"]),
                ("李娜在上海。", [3, 4, "LOC"]),
                ("Ada ran", {"start": 0, "end": 2, "label": "PER", "text": "Ada"}),
                ("李娜在上海。", {"start": 3, "end": 4, "label": "LOC", "text": "上海"}),
            )
        },
        **{
            f"spans that count {unit}": (
                lines([row] * 3),
                f"they seem to count {counted}, and have to count characters; the form",
            )
            for unit, (row, counted) in WRONG_SPANS.items()
        },
    },
    # Layouts of other programs: with the form that is read.
    "tag, otherwise": {
        "words with places": ("科0 O\n技1 O\n" * 10, "one after each character, where the words"),
        "WebAnno": (
            "#FORMAT=WebAnno TSV 3.3\n\n1-1\t0-3\tAda\tPER[1]\t\n1-2\t4-7\tran\t_\t\n",
            "the number of its span",
        ),
        "brat": ("T1\tPER 0 3\tAda Bo\nT2\tLOC 4 8\tNew York\n", "'Ada Bo' in column 3 is no"),
        "PubTator": ("7|t|Ada ran\n7\t0\t3\tAda\tPER\tD1\n", "line 2 ends before column 2"),
        "names without a known one": (LONG_NAMES + rows_of(TEN), "looks like names, TOKEN, COARSE"),
        "a word without a tag": ("Word,Tag\nAda,\nran,O\n", "'' in column 2 is no tag"),
        "a text without a tag": ("text,tag\nAda,\nran,O\n", "'' in column 2 is no tag"),
        "pairs of spaCy": ('[["Ada ran", {"entities": [[0, 3, "PER"]]}]]', "is not a JSON object"),
        "labels first": ('{"text": "Ada ran", "label": [["PER", 0, 3]]}', CHARACTERS),
        "two labels": (
            '{"text": "Ada ran", "label": [{"start": 0, "end": 3, "labels": ["A", "B"]}]}',
            "and one type",
        ),
        "no places": ('{"text": "A", "label": [{"text": "A", "label": "P"}]}', "not of the form"),
        "GLiNER counts words": ('{"tokens": ["在", "北", "京"], "ner": [[1, 2, "LOC"]]}', NO_TEXT),
        "SpERT counts words": (
            '{"tokens": ["Ada", "ran"], "entities": [{"start": 0, "end": 1, "label": "P"}]}',
            NO_TEXT,
        ),
        "Label Studio": ('[{"id": 1, "annotations": [], "data": {}}]', "do not show which one"),
        "NumPy": ("tokens,tags\n\"['a' 'b']\",\"['O' 'O']\"\n", AS_NUMPY),
        "tensors": ('tokens,tags\n"tensor([1, 2])","tensor([0, 0])"\n', AS_NUMPY),
    },
}
CASES = [(name, kind) for name, cases in REFUSED.items() for kind in cases]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_file_that_is_not_what_the_task_has_is_refused(tmp_path, name, kind):
    content, says, *columns = REFUSED[name][kind]
    task, _, layout = name.partition(", ")
    error = {"error": SettingError} if columns and "text" in columns[0] else {}
    said = refusal(read, tmp_path, content, task=task, **dict(*columns), **error)
    told = says.replace("FILE", f"{tmp_path}/file")
    assert said == told if told != says else told in said
    if layout == "otherwise":
        assert "the form that is read:\n" in said or "df.to_json" in said
    elif "they seem to count" in says:
        # The form is shown in three rows.
        assert len(said.splitlines()) == 4
    elif task == "embed":
        assert said.endswith(wanted("embed"))


def test_what_cannot_be_predicted_is_refused(tmp_path):
    given = partial(refusal, read, tmp_path, is_labelled=False)
    assert given("Ada ran home.\nMary sang.\n", task="tag").startswith(
        f"{tmp_path}/file, line 2 has 2 columns and the first of its sentence has 3; correct "
        "it, or send running text to standard input, one text a line; the form that is read:"
    )
    assert "file has no sentence of two lines; give" in given("Ada ran home.\n", task="tag")
    # A table with other columns is no list of texts.
    said = given('path,size,"a, note"\nx,1,"a, b"\ny,2,c\n', error=SettingError)
    assert "do not show which one is the text" in said
