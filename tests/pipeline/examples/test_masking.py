import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.core.draws import PURPOSES, draw, draws, hash_key
from pipeline.examples import masking
from pipeline.examples.masking import (
    SpanChooser,
    beginning_chances,
    budgets,
    mask,
    ngram_lengths,
    replacements,
)
from pipeline.examples.pairs import Rows
from schemas.example import CLS_ID, MASK_ID, SEP_ID, UNK_ID

VOCAB_SIZE = 2000

# A row is two segments, a segment its words, a word its number of tokens.
segments = st.lists(st.integers(1, 3) | st.integers(1, 12), min_size=1, max_size=30)
batches = st.lists(st.tuples(segments, segments), min_size=1, max_size=4)
max_ngrams = st.integers(1, 3) | st.integers(1, 10)
shares = st.sampled_from([0.0, 0.15, 0.4, 0.9])


def rows_of(batch):
    """[CLS] A [SEP] B [SEP] for each row of a batch, with tokens counting from 100."""
    words = []
    for a, b in batch:
        words += [(1, CLS_ID), *((n, 0) for n in a), (1, SEP_ID)]
        words += [*((n, 0) for n in b), (1, SEP_ID)]
    lengths = np.array([length for length, _ in words])
    special = np.repeat([token for _, token in words], lengths)
    starts = np.zeros(len(special), bool)
    starts[np.cumsum(lengths) - lengths] = True
    row_lengths = [sum(a) + sum(b) + 3 for a, b in batch]
    ordinary = np.concatenate([100 + np.arange(length) for length in row_lengths])
    ids = np.where(special > 0, special, ordinary).astype(np.int32)
    return Rows(ids, np.append(0, np.cumsum(row_lengths)), starts)


def keys_of(batch):
    """A key for each row that follows from the row alone."""
    return np.array([hash_key(repr(row).encode()) for row in batch], np.uint64)


def budgets_of(rows, *, share):
    return budgets(np.diff(rows.offsets), masked_lm_prob=share, max_predictions_per_seq=77)


def mask_batch(batch, *, share, max_ngram):
    """The rows of a batch, and the same masked."""
    rows = rows_of(batch)
    masked = mask(
        rows,
        keys=keys_of(batch),
        vocab_size=VOCAB_SIZE,
        budget=budgets_of(rows, share=share),
        max_ngram=max_ngram,
        kept_share=0.1,
    )
    return rows, masked


def positions_by_row(masked):
    return [p.tolist() for p in np.split(masked.positions, masked.offsets[1:-1])]


def masked_words_by_row(rows, masked):
    """For each word of each row, which of its tokens are masked."""
    is_masked = np.zeros(len(rows.ids), bool)
    is_masked[masked.positions + np.repeat(rows.offsets[:-1], np.diff(masked.offsets))] = True
    for start, end in zip(rows.offsets[:-1], rows.offsets[1:], strict=True):
        bounds = start + np.flatnonzero(rows.word_starts[start:end])
        yield [word.tolist() for word in np.split(is_masked[start:end], bounds[1:] - start)]


def chosen_spans(words, *, key, left, max_ngram, chances):
    """The spans of one row, (first word, words), chosen one after the other.

    Args:
        words: Tokens of each word between [CLS] and the last [SEP]; 0 for the first.
        key: Of the row.
        left: Tokens to mask.
        max_ngram: Most words of a span.
        chances: That a span may begin at each word, of 2**32.
    """

    def bits(purpose, counter):
        return draw(draw(key, PURPOSES[purpose]), counter)

    free, spans, tries, failures = [n > 0 for n in words], [], 0, 0
    while left:
        drawn = np.array([bits("ngram", len(spans))], np.uint64)
        length = min(int(ngram_lengths(drawn, max_ngram=max_ngram)[0]), left)
        after = {
            start: left - sum(words[start : start + length])
            for start in range(len(words) - length + 1)
            if all(free[start : start + length])
        }
        fits = [start for start, rest in after.items() if rest >= 0]
        exact = [s for s in fits if after[s] == 0 or after[s] >= max_ngram]
        searches = tries % masking.ROUNDS == 0 and failures >= masking.TRIES
        if searches:
            places = exact or fits or [None]
            start = places[(bits("search", len(spans)) >> 32) * len(places) >> 32]
        else:
            start = (bits("place", tries) >> 32) * len(words) >> 32
            may_begin = bits("place", tries) % 2**32 < chances[start]
            start = start if start in exact and may_begin else None
            tries += 1
        failures = 0 if searches or start is not None else failures + 1
        if start is not None:
            spans.append((start, length))
            for word in range(max(0, start - 1), min(len(words), start + length + 1)):
                free[word] = False
        left = 0 if searches and not exact else after.get(start, left)
    return spans


