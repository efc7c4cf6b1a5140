"""Documents as records, from which examples are made when needed.

A record is a `tf.train.Example` with the features of `DOCUMENT_FEATURES` and nothing
else. The documents of a shard are in the order of their ids, and this order decides
which other document a pair may draw on; so it takes a whole shard, with the settings,
to make its examples.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pipeline.core.draws import Int
from pipeline.core.protobuf import bytes_field
from pipeline.examples.packing import Tokens, cuttable, document_key
from pipeline.records.checks import integers, split_example
from pipeline.records.tfrecord import feature_header, varints
from schemas.config import ResolvedDataConfig
from schemas.example import DOCUMENT_FEATURES, PAD_ID

_ID_BYTES = 16

# The only field of a tf.train.Example.
_FEATURES = 1
_NOT_A_DOCUMENT = "is not a document as albert make-data writes them"


def token_type(vocab_size: int) -> np.dtype[np.unsignedinteger]:
    """How tokens are stored: in two bytes where these are enough.

    >>> token_type(65536), token_type(65537)
    (dtype('uint16'), dtype('uint32'))
    """
    return np.dtype("<u2" if vocab_size <= 1 << 16 else "<u4")


def encode_documents(tokens: Tokens, ids: Sequence[bytes], *, vocab_size: int) -> Iterator[bytes]:
    """The documents of a shard as records, in their order.

    Args:
        ids: Hashes of their texts, `[D]`.
    """
    sentences = np.searchsorted(tokens.sentence_starts, tokens.document_starts)
    lengths, bounds = varints(tokens.sentence_ends - tokens.sentence_starts, sentences)
    for number, document_id in enumerate(ids):
        text = slice(*tokens.document_starts[number : number + 2])
        values = (
            document_id,
            lengths[slice(*bounds[number : number + 2])],
            tokens.ids[text].astype(token_type(vocab_size)).tobytes(),
            np.packbits(tokens.word_starts[text]).tobytes(),
        )
        parts: list[bytes] = []
        for feature, value in zip(DOCUMENT_FEATURES, values, strict=True):
            name = feature.name.encode()
            parts += (feature_header(name, feature.dtype, len(value)), value)
        yield bytes_field(_FEATURES, b"".join(parts))


def decode_documents(
    records: Sequence[bytes], *, vocab_size: int, config: ResolvedDataConfig
) -> Tokens:
    """The tokens of all documents of a shard, as the shard was made of them.

    Args:
        config: The settings of the examples to be made.

    Raises:
        ValueError: One is damaged. Where there is only one, it is said how, as the end
            of a sentence that begins "The record ...".
    """
    values = list(map(_values, records))
    ids, lengths, tokens, bits = (
        [of_record[place] for of_record in values] for place in range(len(DOCUMENT_FEATURES))
    )
    sizes, is_cut = np.divmod(_sizes(tokens), token_type(vocab_size).itemsize)
    _refuse_if(is_cut > 0, _NOT_A_DOCUMENT)
    longest = max(map(len, ids), default=0)
    wrong_id = f"has an id of {longest} bytes and not of {_ID_BYTES}"
    _refuse_if(_sizes(ids) != _ID_BYTES, wrong_id)
    _refuse_if(sizes == 0, "has no tokens")
    other_number = "has word starts for another number of tokens"
    _refuse_if(_sizes(bits) != -(-sizes // 8), other_number)
    text = np.frombuffer(b"".join(tokens), token_type(vocab_size))
    unpacked = [np.zeros(0, np.uint8)]
    for packed, size in zip(bits, sizes.tolist(), strict=True):
        # Each document is in whole bytes.
        unpacked.append(np.unpackbits(np.frombuffer(packed, np.uint8), count=size))
    word_starts = np.concatenate(unpacked).view(np.bool_)
    sentences, places = integers(lengths)
    # A last length of nothing lets a document without sentences be the last.
    totals = np.add.reduceat(np.append(sentences, 0), places[:-1])
    totals[np.diff(places) == 0] = 0
    other_length = "has sentences that are not as long as its tokens"
    # Sums of longer ones might be beyond 64 bits.
    _refuse_if((sentences < 1) | (sentences > len(word_starts)), other_length)
    _refuse_if(totals != sizes, other_length)
    sentence_starts = np.cumsum(sentences) - sentences
    inside_word = "has a sentence that does not begin with a word"
    _refuse_if(~word_starts[sentence_starts], inside_word)
    unknown = "has a token that the vocabulary does not have"
    _refuse_if(text.max(initial=0) >= vocab_size, unknown)
    _refuse_if(text.min(initial=PAD_ID + 1) == PAD_ID, "has padding inside its text")
    return Tokens(
        ids=text,
        word_starts=word_starts,
        may_cut=cuttable(word_starts, max_tokens=config.max_tokens),
        sentence_starts=sentence_starts,
        document_starts=np.append(0, np.cumsum(sizes)),
        document_keys=[document_key(one, seed=config.seed) for one in ids],
    )


def _refuse_if(is_wrong: Any, problem: str) -> None:
    if np.any(is_wrong):
        raise ValueError(problem)


def _values(record: bytes) -> list[bytes]:
    """What each feature of a record holds."""
    try:
        return split_example(record, DOCUMENT_FEATURES)
    except ValueError:
        raise ValueError(_NOT_A_DOCUMENT) from None


def _sizes(rows: list[bytes]) -> Int:
    return np.array(list(map(len, rows)), np.int64)
