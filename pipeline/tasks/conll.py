"""Files of columns with one word a line: CoNLL's, CoNLL-U, and tables of that shape."""

import csv
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pipeline.tasks.columns import TAGS, WORDS
from schemas.errors import AlbertError, SettingError
from schemas.readable import counted
from schemas.task import Columns, TaskExample, are_entities

_DOCUMENT_START = "-DOCSTART-"

# A sentence: the number and the cells of each line.
Block = list[tuple[int, list[str]]]

# The number of a line, the line, and its cells.
_Line = tuple[int, str, list[str]]

# The columns of CoNLL-U (universaldependencies.org/format.html), and a line that names
# those of CoNLL-U Plus.
_UD_COLUMNS = (
    *("id", "form", "lemma", "upos", "xpos", "feats"),
    *("head", "deprel", "deps", "misc"),
)
_UD_NAMED = re.compile(r"# *global\.columns *= *(.+)")
_UD_WORD = re.compile(r"[0-9]+")
_UD_ID = re.compile(r"[0-9]+(?:[-.][0-9]+)?")

# How CoNLL-2012 (OntoNotes) begins a document, and its columns of words and entities.
_ONTONOTES = re.compile("#begin document", re.MULTILINE)
_ONTONOTES_WORD, _ONTONOTES_TAG = 3, 10

# What WikiANN has before each word.
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*:(?=.)")

# How a line begins that may be a comment where a sentence begins.
_COMMENT = re.compile(r"#|%|//|<")

# From this share of them on a column of words without letters, or of one word alone,
# has something else; fewer words prove nothing.
_MOST_ODD, _FEW_WORDS = 0.9, 20

# What is counted of lines that are no words.
COMMENT = "comment line, left out"


class _Places(NamedTuple):
    """Where words and tags are, from 0; `names` are those of the columns, if known."""

    word: int
    tag: int
    names: tuple[str, ...] = ()


def read_conll(
    text: str, *, path: str, columns: Columns, has_tags: bool = True, counts: Counter[str]
) -> tuple[list[TaskExample], tuple[str, ...]]:
    r"""The sentences of a file of columns, and remarks on what is read.

    Args:
        columns: The words and tags by their number from 1, or by their name where the
            file has names; by default the first column that is no number of a line, and
            the last one, of CoNLL-U ``upos``.
        has_tags: Whether tags are read, which may be missing otherwise.

    >>> file = "-DOCSTART- O\n\nAda B-PER\nran O\n\n"
    >>> (first,), remarks = read_conll(
    ...     file, path="a", columns=Columns(), counts=Counter())
    >>> first.place, first.words, first.tags
    ('a, line 3', ('Ada', 'ran'), ('B-PER', 'O'))
    >>> remarks
    ('words are in column 1 and tags in column 2 of 2',)
    """
    blocks, names, is_universal = _sentences(text, counts=counts)
    if not blocks:
        return [], ()
    is_ontonotes = _ONTONOTES.search(text) is not None
    places = _places(blocks, columns, names, path=path, is_ontonotes=is_ontonotes)
    if has_tags and places.tag == places.word and columns.text is None:
        places = places._replace(word=0)
    if not has_tags:
        places = places._replace(tag=places.word)
        if not is_universal:
            _check_columns(blocks, path=path, has_tabs="\t" in text)
    is_equal = has_tags and not is_universal and columns.label is None
    _check_lines(blocks, places, is_equal=is_equal, path=path)
    if columns.text is None:
        _check_words(blocks, places, path=path)
    remarks = [*_remarks(blocks, places, len(blocks[0][0][1]))]
    if prefix := _language_of(blocks, places):
        for _, cells in itertools.chain.from_iterable(blocks):
            cells[places.word] = cells[places.word].removeprefix(prefix)
        remarks.append(f"every word begins with {prefix}, which is no part of it")
    return [*_examples(blocks, places, path=path)], tuple(remarks)


def _language_of(blocks: list[Block], places: _Places) -> str:
    """The language that stands before every word, as in WikiANN; empty if none does."""
    words = [cells[places.word] for block in blocks for _, cells in block]
    found = _LANGUAGE.match(words[0])
    is_of_all = found is not None and all(word.startswith(found[0]) for word in words)
    return found[0] if found and is_of_all and len(words) > 1 else ""


def _sentences(text: str, *, counts: Counter[str]) -> tuple[list[Block], tuple[str, ...], bool]:
    """The sentences, the names of the columns if known, and whether it is CoNLL-U."""
    lines = [(n, line.rstrip("\r")) for n, line in enumerate(text.split("\n"), 1)]
    named = _UD_NAMED.match(text)
    if named is not None:
        return [*_universal_blocks(lines)], tuple(named[1].lower().split()), True
    rows = (line.split("\t") for _, line in lines[:1000])
    if any(len(row) == len(_UD_COLUMNS) and _UD_ID.fullmatch(row[0]) for row in rows):
        return [*_universal_blocks(lines)], _UD_COLUMNS, True
    names, divided = _header(text)
    blocks = [*_blocks(lines, divided, counts=counts)]
    if names and blocks:
        blocks = [block for block in (blocks[0][1:], *blocks[1:]) if block]
    return blocks, names, False


