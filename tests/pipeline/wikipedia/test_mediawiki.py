"""The dump reader: what a page becomes, and every way a dump can be bad."""

import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.documents import Document, Dropped, ReadingCounts
from pipeline.storage.lines import NOT_UTF8, NUL_BYTES
from pipeline.wikipedia import mediawiki
from pipeline.wikipedia.mediawiki import SiteInfo, read_pages, read_siteinfo

PROSE = "Ada Lovelace wrote the first program."
HEAD = b"""<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/"
  version="0.11" xml:lang="de">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <namespaces>
      <namespace key="-2" case="first-letter">Medium</namespace>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Diskussion</namespace>
      <namespace key="6" case="first-letter">Dateil</namespace>
      <namespace key="14" case="first-letter">R &amp; D</namespace>
    </namespaces>
  </siteinfo>
"""


def page(text: str = PROSE, *, head: str = "<ns>0</ns>", title: str = "Ada") -> bytes:
    return (
        f"  <page>\n    <title>{title}</title>\n    {head}\n    <id>1</id>\n"
        "    <revision>\n      <id>2</id>\n      <model>wikitext</model>\n"
        f'      <text bytes="9" xml:space="preserve">{text}</text>\n'
        "      <sha1>x</sha1>\n    </revision>\n  </page>\n"
    ).encode()


def read(dump: bytes, siteinfo: SiteInfo | None = None) -> list[Document | Dropped]:
    return list(read_pages([dump], siteinfo=siteinfo or SiteInfo()))


GOOD = Document((PROSE,))


def test_siteinfo_has_language_and_local_names_by_which_files_are_hidden() -> None:
    siteinfo = read_siteinfo([HEAD + page()])
    assert siteinfo == SiteInfo(
        language="de", namespaces={-2: "Medium", 1: "Diskussion", 6: "Dateil", 14: "R & D"}
    )
    assert {"medium", "dateil", "r & d", "file", "kategorie"} <= siteinfo.hidden_prefixes
    assert read(page(f"[[Dateil:Turm|mini|Ein Turm]] {PROSE}"), siteinfo) == [GOOD]


@pytest.mark.parametrize(
    "dump",
    [
        HEAD + page() + page() + b"</mediawiki>",
        page() + page(),
        b"    </siteinfo>\n" + page() + page(),
        b"\xef\xbb\xbf" + HEAD + page() + page(),
        page() + b"</mediawiki>" + HEAD + page() + b"</mediawiki>",
    ],
    ids=["whole", "bare pages", "from the middle", "byte order mark", "concatenated"],
)
def test_pages_are_found_wherever_the_stream_begins(dump: bytes) -> None:
    assert read(dump) == [GOOD, GOOD]


REASONS = {
    "other namespace": (page(head="<ns>14</ns>"), mediawiki.OTHER_NAMESPACE),
    "talk, old export": (page(head="", title="Talk:A"), mediawiki.OTHER_NAMESPACE),
    "redirect tag": (page(head='<ns>0</ns><redirect title="B" />'), mediawiki.REDIRECT),
    "redirect text": (page("#REDIRECT [[B]]"), mediawiki.REDIRECT),
    "redirect in Russian": (page("#перенаправление [[B]]"), mediawiki.REDIRECT),
    "redirect in German": (page(" #Weiterleitung: [[B]]"), mediawiki.REDIRECT),
    "redirect in Japanese": (page("#転送[[B]]"), mediawiki.REDIRECT),
    "disambiguation": (page(PROSE + "\n{{Disambig}}"), mediawiki.DISAMBIGUATION),
    "with arguments": (page(PROSE + "{{hndis|name=A}}"), mediawiki.DISAMBIGUATION),
    "in German": (page(PROSE + "{{Begriffsklärung}}"), mediawiki.DISAMBIGUATION),
    "by switch": (page(PROSE + " __DISAMBIG__"), mediawiki.DISAMBIGUATION),
    "by title": (page(title="Ada (disambiguation)"), mediawiki.DISAMBIGUATION),
    "empty": (page(""), mediawiki.NO_TEXT),
    "only markup": (page("{{Infobox|a=b}}\n[[Category:A]]"), mediawiki.NO_TEXT),
    "deleted text": (page().replace(PROSE.encode() + b"</text>", b"").replace(
        b'"preserve">', b'"preserve" deleted="deleted" />'), mediawiki.NO_TEXT),
    "no text element": (b"<page><title>A</title><ns>0</ns></page>", mediawiki.NO_TEXT),
    "other model": (page().replace(b"wikitext", b"json"), mediawiki.OTHER_MODEL),
    "binary": (page("@").replace(b"@", bytes(
        byte for byte in range(1, 256) if byte != ord("<"))), mediawiki.NOT_UTF8),
    "text cut off": (page().replace(b"</text>", b""), mediawiki.CUT_OFF),
}  # fmt: skip


@pytest.mark.parametrize(("bad", "reason"), REASONS.values(), ids=REASONS)
def test_a_page_that_is_no_article_has_a_reason(bad: bytes, reason: Dropped) -> None:
    assert read(page() + bad + page()) == [GOOD, reason, GOOD]


