import itertools
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.draws import columns_of, draws
from pipeline.examples import packing
from tests import random_documents
from tests.random_documents import documents, keys, max_seq_lengths, pack_one, places_of


def cut_before(places, at):
    (cut,) = places.cut_before(np.array([at]))
    return cut


def cut_after(places, at):
    (cut,) = places.cut_after(np.array([at]))
    return cut


# Sentences by the tokens of their words, and the ranges of sequences of 20 tokens.
PACKED = {
    "a full sequence ends with its sentence": (
        [[1] * 10, [1] * 10, [1] * 15, [1] * 5],
        [(0, 20), (20, 40)],
    ),
    "a sentence that does not fit opens the next": ([[1] * 15, [1] * 15], [(0, 15), (15, 30)]),
    "a sentence longer than a sequence is cut where words start": ([[3] * 8], [(0, 18), (18, 24)]),
    "the rest of a cut sentence opens the next": ([[1] * 25, [1] * 10], [(0, 20), (20, 35)]),
    "one word is followed by a part of what does not fit": ([[2], [1] * 30], [(0, 20), (20, 32)]),
    "the last sequence is as long as what is left": ([[1] * 25], [(0, 20), (20, 25)]),
    "a last word alone joins its predecessor": ([[1] * 17, [2]], [(0, 19)]),
    "a last word alone takes a word from a full predecessor": ([[1] * 21], [(0, 19), (19, 21)]),
    "one word gives no sequence": ([[2]], []),
    "two words are one sequence": ([[1], [1]], [(0, 2)]),
    "a word longer than a sequence is cut in quarters": ([[50]], [(0, 20), (20, 40), (40, 50)]),
}


@pytest.mark.parametrize(("document", "ranges"), PACKED.values(), ids=PACKED)
def test_a_document_is_packed_into_sequences(document, ranges):
    places = places_of(document, max_tokens=20)
    sequences = pack_one(places, max_tokens=20, short_seq_prob=0.0, key=1)
    assert [(sequence.start, sequence.end) for sequence in sequences] == ranges


ENDS = {
    "with the sentence that reaches it, whole": ([4, 9, 30], 5, 9),
    "with a second sentence": ([9, 14, 30], 5, 14),
    "with the first sentence where the second does not fit": ([9, 30], 5, 9),
    "where the maximum is reached": ([30], 5, 20),
    "with a second word": ([1, 2, 30], 1, 2),
}


@pytest.mark.parametrize(("sentence_ends", "target", "end"), ENDS.values(), ids=ENDS)
def test_a_sequence_with_a_short_target_ends(sentence_ends, target, end):
    last = sentence_ends[-1]
    places = packing.cutting_places(np.array(sentence_ends), np.ones(last, bool))
    starts, ends, targets = np.array([[0], [last], [target]])
    found = packing.sequence_ends(places, starts, ends, target=targets, max_tokens=20)
    assert found.tolist() == [end]


def test_a_sequence_that_is_put_back_in_part_is_followed_by_what_was_put_back():
    def next_start(start, end, keys):
        return np.where(start == 0, 12, end)

    places = packing.cutting_places(np.array([30]), np.ones(30, bool))
    sequences = pack_one(places, max_tokens=20, short_seq_prob=0.0, key=1, next_start=next_start)
    assert [sequence[:2] for sequence in sequences] == [(0, 20), (12, 30)]


def test_targets_are_the_maximum_and_short_ones_uniform_from_2_to_it():
    keys = draws(np.array([7], np.uint64), np.arange(280_000))
    targets, is_short = packing.draw_targets(keys[:1000], max_tokens=509, short_seq_prob=0.0)
    assert set(targets.tolist()) == {509}
    assert not is_short.any()
    targets, _ = packing.draw_targets(keys, max_tokens=29, short_seq_prob=1.0)
    counts = np.bincount(targets)
    # Five standard deviations of a count whose expectation is 10,000.
    assert counts == pytest.approx(np.append([0, 0], np.full(28, 10_000)), abs=500)


class Packed(NamedTuple):
    """A document as it was packed."""

    places: packing.Places
    sequences: list[random_documents.Sequence]
    max_tokens: int