def _examples(blocks: list[Block], places: _Places, *, path: str) -> Iterator[TaskExample]:
    """The words of each sentence, with their tags unless these are not read."""
    has_tags = places.tag != places.word
    for number, block in enumerate(blocks):
        words = tuple(cells[places.word] for _, cells in block)
        tags = tuple(cells[places.tag] for _, cells in block) if has_tags else None
        yield TaskExample(
            id=str(number),
            place=f"{path}, line {block[0][0]}",
            text=" ".join(words),
            words=words,
            tags=tags,
        )


def names_words(cells: Sequence[str], *, has_tags: bool = True) -> bool:
    """Whether a line names columns, of which one has words and one their tags.

    >>> names_words(["Word", "NER"]), names_words(["Ada", "B-PER"])
    (True, False)
    """
    names = {cell.strip().lower() for cell in cells}
    is_named = not names.isdisjoint({*WORDS, "text"})
    return is_named and not (has_tags and names.isdisjoint(TAGS))


def _header(text: str) -> tuple[tuple[str, ...], Callable[[str], list[str]]]:
    """The names of the columns, if the first line has any, and what divides lines."""
    first = text.partition("\n")[0]
    for mark in "\t,;| ":
        divided = _cells_by(mark)
        cells = divided(first)
        if len(cells) > 1 and names_words(cells):
            return tuple(cell.strip().lower() for cell in cells), divided
    return (), _cells


def _cells_by(mark: str) -> Callable[[str], list[str]]:
    if mark in ",;|":
        return lambda line: next(csv.reader([line], delimiter=mark), [])
    return _cells


def _cells(line: str) -> list[str]:
    """The columns of a line, divided by tabs or else by spaces.

    No other white space divides: some of it is a word of its own in real files.
    """
    if "\t" in line:
        return line.rstrip("\t").split("\t")
    return re.split(" +", line.strip(" "))


def _universal_blocks(lines: list[tuple[int, str]]) -> Iterator[Block]:
    """The words of each sentence of CoNLL-U.

    Neither comments, nor words divided in two, nor words left unsaid.
    """
    block: Block = []
    for number, line in [*lines, (0, "")]:
        if not line.strip(" \t"):
            if block:
                yield block
            block = []
        elif not line.startswith("#") and _UD_WORD.fullmatch((c := _cells(line))[0]):
            block.append((number, c))


def _blocks(
    lines: list[tuple[int, str]], divided: Callable[[str], list[str]], *, counts: Counter[str]
) -> Iterator[Block]:
    """The words of each sentence, without the comments that open it."""
    rows = [(n, line, divided(line) if line.strip(" \t") else []) for n, line in lines]
    is_comment = _comments_of(rows)
    for is_filled, group in itertools.groupby(rows, key=lambda row: bool(row[2])):
        own = [row for row in group if is_filled and row[2][0] != _DOCUMENT_START]
        words = [*itertools.dropwhile(is_comment, own)]
        if len(words) < len(own):
            counts[COMMENT] += len(own) - len(words)
        if words:
            yield [(number, cells) for number, _, cells in words]


def _comments_of(rows: Sequence[_Line]) -> Callable[[_Line], bool]:
    """What tells the comments that open a sentence from its words; # is a word too."""
    plain = [
        row
        for (_, above, cells), row in itertools.pairwise([(0, "", []), *rows])
        # What begins as a comment does after a word is a word.
        if row[2] and not (_COMMENT.match(row[1]) and _may_open(above, cells))
    ]
    widths = Counter(len(cells) for _, _, cells in plain or rows if cells)
    usual = max(widths, key=lambda width: (widths[width], width), default=1)
    has_tabs = sum("\t" in line for _, line, _ in plain) * 2 > len(plain)
    # Of words alone none is a tag.
    tags = {cells[-1] for _, _, cells in plain} if usual > 1 else set[str]()
    has_entities = tags <= {"O"} or are_entities(tags)

    def is_comment(row: _Line) -> bool:
        _, line, cells = row
        if not _COMMENT.match(line):
            return False
        if len(cells) != usual or (has_tabs and "\t" not in line):
            return True
        # Of two columns, as "# newdoc" or "#\thttp": no word has that tag.
        is_word = has_tabs and len(cells[0]) > 1 and " " not in cells[0]
        has_tag = cells[-1] in tags or (has_entities and are_entities(cells[-1:]))
        return bool(tags) and not has_tag and not is_word

    return is_comment


