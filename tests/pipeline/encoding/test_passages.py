"""Two passages become a pair, cut as training cuts where they are too long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.encoding.queries import pair_passages
from schemas.errors import AlbertError
from schemas.example import CLS_ID, SEP_ID

WORDS = ("the", "statement", "defines", "functionality", "of", "undecipherables")


def texts(tokenizer, pair):
    ids = pair.input_ids
    first = ids.index(SEP_ID)
    a, b = ids[1:first], ids[first + 1 : -1]
    assert ids == [CLS_ID, *a, SEP_ID, *b, SEP_ID]
    return tokenizer.decode(a), tokenizer.decode(b)


def test_passages_that_fit_stand_there_whole(tokenizer):
    pair = pair_passages("The name.", "A function", tokenizer, max_seq_length=32)
    assert texts(tokenizer, pair) == ("the name.", "a function")
    assert pair.tokens == pair.tokens_read == (3, 2)


def test_the_end_of_the_first_and_the_beginning_of_the_second_are_kept(tokenizer):
    first, second = "the name of a function " * 3, "a function is the name " * 3
    pair = pair_passages(first, second, tokenizer, max_seq_length=12)
    assert texts(tokenizer, pair) == ("name of a function", "a function is the name")
    assert (pair.tokens, pair.tokens_read) == ((15, 15), (4, 5))


@pytest.mark.parametrize(
    ("first", "second", "read"),
    [("the name", "of a " * 20, (2, 7)), ("of a " * 20, "the name", (7, 2))],
)
def test_a_long_passage_takes_the_room_that_a_short_one_leaves(
    tokenizer, first, second, read
):
    pair = pair_passages(first, second, tokenizer, max_seq_length=12)
    assert pair.tokens_read == read


@given(
    first=st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join),
    second=st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join),
    length=st.integers(8, 80),
)
def test_a_pair_is_as_long_as_whole_words_allow(tokenizer, first, second, length):
    pair = pair_passages(first, second, tokenizer, max_seq_length=length)
    assert len(pair.input_ids) <= length
    a, b = texts(tokenizer, pair)
    assert a
    assert b
    assert f" {first}".endswith(a)
    assert second.startswith(b)
    longest_word = max(map(len, tokenizer.encode(list(WORDS))))
    if pair.tokens_read != pair.tokens:
        assert len(pair.input_ids) > length - 2 * longest_word


@pytest.mark.parametrize(
    ("first", "second", "name"), [(" \u200b", "a", "first"), ("a", "", "second")]
)
def test_an_empty_passage_is_refused(tokenizer, first, second, name):
    with pytest.raises(AlbertError) as caught:
        pair_passages(first, second, tokenizer, max_seq_length=32)
    said = f"The {name} passage is empty; give two passages."
    assert str(caught.value) == said
