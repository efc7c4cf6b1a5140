"""Read MediaWiki XML dumps page by page.

Pages are found by their tags in the bytes, without an XML parser. A stream may thus
begin anywhere (a part of a multistream dump has no root), entities are never expanded,
every export version is read alike, and no more than one page is in memory.

Each page that is not an article is yielded as ``Dropped`` with one of the reasons
below. A line that is not UTF-8 is read as Windows-1252, as in every other format; a
page that is not text in any encoding is dropped.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pipeline.core.documents import CUT_OFF, NO_TEXT, Document, Documents, Dropped, ReadingCounts
from pipeline.storage.lines import decode, is_binary
from pipeline.wikipedia.html import character_of
from pipeline.wikipedia.wikitext import strip_wikitext
from pipeline.wikipedia.word_lists import HIDDEN_PREFIXES, WORDS

TOO_LARGE = Dropped("page too large")
OTHER_NAMESPACE = Dropped("not an article (other namespace)")
REDIRECT = Dropped("redirect")
OTHER_MODEL = Dropped("not wikitext (other content model)")
NOT_UTF8 = Dropped("not UTF-8")
DISAMBIGUATION = Dropped("disambiguation")

# The largest article of the English Wikipedia has 2 MB.
_MAX_PAGE_BYTES = 32 << 20
_MAX_HEAD_BYTES = 4 << 20

PAGE_START = re.compile(rb"<page[\s>]")
_PAGE_END = b"</page>"
_NAMESPACE_NAME = re.compile(r"<namespace\s(?>[^<>]*?key=\"(-?\d{1,9})\")[^<>/]*+>([^<]+)<")


class SiteInfo(NamedTuple):
    """What the head of a dump says about its wiki.

    Attributes:
        language: The wiki's language code, None if the dump has no head.
        namespaces: The local name of each namespace by its number.
    """

    language: str | None = None
    namespaces: Mapping[int, str] = {}

    @property
    def hidden_prefixes(self) -> frozenset[str]:
        """Lower-case names of the namespaces whose links show nothing.

        >>> "fails" in SiteInfo(namespaces={6: "Fails"}).hidden_prefixes
        True
        """
        local = (self.namespaces.get(number, "") for number in (-2, 6, 14))
        return HIDDEN_PREFIXES | {name.lower() for name in local if name}


def read_siteinfo(blocks: Iterable[bytes]) -> SiteInfo:
    """What the head of a dump says about its wiki.

    >>> read_siteinfo([b'<mediawiki xml:lang="ltg"><siteinfo><namespaces>'
    ...     b'<namespace key="6">Fails</namespace></namespaces></siteinfo>'])
    SiteInfo(language='ltg', namespaces={6: 'Fails'})
    """
    head = b""
    for block in blocks:
        searched = max(0, len(head) - len(b"<page"))
        head += block
        if len(head) >= _MAX_HEAD_BYTES or PAGE_START.search(head, searched):
            break
    first_page = PAGE_START.search(head)
    text = head[: first_page.start() if first_page else None].decode("utf-8", "replace")
    language = re.search(r"<mediawiki\b[^<>]*?\sxml:lang=[\"']([\w-]+)", text)
    names = _NAMESPACE_NAME.findall(text)
    return SiteInfo(
        language=language[1] if language else None,
        namespaces={int(number): _unescape(name) for number, name in names},
    )


def read_pages(
    blocks: Iterable[bytes], *, siteinfo: SiteInfo, counts: ReadingCounts | None = None
) -> Documents:
    """Each page of a dump as a document, or the reason why it is left out.

    Args:
        blocks: Decompressed, from the root or from anywhere before a ``<page>``.

    >>> ada, cut = read_pages([b"<page><title>A</title><ns>0</ns><revision><text>"
    ...     b"Ada wrote programs.</text></revision></page><page>"],
    ...     siteinfo=SiteInfo())
    >>> ada.paragraphs, cut
    (('Ada wrote programs.',), Dropped(reason='page cut off'))
    """
    for page in _cut_pages(blocks):
        if isinstance(page, Dropped):
            yield page
        else:
            yield _read_page(page, siteinfo=siteinfo, counts=counts)


def _cut_pages(blocks: Iterable[bytes]) -> Iterator[bytes | Dropped]:
    """Each page from its start tag up to its end tag, or why it is left out.

    >>> list(_cut_pages([b"<page>a<page>b</page>"]))
    [Dropped(reason='page cut off'), b'<page>b']
    """
    for stretch, is_ended in _stretches(blocks):
        if stretch is None:
            yield TOO_LARGE
            continue
        starts = [match.start() for match in PAGE_START.finditer(stretch)]
        for _ in starts[1:] if is_ended else starts:
            yield CUT_OFF
        if starts and is_ended:
            yield stretch[starts[-1] :]


def _stretches(blocks: Iterable[bytes]) -> Iterator[tuple[bytes | None, bool]]:
    """The bytes up to each page end, and whether that end was found.

    Yields:
        None instead of the bytes for a page that is too large to hold in memory.
    """
    buffer = bytearray()
    searched = 0
    is_skipping = False
    for block in blocks:
        buffer += block
        while (end := buffer.find(_PAGE_END, searched)) >= 0:
            yield None if is_skipping else bytes(buffer[:end]), True
            is_skipping = False
            del buffer[: end + len(_PAGE_END)]
            searched = 0
        searched = max(0, len(buffer) - len(_PAGE_END) + 1)
        if len(buffer) > _MAX_PAGE_BYTES:
            is_skipping = is_skipping or PAGE_START.search(buffer) is not None
            del buffer[:searched]
            searched = 0
    yield None if is_skipping else bytes(buffer), False


_TEXT_START = re.compile(rb"<text\b[^<>]*?(/?)>")
_MODEL = re.compile(rb"<model>([^<]*+)</model>")
_NAMESPACE = re.compile(rb"<ns>\s*(-?\d{1,9})\s*</ns>")
_TITLE = re.compile(rb"<title>([^<]*)</title>")
_TITLE_IN_PARENTHESES = re.compile(r"\(([^()]+)\)$")


def _read_page(
    page: bytes, *, siteinfo: SiteInfo, counts: ReadingCounts | None
) -> Document | Dropped:
    """The text of an article as a document, or the reason why the page has none."""
    # The last revision, should the dump have the history.
    head, _, revision = page.rpartition(b"<revision")
    reason = _reason_in_head(head, siteinfo=siteinfo)
    if reason:
        return reason
    opening = _TEXT_START.search(revision)
    if not opening or opening[1]:
        return NO_TEXT
    model = _MODEL.search(revision)
    if model and model[1].strip() != b"wikitext":
        return OTHER_MODEL
    content, end, _ = revision[opening.end() :].partition(b"</text>")
    if not end:
        return CUT_OFF
    if is_binary(content):
        return NOT_UTF8
    text = decode(content, counts=counts)
    if text.startswith("<![CDATA["):
        text = text.removeprefix("<![CDATA[").removesuffix("]]>")
    else:
        text = _unescape(text)
    if _is_redirect(text):
        return REDIRECT
    if _is_disambiguation(text):
        return DISAMBIGUATION
    paragraphs = strip_wikitext(text, prefixes=siteinfo.hidden_prefixes, counts=counts)
    return Document(tuple(paragraphs)) if paragraphs else NO_TEXT


def _reason_in_head(head: bytes, *, siteinfo: SiteInfo) -> Dropped | None:
    """Why title, namespace or redirect tag rule a page out, None if they do not.

    >>> _reason_in_head(b"<title>Talk:A</title><ns>1</ns>", siteinfo=SiteInfo())
    Dropped(reason='not an article (other namespace)')
    """
    found = _TITLE.search(head)
    title = _unescape(found[1].decode("utf-8", "replace")) if found else ""
    namespace = _NAMESPACE.search(head)
    if namespace:
        is_article = int(namespace[1]) == 0
    else:
        # Exports before 0.6 have no <ns>, only a prefix of the title.
        prefix, colon, _ = title.partition(":")
        names = {name.lower() for number, name in siteinfo.namespaces.items() if number}
        is_article = not colon or prefix.lower() not in names | {*WORDS["namespace"]}
    if not is_article:
        return OTHER_NAMESPACE
    if b"<redirect" in head:
        return REDIRECT
    meaning = _TITLE_IN_PARENTHESES.search(title)
    if meaning and meaning[1].lower() in WORDS["disambiguation template"]:
        return DISAMBIGUATION
    return None


_CHARACTER_REFERENCE = re.compile(r"&#(\d{1,7}|[xX][0-9a-fA-F]{1,6});")
_XML_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&amp;", "&"))


def _unescape(text: str) -> str:
    r"""The text with XML's five entities and character references resolved.

    Any other entity stays as it is, so that no entity can make the text grow.

    >>> _unescape("&lt;b&gt; &quot;AT&amp;T&quot; &#65;&#38;amp; &bomb;")
    '<b> "AT&T" A&amp; &bomb;'
    """
    if "&#" in text:
        text = _CHARACTER_REFERENCE.sub(
            lambda found: character_of(found[1]).replace("&", "&amp;"), text
        )
    for entity, character in _XML_ENTITIES:
        text = text.replace(entity, character)
    return text


_REDIRECT = re.compile(r"\s*+[#＃]( ?)([^\W\d][\w -]{0,30}?) ?[:：]?[\s]{0,9}\[\[")
_TEMPLATE_NAME = re.compile(r"\{\{([^|{}\n<]{2,50})")
_SWITCH = re.compile(r"__\w{4,20}?__")


def _is_redirect(text: str) -> bool:
    """Whether the text begins like a redirect, in any language.

    >>> _is_redirect("#REDIRECT [[A]]"), _is_redirect("#Weiterleitung [[A]]")
    (True, True)
    >>> _is_redirect("# First [[A]]")
    False
    """
    found = _REDIRECT.match(text)
    return found is not None and (
        (not found[1] and found[2].upper() == found[2])
        or found[2].lower() in WORDS["redirect word"]
    )


def _is_disambiguation(text: str) -> bool:
    r"""Whether a template or switch marks the page as a list of meanings.

    >>> _is_disambiguation("'''A''' may be:\n* [[B]]\n{{Disambig}}")
    True
    """
    names = {
        " ".join(name.replace("_", " ").split()).lower() for name in _TEMPLATE_NAME.findall(text)
    }
    words = map(str.lower, _SWITCH.findall(text))
    is_none = names.isdisjoint(WORDS["disambiguation template"])
    return not (is_none and {*words}.isdisjoint(WORDS["disambiguation word"]))
