"""Plain text: running prose, a sentence or paragraph a line, and markers between."""

import html
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from pipeline.core.documents import NO_TEXT, Document, Documents, Dropped, ReadingCounts
from pipeline.core.writing_systems import (
    CLOSING_MARKS,
    MAY_END,
    SURE_ENDS,
    UNMARKED,
    ends_sentence,
    is_unspaced,
    unwrapped,
    with_whole_words,
)
from pipeline.reading.formats import Head
from pipeline.reading.pages import without_furniture
from pipeline.storage.lines import LINE_PREFIX_BYTES, cut_position, decode

# What stands alone on a line between documents, but for who speaks in a chat; so may a line of
# dashes.
_MARKER_NAMES = (
    rb"(?:<\|(?!(?:user|assistant|system|human|bot)\b)[a-z][a-z_]{1,30}\|>|</?s>"
    rb"|<(?:eos|bos|sep|doc|eod)>|</doc>|\[(?:EOS|BOS|SEP|CLS|EOD)\])"
)
_NAMED_MARKER = re.compile(_MARKER_NAMES, re.IGNORECASE)
# A name that is hardly ever text ends a document inside a line too. Each alternative
# begins with one character, so that the search runs from one of these to the next.
_ALONE = rb"[ \t]*" + _MARKER_NAMES + rb"[ \t]*(?=[\r\n]|\Z)"
_BETWEEN = re.compile(
    rb"<\|end_?of_?(?:text|document)\|>|\n" + _ALONE + rb"|\r" + _ALONE, re.IGNORECASE
)
# A sentence speaks of a marker, here \0: in brackets, quotation marks or marks of
# emphasis, or in mid sentence.
_MENTION = re.compile(
    rb"\(\0|[`'\"\x9c]\0[`'\")\xe2]|[\s(]\*{1,2}\0\*|>\0</|\|\0\|"
    rb"|[^.!?\s] \0(?:[ ,.;:]|\s+[a-z])"
)
# How much of the text on either side shows it.
_NEARBY = 8

# How WikiText writes the title of an article, as BabyLM does, and of a section.
_WIKITEXT_TITLE = re.compile(rb" = [^=\n]+ = \s*|= = = [^=\n]+ = = =\s*")
_WIKITEXT_SECTION = re.compile(rb" (?:= ){2,}[^=\n]+ (?:= ){2,}\s*")
_WIKITEXT_MARK = re.compile(rb" @([-,.])@ ")


def is_named_marker(line: bytes) -> bool:
    r"""Whether a line is nothing but a name for the end of a document.

    >>> is_named_marker(b"<|endoftext|>\r\n"), is_named_marker(b"[SEP]")
    (True, True)
    """
    return _NAMED_MARKER.fullmatch(line.strip()) is not None


def is_marker(line: bytes) -> bool:
    r"""Whether a line stands between two documents of a file that has such lines.

    A line that is not seen whole, where parts of a file are found, is none.

    >>> is_marker(b"</s>"), is_marker(b"-----\r"), is_marker(b"- - -")
    (True, True, False)
    """
    bare = line.strip()
    is_rule = len(bare) > 3 and not bare.strip(b"-")
    is_short = len(line) < LINE_PREFIX_BYTES
    return is_short and (is_rule or is_title(line) or is_named_marker(line))


def is_title(line: bytes) -> bool:
    r"""Whether a line is the title of an article as WikiText has it.

    >>> is_title(b" = Ada = \n"), is_title(b" = = Life = = \n"), is_title(b"a = b = c")
    (True, False, False)
    """
    return line.startswith((b" = ", b"= = = ")) and _WIKITEXT_TITLE.fullmatch(line) is not None


def is_marked(head: Head) -> bool:
    """Whether the first of a file names the end of a document, or has a title."""
    return has_marker(head.whole_lines) or any(map(is_title, head.data.split(b"\n")))


def is_between(line: bytes) -> bool:
    """Whether a line ends a document of lines, and is taken for the first of the next."""
    return not line.strip() or is_named_marker(line)


def as_prose(line: bytes) -> bytes:
    r"""A line of WikiText without the marks of its tokens; none if it names a section.

    >>> as_prose(b" a 5 @-@ page text , 1 @,@ 000 \n"), as_prose(b" = = Life = = \n")
    (b' a 5-page text , 1,000 \n', b'\n')
    """
    if b" @" in line:
        line = _WIKITEXT_MARK.sub(rb"\1", line)
    is_section = line.startswith(b" = = ") and _WIKITEXT_SECTION.fullmatch(line)
    return b"\n" if is_section else line


