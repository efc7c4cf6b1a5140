"""Markup and other text for programs, refused by the name of what it is."""

import re

from pipeline.core.scripts import UNSPACED
from pipeline.reading.formats import Kind
from pipeline.reading.markers import has_marker
from schemas.errors import AlbertError

PANDOC = "give its text, for example as pandoc -t plain --wrap=none writes it"
# What may stand before the first tag.
_LEAD = rb"(?:(?:<\?xml[^<>]*+>|<!--(?:[^-]|-(?!->))*+-->)\s*+)*+"
_HTML = re.compile(_LEAD + rb"<(?:!doctype\s++html|html)\b", re.IGNORECASE)
# A tag that is not one of our formats, a marker of theirs, or of looks alone: with one
# of these also subtitles begin.
_ELEMENT = re.compile(
    _LEAD + rb"<(?!(?:s|doc|page|mediawiki|bos|eos|unk|sep|cls|pad|[biu]|em|strong|font)"
    rb"\b)[a-zA-Z][\w:.-]*+(?:\s[^<>]*+)?>"
)
_CLOSING = re.compile(rb"</[a-zA-Z][\w:.-]*+\s*+>")
_XML = re.compile(
    rb"<\?xml\b|<(?:!DOCTYPE|TEI|tmx|xliff|rss|feed|osis|corpus|mteval)\b"
    rb"|<(?:src|ref|tst)set\b|<DOC>\s*<DOC(?:NO|ID)\b",
    re.IGNORECASE,
)
PAGE = re.compile(rb"<page[\s>]")
WARC = re.compile(rb"WARC/1\.\d\r?\n")
# What stands before a mail on its way, and what also a person may write there.
_SENT = rb"(?:Return-Path|Received|Delivered-To|MIME-Version|Message-ID): "
_WRITTEN = (
    rb"(?:From|To|Cc|Subject|Date|Reply-To|Organization|Newsgroups|Lines"
    rb"|Content-[\w-]+): "
)
_MAIL = "a mail as it was sent"
# How a file begins that is text for a program, what it is, and what to do about it.
_STRUCTURED = (
    (rb"\[Script Info\]|\{\d+\}\{\d+\}", "subtitles", "convert them to SubRip (.srt)"),
    (rb"\[(?:\d\d:\d\d\.\d\d\]|(?:ar|ti|al):)", "lyrics with times", "give their text"),
    (rb"INSERT INTO\b", "an SQL dump", "write its texts as JSON lines"),
    (rb"BEGIN:V(?:CALENDAR|CARD)", "a calendar or address book", "give its text"),
    (rb"@[a-zA-Z]+\{[^\s{}]+,\s*\n", "a bibliography", "write it as JSON lines"),
    (rb"%!PS", "PostScript", "give its text, for example as ps2ascii writes it"),
    (rb"(?:#[^\n]*\n)*msgid \"", "a catalogue of messages", "write it as JSON lines"),
    (rb"(?:%[^\n]*\n)*\\(?:documentclass|begin\{document\})", "LaTeX", PANDOC),
    (rb"(?:--|/\*)[^\n]*\bdump\b", "an SQL dump", "write its texts as JSON lines"),
    (
        rb"From (?:\S+@\S+|\S+ +[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d) [^\n]*\n"
        rb"(?:[\w-]+:|>)",
        "a mailbox",
        "give the text of its mails",
    ),
    (rb"(?:%s)[^\n]*\n(?:[ \t][^\n]*\n)*[\w-]+:" % _SENT, _MAIL, "give its text"),
    (rb"(?:(?:%s|%s)[^\n]*\n(?:[ \t][^\n]*\n)*){3}" % (_SENT, _WRITTEN), _MAIL, "give its text"),
    (rb"%YAML\b|---\r?\n\w+:", "YAML", "write its texts as JSON lines"),
)
_JSON_ARRAY = re.compile(rb"\[\s*+\{\s*+\"")
_JSON_TEXTS = re.compile(rb'(?:\[\s*+)++"(?:[^"\\\n]|\\.)*+"\s*+(?:,|(?:\]\s*+)++(?:\Z|[,\[]))')
_JSON_TEXT = re.compile(rb'"(?:[^"\\]|\\["\\/bfnrtu])*+"')

