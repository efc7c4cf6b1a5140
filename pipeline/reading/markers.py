"""What stands between the documents of a file: markers, and the titles of WikiText."""

import re
from collections.abc import Iterator

# What stands alone on a line between documents; so may a line of dashes.
_MARKER_NAMES = (
    rb"(?:<\|[a-z][a-z_]{1,30}\|>|</?s>|<(?:eos|bos|sep|doc|eod)>|</doc>"
    rb"|\[(?:EOS|BOS|SEP|CLS|EOD)\])"
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

# How WikiText writes the title of an article, and of a section.
_WIKITEXT_TITLE = re.compile(rb" = [^=\n]+ = \s*")
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

    >>> is_marker(b"</s>"), is_marker(b"-----\r"), is_marker(b"- - -")
    (True, True, False)
    """
    if is_title(line):
        return True
    line = line.strip()
    return is_named_marker(line) or (len(line) > 3 and not line.strip(b"-"))


def is_title(line: bytes) -> bool:
    r"""Whether a line is the title of an article as WikiText has it.

    >>> is_title(b" = Ada = \n"), is_title(b" = = Life = = \n"), is_title(b"a = b = c")
    (True, False, False)
    """
    return line.startswith(b" = ") and _WIKITEXT_TITLE.fullmatch(line) is not None


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
    parts = split_at_markers(data)
    if len(parts) == 1:
        return parts
    return [part for part in parts if part.strip()] or [b""]


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
