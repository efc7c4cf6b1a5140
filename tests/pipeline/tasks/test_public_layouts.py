"""Files in the layouts of public data sets: their examples and labels, counted again.

The text is invented. What is counted is counted by a line or two of Python here, which
know how the file was written and nothing of how it is read.
"""

import csv
import io
import json
import random
from collections import Counter

import pytest

from pipeline.tasks.task_files import read_task_file
from pipeline.tasks.training_data import labels_of
from schemas.task import Columns, TaskSpec

_RNG = random.Random(0)
WORDS = ("the", "old", "paint", "of", "a", "boat", "#", "small", "(", ",", "by", "12")
TYPES = ("LOC", "PER", "ORGpart", "product")


def _sentence():
    """Words, and an entity or none: where it begins and ends, and its type."""
    words = _RNG.choices(WORDS, k=_RNG.randint(3, 9))
    start = _RNG.randrange(len(words))
    end = min(len(words), start + _RNG.randint(1, 3))
    return words, (start, end, _RNG.choice(TYPES)) if _RNG.random() < 0.7 else None


SENTENCES = [_sentence() for _ in range(60)]
ENTITIES = Counter(entity[2] for _, entity in SENTENCES if entity)


def _iob2(words, entity):
    tags = ["O"] * len(words)
    if entity:
        start, end, kind = entity
        tags[start:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - start - 1)
    return tags


def _bracketed(words, entity):
    tags = ["*"] * len(words)
    if entity:
        start, end, kind = entity
        tags[start] = f"({kind}*" + (")" if end == start + 1 else "")
        if end > start + 1:
            tags[end - 1] = "*)"
    return tags


def _multiconer():
    blocks = []
    for number, (words, entity) in enumerate(SENTENCES):
        tags = _iob2(words, entity)
        rows = [f"{w} _ _ {t}" for w, t in zip(words, tags, strict=True)]
        blocks.append([f"# id {number:08d}-ab\tdomain=en", *rows])
    return "".join("\n".join(block) + "\n\n" for block in blocks)


def _germeval():
    blocks = []
    for number, (words, entity) in enumerate(SENTENCES):
        rows = [
            f"{n}\t{word}\t{tag}\tO"
            for n, (word, tag) in enumerate(
                zip(words, _iob2(words, entity), strict=True), 1
            )
        ]
        blocks.append([f"#\thttp://de.example.org/{number} [2010-03-05]", *rows])
    return "".join("\n".join(block) + "\n\n" for block in blocks)


def _wnut():
    return "".join(
        "".join(f"{w}\t{t}\n" for w, t in zip(words, _iob2(words, e), strict=True))
        + "\t\n"
        for words, e in SENTENCES
    )


def _ontonotes():
    text = "#begin document (nw/made/00/made_0001); part 000\n"
    for words, entity in SENTENCES:
        for n, (word, tag) in enumerate(
            zip(words, _bracketed(words, entity), strict=True)
        ):
            text += f"nw/made/00/made_0001   0   {n}   {word}   NN   (TOP*   -   -   -"
            text += f"   -   {tag}   -\n"
        text += "\n"
    return text + "#end document\n"


