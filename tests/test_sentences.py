import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.documents import Document
from pipeline.sentences import (
    LONG_SENTENCE_CHARACTERS,
    divide,
    split_long,
    split_sentences,
)

LANGUAGES = ["en", "de", "ru", "el", "ar", "ja", "th", "zh", "hi", "xx"]

words = st.sampled_from(
    [
        "He",
        "left",
        "Dr.",
        "3.14",
        "U.S.",
        "«Да»",
        "なに。",
        "ไป",
        "?!",
        "(so.)",
        '"Why?"',
    ]
)
paragraphs = st.lists(words, min_size=1, max_size=60).map(" ".join)


def split(text, language="en"):
    return split_sentences(Document((text,)), language=language)[0]


def test_a_paragraph_becomes_its_sentences():
    document = Document(("He came. She left.", "Why?"))
    assert split_sentences(document, language="en") == [
        ["He came.", "She left."],
        ["Why?"],
    ]


def test_abbreviations_do_not_end_sentences():
    assert split("Dr. Smith met J. R. Jones, e.g. in the U.S. He left.") == [
        "Dr. Smith met J. R. Jones, e.g. in the U.S.",
        "He left.",
    ]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("ru", "Он пришёл. Она ушла?", ["Он пришёл.", "Она ушла?"]),
        ("ja", "私は来た。彼女は去った。", ["私は来た。", "彼女は去った。"]),
        ("hi", "वह आया। वह गई।", ["वह आया।", "वह गई।"]),
    ],
)
def test_sentences_end_as_their_language_has_it(language, text, expected):
    assert split(text, language) == expected


def test_segmented_paragraphs_are_sentences_already():
    document = Document(("he came . she left .", "why ?"), is_segmented=True)
    assert split_sentences(document, language="en") == [
        ["he came . she left ."],
        ["why ?"],
    ]


def test_a_long_quotation_is_split_at_its_full_stops():
    speech = "I am telling you this for the last time. " * 20
    sentences = split(f'He said, "{speech.strip()}" and left.')
    assert max(map(len, sentences)) < LONG_SENTENCE_CHARACTERS


def test_a_quotation_of_ordinary_length_stays_whole():
    assert split('He said, "Come in. Sit down." and left.') == [
        'He said, "Come in. Sit down." and left.'
    ]


def test_a_long_sentence_is_split_behind_closing_marks():
    assert split_long('"Come in. (Sit down!) He said; so I did … well.') == [
        '"Come in.',
        "(Sit down!)",
        "He said;",
        "so I did …",
        "well.",
    ]


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=paragraphs)
def test_no_word_is_lost_or_moved(language, text):
    assert " ".join(split(text, language)).split() == text.split()


@given(paragraphs)
def test_no_sentence_is_empty_or_has_blanks_around(text):
    for sentence in split(text):
        assert sentence == sentence.strip() != ""


def test_an_empty_paragraph_has_no_sentences():
    assert split("") == []


# Sentences are numbered, so that their order can be seen.
long_documents = st.lists(st.integers(0, 40), max_size=30)


def numbered(lengths):
    """Paragraphs of so many sentences, numbered through."""
    numbers = iter(range(sum(lengths)))
    return [[str(next(numbers)) for _ in range(length)] for length in lengths]


@given(long_documents, st.integers(1, 50))
def test_every_sentence_is_in_one_part_in_order(lengths, most):
    parts = divide(numbered(lengths), most=most)
    assert [sentence for part in parts for sentence in part] == [
        str(number) for number in range(sum(lengths))
    ]


@given(long_documents, st.integers(1, 50))
def test_no_part_is_empty_or_as_long_as_twice_the_limit(lengths, most):
    parts = divide(numbered(lengths), most=most)
    assert all(0 < len(part) < 2 * most for part in parts)


@given(long_documents, st.integers(40, 50))
def test_paragraphs_within_the_limit_are_never_divided(lengths, most):
    paragraphs = numbered(lengths)
    parts = divide(paragraphs, most=most)
    for paragraph in paragraphs:
        assert sum(bool(set(paragraph) & set(part)) for part in parts) <= 1


@given(long_documents)
def test_a_document_within_the_limit_stays_whole(lengths):
    assert len(divide(numbered(lengths), most=max(1, sum(lengths)))) <= 1


def test_a_long_paragraph_is_divided_into_equal_parts():
    parts = divide([["s"] * 4500], most=2000)
    assert [len(part) for part in parts] == [1500, 1500, 1500]
