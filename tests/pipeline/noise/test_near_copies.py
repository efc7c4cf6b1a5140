"""Near-copies share a band and are seen by their sketches; other documents are not."""

import random
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.writing_systems import UNSPACED
from pipeline.noise import near_copies as signatures
from pipeline.noise.near_copies import SKETCH, jaccard, ngram_hashes, signature, word_hashes

TEXTS = st.text(alphabet="abc ü東京ไทย.,\n", max_size=60)


def changed(words, number, *, draws):
    """The words, of which some are others."""
    copy = list(words)
    for place in draws.sample(range(len(words)), number):
        copy[place] = "other"
    return copy


def compared(words, others):
    """How alike two texts are, how alike their sketches, and whether they share a band."""
    hashes = [word_hashes(" ".join(text)) for text in (words, others)]
    first, second = (set(ngram_hashes(each).tolist()) for each in hashes)
    one, other = map(signature, hashes)
    share = len(first & second) / len(first | second)
    return share, jaccard(one.sketch, other.sketch), (one.bands == other.bands).any()


def hashed_one_by_one(text):
    """The same as `word_hashes`, a word at a time."""
    spaced = re.sub(f"[{UNSPACED}]", r" \g<0> ", text.lower())
    words = (
        "".join(c for c in word if unicodedata.category(c)[0] in "LMN") for word in spaced.split()
    )
    return [polynomial_of(word) for word in words if word]


def polynomial_of(word):
    """A polynomial of the letters of a word, modulo 2**64."""
    alone = int(signatures._ALONE) if re.match(f"[{UNSPACED}]", word) else 0
    powers = (signatures._LETTER_BASE**place for place in range(len(word)))
    return sum((ord(c) | alone) * power for c, power in zip(word, powers, strict=True)) % (1 << 64)


LETTERS = "aAbß'ΣςİéЖ1½\u0301 \t\n\x1c-—東ก็。ー\u00a0\u200b\ud800\U0001f600"


@given(st.text(max_size=80) | st.text(LETTERS, max_size=80))
def test_all_words_of_a_text_have_the_hash_that_each_has_alone(text):
    assert word_hashes(text).tolist() == hashed_one_by_one(text)


def test_words_have_their_hashes_where_blocks_are_small(monkeypatch):
    monkeypatch.setattr(signatures, "_BLOCK_CHARACTERS", 50)
    draws = random.Random(3)
    for _ in range(50):
        text = "".join(draws.choices(LETTERS, k=400))
        assert word_hashes(text).tolist() == hashed_one_by_one(text)


@pytest.mark.parametrize(
    ("text", "other", "are_same"),
    [
        ("One two three four five six.", "ONE -- two three\nfour, five six", True),
        ("東京は日本の首都である。", "東京は日本の首都\nである", True),
        ("No.", "no", True),
        ("café du monde à Paris", "CAFÉ du monde, à Paris!", True),
        ("one two three four five six", "one two three four six five", False),
        ("ab c", "a bc", False),
        ("one two", "one", False),
        ("तक", "तका", False),
    ],
)
def test_words_and_their_order_count_and_case_marks_and_line_ends_do_not(text, other, are_same):
    first, second = (ngram_hashes(word_hashes(each)).tolist() for each in (text, other))
    assert (first == second) == are_same


@pytest.mark.parametrize("text", ["", " \n", "... --- !", "\x00"])
def test_a_text_without_a_word_has_no_signature(text):
    assert signature(word_hashes(text)) is None


@given(TEXTS)
def test_a_set_has_one_gram_for_five_words_in_a_row(text):
    grams = len(ngram_hashes(word_hashes(text)))
    assert grams <= max(1, len(text))
    assert (grams == 0) == (signature(word_hashes(text)) is None)


@pytest.mark.parametrize("words", [20, 60, 300, 1000, 5000])
def test_nearly_all_near_copies_share_a_band_whatever_their_length(words):
    draws = random.Random(words)
    found = []
    for _ in range(60):
        original = [f"w{draws.randrange(2000)}" for _ in range(words)]
        copy = changed(original, max(1, words // 100), draws=draws)
        similarity, _, is_found = compared(original, copy)
        found += [is_found] * (similarity >= 0.9)
    assert sum(found) >= 0.97 * len(found)


@pytest.mark.parametrize("words", [30, 300, SKETCH])
def test_the_similarity_of_whole_sets_is_exact(words):
    draws = random.Random(words)
    original = [f"w{draws.randrange(10**6)}" for _ in range(words)]
    true, found, _ = compared(original, changed(original, words // 20, draws=draws))
    assert found == pytest.approx(true, abs=1e-3)


@pytest.mark.parametrize("share", [0.005, 0.02, 0.05])
def test_the_similarity_of_large_sets_is_known_within_four_deviations(share):
    draws = random.Random(5)
    original = [f"w{draws.randrange(10**6)}" for _ in range(20_000)]
    true, found, _ = compared(original, changed(original, int(share * 20_000), draws=draws))
    assert abs(found - true) < 4 * (true * (1 - true) / SKETCH) ** 0.5


@pytest.mark.parametrize("repeats", [1, 8])
@pytest.mark.parametrize("words", [700, 9000])
def test_a_sketch_is_of_the_least_hashes_however_often_they_stand_there(words, repeats):
    draws = random.Random(words)
    text = " ".join(f"w{draws.randrange(10**6)}" for _ in range(words))
    hashed = word_hashes(f"{text} " * repeats)
    hashes = sorted(set(ngram_hashes(hashed).tolist()))[:SKETCH]
    assert signature(hashed).sketch.tolist() == sorted({each >> 32 for each in hashes})


def test_other_texts_are_not_near():
    one = signature(word_hashes("the same five words and then these that are its own"))
    other = signature(word_hashes("the same five words and then those of another text"))
    assert not signatures.are_near(one.sketch, other.sketch)
    assert signatures.THRESHOLD == 0.8
