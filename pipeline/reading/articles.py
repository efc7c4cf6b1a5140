"""Articles of Wikipedia, from dumps of MediaWiki and the output of wikiextractor."""

from collections.abc import Iterable

from pipeline.core.documents import Documents, ReadingCounts
from pipeline.reading.formats import FilePart, Head, InputFile, UnusableFile
from pipeline.reading.sentences import language_of_address
from pipeline.storage.lines import read_blocks, read_raw_lines
from pipeline.wikipedia.extracted import find_address, read_articles
from pipeline.wikipedia.extracted import starts_article as starts_article
from pipeline.wikipedia.mediawiki import read_pages, read_siteinfo


def inspect_dump(file: InputFile, _: Head, **given: object) -> InputFile:
    """A dump with the language of its wiki."""
    return with_language_of_file(file, read_siteinfo(read_blocks(file.path)).language or "")


def starts_page(line: bytes) -> bool:
    """Whether a page begins with a line."""
    return line.lstrip().startswith((b"<page>", b"<page "))


def read_dump(part: FilePart, blocks: Iterable[bytes], *, counts: ReadingCounts) -> Documents:
    """The articles of a part of a dump."""
    siteinfo = read_siteinfo(read_blocks(part.file.path))
    return read_pages(blocks, siteinfo=siteinfo, counts=counts)


def is_extracted(head: Head) -> bool:
    """Whether a file that begins so is wikiextractor's: as text, if it has an article of its."""
    return head.kind == "wikipedia" or any(map(starts_article, head.data.split(b"\n")))


def inspect_extracted(file: InputFile, head: Head, **given: object) -> InputFile:
    """Wikiextractor's output with the language of the wiki that its addresses lead to."""
    if not any(map(starts_article, head.data.split(b"\n"))):
        raise UnusableFile(
            f"{file.path} begins with <doc>, but has no articles with id and title as "
            "wikiextractor writes them; give its text."
        )
    return with_language_of_file(file, language_of_address(find_address(head.data)))


def with_language_of_file(file: InputFile, language: str) -> InputFile:
    """A file with the language that it names for itself, if it does."""
    return file._replace(language=language, language_from="file") if language else file


def read_extracted(_: FilePart, blocks: Iterable[bytes], *, counts: ReadingCounts) -> Documents:
    """The articles of a part of wikiextractor's output."""
    return read_articles(read_raw_lines(blocks, counts=counts), counts=counts)
