"""Files with one word a line: CoNLL's columns, CoNLL-U, and tables of that shape."""

import csv
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from pipeline.tasks.columns import NAMES
from pipeline.tasks.named_tasks import wanted
from pipeline.tasks.table_files import divide_rows
from pipeline.tasks.tags import entity_forms
from schemas.errors import AlbertError, SettingError
from schemas.readable import counted
from schemas.task import Columns, TaskExample

_DOCUMENT_START = "-DOCSTART-"
_TAGS = NAMES["tag label"]

# The number of a line and its cells, none where a sentence ends; a sentence; and the
# place of the words and of the tags, from 0.
_Line = tuple[int, list[str]]
_Block = list[_Line]
_Places = tuple[int, int]

# The columns of CoNLL-U (universaldependencies.org/format.html), a line that names those
# of CoNLL-U Plus, and the number of a word that is divided in two or left unsaid.
_UD_COLUMNS = "id form lemma upos xpos feats head deprel deps misc"
_UD_NAMED = re.compile(r"# *global\.columns *= *(.+)")
_UD_EXTRA = re.compile(r"[0-9]+[-.][0-9]+")

# How CoNLL-2012 (OntoNotes) begins a document, and its columns of words and entities.
_ONTONOTES = "#begin document"
_ONTONOTES_PLACES = (3, 10)

# What WikiANN has before each word.
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*:(?=.)")

# How a line begins that may be a comment where a sentence begins.
_COMMENT = re.compile(r"#|%|//|<")

# A tag with the number of its span, as WebAnno writes it.
_NUMBERED = re.compile(r".+\[[0-9]+\]")

# What stands in a column in which there is nothing.
_NOTHING = {"_", "-", ""}

# From this share of them on a column of words without letters, or of one word alone,
# has something else; fewer words prove nothing.
_MOST_ODD, _FEW_WORDS = 0.9, 20

# More are no columns but words of a text.
_MOST_COLUMNS = 1000

# What is counted of lines that are no words.
COMMENT = "comment line, left out"


def read_conll(
    text: str, *, path: str, columns: Columns, has_tags: bool = True, counts: Counter[str]
) -> tuple[list[TaskExample], tuple[str, ...]]:
    r"""The sentences of a file of columns, and remarks on what is read.

    Args:
        columns: The words and tags by their number from 1, or by their name where the
            file has names; by default as `_places` finds them.
        has_tags: Whether tags are read, which may be missing otherwise.

    >>> file = "-DOCSTART- O\n\nAda B-PER\nran O\n\n"
    >>> (first,), remarks = read_conll(
    ...     file, path="a", columns=Columns(), counts=Counter())
    >>> first.place, first.words, first.tags
    ('a, line 3', ('Ada', 'ran'), ('B-PER', 'O'))
    >>> remarks
    ('words are in column 1 and tags in column 2 of 2',)
    """
    lines, names = _lines(text, columns, has_tags=has_tags, path=path)
    blocks = [*_blocks(lines, names, counts=counts)]
    if not blocks:
        return [], ()
    if not names and _is_universal(blocks):
        names = tuple(_UD_COLUMNS.split())
        del counts[COMMENT]
    if "id" in names and "form" in names:
        place = names.index("id")
        blocks = [[line for line in b if not _UD_EXTRA.fullmatch(line[1][place])] for b in blocks]
    width = len(blocks[0][0][1])
    if width > _MOST_COLUMNS:
        raise AlbertError(
            f"{path}, line {blocks[0][0][0]} has {width:,} columns, more than any word has; write "
            f"one word a line{wanted('tag')}"
        )
    are_single = {*map(len, blocks)} == {1}
    if not has_tags and not names and width > 1 and "\t" not in text and are_single:
        raise AlbertError(
            f"{path} has no sentence of two lines; give one word a line, or send running text to "
            "standard input, one text a line."
        )
    if has_tags and len(blocks) >= _FEW_WORDS and are_single:
        raise AlbertError(
            f"{path} has an empty line after each word; put one between sentences "
            f"alone{wanted('tag')}"
        )
    is_ontonotes = _ONTONOTES in text
    word, tag = _places(blocks, columns, names, path=path, is_ontonotes=is_ontonotes)
    if not has_tags:
        tag = word
    is_equal = not names and columns.label is None
    _check_lines(blocks, (word, tag), is_equal=is_equal, path=path)
    if columns.text is None:
        _check_words(blocks, (word, tag), path=path)
    remarks = [*_remarks(blocks, (word, tag), names)]
    words = [cells[word] for block in blocks for _, cells in block]
    found = _LANGUAGE.match(words[0]) if len(words) > 1 else None
    prefix = found[0] if found and all(each.startswith(found[0]) for each in words) else ""
    if prefix:
        remarks.append(f"every word begins with {prefix}, which is no part of it")
    examples = []
    for number, block in enumerate(blocks):
        own = tuple(cells[word].removeprefix(prefix) for _, cells in block)
        example = TaskExample(
            id=str(number),
            place=f"{path}, line {block[0][0]}",
            text=" ".join(own),
            words=own,
            tags=None if tag == word else tuple(cells[tag] for _, cells in block),
        )
        examples.append(example)
    return examples, tuple(remarks)