def _may_open(above: str, cells: list[str]) -> bool:
    """Whether a line may be the first of a sentence, by the line above."""
    return not cells or cells[0] == _DOCUMENT_START or bool(_COMMENT.match(above))


def _places(
    blocks: list[Block], columns: Columns, names: tuple[str, ...], *, path: str, is_ontonotes: bool
) -> _Places:
    """The columns that are read, as given or as the file shows them."""
    width = len(blocks[0][0][1])
    word, tag = 0, width - 1
    if "form" in names and "upos" in names:
        word, tag = names.index("form"), names.index("upos")
    elif names:
        word = next(place for place, name in enumerate(names) if name in WORDS)
        tag = max(place for place, name in enumerate(names) if name in TAGS)
    elif is_ontonotes and width > _ONTONOTES_TAG:
        word, tag = _ONTONOTES_WORD, _ONTONOTES_TAG
    elif width > 1 and _are_numbered(blocks):
        word = 1
    if columns.text is not None:
        word = _place(columns.text, width, names, path=path)
    if columns.label is not None:
        tag = _place(columns.label, width, names, path=path)
    return _Places(word, tag, names)


def _are_numbered(blocks: list[Block]) -> bool:
    """Whether the first column numbers the lines of each sentence, or all lines."""
    firsts = [[cells[0] for _, cells in block] for block in blocks]
    whole = [*itertools.chain.from_iterable(firsts)]
    return len(whole) > 1 and (_counts_up(whole) or all(map(_counts_up, firsts)))


def _counts_up(cells: list[str]) -> bool:
    start = cells[0]
    return start in ("0", "1") and all(
        cell == str(int(start) + place) for place, cell in enumerate(cells)
    )


def _place(column: str, width: int, names: tuple[str, ...], *, path: str) -> int:
    if column.lower() in names:
        return names.index(column.lower())
    if column.isdecimal() and 1 <= int(column) <= width:
        return int(column) - 1
    raise SettingError(
        f"{path} has no column {column!r:.60}; name one by its number, 1 to {width}"
        f"{', or as ' + ', '.join(names) if names else ''}."
    )


def _remarks(blocks: list[Block], places: _Places, width: int) -> Iterator[str]:
    """Which columns are read, and which others have tags of entities."""
    if places.tag == places.word:
        yield f"words are in column {places.word + 1} of {width}"
        return
    called = f" ({places.names[places.tag]})" if places.names else ""
    yield (
        f"words are in column {places.word + 1} and tags in column {places.tag + 1}"
        f"{called} of {width}"
    )
    others = {*range(width)} - {places.word, places.tag}
    for place in sorted(others):
        lines = itertools.chain.from_iterable(blocks)
        tags = {cells[place] for _, cells in lines if place < len(cells)}
        if len(tags) > 1 and are_entities(tags):
            yield (
                f"column {place + 1} has tags of entities too; to learn these give "
                f"--label-column {place + 1}"
            )


def _check_lines(blocks: list[Block], places: _Places, *, is_equal: bool, path: str) -> None:
    """Refuse lines that lack a column that is read, or have others than their sentence.

    Args:
        is_equal: Whether the last column has the tags, so that none may be missing.
    """
    last = max(places.word, places.tag)
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


def _check_columns(blocks: list[Block], *, path: str, has_tabs: bool) -> None:
    """Refuse running text: only the first word of each line would be read."""
    width = len(blocks[0][0][1])
    remedy = "give one word a line, or send running text to standard input, one text a line."
    for number, cells in itertools.chain.from_iterable(blocks):
        if len(cells) != width:
            raise AlbertError(
                f"{path}, line {number} has {counted(len(cells), 'column')} and the "
                f"first has {width}; {remedy}"
            )
    if width > 1 and not has_tabs and all(len(block) == 1 for block in blocks):
        raise AlbertError(f"{path} has no sentence of two lines; {remedy}")


def _check_words(blocks: list[Block], places: _Places, *, path: str) -> None:
    """Refuse a column that has numbers, or the same in all lines, in place of words."""
    words = [cells[places.word] for block in blocks for _, cells in block]
    if len(words) < _FEW_WORDS or len(blocks[0][0][1]) < places.word + 2:
        return
    odd = sum(not any(map(str.isalpha, word)) for word in words)
    same = Counter(words).most_common(1)[0][1]
    if max(odd, same) >= _MOST_ODD * len(words):
        raise AlbertError(
            f"{path}: column {places.word + 1} has "
            f"{'numbers' if odd >= same else 'hardly any different words'} where the "
            "words ought to be; say which column has them with --text-column and its "
            "number."
        )
