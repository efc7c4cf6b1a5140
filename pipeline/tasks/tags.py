"""Words with a tag each: files of CoNLL columns and CoNLL-U, tags of one scheme."""

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from schemas.errors import AlbertError, SettingError
from schemas.readable import counted
from schemas.tag_schemes import (
    are_entities,
    are_iob2,
    convention_of,
    iob2,
    scheme_tags,
    without_beginning,
)
from schemas.task import TaskExample

_DOCUMENT_START = "-DOCSTART-"

# A sentence: the number and the cells of each line.
Block = list[tuple[int, list[str]]]

# With a number before each word there are more columns than these, words and tags.
MIN_INDEXED = 2

# The columns of CoNLL-U (universaldependencies.org/format.html).
_UD_COLUMNS = (
    "id",
    "form",
    "lemma",
    "upos",
    "xpos",
    "feats",
    "head",
    "deprel",
    "deps",
    "misc",
)
_UD_WORD = re.compile(r"[0-9]+")
_UD_ID = re.compile(r"[0-9]+(?:[-.][0-9]+)?")


def read_conll(
    text: str, *, path: str, column: str | None = None, has_tags: bool = True
) -> list[TaskExample]:
    r"""The sentences of a file of columns.

    Args:
        column: Of the tags: its number from 1, or its name in CoNLL-U; by default the
            last one, and ``upos`` in CoNLL-U.
        has_tags: Whether tags are read, which may be missing otherwise.

    >>> file = "-DOCSTART- O\n\nAda B-PER\nran O\n\n"
    >>> example, = read_conll(file, path="a.conll")
    >>> example.place, example.words, example.tags
    ('a.conll, line 3', ('Ada', 'ran'), ('B-PER', 'O'))
    >>> read_conll("1\tAda\tAda\tPROPN" + "\t_" * 6, path="a.conllu")[0].tags
    ('PROPN',)
    """
    lines = [
        (number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), 1)
    ]
    is_universal = any(map(_is_universal, (line for _, line in lines[:1000])))
    if is_universal:
        word_place, tag_place = 1, _column_place(column or "upos", 10, path=path)
    else:
        width = _width(lines)
        word_place = 0
        tag_place = _column_place(column or str(width), width, path=path)
    if not has_tags:
        tag_place = word_place
        if not is_universal:
            _check_columns(lines, width, path=path)
    examples: list[TaskExample] = []
    blocks = list(_blocks(lines, is_universal=is_universal))
    if not is_universal and width > MIN_INDEXED and all(map(_is_numbered, blocks)):
        word_place = 1
        tag_place = tag_place if has_tags else word_place
    _check_lines(
        blocks,
        last=max(word_place, tag_place),
        is_equal=has_tags and not is_universal and column is None,
        path=path,
    )
    for block in blocks:
        words = tuple(cells[word_place] for _, cells in block)
        tags = tuple(cells[tag_place] for _, cells in block)
        example = TaskExample(
            id=str(len(examples)),
            place=f"{path}, line {block[0][0]}",
            text=" ".join(words),
            words=words,
            tags=None if tag_place == word_place else tags,
        )
        examples.append(example)
    return examples


def _blocks(lines: list[tuple[int, str]], *, is_universal: bool) -> Iterator[Block]:
    """The words of each sentence: the number and the cells of their lines.

    Comments are left out: in CoNLL-U all lines with #, elsewhere those that open a
    sentence and are shaped unlike its words, for # is a word too.
    """
    block: Block = []
    usual = _usual_width(lines)
    for number, line in [*lines, (0, "")]:
        if not line.strip(" \t"):
            block = block if is_universal else _without_comments(block, usual)
            if block:
                yield block
            block = []
        elif not (is_universal and line.startswith("#")):
            cells = _cells(line)
            # In CoNLL-U neither words divided in two nor words left unsaid.
            is_word = not is_universal or _UD_WORD.fullmatch(cells[0])
            if is_word and cells[0] != _DOCUMENT_START:
                block.append((number, cells))


def _without_comments(block: Block, usual: int) -> Block:
    """The lines of a block after those with # that are shaped unlike most lines."""
    return list(itertools.dropwhile(lambda line: _is_comment(line[1], usual), block))


def _is_comment(cells: list[str], usual: int) -> bool:
    return cells[0].startswith("#") and len(cells) != usual


def _usual_width(lines: list[tuple[int, str]]) -> int:
    """The number of columns that most lines have."""
    widths = Counter(len(_cells(line)) for _, line in lines if line.strip(" \t"))
    return max(widths, key=lambda width: (widths[width], width), default=1)


def _is_numbered(block: Block) -> bool:
    """Whether the words of a block are numbered in its first column."""
    first = block[0][1][0]
    return first in ("0", "1") and all(
        cells[0] == str(int(first) + place) for place, (_, cells) in enumerate(block)
    )


