import json
import re

import pyarrow
import pytest
from pyarrow import parquet

from pipeline.tasks.tags import NO_BEGINNING
from pipeline.tasks.task_files import read_task_file
from schemas.errors import AlbertError
from schemas.task import TaskSpec
from tests.pipeline.tasks.task_file import read

# Two people who meet, a place of two words, and somebody of one name.
WORDS = ("Ada", "Lovelace", "Charles", "in", "New", "York", "met", "Mary")
EXPECTED = ("B-P", "I-P", "B-P", "O", "B-L", "I-L", "O", "B-P")
CONVENTIONS = {
    "IOB1": ("I-P", "I-P", "B-P", "O", "I-L", "I-L", "O", "I-P"),
    "IOB2": EXPECTED,
    "IOBES": ("B-P", "E-P", "S-P", "O", "B-L", "E-L", "O", "S-P"),
    "BILOU": ("B-P", "L-P", "U-P", "O", "B-L", "L-L", "O", "U-P"),
}


def columns(tags, divider=" ", words=WORDS):
    lines = (divider.join(line) for line in zip(words, tags, strict=True))
    return "\n".join(lines) + "\n\n"


@pytest.mark.parametrize("tags", CONVENTIONS.values(), ids=CONVENTIONS)
@pytest.mark.parametrize("divider", [" ", "\t"], ids=["spaces", "tabs"])
def test_every_convention_becomes_iob2(tmp_path, tags, divider):
    file = read(tmp_path, columns(tags, divider), task="tag")
    (example,) = file.examples
    assert (example.words, example.tags) == (WORDS, EXPECTED)
    assert file.counts == {}


def test_an_entity_of_iob2_that_begins_with_i_is_read_and_counted(tmp_path):
    file = read(tmp_path, columns(("B-P", "O", "I-L"), words=("a", "b", "c")), task="tag")
    assert file.examples[0].tags == ("B-P", "O", "B-L")
    assert file.counts == {NO_BEGINNING: 1}


def test_words_alone_have_no_tags(tmp_path):
    file = read(tmp_path, "Ada\nran\n\n", task="tag", is_labelled=False)
    assert (file.examples[0].words, file.examples[0].tags) == (("Ada", "ran"), None)
    # As after training on records, or on another column.
    for label in ("ner_tags", "4"):
        assert file == read(
            tmp_path, "Ada\nran\n\n", task="tag", is_labelled=False, label=label
        )._replace(columns=file.columns)


@pytest.mark.parametrize(
    ("labels", "tags"),
    [
        ("B-A I-A E-A S-A O", ("B-A", "E-A", "S-A")),
        ("B-A I-A L-A U-A O", ("B-A", "L-A", "U-A")),
        ("B-A M-A E-A W-A O", ("B-A", "E-A", "W-A")),
        ("I-A O", ("I-A", "I-A", "I-A")),
        ("B-A I-A O", ("B-A", "I-A", "B-A")),
    ],
)
def test_tags_are_put_into_the_scheme_of_a_model(tmp_path, labels, tags):
    path = tmp_path / "file"
    path.write_text("New B-A\nYork I-A\nUlm B-A\n")
    spec = TaskSpec(name="tag", kind="tag", labels=tuple(labels.split()))
    assert read_task_file(str(path), spec).examples[0].tags == tags


