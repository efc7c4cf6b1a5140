"""Plain text whose lines tell where documents are: markers, WET, subtitles, BookCorpus.

BookCorpus has one tokenized sentence a line and no sign of where a book ends, so
documents are made up. A line begins one if it looks like the first page of a book, or
if its hash says so, which happens about once in 500 lines. Only the line itself
decides: the same book gives the same documents in any file, duplicates can be found,
and a file can be read from anywhere. Of subtitles (SubRip, WebVTT) there is what is
said, without numbers, times and tags.
"""

import html
import itertools
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator

from pipeline.core.documents import NO_TEXT, Document, Documents, Dropped, ReadingCounts
from pipeline.core.writing_systems import ends_sentence
from pipeline.reading.formats import Head
from pipeline.reading.plain_text import (
    as_prose,
    documents_of,
    is_marker,
    prose_document,
    read_prose,
)
from pipeline.reading.sentences import known_language
from pipeline.storage.lines import LINE_PREFIX_BYTES, decode, line_blocks, read_whole_lines

# Shorter lines repeat ("he nodded ."), and longer ones are not sentences.
_MIN_START_CHARACTERS, _MAX_START_CHARACTERS = 30, 1000
# About four lines in five have these lengths, so that a document has 500 lines.
_ONE_IN = 400
# A file may repeat one line.
_MAX_SENTENCES = 10_000
_FIRST_PAGE = re.compile(
    r"\bisbn\b|\ball rights reserved\b|\bcopyright\b.*\b(?:19|20)\d\d\b|"
    r"^chapter (?:1|one|i)\b[ .:]*$"
)
_TOKENIZED_ENDS = (" .", " ?", " !", " ''", " ...", ' "')
_NUMBERED = re.compile(r"\d+\t[^\t]+")
_CUE_TIME = r"(?:(?:\d{1,3}:)?\d{1,2}:\d{1,2}[,.]\d{1,3}|\d+\.\d+s)"
# As in SubRip and WebVTT, as YouTube's own (.sbv), and as Whisper prints them.
_TIMES = re.compile(rf"(?P<bracket>\[)?{_CUE_TIME}\s*(?:--?>|,)\s*{_CUE_TIME}(?(bracket)\])")
_RECORD = re.compile(r"WARC/1\.\d\s*")
_NO_CUE = re.compile(r"(?:WEBVTT|NOTE|STYLE|REGION)(?:\s|$)")
# Tags of looks, of positions, and what is heard and not said.
_NOT_SPOKEN = re.compile(
    r"</?[a-zA-Z0-9][^<>\n]{0,100}>|\{\\[^{}\n]{0,100}\}|\[[^\[\]\n]{0,200}\]|[♪♫]"
)
_SPEAKER_CHANGES = re.compile(r"(?:[-–—]|>{2,}|<v\b[^<>\n]{0,100}>)\s*(?=\S)")
# A paragraph without the end of a sentence is ended here.
_MAX_SPOKEN_CHARACTERS = 2000
_MAX_REPEATED_WORDS = 100
# Who speaks is named above what is said in most cues of a transcript, each several times.
_FEWEST_TURNS, _MOST_NAMED = 4, 0.8
Spoken = tuple[list[str], bool]


def is_subtitles(head: Head) -> bool:
    """Whether a file begins as subtitles do, or many of its lines are their times."""
    times = sum(_TIMES.match(line) is not None for line in head.lines)
    return head.start.startswith(b"WEBVTT") or 10 * times > len(head.lines)


def read_subtitles(lines: Iterable[str]) -> Documents:
    """The speech of a file, as one document; a paragraph ends with its sentence.

    >>> [document.paragraphs for document in read_subtitles([
    ...     "1", "00:00:01,000 --> 00:00:02,000", "- Who <i>left</i>", "the gate open?",
    ...     "- Not me.", "", "2", "00:00:03,000 --> 00:00:04,000", "[whistle]"])]
    [('Who left the gate open?', 'Not me.')]
    """
    paragraphs: list[str] = []
    is_open = False
    cues = _cues(lines)
    first = Counter(cue[0] for cue in cues if len(cue) > 1)
    speakers = {line for line, n in first.items() if n >= _FEWEST_TURNS and not ends_sentence(line)}
    if sum(first[name] for name in speakers) >= _MOST_NAMED * len(cues):
        cues = [cue[len(cue) > 1 and cue[0] in speakers :] for cue in cues]
    for words, is_change in _said_once([_spoken(cue) for cue in cues]):
        text = " ".join(words)
        if is_open and not is_change and len(paragraphs[-1]) < _MAX_SPOKEN_CHARACTERS:
            paragraphs[-1] += f" {text}"
        else:
            paragraphs.append(text)
        is_open = not ends_sentence(text)
    yield Document(tuple(paragraphs)) if paragraphs else NO_TEXT


