"""Articles that another program took out of Wikipedia: wikiextractor, or Hugging Face.

Their text is plain, one paragraph a line, but not clean: the title comes first once
more, templates that vanished left holes such as "( ; born )", headings stand between
the paragraphs, and some lines are code that was not understood.
"""

import re
from collections.abc import Iterable, Iterator

from pipeline.documents import Document, Dropped
from pipeline.plain_text import NO_TEXT
from pipeline.wiki_paragraphs import close_holes, is_apparatus

# A line with fewer words is a heading ("Early life."), a caption or an item of a list.
_MIN_SENTENCE_WORDS = 6
_MIN_WORDS = 8
_LONGEST_TITLE = 60
# Behind "References" and the like only long paragraphs are part of the article.
_MIN_WORDS_IN_APPARATUS = 40
# Where "words" are longer than the first, the script has none; then count characters.
_LONGEST_WORDS = 12
_CHARACTERS_PER_WORD = 2

_SENTENCE_ENDS = tuple(".!?…。！？؟।։\"'”’»)")
_CODE = re.compile(r"\{[{|]|[}|]\}")
_CODE_STARTS = ("|", "!", "=", "#", "*")
# "as of 2013[ [update]]", "Fresnel ( ; ]; 1788", "the ring [[of the king".
_BRACKETS = re.compile(r"\[ ?\[update\]\]|(?<=[(\s])\][;,]?|\[\[|\]\]")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
# json-wikipedia's name for a template it could not render.
_TEMPLATE = "TEMPLATE["
_EITHER_BRACKET = re.compile(r"[\[\]]")


def article_document(lines: Iterable[str], *, title: str) -> Document | Dropped:
    """The lines of an article as a document.

    >>> article_document(["Ada", "", "Ada ( ; born 1815) wrote the first programs.",
    ...                   "See also."], title="Ada").paragraphs
    ('Ada (born 1815) wrote the first programs.',)
    """
    paragraphs = tuple(article_paragraphs(lines, title=title))
    return Document(paragraphs) if paragraphs else NO_TEXT


def article_paragraphs(lines: Iterable[str], *, title: str) -> Iterator[str]:
    """The lines of an article that are prose, without holes."""
    min_words = 0
    is_first = True
    for line in lines:
        if not line or line.isspace():
            continue
        is_title, is_first = is_first and line.strip() == title, False
        if is_title:
            continue
        if len(line) < _LONGEST_TITLE and is_apparatus(line):
            min_words = _MIN_WORDS_IN_APPARATUS
            continue
        if line.count(" ") + 1 < _MIN_SENTENCE_WORDS and line.isascii():
            continue
        paragraph = close_holes(remove_residue(line))
        words = count_words(paragraph)
        is_sentence = paragraph.endswith(_SENTENCE_ENDS)
        if words >= max(min_words, _MIN_SENTENCE_WORDS if is_sentence else _MIN_WORDS):
            yield paragraph


def remove_residue(line: str) -> str:
    """Leave out tags and brackets; nothing is left of a line of code.

    >>> remove_residue("as of 2013[ [update]] there are<br> 9"), remove_residue("|x={{")
    ('as of 2013 there are 9', '')
    """
    if line.lstrip().startswith(_CODE_STARTS):
        return ""
    if ("{" in line or "}" in line) and _CODE.search(line):
        return ""
    if "]" in line or "[[" in line:
        if _TEMPLATE in line:
            line = remove_templates(line)
        line = _BRACKETS.sub("", line)
    if "<" in line:
        line = _TAG.sub("", line)
    return line


def remove_templates(line: str) -> str:
    """Leave out ``TEMPLATE[name, [[link]]]`` with what is nested in it.

    >>> remove_templates("It is TEMPLATE[cn, [[a, b]] c] so.")
    'It is  so.'
    """
    kept = []
    position = 0
    while (start := line.find(_TEMPLATE, position)) >= 0:
        kept.append(line[position:start])
        depth = 1
        position = len(line)
        for bracket in _EITHER_BRACKET.finditer(line, start + len(_TEMPLATE)):
            depth += 1 if bracket[0] == "[" else -1
            if depth == 0:
                position = bracket.end()
                break
    return "".join(kept) + line[position:]


def count_words(text: str) -> int:
    """Words, estimated by length where a script is written without spaces.

    >>> count_words("He wrote it."), count_words("彼は最初のプログラムを書いた。")
    (3, 7)
    """
    words = text.count(" ") + 1 if text else 0
    if text.isascii() or len(text) < words * _LONGEST_WORDS:
        return words
    return len(text) // _CHARACTERS_PER_WORD