@pytest.mark.parametrize(("rounds", "tries"), [(8, 24), (1, 1)])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batch=batches, share=shares, max_ngram=max_ngrams, are_alike=st.booleans())
def test_spans_are_those_chosen_row_by_row(
    batch, share, max_ngram, are_alike, rounds, tries, monkeypatch
):
    monkeypatch.setattr(masking, "ROUNDS", rounds)
    monkeypatch.setattr(masking, "TRIES", tries)
    rows, keys = rows_of(batch), keys_of(batch)
    budget = budgets_of(rows, share=share)
    chances = None
    of_words = np.full(np.count_nonzero(rows.word_starts), 2**32)
    if not are_alike:
        chances = draws(np.arange(VOCAB_SIZE, dtype=np.uint64), 0) >> np.uint64(32)
        of_words = chances[rows.ids[rows.word_starts]]
    chooser = SpanChooser(rows, budget, keys=keys, max_ngram=max_ngram, chances=chances)
    spans = chooser.run()
    chosen = sorted(zip(spans.start.tolist(), spans.length.tolist(), strict=True))
    expected = []
    for number, (a, b) in enumerate(batch):
        first = 1 + np.count_nonzero(rows.word_starts[: rows.offsets[number]])
        spans_of_row = chosen_spans(
            [*a, 0, *b],
            key=int(keys[number]),
            left=int(budget[number]),
            max_ngram=max_ngram,
            chances=of_words[first:].tolist(),
        )
        expected += [(first + start, length) for start, length in spans_of_row]
    assert chosen == sorted(expected)


@given(batches, shares, max_ngrams)
def test_a_row_is_masked_the_same_in_any_batch(batch, share, max_ngram):
    _, together = mask_batch(batch, share=share, max_ngram=max_ngram)
    alone = [mask_batch([row], share=share, max_ngram=max_ngram)[1] for row in batch]
    assert together.ids.tolist() == np.concatenate([m.ids for m in alone]).tolist()
    assert positions_by_row(together) == [m.positions.tolist() for m in alone]


@given(batches, shares, max_ngrams)
def test_whole_words_are_masked_within_the_budget_and_labels_restore_them(batch, share, max_ngram):
    rows, masked = mask_batch(batch, share=share, max_ngram=max_ngram)
    ids = masked.ids.copy()
    owners = np.repeat(rows.offsets[:-1], np.diff(masked.offsets))
    ids[owners + masked.positions] = masked.labels
    assert ids.tolist() == rows.ids.tolist()
    # Special tokens are never masked.
    assert masked.labels.min(initial=5) >= 5
    assert (np.diff(masked.offsets) <= budgets_of(rows, share=share)).all()
    for positions in positions_by_row(masked):
        assert positions == sorted(set(positions))
    for words in masked_words_by_row(rows, masked):
        assert all(len(set(word)) == 1 for word in words)


def test_unknown_tokens_are_never_masked():
    rows = rows_of([([1] * 20, [1] * 20)])
    rows.ids[5:15] = UNK_ID
    masked = mask(
        rows,
        keys=np.ones(1, np.uint64),
        vocab_size=VOCAB_SIZE,
        budget=np.array([25]),
        max_ngram=3,
        kept_share=0.1,
    )
    assert len(masked.labels) > 10
    assert UNK_ID not in masked.labels


