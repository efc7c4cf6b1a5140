"""The demo's text: the language reference that ships inside every Python.

Half of its topics are written out as a MediaWiki dump, escaped as an editor would, and
half as plain-text books, so that both readers work for real.
"""

import html
import pydoc_data.topics
import re
from pathlib import Path

# Characters that mean something in wikitext, or a line start that does.
_MARKUP = re.compile(r"[\[\]{}<>&|~_=]|''|^[*#:;! -]|https?:")

_LOOSE_STOP = re.compile(r" [.,](\s|$)")

_DUMP = """\
<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" \
xml:lang="en">
  <siteinfo>
    <sitename>Language reference</sitename>
    <dbname>referencewiki</dbname>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="6" case="first-letter">File</namespace>
      <namespace key="14" case="first-letter">Category</namespace>
    </namespaces>
  </siteinfo>
{pages}</mediawiki>
"""

_PAGE = """\
  <page>
    <title>{title}</title>
    <ns>0</ns>
    <id>{number}</id>
    <revision>
      <model>wikitext</model>
      <text xml:space="preserve">{text}</text>
    </revision>
  </page>
"""


def prose(topic: str) -> list[str]:
    r"""The paragraphs of a topic that are sentences, without headings, code and tables.

    >>> prose("Title\n*****\n\nOne plain sentence of\nprose, no code.\n\n   a = 1")
    ['One plain sentence of prose, no code.']
    """
    paragraphs = (" ".join(block.split()) for block in re.split(r"\n\s*\n", topic))
    return [
        paragraph
        for paragraph in paragraphs
        if paragraph.endswith((".", "!", "?"))
        and paragraph.count(" ") >= 5
        # A reader of wikitext takes a loose full stop for the trace of a template.
        and not _LOOSE_STOP.search(paragraph)
    ]


def topics() -> dict[str, list[str]]:
    """The paragraphs of every topic that has prose."""
    texts = {name: prose(text) for name, text in pydoc_data.topics.topics.items()}
    return {name: paragraphs for name, paragraphs in texts.items() if paragraphs}


def wikitext(paragraphs: list[str]) -> str:
    """Paragraphs as an editor would type them, so that no character acts as markup."""
    return "\n\n".join(
        f"<nowiki>{html.escape(p, quote=False)}</nowiki>" if _MARKUP.search(p) else p
        for p in paragraphs
    )


def write_corpus(folder: Path) -> tuple[Path, Path]:
    """Write the dump and the books; returns where they are."""
    dump, books = folder / "reference.xml", folder / "books"
    books.mkdir(parents=True, exist_ok=True)
    pages = []
    for number, (name, paragraphs) in enumerate(sorted(topics().items())):
        if number % 2:
            (books / f"{name}.txt").write_text("\n\n".join(paragraphs) + "\n", "utf-8")
        else:
            text = html.escape(wikitext(paragraphs), quote=False)
            pages.append(
                _PAGE.format(title=html.escape(name), number=number, text=text)
            )
    dump.write_text(_DUMP.format(pages="".join(pages)), "utf-8")
    return dump, books
