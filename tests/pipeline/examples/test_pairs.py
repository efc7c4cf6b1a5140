import numpy as np
import pytest

from pipeline.core.draws import draws
from pipeline.examples import pairs as paired
from pipeline.examples.pairs import Pairs, assemble, sentence_order_pairs
from schemas.example import CLS_ID as CLS
from schemas.example import SEP_ID as SEP


def one_pair(a, b, *, label=0):
    """A pair of two ranges."""
    numbers = [np.array([n]) for n in (*a, *b, label)]
    return Pairs(*numbers, keys=np.zeros(1, np.uint64))


def many_keys(count):
    return draws(np.array([7], np.uint64), np.arange(count))


def split_many(start, end, *, sentence_starts, may_cut, count=100_000):
    """The places at which a range is split, each with its share."""
    places = paired.split_points(
        np.full(count, start),
        np.full(count, end),
        sentence_starts=np.array(sentence_starts),
        may_cut=np.array(may_cut, bool),
        keys=many_keys(count),
    )
    chosen, counts = np.unique(places, return_counts=True)
    return dict(zip(chosen.tolist(), counts / count, strict=True))


@pytest.mark.parametrize(
    ("start", "end", "sentence_starts", "may_cut", "places"),
    [
        (2, 12, [0, 2, 5, 6, 9, 12], [1] * 14, [5, 6, 9]),
        (2, 9, [0, 2, 9], [1, 1, 1, 0, 1, 0, 0, 1, 1, 1], [4, 7, 8]),
        (3, 9, [0, 5], [1] * 9, [5]),
    ],
    ids=[
        "at each of its sentence starts",
        "one sentence at each of its words",
        "where the sentence ends inside which it begins",
    ],
)
def test_a_sequence_is_split_equally_often(start, end, sentence_starts, may_cut, places):
    shares = split_many(start, end, sentence_starts=sentence_starts, may_cut=may_cut)
    assert shares == dict.fromkeys(places, pytest.approx(1 / len(places), abs=0.01))


def test_a_pair_in_order_has_label_0_and_a_swapped_one_label_1():
    pairs = sentence_order_pairs(*(np.full(100, n) for n in (3, 5, 9)), keys=many_keys(100))
    columns = (pairs.labels, pairs.a_start, pairs.a_end, pairs.b_start, pairs.b_end)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    assert set(rows) == {(0, 3, 5, 5, 9), (1, 5, 9, 3, 5)}


@pytest.mark.parametrize(
    ("pair", "ids", "word_starts"),
    [
        (one_pair((1, 3), (3, 6)), [CLS, 11, 12, SEP, 13, 14, 15, SEP], [1, 1, 0, 1, 1, 0, 1, 1]),
        (
            one_pair((3, 6), (1, 3), label=1),
            [CLS, 13, 14, 15, SEP, 11, 12, SEP],
            [1, 1, 0, 1, 1, 1, 0, 1],
        ),
        (one_pair((1, 3), (3, 3)), [CLS, 11, 12, SEP], [1, 1, 0, 1]),
        (one_pair((2, 4), (4, 6)), [CLS, 12, 13, SEP, 14, 15, SEP], [1, 1, 1, 1, 1, 1, 1]),
    ],
    ids=[
        "in order",
        "swapped, the second half first",
        "without a second segment there is one separator",
        "behind a special token a word starts, also where a long one was cut",
    ],
)
def test_a_pair_is_written_with_its_special_tokens(pair, ids, word_starts):
    rows = assemble(
        pair,
        ids=np.arange(10, 17, dtype=np.int32),
        word_starts=np.array([1, 1, 0, 1, 0, 1, 1], bool),
    )
    assert rows.ids.tolist() == ids
    assert rows.word_starts.tolist() == word_starts
    assert rows.offsets.tolist() == [0, len(ids)]


# Three documents: 0 to 10, 10 to 30 and 30 to 35, with sentences of five tokens.
FIVES = np.arange(0, 35, 5)
DOCUMENTS = np.array([0, 10, 30, 35])


def other_places(document, length, *, room=35, may_cut=None, count=30_000):
    """Where the text from elsewhere starts and ends, each with its share."""
    starts, ends = paired.other_segments(
        np.full(count, document),
        np.full(count, length),
        room=np.full(count, room),
        sentence_starts=FIVES,
        document_starts=DOCUMENTS,
        may_cut=np.ones(35, bool) if may_cut is None else may_cut,
        keys=many_keys(count),
    )
    places = list(zip(starts.tolist(), ends.tolist(), strict=True))
    return {place: places.count(place) / count for place in set(places)}


def test_another_segment_comes_from_each_other_document_with_enough_text_and_not_from_the_own():
    # Of the second document all sentences but the last have 8 tokens behind them.
    sixth = pytest.approx(1 / 6, abs=0.01)
    of_the_second = {(10, 20): sixth, (15, 25): sixth, (20, 30): sixth}
    assert other_places(0, 8) == of_the_second | {(30, 35): pytest.approx(1 / 2, abs=0.01)}
    assert set(other_places(1, 5)) == {(0, 5), (5, 10), (30, 35)}


@pytest.mark.parametrize(("length", "end"), [(1, 5), (5, 5), (7, 5), (8, 10), (12, 10), (13, 15)])
def test_another_segment_ends_with_the_sentence_nearest_to_the_wanted_length(length, end):
    assert (10, 10 + end) in other_places(0, length)


def test_another_segment_ends_with_a_sentence_before_or_a_word_where_there_is_no_room():
    assert (10, 15) in other_places(0, 8, room=9)
    may_cut = np.ones(35, bool)
    may_cut[[33, 34]] = False
    assert (30, 32) in other_places(0, 3, room=4, may_cut=may_cut)
