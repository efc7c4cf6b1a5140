"""The demo's corpus, and what its report computes."""

import importlib.util
import sys
from pathlib import Path

import pytest

from pipeline.documents import Document
from pipeline.mediawiki import read_pages, read_siteinfo

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def load(name):
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def corpus():
    return load("demo_corpus")


def test_the_dump_gives_back_the_text_it_was_written_from(corpus, tmp_path):
    dump, _ = corpus.write_corpus(tmp_path)
    with dump.open("rb") as stream:
        siteinfo = read_siteinfo(stream)
    with dump.open("rb") as stream:
        pages = list(read_pages(stream, siteinfo=siteinfo))
    written = sorted(corpus.topics().items())[::2]
    assert pages == [Document(tuple(paragraphs)) for _, paragraphs in written]


def test_every_topic_with_prose_is_in_the_dump_or_in_the_books(corpus, tmp_path):
    dump, books = corpus.write_corpus(tmp_path)
    pages = dump.read_text("utf-8").count("<page>")
    assert pages + len(list(books.iterdir())) == len(corpus.topics())