def names_words(cells: Sequence[str], columns: Columns, *, has_tags: bool = True) -> bool:
    """Whether a line names columns: a flag names one of them, or all that are read are known.

    A number is that of a column, and may be anything in a line.

    >>> names_words(["Word", "NER"], Columns()), names_words(["Ada", "B-PER"], Columns())
    (True, False)
    >>> names_words(["Word", "Kind"], Columns(label="Kind"))
    True
    >>> names_words(["1", "Ada", "2"], Columns(text="2"))
    False
    """
    if any(cell in (columns.text, columns.label) and not cell.isdecimal() for cell in cells):
        return True
    names = {cell.strip().lower() for cell in cells}
    is_named = not names.isdisjoint(NAMES["tag text"])
    return is_named and not (has_tags and names.isdisjoint(_TAGS))


def _lines(
    text: str, columns: Columns, *, has_tags: bool, path: str
) -> tuple[list[_Line], tuple[str, ...]]:
    """The lines of a file without that of names, and these names if there are any."""
    lines = [(n, line.rstrip("\r")) for n, line in enumerate(text.split("\n"), 1)]
    filled = [line for _, line in lines if line.strip(" \t")]
    named = _UD_NAMED.match(text)
    names = tuple(named[1].lower().split()) if named else ()
    for mark in "" if named else "\t,;| ":
        first = next(csv.reader([lines[0][1]], delimiter=mark, skipinitialspace=True), [])
        if len(first) < 2 or not names_words(first, columns, has_tags=has_tags):
            continue
        names, lines = tuple(name.strip().lower() for name in first), lines[1:]
        if mark == " ":
            break
        rows = dict(divide_rows(text))
        read = {
            *NAMES["tag text"],
            *_TAGS,
            *map(str.lower, filter(None, (columns.text, columns.label))),
        }
        found: list[_Line] = []
        for number, line in lines:
            row = rows.get(number, [])
            if isinstance(row, csv.Error):
                raise AlbertError(
                    f"{path}, line {number}: the quotation marks do not fit together ({row}); "
                    "correct the line."
                )
            # A spreadsheet ends a sentence with a row of empty cells, some with a number.
            own = [cell for cell, name in zip(row, names, strict=False) if name in read]
            if row or not line.strip():
                found.append((number, row if any(map(str.strip, own)) else []))
        return found, names
    # No other white space divides: some of it is a word of its own in real files.
    has_tabs = sum("\t" in line for line in filled) * 2 > len(filled)
    divided = [
        (n, line.rstrip("\t").split("\t") if has_tabs else re.split(" +", line.strip(" ")))
        if line.strip(" \t")
        else (n, [])
        for n, line in lines
    ]
    return divided, names


def _is_universal(blocks: Sequence[_Block]) -> bool:
    """Whether it is CoNLL-U: ten columns, of which the first counts the words of each sentence."""
    lines = [*itertools.chain.from_iterable(blocks)]
    if any(len(cells) != len(_UD_COLUMNS.split()) for _, cells in lines):
        return False
    ids = ([cells[0] for _, cells in block] for block in blocks)
    words = ([each for each in own if not _UD_EXTRA.fullmatch(each)] for own in ids)
    return all(own == [str(n + 1) for n in range(len(own))] for own in words)