# What lines of a text for programs or with markup have, the share that has it in the
# least of these, what it is, and what to do about it.
_IN_LINES = (
    (
        r"</(?:p|div|span|li|ul|ol|t[dhr]|table|h[1-6]|a|b|i|em|strong|font|body)>"
        r"|<br ?/?>",
        0.3,
        "HTML",
        PANDOC,
    ),
    (
        r"\\(?:begin|end|item|(?:sub)*section|chapter|emph|text[a-z]{2}|cite[pt]?|ref|label"
        r"|usepackage|newcommand|footnote|includegraphics)\b",
        0.1,
        "LaTeX",
        PANDOC,
    ),
    (r"^\.\. [\w-]+::|:[\w-]+:`[^`]+`", 0.05, "reStructuredText", PANDOC),
    # Comments look like headings, which come after these.
    (
        r"^(?:import [\w.]+|from [\w.]+ import\b.*|(?:async )?def \w+\(.*"
        r"|class \w.*[:{]|#include\b.*|#!.*|return\b.*|//.*|/\*.*|\*/"
        r"|[\w.]+(?:\[.*\])? [-+*/:]?= .+"
        r"|(?:if|for|while|else|elif|try|except|with|switch|case)\b.*[:{(]"
        r"|.*(?:[{}(\[]|[\"'];)|(?:(?![a-zA-Z\d_]\().)*+\w\(.*\)[;,]?|[)}\]]+[;,:]?)$",
        0.3,
        "code",
        "give text",
    ),
    (r"^#{1,6} \w|^```|\]\((?:https?:|[#/.])|^\|?(?=[ :-]*---)[ :-]*+\|", 0.1, "Markdown", PANDOC),
    (
        # A number and a sentence may be a verse of the Bible.
        r"^\W?(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4},?[T ]+|(?<=\W))\d{1,2}:\d\d\b"
        r"|^\d{1,2}:\d\d(?::\d\d\b| ?[AaPp]\.?[Mm]\b| [<\[-]| (?:\w+ )?\w+:|$)",
        0.5,
        "a chat or a log, with a time in each line",
        "give what is said",
    ),
    (
        rf"^(?:\d+ )?[^\W\d_{UNSPACED}]+(?:[-'’][^\W\d_{UNSPACED}]+)*(?: \d+)?$",
        0.95,
        "a list of words",
        "give running text",
    ),
)
_FEWEST_LINES, _FEWEST_MARKED = 5, 3
# Markup that only the file's name tells from plain text.
MARKUP_NAMES = {
    "md": "Markdown",
    "markdown": "Markdown",
    "rst": "reStructuredText",
    "adoc": "AsciiDoc",
    "org": "Org",
    "tex": "LaTeX",
    "html": "HTML",
    "htm": "HTML",
    "xhtml": "HTML",
    "xml": "XML",
}
# Other markup shows within this many bytes.
_MARKUP_BYTES = 1000
# Lines that are looked at.
SHOWN_LINES = 200


class UnusableFile(AlbertError):
    """A file that holds no text we can read; in a folder it is passed over."""


def refuse_other_markup(kind: Kind, head: bytes, *, path: str) -> None:
    """Refuse what would be read as text with its markup."""
    otherwise = "" if kind == "wikipedia" else f", or {as_it_stands(kind)}"
    start = without_lead(head[:_MARKUP_BYTES])
    if _HTML.match(start):
        raise UnusableFile(f"{path} is HTML; {PANDOC}.")
    is_dump = b"<mediawiki" in start or PAGE.search(start)
    if _XML.match(start) and not is_dump:
        raise UnusableFile(f"{path} is XML; give its text.")
    is_element = _ELEMENT.match(start) and _CLOSING.search(head)
    if is_element and not has_marker(head):
        raise UnusableFile(f"{path} is HTML or XML; give its text{otherwise}.")
    if WARC.match(start) and b"\nWARC-Type: response" in head:
        raise UnusableFile(
            f"{path} holds web pages as they were sent; give its WET, or the text of "
            "its pages as JSON lines."
        )
    if WARC.match(start) and b"\nWARC-Type: conversion" not in head:
        raise UnusableFile(f"{path} is WARC without the text of pages; give its WET.")
    for structured, name, advice in _STRUCTURED:
        if re.match(structured, start):
            raise UnusableFile(f"{path} is {name}; {advice}{otherwise}.")
    _refuse_json(head, path=path)


def _refuse_json(head: bytes, *, path: str) -> None:
    """Refuse JSON that is not one record a line."""
    if _JSON_ARRAY.match(without_lead(head[:_MARKUP_BYTES])):
        raise UnusableFile(
            f"{path} is a JSON array; write one object a line, for example with jq -c '.[]'."
        )
    if _JSON_TEXTS.match(without_lead(head)) or _are_json_texts(head):
        raise UnusableFile(
            f"{path} is JSON without names for its texts; write one object a line, for "
            "example with jq -c '{text: .}'."
        )


def _are_json_texts(head: bytes) -> bool:
    r"""Whether each line is a text as JSON writes it, and not as a novel does.

    >>> _are_json_texts(b'"He came.\\nLate."\n"Why?"\n')
    True
    >>> _are_json_texts(b'"He came late."\n"Why?"\n')
    False
    """
    lines = [line for line in head.split(b"\n")[:SHOWN_LINES] if line.strip()]
    # The last one may be cut.
    lines = lines[:-1] or lines
    is_quoted = all(_JSON_TEXT.fullmatch(line.strip()) for line in lines)
    return is_quoted and any(b"\\" in line for line in lines)


def without_lead(head: bytes) -> bytes:
    r"""The first bytes of a file without the mark and white space before its text.

    >>> without_lead(b"\xef\xbb\xbf\n <page>")
    b'<page>'
    """
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()


def refuse_marked_lines(kind: Kind, lines: list[str], *, path: str) -> None:
    """Refuse text with markup, code, and lines that are no sentences.

    Args:
        lines: With single spaces, and none at their ends.
    """
    full = [line for line in lines[:SHOWN_LINES] if line]
    if len(full) < _FEWEST_LINES:
        return
    for sign, share, name, advice in _IN_LINES:
        marked = sum(re.search(sign, line) is not None for line in full)
        if marked >= max(_FEWEST_MARKED, share * len(full)):
            raise UnusableFile(f"{path} looks like {name}; {advice}, or {as_it_stands(kind)}.")


def as_it_stands(kind: Kind) -> str:
    """What to do about a file that is text although it does not look like it."""
    plain = "book" if kind == "books" else "prose"
    return f"say --input-format {plain} to read it as it stands"
