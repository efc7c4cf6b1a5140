"""CoNLL columns and CoNLL-U: a word a line, an empty line after each sentence."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from schemas.errors import AlbertError, SettingError
from schemas.readable import counted

_DOCUMENT_START = "-DOCSTART-"

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


class Sentence(NamedTuple):
    """A sentence of a file.

    Attributes:
        line: Of its first word.
        words: Its words.
        tags: One for each; None in a file of words alone.
    """

    line: int
    words: tuple[str, ...]
    tags: tuple[str, ...] | None


def read_sentences(
    text: str, *, path: str, column: str | None = None, has_tags: bool = True
) -> list[Sentence]:
    r"""The sentences of a file of columns.

    Args:
        text: The file.
        path: Of the file, for messages.
        column: Of the tags: its number from 1, or its name in CoNLL-U; by default the
            last one, and ``upos`` in CoNLL-U.
        has_tags: Whether tags are read, which may be missing otherwise.

    >>> read_sentences("-DOCSTART- O\n\nAda B-PER\nran O\n\n", path="a.conll")
    [Sentence(line=3, words=('Ada', 'ran'), tags=('B-PER', 'O'))]
    >>> read_sentences("1\tAda\tAda\tPROPN" + "\t_" * 6, path="a.conllu")
    [Sentence(line=1, words=('Ada',), tags=('PROPN',))]
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
    sentences, block = list[Sentence](), list[tuple[int, list[str]]]()
    for number, line in [*lines, (0, "")]:
        if not line.strip(" \t"):
            sentences += _sentence(block, word_place, tag_place)
            block = []
        elif is_universal and line.startswith("#"):
            continue
        else:
            cells = _cells(line)
            if max(word_place, tag_place) >= len(cells):
                raise AlbertError(
                    f"{path}, line {number} ends before column {tag_place + 1}, where "
                    "the tag is; correct the line."
                )
            block.append((number, cells))
    return sentences


def _sentence(
    block: list[tuple[int, list[str]]], word_place: int, tag_place: int
) -> Iterator[Sentence]:
    if word_place:  # CoNLL-U: neither words divided in two nor words left unsaid
        block = [(n, cells) for n, cells in block if _UD_WORD.fullmatch(cells[0])]
    block = [(n, cells) for n, cells in block if cells[0] != _DOCUMENT_START]
    if not block:
        return
    words = tuple(cells[word_place] for _, cells in block)
    tags = tuple(cells[tag_place] for _, cells in block)
    yield Sentence(block[0][0], words, tags if tag_place != word_place else None)


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
    for _, line in lines:
        if line.strip(" \t") and _cells(line)[0] != _DOCUMENT_START:
            return len(_cells(line))
    return 1


def _check_columns(lines: list[tuple[int, str]], width: int, *, path: str) -> None:
    """Refuse running text, of which only the first word of each line would be read."""
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