BAD_INPUT = {
    "cut in a page": (page() + page()[:-60], [GOOD, mediawiki.CUT_OFF]),
    "cut in the end tag": (page() + page()[:-4], [GOOD, mediawiki.CUT_OFF]),
    "cut, then whole": (page()[:90] + page(), [mediawiki.CUT_OFF, GOOD]),
    "no page": (HEAD, []),
    "empty": (b"", []),
    "not XML": (b"\x00\xff binary <pag </page> </page>", []),
    "NUL bytes": (page("Ada\x00 Lovelace wrote\x00 the first program."), [GOOD]),
    "a few bad bytes": (
        page(f"{PROSE} " * 60).replace(b"first", b"first\xff", 1),
        [Document(((f"{PROSE} " * 60).strip().replace("first", "firstÿ", 1),))],
    ),
    "Latin-1": (
        page("Die Größe ist groß.").decode().encode("latin-1"),
        [Document(("Die Größe ist groß.",))],
    ),
    "XML bomb": (
        b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><mediawiki>'
        + page("This laughs &b; without an end &amp; more."),
        [Document(("This laughs &b; without an end & more.",))],
    ),
    "CDATA": (page(f"<![CDATA[{PROSE}]]>"), [GOOD]),
    "a title and markup": (
        page("'''Ada''' wrote &lt;b&gt;many&lt;/b&gt; programs &amp;amp; more&amp;nbsp;so."),
        [Document(("Ada wrote many programs & more so.",))],
    ),
    "white space around the model": (page().replace(b"wikitext", b" wikitext\n"), [GOOD]),
    "many revisions": (
        page("An older text of the page.").replace(b"</page>", b"")
        + page().partition(b"<id>1</id>")[2],
        [GOOD],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("dump", "expected"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_loses_no_good_page(dump: bytes, expected: list[Document | Dropped]) -> None:
    assert read(dump) == expected


def endless(*, size: int, end: bytes) -> Iterator[bytes]:
    """The blocks of one page that is too large."""
    yield b"<page><title>A</title><text>"
    for _ in range(size >> 20):
        yield b"x" * (1 << 20)
    yield end


@pytest.mark.parametrize("end", [b"", b"</text></page>" + page()])
def test_a_huge_page_is_dropped_and_not_held(end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mediawiki, "_MAX_PAGE_BYTES", 5_000_000)
    held = list(mediawiki._stretches(endless(size=50_000_000, end=end)))
    assert max(len(stretch or b"") for stretch, _ in held) < 7_000_000
    found = list(read_pages(endless(size=50_000_000, end=end), siteinfo=SiteInfo()))
    assert found == [mediawiki.TOO_LARGE, *([GOOD] if end else [])]


def test_a_long_stretch_without_pages_is_no_page() -> None:
    assert read(b"x" * 40_000_000 + page()) == [GOOD]


def test_small_blocks_change_nothing() -> None:
    dump = HEAD + page() + page("") + page()
    blocks = [dump[start : start + 7] for start in range(0, len(dump), 7)]
    assert list(read_pages(blocks, siteinfo=SiteInfo())) == [GOOD, mediawiki.NO_TEXT, GOOD]
    assert read_siteinfo(blocks) == read_siteinfo([dump])


@given(st.lists(st.sampled_from([page(), b"<page>", b"</page>", b"<text>", b"<", b"\xff"])))
@settings(max_examples=100, deadline=None)
def test_no_bytes_raise_and_whole_pages_survive(pieces: list[bytes]) -> None:
    found = read(b"x" + b"".join(pieces))
    assert found.count(GOOD) == pieces.count(page())


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_bytes_as_text_give_a_document_or_a_reason(content: bytes) -> None:
    assert len(read(page("@").replace(b"@", content.replace(b"<", b"&lt;")))) == 1


@pytest.mark.parametrize("unit", ["<model>", "<model> ", " ", "\t\n", "<ns>", "<title>"])
def test_a_megabyte_of_hostile_head_takes_seconds_at_most(unit: str) -> None:
    hostile = unit * (1_000_000 // len(unit))
    start = time.process_time()
    read(page().replace(b"wikitext</model>", b"<model>" + hostile.encode()))
    read(page(head=hostile))
    assert time.process_time() - start < 10


@pytest.mark.parametrize("unit", ['key="1" ', '<namespace key="1"', "key="])
def test_a_megabyte_of_hostile_namespaces_takes_seconds_at_most(unit: str) -> None:
    hostile = unit * (1_000_000 // len(unit))
    start = time.process_time()
    read_siteinfo([f"<mediawiki><namespace {hostile}".encode()])
    assert time.process_time() - start < 10


def test_the_number_of_a_namespace_may_be_absurd() -> None:
    head = f'<mediawiki><namespace key="{"9" * 5000}">A</namespace>'
    assert read_siteinfo([head.encode()]) == SiteInfo()


def test_what_is_read_otherwise_than_it_stands_there_is_counted() -> None:
    counts = ReadingCounts()
    dump = page(f"Zo\0é: {PROSE}\n\n\0{PROSE}\n\nZoé: {PROSE}").replace("é".encode(), b"\xe9")
    found = list(read_pages([dump], siteinfo=SiteInfo(), counts=counts))
    assert found == [Document((f"Zoé: {PROSE}", PROSE, f"Zoé: {PROSE}"))]
    assert counts.changed == {NOT_UTF8: 2, NUL_BYTES: 2}