def _blocks(
    lines: Sequence[_Line], names: Sequence[str], *, counts: Counter[str]
) -> Iterator[_Block]:
    """The words of each sentence, without the comments that open it.

    An empty line ends it, or another number in a column of sentences or of documents,
    which may stand in its first row alone.
    """
    is_comment = _comments_of(lines)
    known = (NAMES["sentences"], NAMES["documents"])
    found = ([p for p, name in enumerate(names) if name in of_one] for of_one in known)
    places = [places[0] for places in found if places]
    before: dict[int, str] = {}
    for is_filled, group in itertools.groupby(lines, key=lambda line: bool(line[1])):
        own = [line for line in group if is_filled and line[1][0] != _DOCUMENT_START]
        words = [*itertools.dropwhile(is_comment, own)]
        if len(words) < len(own):
            counts[COMMENT] += len(own) - len(words)
        block: _Block = [] if places else words
        for line in words if places else ():
            called = {p: now for p in places if (now := "".join(line[1][p : p + 1]).strip())}
            if block and not called.items() <= before.items():
                yield block
                block = []
            before |= called
            block.append(line)
        if block:
            yield block


def _comments_of(lines: Sequence[_Line]) -> Callable[[_Line], bool]:
    """What tells the comments that open a sentence from its words; # is a word too."""
    plain = [
        cells
        for (_, above), (_, cells) in itertools.pairwise([(0, list[str]()), *lines])
        # What begins as a comment does after a word is a word.
        if cells
        and not (
            _COMMENT.match(cells[0])
            and (not above or above[0] == _DOCUMENT_START or _COMMENT.match(above[0]))
        )
    ]
    widths = Counter(map(len, plain or [cells for _, cells in lines if cells]))
    usual = max(widths, key=lambda width: (widths[width], width), default=1)
    # Of words alone none is a tag.
    tags = {cells[-1] for cells in plain} if usual > 1 else set[str]()

    def is_comment(line: _Line) -> bool:
        cells = line[1]
        # Of two columns, as "# newdoc": no word has that tag.
        has_tag = not tags or cells[-1] in tags or entity_forms(cells[-1:]) is not None
        return bool(_COMMENT.match(cells[0])) and not (len(cells) == usual and has_tag)

    return is_comment


def _places(
    blocks: Sequence[_Block],
    columns: Columns,
    names: tuple[str, ...],
    *,
    path: str,
    is_ontonotes: bool,
) -> _Places:
    """Where the words and the tags are: as given, as named, or as the cells show.

    The last column in which there is anything has the tags, unless another one alone is
    nothing but tags of entities; the first one that numbers no lines has the words.
    """
    lines = [cells for block in blocks for _, cells in block]
    width = len(lines[0])
    word, tag = 0, width - 1
    if names:
        of_tags = [p for p, name in enumerate(names) if name.rpartition(":")[2] in _TAGS]
        word = next((place for place, name in enumerate(names) if name in NAMES["tag text"]), 0)
        tag = max(of_tags) if of_tags else names.index("upos") if "upos" in names else tag
    elif is_ontonotes and width > max(_ONTONOTES_PLACES):
        word, tag = _ONTONOTES_PLACES
    else:
        values = [{cells[p] for cells in lines if p < len(cells)} for p in range(width)]
        tag = max((p for p in range(1, width) if not values[p] <= _NOTHING), default=tag)
        below = {place for cells in lines[1:] for place in enumerate(cells)}
        is_first = lines[0][0].lower() in NAMES["words"] and len(lines) > _FEW_WORDS
        if is_first and below.isdisjoint(enumerate(lines[0][1:], 1)):
            raise SettingError(
                f"{path}: the first line looks like names, {', '.join(lines[0]):.200}; "
                f"say which one has the tags with --label-column NAME{wanted('tag')}"
            )
        if not values[tag] <= {"O"} and entity_forms(values[tag]) is None:
            of_tags = [p for p in range(width) if entity_forms(values[p]) is not None]
            tag = of_tags[0] if len(of_tags) == 1 and len(lines) >= _FEW_WORDS else tag
            # As CoNLL-2009 has a column for each verb of a sentence.
            if columns.label is None and len(of_tags) != 1 and width > len(_UD_COLUMNS.split()):
                raise SettingError(
                    f"{path} has {width} columns and none that is surely of tags; say which one is "
                    f"with --label-column and its number{wanted('tag')}"
                )
        # The first column may number the lines of each sentence, or all lines.
        firsts = [[cells[0] for _, cells in block] for block in blocks]
        whole = [cells[0] for cells in lines]
        counts_up = len(whole) > 1 and (_counts_up(whole) or all(map(_counts_up, firsts)))
        word = int(width > 1 and counts_up)
        word += word == tag < width - 1
    if columns.text is not None and (width > 1 or columns.text in names):
        word = _place(columns.text, width, names, path=path)
    if columns.label is not None:
        tag = _place(columns.label, width, names, path=path)
    return word, tag


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


