"""Text with masks in it becomes what stood in the records of training."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.encoding.queries import encode_masked
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
def test_a_text_is_divided_as_before_some_of_its_tokens_were_masked(
    topics, tokenizer, line, seed
):
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


def test_a_text_without_mask_is_refused_and_quoted(tokenizer):
    with pytest.raises(AlbertError) as caught:
        encode_masked("The [mask] is not written so.", tokenizer)
    assert str(caught.value) == (
        '"The [mask] is not written so." has no [MASK]; write [MASK] where a token is '
        "to be found."
    )
