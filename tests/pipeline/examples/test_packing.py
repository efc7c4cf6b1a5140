import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.draws import columns_of, draws
from pipeline.examples.packing import (
    cuttable,
    cutting_places,
    draw_targets,
    pack,
    sequence_ends,
)
from tests.random_documents import (
    Sequence,
    documents,
    keys,
    max_seq_lengths,
    pack_one,
    places_of,
    sentence_ends_of,
    shares,
    word_starts_of,
)


def ends_of(sentence_ends, *, target, max_tokens):
    """Where a sequence from the start of a document of one-token words ends."""
    last = sentence_ends[-1]
    places = cutting_places(np.array(sentence_ends), np.ones(last, bool))
    start, lasts = np.array([0]), np.array([last])
    (end,) = sequence_ends(
        places, start, lasts, target=np.array([target]), max_tokens=max_tokens
    )
    return end


def draws_of(count, *, max_tokens, short_seq_prob):
    """Many targets, and whether they are short."""
    keys = draws(np.array([7], np.uint64), np.arange(count))
    return draw_targets(keys, max_tokens=max_tokens, short_seq_prob=short_seq_prob)


def cut_before(places, at):
    (cut,) = places.cut_before(np.array([at]))
    return cut


def cut_after(places, at):
    (cut,) = places.cut_after(np.array([at]))
    return cut


def pack_full(document, *, max_tokens):
    """The ranges of a document none of whose sequences is short."""
    places = places_of(document, max_tokens=max_tokens)
    sequences = pack_one(places, max_tokens=max_tokens, short_seq_prob=0.0, key=1)
    return [(sequence.start, sequence.end) for sequence in sequences]


def test_sequences_end_at_sentences_that_fill_them():
    document = [[1] * 10, [1] * 10, [1] * 15, [1] * 5]
    assert pack_full(document, max_tokens=20) == [(0, 20), (20, 40)]


def test_a_sentence_that_does_not_fit_opens_the_next_sequence():
    document = [[1] * 15, [1] * 15]
    assert pack_full(document, max_tokens=20) == [(0, 15), (15, 30)]


def test_a_sentence_longer_than_a_sequence_is_cut_where_a_word_starts():
    assert pack_full([[3] * 8], max_tokens=20) == [(0, 18), (18, 24)]


def test_the_rest_of_a_sentence_that_is_cut_opens_the_next_sequence():
    assert pack_full([[1] * 25, [1] * 10], max_tokens=20) == [(0, 20), (20, 35)]


def test_a_sentence_of_one_word_is_followed_by_a_part_of_one_that_does_not_fit():
    assert pack_full([[2], [1] * 30], max_tokens=20) == [(0, 20), (20, 32)]


def test_the_last_sequence_is_as_long_as_what_is_left():
    assert pack_full([[1] * 25], max_tokens=20) == [(0, 20), (20, 25)]


def test_a_last_word_alone_joins_its_predecessor_where_it_fits():
    assert pack_full([[1] * 97, [2]], max_tokens=100) == [(0, 99)]


def test_a_last_word_alone_takes_a_word_from_a_full_predecessor():
    assert pack_full([[1] * 21], max_tokens=20) == [(0, 19), (19, 21)]


def test_a_document_of_one_word_gives_no_sequence():
    assert pack_full([[2]], max_tokens=20) == []


def test_a_document_of_two_words_is_one_sequence():
    assert pack_full([[1], [1]], max_tokens=20) == [(0, 2)]


def test_a_word_longer_than_a_sequence_is_cut_in_quarters():
    assert pack_full([[50]], max_tokens=20) == [(0, 20), (20, 40), (40, 50)]


def test_a_short_target_keeps_the_sentence_that_reaches_it_whole():
    assert ends_of([4, 9, 30], target=5, max_tokens=20) == 9


def test_a_short_target_goes_on_to_a_second_sentence():
    assert ends_of([9, 14, 30], target=5, max_tokens=20) == 14


def test_a_short_target_stays_with_one_sentence_where_the_second_does_not_fit():
    assert ends_of([9, 30], target=5, max_tokens=20) == 9


def test_a_short_target_never_exceeds_the_maximum():
    assert ends_of([30], target=5, max_tokens=20) == 20


def test_a_sequence_goes_on_to_a_second_word():
    assert ends_of([1, 2, 30], target=1, max_tokens=20) == 2


def test_the_last_sequence_is_marked_as_the_end_of_its_document():
    places = cutting_places(np.array([25]), np.ones(25, bool))
    assert pack_one(places, max_tokens=20, short_seq_prob=0.0, key=1) == [
        Sequence(0, 20, number=0, is_short=False, is_document_end=False),
        Sequence(20, 25, number=1, is_short=False, is_document_end=True),
    ]


def test_a_predecessor_that_takes_the_last_word_becomes_the_end_of_the_document():
    places = places_of([[1] * 97, [2]], max_tokens=100)
    assert pack_one(places, max_tokens=100, short_seq_prob=0.0, key=1) == [
        Sequence(0, 99, number=0, is_short=False, is_document_end=True)
    ]


