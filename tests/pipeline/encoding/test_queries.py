"""What a person asks becomes what stood in the records of training."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.encoding.queries import encode_masked, pair_passages
from schemas.errors import AlbertError
from schemas.example import CLS_ID, MASK, MASK_ID, SEP_ID, SPACE


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The [MASK] statement", ["▁the", MASK, "▁statement"]),
        ("The[MASK]statement", ["▁the", MASK, "statement"]),
        ("[MASK] [MASK] statement", [MASK, MASK, "▁statement"]),
        ("[MASK][MASK]s", [MASK, MASK, "s"]),
        ("  a\t[MASK]\n  statement.  ", ["▁a", MASK, "▁statement", "."]),
        ("The \u200b[MASK]\u200bstatement", ["▁the", MASK, "▁statement"]),
        ("[MASK]", [MASK]),
        ("the [MASK].", ["▁the", MASK, "."]),
        ("the [MASK] .", ["▁the", MASK, "▁", "."]),
    ],
)
def test_a_word_begins_behind_a_space_and_goes_on_without_one(tokenizer, text, tokens):
    ids = encode_masked(text, tokenizer)
    assert [tokenizer.piece(i) for i in ids] == ["[CLS]", *tokens, "[SEP]"]


@given(line=st.integers(0, 400), seed=st.integers(0, 2**32))
def test_a_text_is_divided_as_before_some_of_its_tokens_were_masked(topics, tokenizer, line, seed):
    lines = "\n".join(topic.text for topic in topics[:20]).split("\n")
    ids = tokenizer.encode([lines[line % len(lines)]])[0]
    tokens = [tokenizer.piece(i) for i in ids]
    # A space that is a token of its own is masked with its word, never before it.
    maskable = [n for n in range(len(ids)) if n == 0 or tokens[n - 1] != SPACE]
    places = random.Random(seed).sample(maskable, min(3, len(maskable)))
    for place in places:
        tokens[place] = SPACE * tokens[place].startswith(SPACE) + MASK
    masked = [MASK_ID if place in places else i for place, i in enumerate(ids)]
    text = "".join(tokens).replace(SPACE, " ")
    assert encode_masked(text, tokenizer) == [CLS_ID, *masked, SEP_ID]


WORDS = ("the", "statement", "defines", "functionality", "of", "undecipherables")


def texts(tokenizer, pair):
    ids = pair.input_ids
    first = ids.index(SEP_ID)
    a, b = ids[1:first], ids[first + 1 : -1]
    assert ids == [CLS_ID, *a, SEP_ID, *b, SEP_ID]
    return tokenizer.decode(a), tokenizer.decode(b)


# Two passages, what of them is read in 12 tokens, and how many tokens they and that have.
PASSAGES = {
    "what fits stands there whole": (
        *("The name.", "A function", ("the name.", "a function"), (3, 2), (3, 2)),
    ),
    "the end of the first and the beginning of the second are kept": (
        *("the name of a function " * 3, "a function is the name " * 3),
        *(("name of a function", "a function is the name"), (15, 15), (4, 5)),
    ),
    "a long second one takes the room that a short one leaves": (
        *("the name", "of a " * 20, ("the name", "of a of a of a of"), (2, 40), (2, 7)),
    ),
    "a long first one does so": (
        *("of a " * 20, "the name", ("a of a of a of a", "the name"), (40, 2), (7, 2)),
    ),
}


@pytest.mark.parametrize(
    ("first", "second", "shown", "tokens", "read"), PASSAGES.values(), ids=PASSAGES
)
def test_a_pair_of_passages_shares_the_room(tokenizer, first, second, shown, tokens, read):
    pair = pair_passages(first, second, tokenizer, max_seq_length=12)
    assert (texts(tokenizer, pair), pair.tokens, pair.tokens_read) == (shown, tokens, read)


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


def test_a_passage_of_which_nothing_is_left_is_empty(tokenizer):
    with pytest.raises(AlbertError, match=r"^The second passage is empty; give"):
        pair_passages("a", " \u200b", tokenizer, max_seq_length=32)
