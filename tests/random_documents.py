"""Documents that try the packer: single words, endless words, one long sentence."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from pipeline.core.draws import columns_of
from pipeline.examples.packing import cuttable, cutting_places, pack

# A word is its number of tokens, a sentence its words, a document its sentences.
words = st.integers(1, 4) | st.integers(1, 700)
sentences = st.lists(st.integers(1, 3), min_size=1, max_size=60) | st.lists(
    words, min_size=1, max_size=5
)
documents = st.lists(sentences, min_size=1, max_size=25)

max_seq_lengths = st.integers(8, 40) | st.integers(8, 512)
shares = st.sampled_from([0.0, 0.1, 1.0])
keys = st.integers(0, 2**64 - 1)


def word_starts_of(document):
    """Whether each token of a document starts a word."""
    lengths = np.array([word for sentence in document for word in sentence])
    starts = np.zeros(lengths.sum(), bool)
    starts[np.cumsum(lengths) - lengths] = True
    return starts


def sentence_ends_of(document):
    """The end of each sentence of a document, in tokens."""
    return np.cumsum([sum(sentence) for sentence in document])


def places_of(document, *, max_tokens):
    """Where a document may be cut."""
    may_cut = cuttable(word_starts_of(document), max_tokens=max_tokens)
    return cutting_places(sentence_ends_of(document), may_cut)


class Sequence(NamedTuple):
    """The tokens [start, end) of a document."""

    start: int
    end: int
    number: int
    is_short: bool
    is_document_end: bool


def pack_one(places, *, max_tokens, short_seq_prob, key, next_start=None):
    """The sequences of one copy of one document."""
    packed = pack(
        places,
        np.array([0]),
        places.sentence_ends[-1:],
        keys=np.array([key], np.uint64),
        max_tokens=max_tokens,
        short_seq_prob=short_seq_prob,
        next_start=next_start,
    )
    columns = columns_of(packed)[1:6]
    return [Sequence(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