LAYOUTS = {
    "MultiCoNER": (_multiconer(), None),
    "GermEval": (_germeval(), "3"),
    "WNUT": (_wnut(), None),
    "OntoNotes (CoNLL-2012)": (_ontonotes(), None),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_entities_of_column_files_are_those_that_were_written(tmp_path, name):
    content, label = LAYOUTS[name]
    (tmp_path / "file").write_text(content)
    spec = TaskSpec(name="tag", kind="tag", columns=Columns(label=label))
    examples = read_task_file(str(tmp_path / "file"), spec).examples
    assert [list(e.words) for e in examples] == [words for words, _ in SENTENCES]
    assert [list(e.tags) for e in examples] == [_iob2(*each) for each in SENTENCES]
    begun = Counter(t[2:] for e in examples for t in e.tags if t[0] == "B")
    assert begun == ENTITIES


TEXTS = [f'{" ".join(words)}, "{n}"\nsaid' for n, (words, _) in enumerate(SENTENCES)]
TOXIC = ("toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate")
EMOTIONS = ("admiration", "amusement", "anger", "neutral")


def _marked(header, names):
    """A table with 0 or 1 for each label, and how often each label is given."""
    file, counts = io.StringIO(), Counter()
    writer = csv.writer(file)
    writer.writerow([*header, *names])
    for number, text in enumerate(TEXTS):
        marks = [_RNG.randint(0, 1) for _ in names]
        counts.update(name for name, mark in zip(names, marks, strict=True) if mark)
        cells = {"id": f"{number:016x}", "rater_id": number % 9}
        row = [cells.get(name, text) for name in header]
        writer.writerow([*row, *marks])
    return file.getvalue(), counts


@pytest.mark.parametrize(
    ("header", "names"),
    [(("id", "comment_text"), TOXIC), (("text", "id", "rater_id"), EMOTIONS)],
    ids=["Jigsaw", "GoEmotions"],
)
def test_labels_in_a_column_each_are_counted_as_they_were_written(
    tmp_path, header, names
):
    content, expected = _marked(header, names)
    (tmp_path / "file").write_text(content)
    columns = Columns(label=",".join(names))
    spec = TaskSpec(name="multilabel", kind="multilabel", columns=columns)
    examples = read_task_file(str(tmp_path / "file"), spec).examples
    assert [e.text for e in examples] == TEXTS
    assert Counter(each for e in examples for each in labels_of(e)) == expected


@pytest.mark.parametrize("most", [5, 100], ids=["STS 0-5", "STS 0-100"])
def test_scores_are_those_that_were_written(tmp_path, most):
    # As STS-B has it: tabs, quotation marks that are text, columns that are not read.
    scores = [round(_RNG.random() * most, 3) for _ in TEXTS]
    rows = [
        f'{n}\tmain-captions\tMSRvid\t2012\t{n:04}\t{s}\tA "boat {n}.\tA "sail {n}.'
        for n, s in enumerate(scores)
    ]
    header = "index\tgenre\tfilename\tyear\told_index\tscore\tsentence1\tsentence2"
    (tmp_path / "file").write_text("\n".join([header, *rows]) + "\n")
    spec = TaskSpec(name="regress", kind="regress")
    examples = read_task_file(str(tmp_path / "file"), spec).examples
    assert [e.score for e in examples] == scores
    assert [(e.text, e.text_pair) for e in examples] == [
        (f'A "boat {n}.', f'A "sail {n}.') for n in range(len(scores))
    ]


def test_questions_of_arc_and_race_have_the_options_that_were_written(tmp_path):
    options = [[f"{w} {n}" for n in range(4)] for w in WORDS]
    right = [_RNG.randrange(4) for _ in options]
    names = ["ABCD" if n % 2 else "1234" for n in range(len(options))]
    hub, published = [], []
    for n, (texts, answer) in enumerate(zip(options, right, strict=True)):
        key = {"id": f"Mercury_{n}", "answerKey": names[n][answer]}
        choices = {"text": texts, "label": [*names[n]]}
        hub.append({**key, "question": f"Which of {n}?", "choices": choices})
        pairs = zip(texts, names[n], strict=True)
        listed = [{"text": text, "label": name} for text, name in pairs]
        question = {"stem": f"Which of {n}?", "choices": listed}
        published.append({**key, "question": question})
    race = {
        "id": "high1.txt",
        "article": "A long article.",
        "questions": [f"Which of {n}?" for n in range(len(options))],
        "options": options,
        "answers": ["ABCD"[answer] for answer in right],
    }
    for name, records in {"hub": hub, "published": published}.items():
        (tmp_path / name).write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "1.txt").write_text(json.dumps(race))
    spec = TaskSpec(name="choose", kind="choose")
    for name in ("hub", "published", "train"):
        path = tmp_path / name
        examples = read_task_file(str(path), spec).examples
        assert [list(e.options) for e in examples] == options
        assert [e.choice for e in examples] == right
        asked = [e.text_pair or e.text for e in examples]
        assert asked == [f"Which of {n}?" for n in range(len(options))]


def test_answers_of_squad_are_those_that_were_written(tmp_path):
    questions, expected = [], []
    for n, (words, entity) in enumerate(SENTENCES):
        passage = " ".join(words)
        answer = " ".join(words[entity[0] : entity[1]]) if entity else ""
        start = len(" ".join([*words[: entity[0]], ""])) if entity else 0
        given = [{"text": answer, "answer_start": start}] if entity else []
        qas = [
            {
                "id": str(n),
                "question": f"What {n}?",
                "answers": given,
                "is_impossible": not given,
            }
        ]
        questions.append({"context": passage, "qas": qas})
        expected.append([(answer, start)] if entity else [])
    data = {"version": "v2.0", "data": [{"title": "t", "paragraphs": questions}]}
    (tmp_path / "file.json").write_text(json.dumps(data))
    spec = TaskSpec(name="answer", kind="answer")
    examples = read_task_file(str(tmp_path / "file.json"), spec).examples
    found = [[(a.text, a.start) for a in e.answers] for e in examples]
    assert found == expected