@st.composite
def packings(draw, *, short_seq_probs=random_documents.shares):
    """Any document, packed into any sequences."""
    max_tokens = draw(max_seq_lengths) - 3
    places = places_of(draw(documents), max_tokens=max_tokens)
    settings = {"short_seq_prob": draw(short_seq_probs), "key": draw(keys)}
    sequences = pack_one(places, max_tokens=max_tokens, **settings)
    return Packed(places, sequences, max_tokens)


@given(packings())
def test_every_token_is_in_exactly_one_sequence_that_fits_and_can_be_divided(packed):
    places, count = packed.places, len(packed.sequences)
    cuts, last = [0, *(s.end for s in packed.sequences)], places.sentence_ends[-1]
    assert [sequence.start for sequence in packed.sequences] == cuts[:-1]
    assert cuts[-1] == (last if cut_after(places, 0) < last else 0)
    for number, sequence in enumerate(packed.sequences):
        assert sequence.end - sequence.start <= packed.max_tokens
        assert cut_before(places, sequence.start) == sequence.start
        assert cut_after(places, sequence.start) < sequence.end
        assert sequence.number == number
        assert sequence.is_document_end == (number == count - 1)


@given(packings(short_seq_probs=st.just(0.0)))
def test_a_full_sequence_has_no_room_for_the_next_sentence(packed):
    # The last two may have shared out the end of the document.
    for start, end, *_ in packed.sequences[:-2]:
        with_next = next(e for e in packed.places.sentence_ends if e > end)
        assert with_next - start > packed.max_tokens


@given(packings())
def test_a_sequence_ends_with_a_sentence_unless_none_of_two_words_fits(packed):
    places, most = packed.places, packed.max_tokens
    for start, end, *_ in packed.sequences[:-2]:
        one_word = cut_after(places, start)
        fitting = [e for e in places.sentence_ends if one_word < e <= start + most]
        with_next = cut_after(places, end) - start
        assert end in fitting or (not fitting and with_next > most)


@given(documents, st.integers(5, 40) | st.integers(5, 509))
def test_a_document_is_cuttable_at_every_word_and_in_long_ones_every_quarter_of_a_sequence(
    document, max_tokens
):
    expected = []
    for length in itertools.chain.from_iterable(document):
        is_long = length > max_tokens // 3
        step = max(1, max_tokens // 4) if is_long else length
        expected += [place % step == 0 for place in range(length)]
    may_cut = packing.cuttable(random_documents.word_starts_of(document), max_tokens=max_tokens)
    assert may_cut.tolist() == expected
    cuts = np.append(np.flatnonzero(may_cut), len(may_cut))
    assert np.diff(cuts).max() <= max(1, max_tokens // 3)


@given(st.lists(st.booleans(), max_size=30))
def test_places_look_back_and_ahead_to_the_nearest_cut(later_cuts):
    may_cut = np.array([True, *later_cuts])
    places = packing.cutting_places(np.array([len(may_cut)]), may_cut)
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
    random_documents.shares,
)
def test_chains_are_packed_together_as_each_is_alone(chains, max_seq_length, short_seq_prob):
    settings = {"max_tokens": max_seq_length - 3, "short_seq_prob": short_seq_prob}
    alone, ends, starts, first = [], [], [], [0]
    for number, (document, key) in enumerate(chains):
        places = places_of(document, max_tokens=max_seq_length - 3)
        alone += [
            (number, first[-1] + start, first[-1] + end, *rest)
            for start, end, *rest in pack_one(places, key=key, **settings)
        ]
        ends.append(first[-1] + random_documents.sentence_ends_of(document))
        starts.append(random_documents.word_starts_of(document))
        first.append(int(ends[-1][-1]))
    may_cut = packing.cuttable(np.concatenate(starts), max_tokens=max_seq_length - 3)
    packed = packing.pack(
        packing.cutting_places(np.concatenate(ends), may_cut),
        np.array(first[:-1]),
        np.array(first[1:]),
        keys=np.array([key for _, key in chains], np.uint64),
        **settings,
    )
    columns = (column.tolist() for column in columns_of(packed)[:6])
    assert list(zip(*columns, strict=True)) == alone
    overlaps = packed.start[1:] < packed.end[:-1]
    expected = overlaps & (packed.chain[1:] == packed.chain[:-1])
    assert packed.is_put_back[:-1].tolist() == expected.tolist()
    assert not packed.is_put_back[-1:].any()
