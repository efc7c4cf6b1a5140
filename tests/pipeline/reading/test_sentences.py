import random
from pathlib import Path

import pytest
import sentencex
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.documents import Document
from pipeline.reading import sentences as dividing
from pipeline.reading.sentences import cheap_parts, divide, segmentation_cost, split_sentences

LANGUAGES = ["en", "de", "ru", "el", "ar", "ja", "th", "zh", "hi", "xx"]

words = st.sampled_from(
    'He left Dr. 3.14 U.S. «Да» なに。 ไป ?! (so.) "Why?"'.split()  # noqa: SIM905
)
paragraphs = st.lists(words, min_size=1, max_size=60).map(" ".join)


def split(text, language="en"):
    (sentences,) = split_sentences(Document((text,)), language=language)
    return sentences


def test_segmented_paragraphs_are_sentences_already():
    document = Document(("he came . she left .", "why ?"), is_segmented=True)
    assert split_sentences(document, language="en") == [["he came . she left ."], ["why ?"]]


def test_a_long_quotation_is_split_at_its_full_stops():
    speech = "I am telling you this for the last time. " * 20
    sentences = split(f'He said, "{speech.strip()}" and left.')
    assert max(map(len, sentences)) < dividing.LONG_SENTENCE_CHARACTERS


def test_a_long_sentence_is_split_behind_closing_marks():
    assert dividing.split_long('"Come in. (Sit down!) He said; so I did … well.') == [
        *('"Come in.', "(Sit down!)", "He said;", "so I did …", "well.")
    ]


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=paragraphs)
def test_no_word_is_lost_or_moved_and_no_sentence_is_empty_or_has_blanks_around(language, text):
    sentences = split(text, language)
    assert " ".join(sentences).split() == text.split()
    assert all(sentence == sentence.strip() != "" for sentence in sentences)


HOSTILE = [*("“", "‘", "«", "»", "„", "'", '"', "' ", "'a ", "``「", '《"', ").“", "“a. ", "•")]


@pytest.mark.parametrize("unit", HOSTILE)
def test_the_segmenter_gets_only_text_that_is_short_or_cheap(unit, monkeypatch):
    parts = []

    def record(language, text):
        parts.append(text)
        return [text]

    monkeypatch.setattr(sentencex, "segment", record)
    text = unit * (20_000 // len(unit))
    split(text)
    assert "".join(parts) == text
    for part in parts:
        cost = segmentation_cost(part) / len(part)
        assert len(part) <= dividing.CHEAP_CHARACTERS or cost <= dividing.MAX_COST_PER_CHARACTER


def test_the_segmenter_gets_no_paragraph_beyond_all_measure():
    parts = list(cheap_parts("word " * 500_000))
    assert max(map(len, parts)) <= dividing.MAX_SEGMENTED_CHARACTERS
    assert "".join(parts) == "word " * 500_000


def test_a_novel_in_one_paragraph_is_segmented_whole():
    draw = random.Random(0)
    spoken = ['"Come in," he said. ', "\"It's late,\" she said; 'So,' he thought. ", "(So.) "]
    told = "They went on for a long time without another word, as one does in novels. "
    novel = "".join(told * 3 + draw.choice(spoken) for _ in range(3500))
    assert list(cheap_parts(novel)) == [novel]


def test_a_paragraph_that_costs_too_much_is_cut_where_a_sentence_ends():
    assert all(part.endswith(". ") for part in cheap_parts("“She came. " * 1000))


@given(st.text(alphabet="“”'\"`a .)\n", max_size=3000))
def test_parts_together_are_the_paragraph(text):
    assert "".join(cheap_parts(text)) == text


# Sentences are numbered, so that their order can be seen.
long_documents = st.lists(st.integers(0, 40), max_size=30)


def numbered(lengths):
    """Paragraphs of so many sentences, numbered through."""
    numbers = iter(range(sum(lengths)))
    return [[str(next(numbers)) for _ in range(length)] for length in lengths]


@given(long_documents, st.integers(1, 50))
def test_every_sentence_is_in_one_part_in_order_none_empty_or_twice_the_limit(lengths, maximum):
    parts = divide(numbered(lengths), maximum=maximum)
    sentences = [sentence for part in parts for sentence in part]
    assert sentences == [str(number) for number in range(sum(lengths))]
    assert all(0 < len(part) < 2 * maximum for part in parts)


@given(long_documents, st.integers(40, 50))
def test_paragraphs_within_the_limit_are_never_divided(lengths, maximum):
    paragraphs = numbered(lengths)
    parts = divide(paragraphs, maximum=maximum)
    for paragraph in paragraphs:
        assert sum(bool(set(paragraph) & set(part)) for part in parts) <= 1


@given(long_documents)
def test_a_document_within_the_limit_stays_whole(lengths):
    assert len(divide(numbered(lengths), maximum=max(1, sum(lengths)))) <= 1


GOLDEN = Path(__file__).parent / "golden" / "sentences.tsv"
ROWS = [row.split("\t") for row in GOLDEN.read_text("utf-8").split("\n") if row and row[0] != "#"]


@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_sentences_of_a_language_are_divided_as_it_writes_them(row):
    language, between, *sentences = row
    assert split({"space": " ", "nothing": ""}[between].join(sentences), language) == sentences


def test_letters_that_begin_several_paragraphs_are_those_of_items():
    asked = ("Q. Who came? A. I did. Q. So?", "II. Why? Ada ran.", "A. The ferry runs. It stops.")
    expected = [["Q. Who came?", "A. I did.", "Q. So?"], ["II. Why?", "Ada ran."]]
    expected.append(["A. The ferry runs.", "It stops."])
    assert split_sentences(Document(asked), language="en") == expected


def test_thai_is_divided_at_spaces_into_sentences_of_several_clauses():
    clause = "วันนี้อากาศดีมาก"
    four = " ".join([clause] * 4)
    assert split(" ".join([four] * 10), "th") == [four] * 10
    assert split(f"{four} ไปตลาด", "th") == [four, "ไปตลาด"]
    # No clause ends before a number, a mark or a sign that repeats a word.
    for after in ("2020", "(ไปตลาด)"):
        assert split(f"{four} {after} {clause}", "th") == [f"{four} {after} {clause}"]
    assert split(f"{four} ๆ {clause}", "th") == [f"{four} ๆ", clause]
    # Nor in a text that only quotes some Thai.
    quoting = f"He wrote what he saw, which was {four} and then some more, so he left."
    assert split(quoting, "en") == [quoting]
