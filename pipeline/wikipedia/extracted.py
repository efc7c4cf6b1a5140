"""Articles that another program extracted from Wikipedia.

The output of wikiextractor and the data sets of Hugging Face are plain text with a
paragraph on each line, but not clean: the title is repeated at the start, templates
left holes such as "( ; born )", headings stand between the paragraphs, and some lines
are code that the program did not understand.

wikiextractor's ``<doc>`` blocks look like XML but are not: nothing inside them is
escaped, so an XML parser would fail or misread them.
"""

import html
import itertools
import re
from collections.abc import Iterable, Iterator

from pipeline.core.documents import (
    CUT_OFF,
    NO_TEXT,
    NOT_PROSE,
    Document,
    Documents,
    Dropped,
    ReadingCounts,
)
from pipeline.core.writing_systems import ends_sentence
from pipeline.storage.lines import decode
from pipeline.wikipedia.html import decode_entities
from pipeline.wikipedia.paragraphs import (
    LONGEST_TITLE,
    close_holes,
    count_words,
    is_apparatus,
    is_running,
    names_text,
)

REST_TOO_LARGE = Dropped("rest of a page too large")

# The text kept of one article, so that a block without end cannot fill the memory.
_MOST_CHARACTERS = 32 << 20

# A title has 255 bytes at most. The limit keeps the line within what is read of it when
# a file is read in ranges (`pipeline.storage.lines.LINE_PREFIX_BYTES`).
_MAX_OPENING_CHARACTERS = 1000
_ATTRIBUTES = (' id="', ' title="')
_ADDRESS = re.compile(rb'(?:\xef\xbb\xbf)?\s*<doc\b[^>\n]*?\burl="([^"\n]*)"')


def starts_article(line: bytes) -> bool:
    r"""Whether an article begins with a line.

    >>> starts_article(b'<doc id="1" url="u" title="Ada">'), starts_article(b"<doc is")
    (True, False)
    """
    return _opened_title(decode(line).partition("\n")[0]) is not None


def find_address(head: bytes) -> str:
    """The address of the article with which a file begins; empty if it has none.

    >>> find_address(b'<doc id="1" url="https://uk.wikipedia.org/wiki/1" title="A">')
    'https://uk.wikipedia.org/wiki/1'
    """
    found = _ADDRESS.match(head)
    return found[1].decode("ascii", "replace") if found else ""


def read_articles(lines: Iterable[str], *, counts: ReadingCounts | None = None) -> Documents:
    """The articles of a file.

    >>> [document.paragraphs for document in read_articles([
    ...     '<doc id="1" title="Ada &amp; I">', "Ada & I", "",
    ...     "Ada wrote the first of all programs.", "</doc>", "<doc>"])]
    [('Ada wrote the first of all programs.',)]
    """
    title: str | None = None
    body: list[str] = []
    characters = 0
    for line in lines:
        if (opened := _opened_title(line)) is not None:
            if title is not None:
                yield CUT_OFF
            title, body, characters = opened, [], 0
        elif title is None:
            continue
        elif line.startswith("</doc>"):
            yield article_document(body, title=title, counts=counts)
            yield from [REST_TOO_LARGE] * (characters > _MOST_CHARACTERS)
            title = None
        else:
            characters += len(line)
            if characters <= _MOST_CHARACTERS:
                body.append(line)
    if title is not None:
        yield CUT_OFF


def _opened_title(line: str) -> str | None:
    """The title of the article that begins with a line, None for other lines.

    A line of an article may begin like a tag; only one with all attributes is a tag.

    >>> _opened_title('<doc id="1" title="A "B" C">'), _opened_title("<doc of a kind>")
    ('A "B" C', None)
    """
    if not line.startswith("<doc ") or len(line) > _MAX_OPENING_CHARACTERS:
        return None
    tag = line.rstrip()
    if not tag.endswith(">") or not all(part in tag for part in _ATTRIBUTES):
        return None
    # Quotation marks in a title are not escaped: it goes on to the last of them.
    start = tag.index(_ATTRIBUTES[1]) + len(_ATTRIBUTES[1])
    return html.unescape(tag[start : tag.rfind('"')])


# A line with fewer words is a heading ("Early life."), a caption or a list item.
_MIN_SENTENCE_WORDS = 6
_MIN_WORDS = 8
# After "References" and the like, only long paragraphs belong to the article.
_MIN_WORDS_IN_APPARATUS = 40