def _cues(lines: Iterable[str]) -> list[list[str]]:
    """The lines of each cue: up to the next one, though some of them may be blank.

    >>> _cues(["WEBVTT", "", "1", "00:01.000 --> 00:02.000", "He came", "", "late.",
    ...        "", "NOTE by A", "", "[00:03.000 --> 00:04.000] Why?"])
    [['He came', 'late.'], [' Why?']]
    """
    cues: list[list[str]] = []
    blocks = (list(block) for full, block in itertools.groupby(lines, bool) if full)
    for block in blocks:
        times = {place: _TIMES.match(line) for place, line in enumerate(block)}
        starts = [place for place, found in times.items() if found]
        # A number or a name stands before the times.
        names = {n - 1 for n in starts if n == 1 or block[n - 1].isdigit()}
        if not starts and (_NO_CUE.match(block[0]) or "".join(block).isdigit()):
            continue
        for place, line in enumerate(block):
            if found := times[place]:
                # Behind the times of a transcript is text, and settings otherwise.
                cues.append([line[found.end() :]] if found["bracket"] else [])
            elif cues and place not in names:
                cues[-1].append(line)
    return cues


def _spoken(cue: list[str]) -> list[Spoken]:
    """What is said in a cue: the words of each line, and if another speaks them."""
    spoken = []
    # WebVTT writes "&gt;&gt;" where another speaks.
    for line in map(html.unescape, cue):
        change = _SPEAKER_CHANGES.match(line)
        text = _NOT_SPOKEN.sub("", line[change.end() :] if change else line)
        if any(map(str.isalnum, text)):
            spoken.append((text.split(), change is not None))
    return spoken


def _said_once(cues: list[list[Spoken]]) -> Iterator[Spoken]:
    """The lines of cues; of captions that roll, what they had not shown before.

    Captions that are made while somebody speaks show each line again above the next,
    or grow by a word at a time: most of them begin with what the one before ended with.

    >>> cues = [[(["We", "went"], False)], [(["We", "went"], False), (["on."], False)]]
    >>> list(_said_once(cues))
    [(['We', 'went'], False), (['on.'], False)]
    >>> list(_said_once([[(["No."], False)], [(["No."], True)], [(["Yes."], True)]]))
    [(['No.'], False), (['No.'], True), (['Yes.'], True)]
    """
    cues = [cue for cue in cues if cue]
    words = [[word for line, _ in cue for word in line] for cue in cues]
    shown = [_shown_before(*pair) for pair in itertools.pairwise(words)]
    are_rolling = 2 * sum(map(bool, shown)) > len(shown)
    for cue, number in zip(cues, [0, *shown], strict=False):
        left = number if are_rolling else 0
        for line, is_change in cue:
            if new := line[left:]:
                yield new, is_change and not left
            left = max(0, left - len(line))


def _shown_before(before: list[str], words: list[str]) -> int:
    """How many words a cue begins with that the one before ended with."""
    most = min(len(before), len(words), _MAX_REPEATED_WORDS)
    return next((n for n in range(most, 0, -1) if before[-n:] == words[:n]), 0)


def starts_document(sentence: str) -> bool:
    """Whether a document begins with a sentence.

    >>> starts_document("all rights reserved ."), starts_document("he nodded .")
    (True, False)
    """
    if len(sentence) > _MAX_START_CHARACTERS:
        return False
    if len(sentence) >= _MIN_START_CHARACTERS and zlib.crc32(sentence.encode()) % _ONE_IN == 0:
        return True
    lower = sentence.lower()
    # Most lines have none of these; the pattern alone would take ten times longer.
    may_be_first_page = (
        "copyright" in lower
        or "isbn" in lower
        or "rights reserved" in lower
        or lower.startswith("chapter")
    )
    return may_be_first_page and _FIRST_PAGE.search(lower) is not None


def is_tokenized(lines: list[str]) -> bool:
    """Whether lines are lower-case sentences with spaces around their punctuation.

    >>> is_tokenized(["he came , late .", "`` why ? ''", "she left ."])
    True
    >>> is_tokenized(["He came, late."])
    False
    """
    lines = [line for line in lines if line]
    letters = sum(map(str.isalpha, "".join(lines)))
    capitals = sum(map(str.isupper, "".join(lines)))
    tokenized = sum(line.endswith(_TOKENIZED_ENDS) for line in lines)
    return letters > 0 and capitals <= 0.01 * letters and tokenized >= 0.6 * len(lines)