# Files, the words and tags that they give, and the columns that a person names.
RAN = "Ada/B-P ran/O"
ONTONOTES = "nw/a   0   {}   {}   NN   (TOP*   -   -   -   -   {}   -\n"
CONLL_U = "# text = du roi\n" + "".join(
    "{0}\t{1}\t{1}\t{2}\t{3}\t_\t0\t{4}\t_\t_\n".format(*row.split())
    for row in (
        *("1-2 du _ _ _", "1 de ADP IN a", "2 le DET DT b"),
        *("2.1 du VERB VB x", "3 roi NOUN NN c"),
    )
)
WORLD = {
    # As CoNLL-2003 has it: four columns, the tag in the last.
    "lines that begin a document": (
        "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n\n"
        "-DOCSTART- -X- O O\n\nPeter NNP B-NP B-PER\n",
        ["EU/B-ORG rejects/O", "Peter/B-PER"],
    ),
    "a number sign that is a word": ("# O\n1 O\nb B-P\n", ["#/O 1/O b/B-P"]),
    "a # before an entity": (
        "# id = 1\n#Ulm B-L\nran O\n\nAda B-P\n",
        ["#Ulm/B-L ran/O", "Ada/B-P"],
    ),
    "numbers that are words": ("1 CD O\n2 CD O\n\n4 CD O\n", ["1/O 2/O", "4/O"]),
    "brackets that are words": (
        "[ O\nReuters B-ORG\n] O\n\n{{ O\n\n[Ulm] B-LOC\n",
        ["[/O Reuters/B-ORG ]/O", "{{/O", "[Ulm]/B-LOC"],
    ),
    "a word in brackets at the beginning": ("[Ulm] B-LOC\nis O\n", ["[Ulm]/B-LOC is/O"]),
    "words after others that begin as comments do and have tags of their own": (
        "# sent 1\nour D\n#dogs HT\n\n# sent 2\n#cats HT\nrun V\n",
        ["our/D #dogs/HT", "#cats/HT run/V"],
    ),
    "comments that open a sentence": (
        "# id 7\tdomain=en\nAda _ _ B-PER\n# _ _ O\n\n# newdoc\n\nran _ _ O\n",
        ["Ada/B-PER #/O", "ran/O"],
    ),
    "numbers of JSON": ('{"tokens": ["Ada", "ran"], "ner_tags": [1, 0]}', ["Ada/1 ran/0"]),
    "words without spaces are divided": (
        '{"text": "I love 寿司 a lot", "tags": "O O B-F I-F O O"}',
        ["I/O love/O 寿/B-F 司/I-F a/O lot/O"],
    ),
    "a comment as long as a word": (
        "# newdoc\nAda B-P\nran O\n\n# sent 2\n# O\nBo B-P\n",
        [RAN, "#/O Bo/B-P"],
    ),
    "CoNLL-U": (CONLL_U, ["de/ADP le/DET roi/NOUN"]),
    "another column of CoNLL-U": (CONLL_U, ["de/a le/b roi/c"], {"label": "deprel"}),
    "spans of characters": (
        '{"text": "in  New York.", "label": [[4, 12, "LOC"]]}\n{"text": "no", "label": []}\n',
        ["in/O New/B-LOC York./I-LOC", "no/O"],
    ),
    "spans as objects": (
        '{"text": "in  New York.", "label": [{"start": 4, "end": 12, "label": "LOC"}]}',
        ["in/O New/B-LOC York./I-LOC"],
    ),
    "words of Prodigy, which have the spans of the text beside them": (
        '{"text": "Ada, Rome", "tokens": [{"text": "Ada", "id": 0}, {"text": ",", "id": 1}, '
        '{"text": "Rome", "id": 2}], "spans": [{"start": 5, "end": 9, "label": "L", '
        '"token_start": 2}]}',
        ["Ada/O ,/O Rome/B-L"],
    ),
    **{
        f"names onto which other words are written: {tagged}": (
            json.dumps({"text": re.sub("/[-A-Z]+", "", tagged), "label": spans}),
            [tagged],
        )
        for tagged, spans in (
            ("서울에서/B-LC 김철수가/B-PS 왔다/O", [[0, 2, "LC"], [5, 8, "PS"]]),
            ("Ada/B-P Budapesten/B-L él/O", [[0, 3, "P"], [4, 12, "L"]]),
            ("הלכתי/O לפריז/B-L אתמול/O", [[7, 11, "L"]]),
            ("ذهبت/O وباريس/B-L", [[6, 11, "L"]]),
        )
    },
    "CLUENER, which marks the first and the last character": (
        '{"text": "在 台湾", "label": {"address": {"台湾": [[2, 3]]}}}',
        ["在/O  /O 台/B-address 湾/I-address"],
    ),
    "CSV with a word a row": ('token,label\nAda,B-P\n",",O\n\nBo,B-P\n', ["Ada/B-P ,/O", "Bo/B-P"]),
    "CSV with documents, whose sentences are numbered anew": (
        "doc_id,sent_id,token,tag\n7,0,Ada,B-P\n7,0,ran,O\n8,0,Bo,B-P\n8,1,sat,O\n",
        [RAN, "Bo/B-P", "sat/O"],
    ),
    "languages, as in WikiANN": ("en:Ada\tB-P\nen::\tO\n\nen:Bo\tB-P\n", ["Ada/B-P :/O", "Bo/B-P"]),
    "a word with a colon": ("no:ran\tO\nAda\tB-P\n", ["no:ran/O Ada/B-P"]),
    "CSV with documents and sentences in first rows": (
        "Document,Sentence,Word,Tag\n7,0,Ada,B-P\n,,ran,O\n8,0,Bo,B-P\n,1,sat,O\n",
        [RAN, "Bo/B-P", "sat/O"],
    ),
    "CSV with a word that looks like a list": (
        "word,tag\nAda,B-P\n[1],O\n\nBo Li,B-P\nran,O\nhome,O\n",
        ["Ada/B-P [1]/O", "Bo Li/B-P ran/O home/O"],
    ),
    "CSV with spaces": ("text;tags\nAda ran;B-P O\nBo;O\nAnn;O\n", [RAN, "Bo/O", "Ann/O"]),
    "another column": ("EU N B-NP B-ORG\nran V B-VP O\n", ["EU/N ran/V"], {"label": "2"}),
    "white space of other kinds": ("a\u00a0b O\n\u3000 B-P\n", ["a\u00a0b/O \u3000/B-P"]),
    "numbers before the words of each sentence": (
        "#\thttp://a.b\n1\tAda\tB-P\tO\n2\tran\tO\tO\n\n1\tNo\tO\tO\n",
        [RAN, "No/O"],
        {"label": "3"},
    ),
    "suffixes": ("Ada P-B\nAnn P-I\nBo P-B\nran O\n", ["Ada/B-P Ann/I-P Bo/B-P ran/O"]),
    "underscores": ("Ada B_P\nAnn E_P\nran O\n", ["Ada/B-P Ann/I-P ran/O"]),
    "entities of one type": ("Ada B\nAnn I\nran O\n", ["Ada/B-entity Ann/I-entity ran/O"]),
    "OntoNotes, as CoNLL-2012 has it": (
        "#begin document (nw/a); part 000\n"
        + "".join(ONTONOTES.format(*row) for row in (["0", "#", "*"], ["1", "Ada", "(P*)"]))
        + "\n"
        + "".join(ONTONOTES.format(*row) for row in (["0", "New", "(L*"], ["1", "York", "*)"]))
        + "\n#end document\n",
        ["#/O Ada/B-P", "New/B-L York/I-L"],
    ),
    "brackets": ("A (P*\nB *)\nran *\nC (P)\nD (L*)\n", ["A/B-P B/I-P ran/O C/B-P D/B-L"]),
}