def test_a_sequence_that_is_put_back_in_part_is_followed_by_what_was_put_back():
    places = cutting_places(np.array([30]), np.ones(30, bool))
    sequences = pack_one(
        places,
        max_tokens=20,
        short_seq_prob=0.0,
        key=1,
        next_start=lambda start, end, keys: np.where(start == 0, 12, end),
    )
    assert [sequence[:2] for sequence in sequences] == [(0, 20), (12, 30)]


def test_without_short_sequences_every_target_is_the_maximum():
    targets, is_short = draws_of(1000, max_tokens=509, short_seq_prob=0.0)
    assert set(targets.tolist()) == {509}
    assert not is_short.any()


def test_short_targets_are_uniform_from_2_to_the_maximum():
    targets, _ = draws_of(280_000, max_tokens=29, short_seq_prob=1.0)
    counts = np.bincount(targets)
    # Five standard deviations of a count whose expectation is 10,000.
    assert counts == pytest.approx(np.append([0, 0], np.full(28, 10_000)), abs=500)


@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_targets_are_short_as_often_as_asked(probability):
    _, is_short = draws_of(100_000, max_tokens=509, short_seq_prob=probability)
    assert is_short.mean() == pytest.approx(probability, abs=0.005)


def test_the_share_of_short_sequences_is_that_of_short_draws_in_long_documents():
    places = places_of([[1] * 23] * 2000, max_tokens=125)
    sequences = [
        sequence
        for key in range(100)
        for sequence in pack_one(places, max_tokens=125, short_seq_prob=0.1, key=key)
    ]
    assert len(sequences) > 35_000
    share = np.mean([sequence.is_short for sequence in sequences])
    assert share == pytest.approx(0.1, abs=0.005)


@given(documents, max_seq_lengths, shares, keys)
def test_every_token_is_in_exactly_one_sequence_in_order(
    document, max_seq_length, short_seq_prob, key
):
    max_tokens = max_seq_length - 3
    places = places_of(document, max_tokens=max_tokens)
    sequences = pack_one(
        places, max_tokens=max_tokens, short_seq_prob=short_seq_prob, key=key
    )
    cuts = [0, *(sequence.end for sequence in sequences)]
    assert [sequence.start for sequence in sequences] == cuts[:-1]
    has_two_parts = cut_after(places, 0) < places.sentence_ends[-1]
    assert cuts[-1] == (places.sentence_ends[-1] if has_two_parts else 0)


@given(documents, max_seq_lengths, shares, keys)
def test_a_document_of_two_words_or_more_is_used(
    document, max_seq_length, short_seq_prob, key
):
    document = [*document, [1]]
    max_tokens = max_seq_length - 3
    places = places_of(document, max_tokens=max_tokens)
    assert pack_one(
        places, max_tokens=max_tokens, short_seq_prob=short_seq_prob, key=key
    )


@given(documents, max_seq_lengths, shares, keys)
def test_no_sequence_exceeds_the_maximum(document, max_seq_length, short_seq_prob, key):
    max_tokens = max_seq_length - 3
    places = places_of(document, max_tokens=max_tokens)
    for sequence in pack_one(
        places, max_tokens=max_tokens, short_seq_prob=short_seq_prob, key=key
    ):
        assert sequence.end - sequence.start <= max_tokens


@given(documents, max_seq_lengths, shares, keys)
def test_every_sequence_begins_at_a_cut_and_has_another_inside(
    document, max_seq_length, short_seq_prob, key
):
    max_tokens = max_seq_length - 3
    places = places_of(document, max_tokens=max_tokens)
    for sequence in pack_one(
        places, max_tokens=max_tokens, short_seq_prob=short_seq_prob, key=key
    ):
        assert cut_before(places, sequence.start) == sequence.start
        assert cut_after(places, sequence.start) < sequence.end


@given(documents, max_seq_lengths, keys)
def test_a_full_sequence_has_no_room_for_the_next_sentence(
    document, max_seq_length, key
):
    max_tokens = max_seq_length - 3
    places = places_of(document, max_tokens=max_tokens)
    sequences = pack_one(places, max_tokens=max_tokens, short_seq_prob=0.0, key=key)
    # The last two may have shared out the end of the document.
    for sequence in sequences[:-2]:
        with_next = next(end for end in places.sentence_ends if end > sequence.end)
        assert with_next - sequence.start > max_tokens


@given(documents, max_seq_lengths, shares, keys)
def test_a_sequence_ends_with_a_sentence_unless_none_of_two_words_fits(
    document, max_seq_length, short_seq_prob, key
):
    max_tokens = max_seq_length - 3
    places = places_of(document, max_tokens=max_tokens)
    sequences = pack_one(
        places, max_tokens=max_tokens, short_seq_prob=short_seq_prob, key=key
    )
    for start, end, *_ in sequences[:-2]:
        one_word = cut_after(places, start)
        fitting = [
            e for e in places.sentence_ends if one_word < e <= start + max_tokens
        ]
        with_next = cut_after(places, end) - start
        assert end in fitting or (not fitting and with_next > max_tokens)


