import random

import pytest

from pipeline.reading.marked_text import read_bookcorpus, starts_document

WORDS = """the miller came home and sat down by the fire while snow fell on
    the old roof of the mill""".split()  # noqa: SIM905


def novel(sentences, *, seed):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(3, 25))) for _ in range(sentences)]


def test_documents_have_about_500_sentences():
    assert 400 < 100_000 / len(list(read_bookcorpus(novel(100_000, seed=1)))) < 600


def test_a_book_has_the_same_documents_wherever_it_stands():
    book, other = novel(5000, seed=1), novel(3000, seed=2)
    cover = ["all rights reserved ."]
    alone = list(read_bookcorpus(cover + book))
    assert list(read_bookcorpus([*other, *cover, *book]))[-len(alone) :] == alone


def test_first_pages_are_recognised_and_no_short_lines_that_repeat():
    pages = [
        *("isbn : 978-1-4523", "copyright 2011 by a. writer", "all rights reserved worldwide ."),
        *("chapter 1", "chapter one .", "Chapter One"),
    ]
    assert all(map(starts_document, pages))
    no_pages = ["he had the copyright .", "chapter 12", "in chapter 1 he comes ."]
    no_pages += [f"he said {n} ." for n in range(5000)]
    assert not any(map(starts_document, no_pages))


@pytest.mark.parametrize(
    ("lines", "lengths"),
    [
        (["he nodded ."] * 25_000, [10_000, 10_000, 5000]),
        (["he nodded " * 100_000] * 20, [9, 9, 2]),
    ],
    ids=["one line again and again", "lines without end"],
)
def test_documents_have_bounds(lines, lengths):
    assert [len(document.paragraphs) for document in read_bookcorpus(lines)] == lengths