def has_marker(head: bytes) -> bool:
    r"""Whether the first of a file names the end of a document.

    >>> has_marker(b"<s>\nHe came."), has_marker(b"So.<|endoftext|>Why?")
    (True, True)
    >>> has_marker(b"HTML has <s> and </s>.")
    False
    """
    return any(_find_markers(b"\n" + head))


def divide_at_markers(data: bytes) -> list[bytes]:
    r"""The parts of some text between markers, which are no text; one part at least.

    >>> divide_at_markers(b"He came.\n<|endoftext|>\nWhy?\n[SEP]\n")
    [b'\nHe came.', b'\nWhy?']
    """
    return [part for part in split_at_markers(data) if part.strip()] or [b""]


def split_at_markers(data: bytes) -> list[bytes]:
    r"""The same parts with those of white space alone.

    >>> split_at_markers(b"He came.<|endoftext|>"), split_at_markers(b"Why?")
    ([b'\nHe came.', b''], [b'Why?'])
    """
    padded = b"\n" + data
    start, parts = 0, []
    for marker in _find_markers(padded):
        parts.append(padded[start : marker.start()])
        start = marker.end()
    if not start:
        return [data]
    return [*parts, padded[start:]]


def _find_markers(data: bytes) -> Iterator[re.Match[bytes]]:
    if b"<" not in data and b"[" not in data:
        return
    for match in _BETWEEN.finditer(data):
        start, end = match.span()
        before, after = data[max(0, start - _NEARBY) : start], data[end : end + _NEARBY]
        if data[start : start + 1] != b"<" or not _MENTION.search(before + b"\0" + after):
            yield match


# Running prose that is longer becomes several documents.
MAX_DOCUMENT_BYTES = 8 << 20
# A longer paragraph is divided at a space.
MAX_PARAGRAPH_CHARACTERS = 1 << 20

# Nobody wraps lines by hand at this width.
_WIDE_LINE_CHARACTERS = 200
_HEAD_CHARACTERS, _MIDDLE_CHARACTERS = 1 << 16, 1 << 13
# Nobody wraps lines by hand at less than this, with and without spaces.
_LEAST_WIDTH, _LEAST_UNSPACED_WIDTH = 30, 12
# Where the next word brings a line to this share of the width, it did not fit: printed
# lines are wrapped by the widths of letters.
_FULL = 0.85
# Shares of the line ends in a wrapped text: those of full lines, and those inside a
# sentence.
_FULL_LINES, _INNER_ENDS = 0.7, 0.25
# Lines of verse and of lists are shorter, and so are those on a terminal.
_LONG_LINE_CHARACTERS = 80
_UNMARKED = re.compile(f"[{UNMARKED}]")
# Lines of a block of an unwrapped file that are paragraphs: where it is the only one,
# and where it is one of several.
_FEWEST_IN_BLOCK, _MOST_IN_STANZA = 5, 21
# Paragraphs that show whether they are lines.
_LOOKED_AT = 200

# Other characters at which a line or a paragraph of a record ends, and those of any
# text; in a file form feeds are white space, and U+0085 is most often a misread "…".
_LINE_FEEDS = str.maketrans(dict.fromkeys("\x0b\x0c\x85\u2028\u2029", "\n"))
# What is seen by nobody: zero-width spaces alone in lines, and how DOS ended a file.
_STRAY = ("\u200b", "\x1a")
_STRAY_LINES = re.compile("(?m)^[^\\S\n]*\u200b[\u200b \t]*$|\x1a")
_ENTITY = re.compile(
    r"&(?:amp;)*(amp|lt|gt|quot|apos|nbsp|[mn]dash|hellip|[lr][sd]quo|szlig|[ao]elig"
    r"|[a-z](?:acute|grave|uml|circ|cedil|tilde|slash|ring|caron)"
    r"|#(?:3[2-9]|[4-9]\d|\d{3,6})|#x(?:[2-9a-f][\da-f]|[\da-f]{3,5}));",
    re.IGNORECASE,
)
_SEPARATORS = str.maketrans({"\u2028": "\n", "\u2029": "\n\n"})