# Files in which Ada ran, and in the next sentence, if there is one, stands Bo.
ADA_RAN = {
    "lists of JSON": '{"tokens": ["Ada", "ran"], "ner_tags": ["B-P", "O"]}',
    "columns of JSON with lists, as to_dict gives them": (
        '{"id": [7, 8], "tokens": [["Ada", "ran"], ["Bo"]], "ner_tags": [["B-P", "O"], ["O"]]}'
    ),
    "columns of JSON with texts": (
        '{"id": [7, 8], "text": ["Ada ran", "Bo"], "tags": [["B-P", "O"], ["O"]]}'
    ),
    "JSON with spaces": '{"text": ["Ada ran", "Bo"], "tags": ["B-P O", "O"]}',
    "lists of JSON beside lists in a list": (
        '{"tokens": ["Ada", "ran"], "places": [[0, 3], [4, 7]], "tags": ["B-P", "O"]}'
    ),
    "marks of sentences": "<s>\nAda B-P\nran O\n\n<s>\nBo O\n",
    "a sentence of pandas": '{"0": {"tokens": ["Ada", "ran"], "tags": ["B-P", "O"]}}',
    "its columns": '{"tokens": [["Ada", "ran"]], "tags": [["B-P", "O"]]}',
    "with an index": '{"tokens": {"0": ["Ada", "ran"]}, "tags": {"0": ["B-P", "O"]}}',
    "numbers that go on": "1\tAda\tB-P\n2\tran\tO\n\n3\tBo\tO\n",
    "a line of names": "word pos ner\nAda N B-P\nran V O\n\nBo N O\n",
    "names of CoNLL-2003": "word pos chunk ne\nAda N B-NP B-P\nran V O O\n",
    "names, one with a bar": "word ner a|b\nAda B-P x|y\nran O x|y\n\nBo O x|y\n",
    "CoNLL-U Plus": "# global.columns = ID FORM NER\n1\tAda\tB-P\n2\tran\tO\n\n1\tBo\tO\n",
    "CSV with a column of sentences": (
        "Sentence #,Word,POS,Tag\nSentence: 1,Ada,N,B-P\n,ran,V,O\nSentence: 2,Bo,N,O\n"
    ),
    "space after a tag": "Ada\tB-P \nran\tO\n\nBo\tO\n",
    "CSV with documents": "doc_id,token,tag\n7,Ada,B-P\n7,ran,O\n8,Bo,O\n",
    "TSV with documents and empty lines": "doc\ttoken\ttag\n7\tAda\tB-P\n7\tran\tO\n\n7\tBo\tO\n",
    "lists of Python": (
        "tokens,ner_tags\n\"['Ada', 'ran']\",\"['B-P', 'O']\"\n\"['Bo']\",\"['O']\"\n"
    ),
    "lists of Python beside numbers": (
        "sent_id,tokens,tags\n7,\"['Ada', 'ran']\",\"['B-P', 'O']\"\n8,['Bo'],['O']\n"
    ),
    "empty lines with a tab, as WNUT has them": "Ada\tB-P\nran\tO\n\t\nBo\tO\n\t\n",
}


