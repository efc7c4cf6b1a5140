import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.draws import PURPOSES, draw, draws, happens, hash_key

uint64 = st.integers(0, 2**64 - 1)
counters = st.integers(0, 2**40)


def test_the_draws_of_a_key_are_the_splitmix64_stream_seeded_with_it():
    # The first five numbers of Vigna's splitmix64.c for the seed 1234567.
    assert [draw(1234567, counter) for counter in range(5)] == [
        *(6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431),
        16408922859458223821,
    ]


@given(st.lists(st.tuples(uint64, counters), min_size=1))
def test_draws_are_draw_for_each_key_and_counter_or_one_for_all(pairs):
    keys, steps = (np.array(each, np.uint64) for each in zip(*pairs, strict=True))
    steps, (key, step) = steps.astype(np.int64), pairs[0]
    assert draws(keys, steps).tolist() == [draw(key, step) for key, step in pairs]
    assert draws(keys, step).tolist() == [draw(each, step) for each, _ in pairs]
    assert draws(keys[:1], steps).tolist() == [draw(key, each) for _, each in pairs]


def test_the_numbers_of_the_purposes_never_change():
    assert PURPOSES == {
        **{"target": 1, "split": 2, "swap": 3, "rank": 4, "ngram": 5, "place": 6, "search": 7},
        **{"replace": 8, "token": 9, "other document": 10, "other sentence": 11},
    }


def test_a_hash_key_is_the_blake2b_of_its_parts_behind_their_lengths():
    data = b"\x04\0\0\0\0\0\0\0seed\x02\0\0\0\0\0\0\0id"
    digest = hashlib.blake2b(data, digest_size=8).digest()
    assert hash_key(b"seed", b"id") == int.from_bytes(digest, "little")
    assert hash_key(b"ab", b"c") != hash_key(b"a", b"bc")


@given(uint64, st.floats(0, 1))
def test_an_event_happens_where_the_high_half_is_below_its_share(bits, probability):
    assert happens(np.array([bits], np.uint64), probability)[0] == (
        bits >> 32 < round(probability * 2**32)
    )
