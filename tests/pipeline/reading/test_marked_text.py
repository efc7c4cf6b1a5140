import random

from pipeline.reading.marked_text import read_bookcorpus, starts_document

WORDS = """the miller came home and sat down by the fire while snow fell on
    the old roof of the mill""".split()  # noqa: SIM905


def novel(sentences, *, seed):
    rng = random.Random(seed)
    return [
        " ".join(rng.choices(WORDS, k=rng.randint(3, 25))) for _ in range(sentences)
    ]


def test_documents_have_about_500_sentences():
    documents = list(read_bookcorpus(novel(100_000, seed=1)))
    assert 400 < 100_000 / len(documents) < 600


def test_a_book_has_the_same_documents_wherever_it_stands():
    book, other = novel(5000, seed=1), novel(3000, seed=2)
    cover = ["all rights reserved ."]
    alone = list(read_bookcorpus(cover + book))
    behind = list(read_bookcorpus([*other, *cover, *book]))
    assert behind[-len(alone) :] == alone


def test_first_pages_are_recognised():
    pages = [
        "isbn : 978-1-4523",
        "copyright 2011 by a. writer",
        "all rights reserved worldwide .",
        "chapter 1",
        "chapter one .",
        "Chapter One",
    ]
    assert all(map(starts_document, pages))
    no_pages = ["he had the copyright .", "chapter 12", "in chapter 1 he comes ."]
    assert not any(map(starts_document, no_pages))


def test_a_short_line_that_repeats_starts_nothing():
    assert not any(starts_document(f"he said {n} .") for n in range(5000))


def test_one_line_again_and_again_makes_bounded_documents():
    documents = list(read_bookcorpus(["he nodded ."] * 25_000))
    assert [len(document.paragraphs) for document in documents] == [
        10_000,
        10_000,
        5000,
    ]


def test_lines_without_end_make_bounded_documents():
    documents = list(read_bookcorpus(["he nodded " * 100_000] * 20))
    assert [len(document.paragraphs) for document in documents] == [9, 9, 2]