def _check_lines(blocks: list[Block], *, last: int, is_equal: bool, path: str) -> None:
    """Refuse lines that lack a column that is read, or have others than their sentence.

    Args:
        last: The last cell that is read of a line.
        is_equal: Whether the last column has the tags, so that none may be missing.
    """
    for block in blocks:
        for number, cells in block:
            if last >= len(cells):
                raise AlbertError(
                    f"{path}, line {number} ends before column {last + 1}, where the "
                    "tag is; correct the line."
                )
            if is_equal and len(cells) != len(block[0][1]):
                raise AlbertError(
                    f"{path}, line {number} has {counted(len(cells), 'column')} and "
                    f"the first of its sentence has {len(block[0][1])}; correct the "
                    "line, or say which column has the tags with --label-column."
                )


def _cells(line: str) -> list[str]:
    """The columns of a line, divided by tabs or else by spaces.

    No other white space divides: some of it is a word of its own in real files.
    """
    if "\t" in line:
        return line.rstrip("\t").split("\t")
    return re.split(" +", line.strip(" "))


def _is_universal(line: str) -> bool:
    cells = line.split("\t")
    return len(cells) == len(_UD_COLUMNS) and bool(_UD_ID.fullmatch(cells[0]))


def _width(lines: list[tuple[int, str]]) -> int:
    """The number of columns of the first sentence that has words."""
    block = next(_blocks(lines, is_universal=False), None)
    return len(block[0][1]) if block else 1


def _check_columns(lines: list[tuple[int, str]], width: int, *, path: str) -> None:
    """Refuse running text: only the first word of each line would be read."""
    for number, line in lines:
        cells = _cells(line)
        is_word = line.strip(" ") and cells[0] != _DOCUMENT_START
        if is_word and "\t" not in line and len(cells) != width:
            raise AlbertError(
                f"{path}, line {number} has {counted(len(cells), 'column')} and the "
                f"first has {width}; give one word a line, or send running text to "
                "standard input, one text a line."
            )


def _column_place(column: str, width: int, *, path: str) -> int:
    if column in _UD_COLUMNS and width == len(_UD_COLUMNS):
        return _UD_COLUMNS.index(column)
    if column.isdecimal() and 1 <= int(column) <= width:
        return int(column) - 1
    raise SettingError(
        f"{path} has no column {column!r:.60}; name one by its number, 1 to {width}"
        f"{', or as ' + ', '.join(_UD_COLUMNS) if width == len(_UD_COLUMNS) else ''}."
    )


# What is counted of tags that break the rules of IOB2 or IOBES.
NO_BEGINNING = "entity that begins with I-, read as if with B-"


def in_iob2(
    examples: Sequence[TaskExample], *, counts: Counter[str]
) -> list[TaskExample]:
    """The examples of a file with tags in IOB2, whatever their convention.

    Args:
        counts: Receives `NO_BEGINNING`.
    """
    for example in examples:
        if example.tags is not None and len(example.tags) != len(example.words):
            raise AlbertError(
                f"{example.place}: the number of tags ({len(example.tags)}) is not "
                f"that of the words ({len(example.words)}); correct it."
            )
    tags = [example.tags for example in examples if example.tags is not None]
    convention = convention_of(tags) if tags else "none"
    if convention == "none":
        return list(examples)
    if convention != "IOB1" and (without := sum(map(without_beginning, tags))):
        counts[NO_BEGINNING] += without
    return [
        example
        if example.tags is None
        else dataclasses.replace(example, tags=tuple(iob2(example.tags)))
        for example in examples
    ]


def in_scheme_of(
    examples: Sequence[TaskExample], labels: Collection[str]
) -> list[TaskExample]:
    """Examples in IOB2 with tags in the scheme of the labels of a task."""
    if not labels or not are_entities(labels) or are_iob2(labels):
        return list(examples)
    return [
        example
        if example.tags is None
        else dataclasses.replace(example, tags=scheme_tags(example.tags, labels))
        for example in examples
    ]


def tags_of_spans(text: str, entities: dict[str, Any]) -> list[str]:
    """The tags of the characters of a text, from CLUENER's spans.

    Args:
        entities: By type, then by their text: the first and the last character of each.

    >>> tags_of_spans("in Rome", {"LOC": {"Rome": [[3, 6]]}})
    ['O', 'O', 'O', 'B-LOC', 'I-LOC', 'I-LOC', 'I-LOC']
    """
    tags = ["O"] * len(text)
    for kind, spans in entities.items():
        for start, last in (span for found in spans.values() for span in found):
            tags[start : last + 1] = [f"B-{kind}"] + [f"I-{kind}"] * (last - start)
    return tags


def tags_of_marked(
    text: str, words: Sequence[str], spans: Sequence[tuple[int, int, str]]
) -> tuple[str, ...]:
    """The tags of words, from spans of characters `[start, end)` with their types.

    A word that is in a span in part belongs to it.

    >>> tags_of_marked("in New York.", ["in", "New", "York."], [(3, 11, "LOC")])
    ('O', 'B-LOC', 'I-LOC')
    """
    tags, place, before = [], 0, None
    ordered = sorted(spans)
    for word in words:
        start = text.index(word, place)
        place = start + len(word)
        inside = (s for s in ordered if s[0] < place and s[1] > start)
        found = next(inside, None)
        if found is None:
            tags.append("O")
        else:
            tags.append(f"{'I' if found is before else 'B'}-{found[2]}")
        before = found
    return tuple(tags)