_CODE = re.compile(r"\{[{|]|[}|]\}")
_CODE_STARTS = ("|", "!", "=", "#", "*")
# "as of 2013[ [update]]", "Fresnel ( ; ]; 1788", "the ring [[of the king".
_BRACKETS = re.compile(r"\[ ?\[update\]\]|(?<=[(\s])\][;,]?|\[\[|\]\]")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_LINE_BREAK = re.compile(r"(?i)</?br\b[^<>]{0,200}>\s*")
# Of wikiextractor with sections and lists, and of Wiki-40B.
_HEADING, _ITEM = "Section::::", "BULLET::::- "
_START_ARTICLE = "_START_ARTICLE_"
# json-wikipedia's name for a template it could not render.
_TEMPLATE = "TEMPLATE["
_HATNOTE = re.compile(
    r"(?i).*[:：]\s*\.\s*"
    r"|(?:see|siehe|voir|véase|vea|ver|veja|vedi|vezi|zie|se) \w+\s?[:：]\s*"
)
# A heading of up to six words, as wikiextractor ends them with a full stop.
_TITLE = re.compile(r"[^\W\d_][^\W_]*(?:[ ’'-][^\W\d_][^\W_]*){0,5}\.?\s*")
_OF_TEMPLATE = re.compile(r"(TEMPLATE\[|[\[\]])")


def article_document(
    lines: Iterable[str], *, title: str, counts: ReadingCounts | None = None
) -> Document | Dropped:
    """The lines of an article as a document.

    >>> article_document(["Ada", "", "Ada ( ; born 1815) wrote the first programs.",
    ...                   "See also."], title="Ada").paragraphs
    ('Ada (born 1815) wrote the first programs.',)
    """
    found = list(article_paragraphs(lines, title=title))
    paragraphs = tuple(filter(None, found))
    if counts is not None:
        counts.dropped[NOT_PROSE] += len(found) - len(paragraphs)
    return Document(paragraphs) if paragraphs else NO_TEXT


def article_paragraphs(lines: Iterable[str], *, title: str) -> Iterator[str]:
    """The lines of an article that are prose, an empty one for every other."""
    min_words, is_after_title = 0, False
    full = [line for line in lines if line and not line.isspace()]
    for place, (raw, following) in enumerate(itertools.pairwise([*full, ""])):
        line = raw
        if "&" in raw:
            line = _LINE_BREAK.sub(" ", decode_entities(raw))
        if place == 0 and line.strip() == title:
            continue
        heading = line.removeprefix(_HEADING)
        if len(heading) < LONGEST_TITLE and is_apparatus(heading):
            # "See also: ." is what is left of a link to another article.
            if not _HATNOTE.fullmatch(heading):
                is_text = names_text(heading, following)
                min_words = 0 if is_text else _MIN_WORDS_IN_APPARATUS
                is_after_title = False
        elif heading != line:
            min_words = 0
            yield ""
        else:
            # A name in the apparatus may look like the title of another section, which
            # therefore ends with its running text.
            is_text = min_words > 0 and is_after_title and is_running(line)
            least = 0 if is_text else min_words
            yield _prose_of(line.removeprefix(_ITEM), min_words=least)
            is_after_title = is_text or (min_words > 0 and _TITLE.fullmatch(line) is not None)


def _prose_of(line: str, *, min_words: int) -> str:
    """A line as a paragraph; empty if it is not prose."""
    if line.count(" ") + 1 < _MIN_SENTENCE_WORDS and line.isascii():
        return ""
    paragraph = close_holes(remove_residue(line))
    words = count_words(paragraph)
    # A bracket is what is left of a reference or a link.
    is_sentence = ends_sentence(paragraph) and paragraph[-1] != "]"
    enough = max(min_words, _MIN_SENTENCE_WORDS if is_sentence else _MIN_WORDS)
    return paragraph if words >= enough else ""


def remove_residue(line: str) -> str:
    """A line without tags and brackets, or nothing for a line of code.

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


def is_wiki40b(text: str) -> bool:
    """Whether a text has the markers of Wiki-40B."""
    return _START_ARTICLE in text[:100]


def lines_of_wiki40b(text: str) -> list[str]:
    r"""The lines of an article; of Wiki-40B without its marks and its title.

    >>> lines_of_wiki40b("\n_START_ARTICLE_\nAda\n_START_SECTION_\nLife\n"
    ...                  "_START_PARAGRAPH_\nShe wrote._NEWLINE_She died.")
    ['Section::::Life', 'She wrote.', 'She died.']
    """
    text = re.sub(f"{_START_ARTICLE}\n.*|_START_PARAGRAPH_", "", text)
    lines = text.replace("_START_SECTION_\n", _HEADING).replace("_NEWLINE_", "\n").split("\n")
    return [*filter(None, lines)]


def remove_templates(line: str) -> str:
    """A line without ``TEMPLATE[name, [[link]]]`` and what is nested in it.

    >>> remove_templates("It is TEMPLATE[cn, [[a, b]] c] so.")
    'It is  so.'
    """
    kept = []
    depth = 0
    for part in _OF_TEMPLATE.split(line):
        if depth or part == _TEMPLATE:
            depth += part.endswith("[") - (part == "]")
        else:
            kept.append(part)
    return "".join(kept)
