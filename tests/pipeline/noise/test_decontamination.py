"""Documents that hold text of the held-out split, by their runs of eight words."""

import io
import random

import numpy as np
import pytest

from pipeline.noise import decontamination
from pipeline.noise.decontamination import HeldOutRuns, Runs, join_runs, kept_runs, runs_of
from pipeline.noise.near_copies import word_hashes

BOUND = 100


def words(seed, count):
    draws = random.Random(seed)
    return [f"w{draws.randrange(10_000)}" for _ in range(count)]


def with_changes(text, one_in):
    """A copy of which a word in so many is another."""
    draws = random.Random(one_in)
    return [f"x{n}" if draws.randrange(one_in) == 0 else word for n, word in enumerate(text)]


def runs(documents):
    found = []
    for number, words in documents.items():
        text = " ".join(words)
        made = runs_of(word_hashes(text), text)
        found.append(kept_runs(number, made, is_held_out=number < BOUND))
    return join_runs(found)


def gone(held_out, trained_on):
    """Which of the texts to train on go."""
    documents = dict(enumerate(held_out)) | dict(enumerate(trained_on, BOUND))
    found = runs(documents)
    return {n - BOUND for n in HeldOutRuns([found], bound=BOUND).found_in(found)}


HELD_OUT = words(1, 600)
TEXTS = {
    "itself": (HELD_OUT, True),
    "a word in 50 changed": (with_changes(HELD_OUT, 50), True),
    "a word in 10 changed": (with_changes(HELD_OUT, 10), True),
    "a word in 3 changed": (with_changes(HELD_OUT, 3), False),
    "a fifth of it and more": (HELD_OUT[:100] + words(2, 350), True),
    "less than a fifth": (HELD_OUT[:100] + words(2, 700), False),
    "a fifth of it in a novel": (words(3, 9_000) + HELD_OUT[:200] + words(4, 9_000), True),
    "less than that in a novel": (words(3, 9_000) + HELD_OUT[:60] + words(4, 9_000), False),
    "another text": (words(5, 600), False),
    "one run": (HELD_OUT[:8], True),
    "less than a run": (HELD_OUT[:7], False),
    "no word": ([], False),
}


@pytest.mark.parametrize(("text", "goes"), TEXTS.values(), ids=TEXTS)
def test_a_text_goes_by_what_it_holds_of_the_held_out_split(text, goes):
    assert gone([HELD_OUT, words(6, 600)], [words(7, 50), text]) == ({1} if goes else set())


PROVERB, LICENCE = words(1, 10), words(100, 80)
SHORT = [words(seed, 60) for seed in range(20)]
LICENSED = [words(n, 100) + LICENCE for n in range(11)]
# The held-out texts, those to train on, and which of them go.
SPLITS = {
    "a proverb, but not the novel that quotes it": (
        *([PROVERB], [words(2, 5000) + PROVERB + words(3, 5000), PROVERB], {1}),
    ),
    "a text of many": (SHORT, [[word for text in SHORT for word in text[:20]]], {0}),
    "what ten have": (LICENSED[:10], [LICENCE, words(200, 50)], {0}),
    "no boilerplate, which more have": (LICENSED, [LICENCE, words(200, 50)], set()),
    "nothing, without any": ([], [words(1, 50)], set()),
}


@pytest.mark.parametrize(("held_out", "trained_on", "go"), SPLITS.values(), ids=SPLITS)
def test_of_the_held_out_texts_goes(held_out, trained_on, go):
    assert gone(held_out, trained_on) == go


def test_characters_of_a_script_without_spaces_are_no_words():
    """All runs of eight characters of such a language soon stand in the held-out split."""
    phrases = ["することができる", "ということである", "なければならない", "かもしれません"]
    draws = random.Random(8)

    def text(number):
        kanji = [chr(draws.randrange(0x4E00, 0x6000)) for _ in range(6)]
        return "。".join(phrases[n % 4] + kanji[n % 6] for n in range(number, number + 40))

    held_out, other = text(0), text(1)
    assert gone([[held_out]], [[other], [held_out + "。"]]) == {1}


def test_order_chunks_and_a_bound_of_memory_change_nothing(monkeypatch):
    licences = {n: words(50 + n % 2, 60) for n in range(13)}
    held_out = {n: words(n, 300) + licences.get(n, []) for n in range(20)}
    copies = {BOUND + n: with_changes(text, 40) for n, text in held_out.items() if n % 2}
    others = {BOUND + n: words(BOUND + n, 400) for n in range(0, 20, 2)}
    # One stands in seven held-out texts, the other in six.
    copies |= {BOUND + 20: words(50, 60), BOUND + 21: words(51, 60)}
    documents = held_out | copies | others
    numbers = list(documents)
    for most in (1 << 24, 1000):
        monkeypatch.setattr(decontamination, "MOST_RUNS", most)
        for seed in range(3):
            random.Random(seed).shuffle(numbers)
            chunks = [runs({n: documents[n] for n in numbers[part::3]}) for part in range(3)]
            found = HeldOutRuns(iter(chunks), bound=BOUND)
            assert set().union(*map(found.found_in, chunks)) == copies.keys()


def test_runs_are_read_as_they_were_written():
    written, file = runs({1: words(1, 30), BOUND: words(2, 5000), BOUND + 1: []}), io.BytesIO()
    written.save(file)
    file.seek(0)
    for before, after in zip(written, Runs.load(file), strict=True):
        np.testing.assert_array_equal(after, before)