def starts_sentence_document(line: bytes) -> bool:
    """Whether a document begins with a line that is seen whole."""
    # A carriage return ends a line too, but a part of a file begins after line feeds.
    first = decode(line).partition("\n")[0]
    return len(line) < LINE_PREFIX_BYTES and starts_document(" ".join(first.split()))


def read_bookcorpus(sentences: Iterable[str | Dropped]) -> Documents:
    """Sentences as documents; blank ones are left out.

    >>> book = ["chapter 1", "he came .", "", "isbn 123", "she left ."]
    >>> [document.paragraphs for document in read_bookcorpus(book)]
    [('chapter 1', 'he came .'), ('isbn 123', 'she left .')]
    """
    return documents_of(sentences, begins=starts_document, most=_MAX_SENTENCES)


def is_numbered(head: Head) -> bool:
    """Whether each line has a number, a tab and a sentence, as Leipzig's files."""
    full = [line for line in decode(head.whole_lines).split("\n") if line.strip()]
    numbers = {line.partition("\t")[0] for line in full if _NUMBERED.fullmatch(line)}
    has_words = any(" " in line for line in full)
    return len(full) > 1 and len(numbers) == len(full) and has_words


def starts_numbered_document(line: bytes) -> bool:
    """Whether a document begins with a sentence after a number and a tab."""
    is_short = len(line) < LINE_PREFIX_BYTES
    return is_short and starts_sentence_document(line.partition(b"\t")[2])


def read_numbered(lines: Iterable[str]) -> Documents:
    """Sentences after a number and a tab, as documents."""
    return read_bookcorpus(" ".join(line.partition("\t")[2].split()) for line in lines)


def read_marked(blocks: Iterable[bytes], *, counts: ReadingCounts | None = None) -> Documents:
    r"""Running prose, of which a marker line ends each document.

    >>> text = [b"He came\nlate.\n</s>\nWhy?\n</s>\n"]
    >>> [document.paragraphs for document in read_marked(text)]
    [('He came late.',), ('Why?',)]
    """
    split = (block.splitlines(keepends=True) for block in line_blocks(blocks))
    all_lines = itertools.chain.from_iterable(split)
    for is_between, lines in itertools.groupby(all_lines, key=is_marker):
        if not is_between:
            yield from read_prose(map(as_prose, lines), counts=counts)


def read_wet(lines: Iterable[str]) -> Documents:
    """The pages in WET, the text of a crawl: a record of WARC each, a paragraph a line.

    >>> page = ["WARC/1.0", "WARC-Type: conversion", "", "He came.", "Why?", "", ""]
    >>> [document.paragraphs for document in read_wet([*page, *page])]
    [('He came.', 'Why?'), ('He came.', 'Why?')]
    """
    record: list[str] = []
    for line in itertools.chain(lines, ["WARC/1.0"]):
        if not _RECORD.fullmatch(line):
            record.append(line)
            continue
        header, _, body = "\n".join(record).partition("\n\n")
        record = []
        parts = (each.partition(":") for each in header.split("\n"))
        fields = {name.lower(): value.strip() for name, _, value in parts}
        if fields.get("warc-type") != "conversion":
            continue
        document = prose_document(body, is_record=True)
        if isinstance(document, Document):
            languages = fields.get("warc-identified-content-language", "")
            language = known_language(languages.partition(",")[0])
            document = document._replace(language=language)
        yield document


def starts_warc_record(line: bytes) -> bool:
    """Whether a line begins a record of WARC, and no paragraph about them.

    >>> starts_warc_record(b"WARC/1.0"), starts_warc_record(b"WARC/1.0 is a format")
    (True, False)
    """
    return _RECORD.fullmatch(decode(line)) is not None


def read_line_documents(
    blocks: Iterable[bytes], *, counts: ReadingCounts | None = None
) -> Documents:
    r"""One document a line.

    >>> text = [b"He came. She left.\nWhy?\n"]
    >>> documents = read_line_documents(text)
    >>> [document.paragraphs for document in documents]
    [('He came. She left.',), ('Why?',)]
    """
    for line in read_whole_lines(blocks, counts=counts):
        yield line if isinstance(line, Dropped) else prose_document(line)