# A paragraph most likely ends within this much text.
_END_BYTES = 1 << 18
_BLANK = b"\n\n"
# Between paragraphs: a blank line, or a rule; a longer one below a short line is of a heading.
_RULE = r"%|[*=~#_-]{3}|(?<=[^\n]{40}\n)[*=~#_-]{4,}"
_BLANK_LINES = re.compile(rf"\n[^\S\n]*+(?:{_RULE})?+[^\S\n]*+\n")
# A full stop with more text after it. "He came." she said is one sentence, and so is a
# quotation with a full stop in it.
_INNER_STOP = re.compile(
    rf"\. (?=.)|[{MAY_END}](?<=[{SURE_ENDS}])\s*+(?=[^\s{re.escape(CLOSING_MARKS)}])"
)


def recognise_text(lines: list[str], *, is_whole: bool = True) -> str:
    """Whether lines are whole sentences, in blocks that a blank line ends, or prose.

    Hard-wrapped prose has lines that end anywhere; prose with one paragraph a line has
    a blank line after each or several sentences in most. Lines that nobody wrapped, in
    blocks of several, are paragraphs with a blank line between documents.

    Args:
        is_whole: Whether these are all. Sentences that go on without a blank line have
            no document boundaries, as in BookCorpus.

    >>> recognise_text(["He came.", "She left.", "", "It rained.", "Why?"])
    'sentences'
    >>> recognise_text(["He came and she", "left. Then it", "rained."])
    'prose'
    >>> recognise_text(["He came. She left.", "", "It rained. Why?"])
    'prose'
    >>> recognise_text(["他来了。她走了。", "下雨了。为什么？"])
    'prose'
    >>> recognise_text(["He came.", "She left.", "It rained."], is_whole=False)
    'bookcorpus'
    """
    full = [line for line in lines if line]
    if not full:
        return "prose"
    complete = sum(map(ends_sentence, full))
    several = sum(bool(_INNER_STOP.search(line)) for line in full)
    blocks = _blocks_of(lines)
    is_blocks = len(blocks) == 1 or len(full) >= 1.5 * len(blocks)
    if complete >= 0.75 * len(full) and several <= 0.3 * len(full) and is_blocks:
        return "sentences" if is_whole or "" in lines else "bookcorpus"
    # Whether blank lines stand between documents of one paragraph a line.
    of_several = [block for block in blocks if len(block) > 1]
    if len(blocks) < 2 or len(of_several) < 0.6 * len(blocks) or is_wrapped(lines):
        return "prose"
    characters = sum(map(len, lines))
    is_unmarked = 2 * len(_UNMARKED.findall("".join(lines))) > characters
    # Documentation has wrapped paragraphs among its tables and code.
    wrapped = sum(sum(map(len, block)) for block in of_several if is_wrapped(block))
    in_long = sum(len(line) for line in lines if len(line) > _LONG_LINE_CHARACTERS)
    is_long = 3 * in_long > characters and 5 * wrapped < characters
    return "paragraphs" if is_unmarked or is_long else "prose"


def _blocks_of(lines: list[str]) -> list[list[str]]:
    """The lines between blank ones."""
    groups = itertools.groupby(lines, key=bool)
    return [list(block) for is_full, block in groups if is_full]


def is_wrapped(lines: list[str], *, width: int = 0) -> bool:
    """Whether lines were wrapped, so that their ends mean nothing.

    The lines of a wrapped text are nearly full: the next word did not fit. Many end
    inside a sentence. Without two lines in a row there is nothing to be wrong about.

    Args:
        width: Of the text that they are part of, if they are not all of it.

    >>> is_wrapped(["It was late when the miller came", "home. No one knew why he was"])
    True
    >>> is_wrapped(["Beginner knitting evening", "Bring two needles", "and wool"])
    False
    """
    ends = [(a, b) for a, b in itertools.pairwise(lines) if a and b]
    if not ends:
        return True
    width = width or _width(lines)
    unspaced = sum(is_unspaced(a[-1]) for a, _ in ends) > len(ends) // 2
    # A post may begin with a name or a tag.
    inner = sum(not ends_sentence(a) and not (b[0].isupper() or b[0] in "@#") for a, b in ends)
    if width < (_LEAST_UNSPACED_WIDTH if unspaced else _LEAST_WIDTH):
        blocks = [block for block in _blocks_of(lines) if len(block) > 1]
        return inner == len(ends) and all(ends_sentence(b[-1]) for b in blocks)
    least = width if unspaced else _FULL * width
    # What the next line's first word and a space before it take; without spaces, a
    # character and the one or two marks after it that may not begin a line.
    full = sum(
        len(a) + (3 if is_unspaced(b[0]) else 1 + len(b.split(" ", 1)[0])) > least for a, b in ends
    )
    return full >= _FULL_LINES * len(ends) and inner >= _INNER_ENDS * len(ends)