@given(documents, max_seq_lengths, shares, keys)
def test_only_the_last_sequence_is_the_end_of_its_document(
    document, max_seq_length, short_seq_prob, key
):
    max_tokens = max_seq_length - 3
    sequences = pack_one(
        places_of(document, max_tokens=max_tokens),
        max_tokens=max_tokens,
        short_seq_prob=short_seq_prob,
        key=key,
    )
    ends = [sequence.is_document_end for sequence in sequences]
    assert ends == [False] * (len(ends) - 1) + [True] * bool(ends)


@given(documents, max_seq_lengths, keys)
def test_sequences_are_numbered_from_0(document, max_seq_length, key):
    max_tokens = max_seq_length - 3
    sequences = pack_one(
        places_of(document, max_tokens=max_tokens),
        max_tokens=max_tokens,
        short_seq_prob=0.1,
        key=key,
    )
    numbers = [sequence.number for sequence in sequences]
    assert numbers == list(range(len(sequences)))


@given(documents, max_seq_lengths)
def test_a_document_is_cuttable_at_every_word(document, max_seq_length):
    starts = word_starts_of(document)
    assert cuttable(starts, max_tokens=max_seq_length - 3)[starts].all()


@given(documents, max_seq_lengths)
def test_words_up_to_a_third_of_a_sequence_are_never_cut(document, max_seq_length):
    max_tokens = max_seq_length - 3
    short = [[word for word in s if word <= max_tokens // 3] for s in document]
    document = [sentence for sentence in short if sentence] or [[1]]
    starts = word_starts_of(document)
    assert (cuttable(starts, max_tokens=max_tokens) == starts).all()


@given(documents, st.integers(5, 509))
def test_no_stretch_between_two_cuts_exceeds_a_third_of_a_sequence(
    document, max_tokens
):
    may_cut = cuttable(word_starts_of(document), max_tokens=max_tokens)
    cuts = np.append(np.flatnonzero(may_cut), len(may_cut))
    assert np.diff(cuts).max() <= max(1, max_tokens // 3)


@given(st.lists(st.integers(1, 120), min_size=1), st.integers(5, 300))
def test_a_long_word_may_be_cut_every_quarter_of_a_sequence(lengths, max_tokens):
    expected, place = np.zeros(sum(lengths), np.bool_), 0
    for length in lengths:
        is_long = length > max_tokens // 3
        step = max(1, max_tokens // 4) if is_long else length
        expected[place : place + length : step] = True
        place += length
    starts = np.zeros(sum(lengths), np.bool_)
    starts[np.cumsum([0, *lengths[:-1]])] = True
    assert cuttable(starts, max_tokens=max_tokens).tolist() == expected.tolist()


@given(st.lists(st.booleans(), max_size=30))
def test_places_look_back_and_ahead_to_the_nearest_cut(later_cuts):
    may_cut = np.array([True, *later_cuts])
    places = cutting_places(np.array([len(may_cut)]), may_cut)
    cuts = [*np.flatnonzero(may_cut).tolist(), len(may_cut)]
    before = np.arange(len(may_cut) + 1)
    assert places.cut_before(before).tolist() == [
        max(cut for cut in cuts if cut <= place) for place in before
    ]
    after = np.arange(len(may_cut))
    assert places.cut_after(after).tolist() == [
        min(cut for cut in cuts if cut > place) for place in after
    ]


@given(
    st.lists(st.tuples(documents, keys), min_size=1, max_size=4),
    max_seq_lengths,
    shares,
)
def test_chains_are_packed_together_as_each_is_alone(
    chains, max_seq_length, short_seq_prob
):
    settings = {"max_tokens": max_seq_length - 3, "short_seq_prob": short_seq_prob}
    alone, ends, starts, first = [], [], [], [0]
    for number, (document, key) in enumerate(chains):
        places = places_of(document, max_tokens=max_seq_length - 3)
        alone += [
            (number, first[-1] + start, first[-1] + end, *rest)
            for start, end, *rest in pack_one(places, key=key, **settings)
        ]
        ends.append(first[-1] + sentence_ends_of(document))
        starts.append(word_starts_of(document))
        first.append(int(ends[-1][-1]))
    may_cut = cuttable(np.concatenate(starts), max_tokens=max_seq_length - 3)
    packed = pack(
        cutting_places(np.concatenate(ends), may_cut),
        np.array(first[:-1]),
        np.array(first[1:]),
        keys=np.array([key for _, key in chains], np.uint64),
        **settings,
    )
    columns = (column.tolist() for column in columns_of(packed))
    assert list(zip(*columns, strict=True)) == alone