@pytest.mark.parametrize(
    ("row", "share", "number"),
    [(([4], [5]), 0.15, 0), (([1] * 250, [1] * 259), 0.15, 77), (([1] * 9, [1] * 9), 0.0, 0)],
)
def test_a_row_is_masked_to_its_budget_or_not_where_all_words_exceed_it(row, share, number):
    rows, masked = mask_batch([row], share=share, max_ngram=3)
    assert len(masked.positions) == number
    assert number or masked.ids.tolist() == rows.ids.tolist()


@given(st.integers(3, 4096), st.floats(0.01, 0.9), st.integers(1, 600))
def test_the_budget_is_that_of_the_published_code(length, share, most):
    budget = budgets(np.array([length]), masked_lm_prob=share, max_predictions_per_seq=most)
    assert budget.tolist() == [min(most, max(1, round(length * share)))]


@pytest.mark.parametrize("max_ngram", range(1, 11))
def test_drawn_lengths_have_shares_proportional_to_one_over_n(max_ngram):
    bits = draws(np.array([7], np.uint64), np.arange(1_000_000))
    lengths = ngram_lengths(bits, max_ngram=max_ngram)
    weights = 1 / np.arange(1, max_ngram + 1)
    shares = np.bincount(lengths, minlength=max_ngram + 1)[1:] / 1_000_000
    assert shares == pytest.approx(weights / weights.sum(), abs=0.0015)


def test_masked_places_are_spread_evenly_over_the_row():
    """Of 4,000 full rows of 512 tokens with words of 1, 2, 3 or 4 tokens."""
    chances = np.random.default_rng(0)
    batch = []
    for _ in range(4000):
        words = chances.choice([1, 2, 3, 4], size=500, p=[0.75, 0.15, 0.07, 0.03])
        fitting = words[np.cumsum(words) <= 509].tolist()
        middle = int(chances.integers(1, len(fitting)))
        batch.append((fitting[:middle], fitting[middle:]))
    rows, masked = mask_batch(batch, share=0.15, max_ngram=3)
    full = np.repeat(np.diff(rows.offsets) == 512, np.diff(masked.offsets))
    positions = masked.positions[full]
    tenths = np.histogram(positions, bins=10, range=(1, 511))[0] / len(positions)
    assert tenths == pytest.approx(np.full(10, 0.1), abs=0.005)


def test_a_token_is_masked_in_proportion_to_its_information():
    number, frequencies = 20_000, np.array([0.7, 0.2, 0.09, 0.01])
    ids = 10 + np.random.default_rng(0).choice(4, size=number * 50, p=frequencies)
    rows = Rows(ids.astype(np.int32), 50 * np.arange(number + 1), np.ones(len(ids), bool))
    rows.ids[rows.offsets[:-1]], rows.ids[rows.offsets[1:] - 1] = CLS_ID, SEP_ID
    masked = mask(
        rows,
        keys=draws(np.arange(number, dtype=np.uint64), 0),
        vocab_size=100,
        budget=np.ones(number, np.int64),
        max_ngram=1,
        kept_share=0.1,
        chances=beginning_chances(np.bincount(ids), vocab_size=100),
    )
    times_masked = np.bincount(masked.labels)[10:]
    wanted = -np.log(frequencies) * frequencies
    assert times_masked / number == pytest.approx(wanted / wanted.sum(), rel=0.05)


@pytest.mark.parametrize(
    ("kept_share", "ids", "counts"),
    [(0.0, [MASK_ID] * 3, [3, 0, 0]), (1.0, [50, 60, 70], [0, 3, 0])],
    ids=["the mask token", "themselves"],
)
def test_masked_tokens_become_when_all_are_to(monkeypatch, kept_share, ids, counts):
    monkeypatch.setattr(masking, "RANDOM_SHARE", 0.0)
    replaced, counted = replacements(
        np.array([50, 60, 70], np.int32),
        np.array([1, 2, 1]),
        keys=np.array([1, 1, 2], np.uint64),
        counts=np.ones(3, np.int64),
        vocab_size=99,
        kept_share=kept_share,
    )
    assert (replaced.tolist(), counted.tolist()) == (ids, counts)