def _single_spaced(paragraphs: list[str]) -> list[str]:
    r"""Paragraphs; where they are the lines of a wrapped text with blank ones between, its own.

    >>> lines = ["It was late when the miller came", "home. No one knew why he was"] * 20
    >>> len(_single_spaced([*lines, "", *lines])), len(_single_spaced(["Rain.\nSnow."] * 40))
    (2, 40)
    """
    first = [paragraph.strip() for paragraph in paragraphs[:_LOOKED_AT]]
    are_lines = 20 * sum("\n" in line for line in first) < len(first) > _MOST_IN_STANZA
    if not are_lines or not is_wrapped(first):
        return paragraphs
    return ["\n".join(block) for block in _blocks_of([each.strip() for each in paragraphs])]


def with_characters(text: str) -> str:
    """A text with characters for the few entities of HTML that people copy.

    >>> with_characters("R&amp;D, it&amp;#39;s &copy;")
    "R&D, it's &copy;"
    """
    return _ENTITY.sub(lambda found: html.unescape(f"&{found[1]};"), text) if "&" in text else text


def _spaced(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.split("\n")]


def _width(lines: list[str]) -> int:
    """The width of a text, in characters, if it was wrapped."""
    lengths = sorted(len(a) for a, b in itertools.pairwise(lines) if a and b)
    # A line may be longer, as one with an address is.
    return lengths[9 * len(lengths) // 10] if lengths else 0


def read_sentences(lines: Iterable[str]) -> Documents:
    """One sentence a line, a blank line between documents (BERT's format).

    >>> list(read_sentences(["He came.", "She left.", "", "Why?"]))[1].paragraphs
    ('Why?',)
    """
    return documents_of(lines, begins=operator.not_)


def read_paragraphs(lines: Iterable[str]) -> Documents:
    """One paragraph a line, a blank line between documents.

    >>> text = ["He came. She left.", "Why?", "", "It rained."]
    >>> [document.paragraphs for document in read_paragraphs(text)]
    [('He came. She left.', 'Why?'), ('It rained.',)]
    """
    return documents_of(lines, begins=operator.not_, is_segmented=False)


def documents_of(
    lines: Iterable[str | Dropped],
    *,
    begins: Callable[[str], bool],
    most: float = math.inf,
    is_segmented: bool = True,
) -> Documents:
    """Documents of lines that are not blank, each up to the line that begins another.

    Args:
        lines: What was dropped among them is passed on.
        most: Lines of a document.
    """
    held: list[str] = []
    characters = 0
    for line in lines:
        if isinstance(line, Dropped):
            yield line
            continue
        is_full = len(held) >= most or characters >= MAX_DOCUMENT_BYTES
        if held and (is_full or begins(line)):
            yield Document(tuple(held), is_segmented=is_segmented)
            held, characters = [], 0
        if line:
            held.append(line)
            characters += len(line)
    if held:
        yield Document(tuple(held), is_segmented=is_segmented)


def read_prose(blocks: Iterable[bytes], *, counts: ReadingCounts | None = None) -> Documents:
    r"""One document a file, or between two markers; a blank line ends a paragraph.

    >>> blocks = [b"He came\nlate.\n", b"\nWhy?"]
    >>> [document.paragraphs for document in read_prose(blocks)]
    [('He came late.', 'Why?')]
    """
    for data in divide_bytes(blocks):
        for part in divide_at_markers(data):
            yield prose_document(decode(part, counts=counts))


def find_documents(file: BinaryIO, *, size: int) -> Iterator[int]:
    r"""Where the documents of a file begin, as `divide_bytes` divides it.

    Args:
        file: The file, uncompressed, read at the ends of documents only.
    """
    limit, start = MAX_DOCUMENT_BYTES, 0
    yield start
    while size - start > limit:
        nearest = max(start, start + limit - _END_BYTES)
        file.seek(nearest)
        cut = file.read(start + limit - nearest).rfind(_BLANK)
        if cut >= 0:
            start = nearest + cut + len(_BLANK)
        else:
            file.seek(start)
            start += _end_of_paragraph(bytearray(file.read(limit + 1)), limit)
        yield start


def prose_document(text: str, *, is_record: bool = False) -> Document | Dropped:
    """Running prose as a document."""
    paragraphs, lines = split_paragraphs(text, is_record=is_record)
    return Document(tuple(paragraphs), lines=lines) if paragraphs else NO_TEXT


def divide_bytes(blocks: Iterable[bytes], *, limit: int = MAX_DOCUMENT_BYTES) -> Iterator[bytes]:
    r"""A file whole, or a very long one in several parts, cut at blank lines.

    >>> list(divide_bytes([b"One.\n\nTwo.\n", b"\nThree."], limit=13))
    [b'One.\n\nTwo.\n\n', b'Three.']
    """
    held = bytearray()
    for block in blocks:
        held += block
        while len(held) > limit:
            cut = _end_of_paragraph(held, limit)
            yield bytes(held[:cut])
            del held[:cut]
    if held:
        yield bytes(held)


def _end_of_paragraph(data: bytearray, limit: int) -> int:
    for blank in (b"\n\n", b"\n\r\n", b"\n"):
        found = data.rfind(blank, 0, limit)
        if found >= 0:
            return found + len(blank)
    return cut_position(bytes(data[: limit + 1]), limit)


def split_paragraphs(text: str, *, is_record: bool = False) -> tuple[list[str], int]:
    r"""The paragraphs of running prose with single spaces, and how many lines they had.

    A blank line ends a paragraph. Where most of the text is in lines wider than anybody
    wraps by hand, each line is one; so it is in a record where nobody wrapped the
    lines, as in pages of the web, and in long blocks of a file. What has neither letter
    nor digit, such as ``* * *`` between chapters, is none.

    >>> split_paragraphs("He came\nlate.\n \n* * *\n\nWhy?\n")
    (['He came late.', 'Why?'], 3)
    >>> split_paragraphs("It was\u2028late.\u2029Why?")
    (['It was late.', 'Why?'], 3)
    """
    head = text[:_HEAD_CHARACTERS]
    lengths = map(len, head.split("\n"))
    are_lines = sum(n for n in lengths if n > _WIDE_LINE_CHARACTERS) > len(head) // 2
    text = without_furniture(text)
    if any(mark in text for mark in _STRAY):
        text = _STRAY_LINES.sub("", text)
    text = with_characters(text)
    ends = _LINE_FEEDS if is_record else _SEPARATORS
    if any(chr(mark) in text for mark in ends):
        text = text.translate(ends)
    text = with_whole_words(text)
    if are_lines:
        raw = text.split("\n")
    else:
        raw = _BLANK_LINES.split(text)
        # Titles and contents at the start of a book are not wrapped.
        middle = max(0, len(text) - _MIDDLE_CHARACTERS) // 2
        sample = text[middle : middle + _MIDDLE_CHARACTERS]
        if is_record or not is_wrapped(_spaced(_BLANK_LINES.sub("\n\n", sample))):
            raw = []
            spaced = _spaced(text)
            width = _width(spaced)
            blocks = _blocks_of(spaced)
            # In a file a few lines between blank ones are a stanza or an address.
            least = 0 if is_record else _FEWEST_IN_BLOCK if len(blocks) == 1 else _MOST_IN_STANZA
            for block in blocks:
                is_whole = len(block) < least or is_wrapped(block, width=width)
                raw += ["\n".join(block)] if is_whole else block
        raw = _single_spaced(raw)
    paragraphs, lines = [], 0
    for part in raw:
        paragraph = unwrapped(part)
        if not any(map(str.isalnum, paragraph)):
            continue
        lines += part.strip().count("\n") + 1
        if len(paragraph) > MAX_PARAGRAPH_CHARACTERS:
            paragraphs += _divide_paragraph(paragraph)
        else:
            paragraphs.append(paragraph)
    return paragraphs, lines


def _divide_paragraph(paragraph: str, *, limit: int = MAX_PARAGRAPH_CHARACTERS) -> list[str]:
    """Parts of at most `limit` characters, cut at spaces.

    >>> _divide_paragraph("one two three", limit=8)
    ['one two', 'three']
    """
    parts = []
    while len(paragraph) > limit:
        cut = paragraph.rfind(" ", 1, limit) if " " in paragraph[1:limit] else limit
        parts.append(paragraph[:cut])
        paragraph = paragraph[cut:].lstrip()
    return [*parts, paragraph]
