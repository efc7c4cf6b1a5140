"""Turn wikitext into paragraphs of plain text.

The time is linear in the length of any text: a stack resolves the brackets
(`brackets`), and no regular expression reads the same characters again from each place
where it could start.

* Kept: running text, quotations, the text of links, of the templates in `words.txt` and
  inside HTML tags.
* Kept if they are prose: list items and definitions of at least eight words, or five
  that end like a sentence; each becomes a paragraph (`paragraphs`).
* Left out: headings, tables, files with their captions, galleries, formulas, source
  code, references, categories, interlanguage links, and the sections after an article
  (references, notes, see also, further reading, external links; `names`).
"""

import re
from collections.abc import Collection

from pipeline.core.documents import ReadingCounts
from pipeline.wikipedia.brackets import resolve_brackets
from pipeline.wikipedia.html import UNWANTED, remove_elements, remove_tags
from pipeline.wikipedia.paragraphs import prose_paragraphs
from pipeline.wikipedia.word_lists import HIDDEN_PREFIXES

# Alternatives by language variant: -{zh-hans:A;zh-hant:B}-.
_VARIANT = re.compile(r"-\{([^{}]*+)\}-")
_VARIANT_NAME = re.compile(r"(?i)^\s*[a-z]{2,3}(?:-[a-z]+)?\s*:")
_VARIANT_FLAGS = re.compile(r"[\w;\s-]*+")
# A title, a hidden rule, the removal of one, and its description.
_HIDDEN_VARIANT_FLAGS = frozenset("TH-D")

_EXTERNAL_LINK = re.compile(
    r"(?i)\[(?:(?:https?|ftps?|ircs?|gopher|git|svn|telnet|nntp|worldwind):)?//"
    r"[^\s\[\]<>\"]*+[ \t]*+([^\[\]\n]*+)\]"
)
_OPEN_EXTERNAL_LINK = re.compile(r"(?i)\[(?:https?|ftps?)://[^\s\[\]<>\"]*+")

_BEHAVIOUR_SWITCH = re.compile(r"__([^\W\d_][^\W\d]{2,40}?)__")
_APOSTROPHE_AND_ITALICS = re.compile(r"'''(?<=\w''')(?=\w)")
_QUOTE_RUN = re.compile(r"''++")
_BLANK_LINES = re.compile(r"\n{3,}")


def strip_wikitext(
    text: str, *, prefixes: Collection[str] = HIDDEN_PREFIXES, counts: ReadingCounts | None = None
) -> list[str]:
    r"""The paragraphs of plain text of a page.

    Args:
        prefixes: Lower-case names of the namespaces whose links show nothing, File and
            Category in the wiki's language (``mediawiki.SiteInfo.hidden_prefixes``).

    >>> strip_wikitext("'''Ada''' ({{IPA|x}}; born [[1815]]) wrote<ref>x</ref> a "
    ...     "[[computer program|program]].\n== See also ==\n* [[Babbage]]")
    ['Ada (born 1815) wrote a program.']
    """
    text = UNWANTED.sub("", text.replace("\r\n", "\n"))
    if "<" in text:
        text = remove_elements(text)
    if "-{" in text:
        text = _VARIANT.sub(_variant_text, text)
    text = resolve_brackets("\n" + text, prefixes=prefixes)
    if "//" in text:
        text = _EXTERNAL_LINK.sub(r"\1", text)
        text = _OPEN_EXTERNAL_LINK.sub("", text)
    if "<" in text:
        text = remove_tags(text)
    if "__" in text:
        # Any other name, such as __init__, is text.
        text = _BEHAVIOUR_SWITCH.sub(
            lambda found: "" if found[1] == found[1].upper() else found[0], text
        )
    if "''" in text:
        if _APOSTROPHE_AND_ITALICS.search(text):
            text = "\n".join(map(_keep_apostrophe, text.split("\n")))
        text = text.replace("'''''", "").replace("'''", "").replace("''", "")
    return prose_paragraphs(_BLANK_LINES.sub("\n\n", text), counts=counts)


def _variant_text(variant: re.Match[str]) -> str:
    """What ``-{...}-`` shows in the wiki's first variant.

    >>> _VARIANT.sub(_variant_text, "-{zh-hans:A;zh-hant:B}- -{H|C}- -{R|D}- -{E}-")
    'A  D E'
    >>> _VARIANT.sub(_variant_text, "-{A|zh-cn:A;zh-tw:B}- -{zh-hans;zh-hant|C}-")
    'A C'
    >>> _VARIANT.sub(_variant_text, "-{H|zh-cn:[[a|b]]}- -{zh-cn:[[a|b]];zh-tw:c}-")
    ' [[a|b]]'
    """
    flags, bar, content = variant[1].partition("|")
    if not bar or not _VARIANT_FLAGS.fullmatch(flags):
        flags, content = "", variant[1]
    names = (flag.strip().upper() for flag in flags.split(";"))
    if _HIDDEN_VARIANT_FLAGS.intersection(names):
        return ""
    first = content.partition(";")[0]
    name = _VARIANT_NAME.match(first)
    return first[name.end() :].strip() if name else content


def _keep_apostrophe(line: str) -> str:
    """A line with the first ``l'''`` read as an apostrophe before italics.

    The wiki does so when a line has both an odd number of bold and of italic marks.

    >>> _keep_apostrophe("dell'''Odissea'' e '''Ada'''")
    "dell&#39;''Odissea'' e '''Ada'''"
    """
    lengths = [len(run) for run in _QUOTE_RUN.findall(line)]
    bold = sum(length >= 3 for length in lengths)
    italic = sum(length == 2 or length >= 5 for length in lengths)
    if bold % 2 and italic % 2:
        return _APOSTROPHE_AND_ITALICS.sub("&#39;''", line, count=1)
    return line
