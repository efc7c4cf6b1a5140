"""The demo's corpus."""

from benchmarks.demo import topics, write_corpus
from pipeline.core.documents import Document
from pipeline.wikipedia.mediawiki import read_pages, read_siteinfo


def test_the_dump_gives_back_the_text_it_was_written_from(tmp_path):
    dump, _ = write_corpus(tmp_path)
    with dump.open("rb") as stream:
        siteinfo = read_siteinfo(stream)
    with dump.open("rb") as stream:
        pages = list(read_pages(stream, siteinfo=siteinfo))
    written = sorted(topics().items())[::2]
    assert pages == [Document(tuple(paragraphs)) for _, paragraphs in written]


def test_every_topic_with_prose_is_in_the_dump_or_in_the_books(tmp_path):
    dump, books = write_corpus(tmp_path)
    pages = dump.read_text("utf-8").count("<page>")
    assert pages + len(list(books.iterdir())) == len(topics())
