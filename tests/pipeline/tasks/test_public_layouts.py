"""Column files in the layouts of public data sets: their entities, counted again.

The text is invented. What is counted is counted by a line or two of Python here, which
know how the file was written and nothing of how it is read.
"""

import random
from collections import Counter

import pytest

from pipeline.tasks.task_files import read_task_file
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


def _written(head, row, end, *, tags=_iob2, first=1):
    """All sentences with a line before each, one for each of its words, and one after it."""
    text = ""
    for number, (words, entity) in enumerate(SENTENCES):
        text += head.format(number)
        for n, (word, tag) in enumerate(zip(words, tags(words, entity), strict=True), first):
            text += row.format(n=n, w=word, t=tag)
        text += end
    return text


ONTONOTES = "nw/made/00/made_0001   0   {n}   {w}   NN   (TOP*   -   -   -   -   {t}   -\n"
LAYOUTS = {
    "MultiCoNER": (_written("# id {:08d}-ab\tdomain=en\n", "{w} _ _ {t}\n", "\n"), None),
    "GermEval": (
        _written("#\thttp://de.example.org/{} [2010-03-05]\n", "{n}\t{w}\t{t}\tO\n", "\n"),
        "3",
    ),
    "WNUT": (_written("", "{w}\t{t}\n", "\t\n"), None),
    "OntoNotes (CoNLL-2012)": (
        "#begin document (nw/made/00/made_0001); part 000\n"
        + _written("", ONTONOTES, "\n", tags=_bracketed, first=0)
        + "#end document\n",
        None,
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_entities_of_column_files_are_those_that_were_written(tmp_path, name):
    content, label = LAYOUTS[name]
    (tmp_path / "file").write_text(content)
    spec = TaskSpec(name="tag", kind="tag", columns=Columns(label=label))
    examples = read_task_file(str(tmp_path / "file"), spec).examples
    assert [list(e.words) for e in examples] == [words for words, _ in SENTENCES]
    assert [list(e.tags) for e in examples] == [_iob2(*each) for each in SENTENCES]
    assert Counter(t[2:] for e in examples for t in e.tags if t[0] == "B") == ENTITIES
