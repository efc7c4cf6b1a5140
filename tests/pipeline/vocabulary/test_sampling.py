from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.noise.look import bounds_for
from pipeline.reading.inputs import find_inputs
from pipeline.reading.read import plan_chunks
from pipeline.vocabulary.sampling import SentenceSample, sample_chunk, sentence_keys

keyed_sentences = st.lists(
    st.tuples(st.integers(0, 2**64 - 1) | st.integers(0, 9), st.text(max_size=3)),
    max_size=40,
    unique_by=lambda sentence: sentence[0],
)


@pytest.fixture(scope="module")
def files(topics, tmp_path_factory):
    """A file of running prose for each topic."""
    folder = tmp_path_factory.mktemp("texts")
    for number, document in enumerate(topics):
        (folder / f"{number:02d}.txt").write_text(document.text)
    return find_inputs({"text": (str(folder),)}, input_format="prose")


sample_all = partial(sample_chunk, looked_at=bounds_for(0))


def sample_files(files, *, size, chunk_bytes=1 << 24, seed=1):
    """The sample of all files, read in splits of this size."""
    train, held_out = SentenceSample(size), SentenceSample(size)
    for split in plan_chunks(files, chunk_bytes=chunk_bytes):
        result = sample_all(split, size=size, bound=train.bound, seed=seed)
        train.add(result.train)
        held_out.add(result.held_out)
    return train.items(), held_out.items()


@given(st.lists(keyed_sentences, max_size=6), st.integers(1, 10))
def test_a_sample_is_the_sentences_with_the_smallest_keys_below_its_bound(batches, size):
    sample = SentenceSample(size)
    for batch in batches:
        sample.add(batch)
    smallest = {}
    for key, text in sorted(sentence for batch in batches for sentence in batch):
        smallest.setdefault(key, text)
    assert sample.items() == sorted(smallest.items())[:size]
    assert sample.texts() == [text for _, text in sample.items()]
    assert all(key < sample.bound for key, _ in sample.items())


def test_a_sample_never_holds_more_than_twice_its_size():
    sample = SentenceSample(10)
    for key in range(1000):
        sample.add([(key, "")])
        assert len(sample._sentences) < 20


def test_keys_follow_from_document_place_and_seed():
    keys = sentence_keys(bytes(16), 3, seed=1)
    assert sentence_keys(bytes(16), 2, seed=1).tolist() == keys.tolist()[:2]
    assert len({*keys, *sentence_keys(bytes(16), 3, seed=2)}) == 6
    assert len({*keys, *sentence_keys(b"1" * 16, 3, seed=1)}) == 6


@pytest.fixture(scope="module")
def small(files):
    """A hundred sentences of all files, read at once."""
    return sample_files(files, size=100)


@pytest.fixture(scope="module")
def large(files):
    """All sentences of all files."""
    return sample_files(files, size=1_000_000)


def test_neither_splits_nor_order_nor_duplicates_of_the_files_show_in_a_sample(files, small, large):
    for expected, size in ((small, 100), (large, 1_000_000)):
        assert sample_files(files[::-1], chunk_bytes=1 << 16, size=size) == expected
    assert sample_files(files * 2, size=100) == small


def test_another_seed_gives_another_sample(files, small):
    other, _ = sample_files(files, size=100, seed=2)
    assert {text for _, text in small[0]} != {text for _, text in other}


def test_a_small_sample_is_a_part_of_a_large_one(small, large):
    assert large[0][:100] == small[0]


def test_one_sentence_in_a_hundred_is_held_out_and_never_trained_on(large):
    train, held_out = large
    assert len(held_out) / (len(train) + len(held_out)) == pytest.approx(0.01, abs=0.005)
    assert not set(dict(train)) & set(dict(held_out))


def test_documents_and_sentences_are_counted(files):
    (split,) = plan_chunks(files, chunk_bytes=1 << 24)
    result = sample_all(split, size=10, bound=1 << 64, seed=1)
    assert result.counts.documents == len(files)
    assert result.counts.sentences > len(result.train) == 10


def test_keys_at_or_above_the_bound_are_not_returned(files):
    (split,) = plan_chunks(files, chunk_bytes=1 << 24)
    result = sample_all(split, size=1_000_000, bound=1 << 60, seed=1)
    keys = np.array([key for key, _ in result.train], np.uint64)
    assert len(keys) > 0
    assert keys.max() < 1 << 60
