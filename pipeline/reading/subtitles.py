"""Subtitles (SubRip, WebVTT): what is said, without numbers, times and tags."""

import re
from collections.abc import Iterable, Iterator

from pipeline.core.documents import NO_TEXT, Document, Dropped
from pipeline.core.scripts import ends_sentence

_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d{1,2}[,.]\d{1,3}"
_TIMES = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}.*")
_HEAD = re.compile(
    rf"\s*(?:WEBVTT\b|(?:\d+[^\S\n]*\n)?{_TIME}[^\S\n]*-->[^\S\n]*{_TIME})"
)
# Tags of looks, of positions, and what is heard and not said.
_NOT_SPOKEN = re.compile(
    r"</?[a-zA-Z0-9][^<>\n]{0,100}>|\{\\[^{}\n]{0,100}\}|\[[^\[\]\n]{0,200}\]|[♪♫]"
)
_SPEAKER_CHANGES = re.compile(r"[-–—]\s*(?=\S)")
# A paragraph without the end of a sentence is ended here.
_MAX_PARAGRAPH_CHARACTERS = 2000


def is_subtitles(head: str) -> bool:
    r"""Whether a file that begins like this is subtitles.

    >>> is_subtitles("1\n00:00:04,004 --> 00:00:07,007\nWho?"), is_subtitles("1\nA")
    (True, False)
    """
    return _HEAD.match(head) is not None


def read_subtitles(lines: Iterable[str]) -> Iterator[Document | Dropped]:
    """The speech of a file, as one document; a paragraph ends with its sentence.

    >>> [document.paragraphs for document in read_subtitles([
    ...     "1", "00:00:01,000 --> 00:00:02,000", "- Who <i>left</i>", "the gate open?",
    ...     "- Not me.", "", "2", "00:00:03,000 --> 00:00:04,000", "[whistle]"])]
    [('Who left the gate open?', 'Not me.')]
    """
    paragraphs: list[str] = []
    is_open = False
    for line in _spoken_lines(lines):
        change = _SPEAKER_CHANGES.match(line)
        spoken = line[change.end() :] if change else line
        text = " ".join(_NOT_SPOKEN.sub("", spoken).split())
        if not any(map(str.isalnum, text)):
            continue
        if is_open and not change and len(paragraphs[-1]) < _MAX_PARAGRAPH_CHARACTERS:
            paragraphs[-1] += f" {text}"
        else:
            paragraphs.append(text)
        is_open = not ends_sentence(text)
    yield Document(tuple(paragraphs)) if paragraphs else NO_TEXT


def _spoken_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines after a cue's times, up to the blank line that ends the cue."""
    is_spoken = False
    for line in lines:
        if _TIMES.fullmatch(line):
            is_spoken = True
        elif not line:
            is_spoken = False
        elif is_spoken:
            yield line