def _remarks(blocks: Sequence[_Block], places: _Places, names: tuple[str, ...]) -> Iterator[str]:
    """Which columns are read, and which others have tags of entities."""
    word, tag = places
    width = len(blocks[0][0][1])
    if tag == word:
        yield f"words are in column {word + 1} of {width}"
        return
    called = f" ({names[tag]})" if names else ""
    yield f"words are in column {word + 1} and tags in column {tag + 1}{called} of {width}"
    for place in sorted({*range(width)} - {word, tag}):
        lines = itertools.chain.from_iterable(blocks)
        tags = {cells[place] for _, cells in lines if place < len(cells)}
        if len(tags) > 1 and entity_forms(tags) is not None:
            yield (
                f"column {place + 1} has tags of entities too; to learn these give "
                f"--label-column {place + 1}"
            )


def _check_lines(blocks: Sequence[_Block], places: _Places, *, is_equal: bool, path: str) -> None:
    """Refuse lines that lack a column that is read, or what stands there instead of a tag.

    Args:
        is_equal: Whether the last column has the tags, so that none may be missing.
    """
    (word, tag), last, known = places, max(places), set[str]()
    for block in blocks:
        width = len(block[0][1])
        for number, cells in block:
            remedy = "say which column has the tags with --label-column"
            if last >= len(cells):
                what = "tag" if tag > word else "word"
                why = f" ends before column {last + 1}, where the {what} is; correct the line"
            elif is_equal and len(cells) != width:
                if tag == word:
                    remedy = "send running text to standard input, one text a line"
                why = (
                    f" has {counted(len(cells), 'column')} and the first of its sentence has "
                    f"{width}; correct it, or {remedy}"
                )
            elif tag == word or cells[tag] in known:
                continue
            elif _NUMBERED.fullmatch(cells[tag]):
                why = (
                    f": {cells[tag]!r:.60} has the number of its span, as WebAnno writes it; "
                    "export the file as CoNLL 2003"
                )
            elif not cells[tag].strip() or " " in cells[tag].strip():
                why = f": {cells[tag]!r:.60} in column {tag + 1} is no tag; correct it, or {remedy}"
            else:
                known.add(cells[tag])
                continue
            raise AlbertError(f"{path}, line {number}{why}{wanted('tag')}")


def _check_words(blocks: Sequence[_Block], places: _Places, *, path: str) -> None:
    """Refuse a column that has numbers, the same in all lines, or tags in place of words."""
    word, tag = places
    words, tags = zip(*((c[word], c[tag]) for block in blocks for _, c in block), strict=True)
    if len(words) < _FEW_WORDS or len(blocks[0][0][1]) < 2:
        return
    # In Weibo's files each character has its place in a word after it.
    odd = sum(not any(map(str.isalpha, each)) or each[1:] in [*"0123"] for each in words)
    same = Counter(words).most_common(1)[0][1]
    what = "numbers, or one after each character," if odd >= same else "hardly any different words"
    if word != tag and len(set(tags)) > max(_FEW_WORDS, len(set(words))):
        odd, what = len(words), "fewer different words than there are tags"
    if max(odd, same) >= _MOST_ODD * len(words):
        raise AlbertError(
            f"{path}: column {word + 1} has {what} where the words ought to be; say which "
            f"column has them with --text-column and its number{wanted('tag')}"
        )