@pytest.mark.parametrize("kind", WORLD)
def test_files_of_the_world_give_their_words_and_tags(tmp_path, kind):
    content, expected, *columns = WORLD[kind]
    task = "cluener" if kind.startswith("CLUENER") else "tag"
    examples = read(tmp_path, content, task=task, **dict(*columns)).examples
    tagged = [zip(e.words, e.tags, strict=True) for e in examples]
    assert [" ".join(map("/".join, pairs)) for pairs in tagged] == expected


@pytest.mark.parametrize("content", ADA_RAN.values(), ids=ADA_RAN)
def test_sentences_and_their_tags_are_written_in_many_ways(tmp_path, content):
    examples = read(tmp_path, content, task="tag").examples
    expected = [(("Ada", "ran"), ("B-P", "O")), *[(("Bo",), ("O",))] * ("Bo" in content)]
    assert [(e.words, e.tags) for e in examples] == expected


def test_the_columns_that_are_read_are_said_and_others_with_entities(tmp_path):
    # As GermEval has it, with nested entities last.
    content = "# http://x 1\n1\tAda\tB-P\tO\n2\tran\tO\tO\n\n1\tUlm\tB-L\tB-P\n"
    file = read(tmp_path, content, task="tag")
    assert [e.tags for e in file.examples] == [("O", "O"), ("B-P",)]
    assert file.counts == {"comment line, left out": 1}
    assert file.remarks == (
        "words are in column 2 and tags in column 4 of 4",
        "column 3 has tags of entities too; to learn these give --label-column 3",
    )


@pytest.mark.parametrize(
    ("head", "row", "remarks"),
    [
        ("\n", "w{} O\n", ("words are in column 1 and tags in column 2 of 2",)),
        ("word,tag\n", "w{},O\n", ("words are in column 1 and tags in column 2 (tag) of 2",)),
        (
            "sent_id,word,lemma,tag\n",
            "7,w{},w,O\n",
            ("words are in column 2 and tags in column 4 (tag) of 4",),
        ),
    ],
    ids=["spaces", "names", "numbered"],
)
def test_a_sentence_that_is_a_whole_file_is_told(tmp_path, head, row, remarks):
    content = head + "".join(map(row.format, range(1000)))
    assert read(tmp_path, content, task="tag").remarks == remarks
    assert read(tmp_path, content + row.format("x"), task="tag").remarks == (
        *remarks,
        f"the sentence of {tmp_path}/file, line 2 has 1,001 words; put an empty line "
        "between sentences, or their number in a column sentence_id",
    )


@pytest.mark.parametrize("first", ["0", "doc_1"])
def test_a_column_without_words_is_not_read_as_words(tmp_path, first):
    content = "".join(f"{first} {n} w{n} O\n" for n in range(40))
    with pytest.raises(AlbertError, match="where the words ought to be; say which"):
        read(tmp_path, content, task="tag")
    (example,) = read(tmp_path, content, task="tag", text="3").examples
    assert example.words[:2] == ("w0", "w1")


def test_numbers_of_the_hub_are_read_by_the_names_beside_them(tmp_path):
    names = {"feature": {"names": ["O", "B-P"], "_type": "ClassLabel"}}
    info = {"info": {"features": {"ner_tags": names, "tokens": {"feature": {}}}}}
    table = pyarrow.table({"tokens": [["Ada", "ran"]], "ner_tags": [[1, 0]]})
    table = table.replace_schema_metadata({"huggingface": json.dumps(info)})
    path = tmp_path / "data.parquet"
    parquet.write_table(table, path)
    spec = TaskSpec(name="tag", kind="tag")
    assert read_task_file(str(path), spec).examples[0].tags == ("B-P", "O")
    numbered = TaskSpec(name="tag", kind="tag", labels=("0", "1"))
    assert read_task_file(str(path), numbered).examples[0].tags == ("1", "0")
