import random

import pytest

from pipeline.reading.marked_text import read_bookcorpus, read_subtitles, starts_document

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


def said(text):
    """What is said in subtitles, whose lines come with single spaces."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return [document.paragraphs for document in read_subtitles(lines)]


# As YouTube writes captions that nobody corrected.
ROLLING = """WEBVTT
Kind: captions
Language: en

00:00:00.000 --> 00:00:02.000 align:start position:0%
{}
we<00:00:00.500><c> went</c><00:00:00.900><c> home</c>

00:00:02.000 --> 00:00:02.010 align:start position:0%
we went home
{}

00:00:02.010 --> 00:00:04.000 align:start position:0%
we went home
and<00:00:02.500><c> it</c><00:00:03.000><c> rained.</c>

00:00:04.000 --> 00:00:04.010 align:start position:0%
and it rained.
{}

00:00:04.010 --> 00:00:06.000 align:start position:0%
and it rained.
why?
"""


def test_captions_that_roll_are_said_once():
    assert said(ROLLING.replace("{}", " ")) == [("we went home and it rained.", "why?")]
    growing = "\n\n".join(
        f"00:0{n}.000 --> 00:0{n + 1}.000\n{text}"
        for n, text in enumerate(["we", "we went", "we went home", "home again."])
    )
    assert said(growing) == [("we went home again.",)]


def test_what_two_people_say_is_said_twice():
    cues = ["No.", "No.", "- Why?\n- Why not?", "So it is."]
    text = "\n\n".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{c}" for n, c in enumerate(cues))
    assert said(text) == [("No.", "No.", "Why?", "Why not?", "So it is.")]


@pytest.mark.parametrize(
    ("text", "paragraphs"),
    [
        # Blank lines in a cue and before its text, and a number that is said.
        (
            "1\n00:00:01,000 --> 00:00:02,000\nHe came\n\nhome late.\n\n"
            "2\n00:00:03,000 --> 00:00:04,000\n\nShe left.\n\n"
            "3\n00:00:05,000 --> 00:00:06,000\n1914\nwas a year.\n",
            ("He came home late.", "She left.", "1914 was a year."),
        ),
        # No blank lines at all.
        (
            "1\n00:00:01,000 --> 00:00:02,000\nHe came\n2\n00:00:03,000 --> 00:00:04,000\nhome.\n",
            ("He came home.",),
        ),
        # Comments and names of cues.
        (
            "WEBVTT\n\nSTYLE\n::cue { color: red }\n\nNOTE by Ada\nfor us\n\n"
            "first\n00:01.000 --> 00:02.000\nHe came.\n\nNOTE\nno text\n\n"
            "second\n00:02.000 --> 00:03.000\nWhy?\n",
            ("He came.", "Why?"),
        ),
        (
            "WEBVTT\n\n00:01.000 --> 00:02.000\n&gt;&gt; Tom &amp; I came\n"
            "&gt;&gt;&gt; So?\n\n00:02.000 --> 00:03.000\n<v Ada>Yes<c.red>!</c>",
            ("Tom & I came", "So?", "Yes!"),
        ),
        ("0:00:01.000,0:00:02.000\nHe came\n\n0:00:02.000,0:00:03.000\nhome.", ("He came home.",)),
        # As Microsoft Teams exports a transcript.
        (
            "".join(
                f"0:0:{n}.0 --> 0:0:{n}.930\n{'Ada Byron' if n % 2 else 'Bo'}\nHe came {n}.\n\n"
                for n in range(8)
            ),
            tuple(f"He came {n}." for n in range(8)),
        ),
        ("[00:00.000 --> 00:02.000]  I came\n[00:02.000 --> 00:03.000]  home.", ("I came home.",)),
    ],
)
def test_what_is_said_in_subtitles_is_read(text, paragraphs):
    assert said(text) == [paragraphs]
