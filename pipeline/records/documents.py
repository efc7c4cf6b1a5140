"""Documents as records, from which examples are made when needed.

A record is a `tf.train.Example` with the features of `DOCUMENT_FEATURES` and nothing
else. The documents of a shard are in the order of their ids, and this order decides
which other document a pair may draw on; so it takes a whole shard, with the settings,
to make its examples.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.draws import Bool, Int
from pipeline.core.protobuf import LONGEST_VARINT, bytes_field
from pipeline.examples.packing import Tokens, cuttable, document_key
from pipeline.records.checks import integers, read_varints
from pipeline.records.tfrecord import Column, varints
from schemas.config import ResolvedDataConfig
from schemas.example import DOCUMENT_FEATURES, PAD_ID

_ID_BYTES = 16

# The fields of tf.train.Example, Features, an entry of its map, Feature, and the lists.
_FEATURES, _FEATURE, _KEY, _VALUE = 1, 1, 1, 2
_LISTS = {"bytes": 1, "int64": 3}
_NOT_A_DOCUMENT = "is not a document as albert make-data writes them"

# The greatest byte that ends a number, and how far a field may be read after a record.
_LAST_DIGIT = 0x7F
_ROOM = 1 + LONGEST_VARINT


class TokenDocument(NamedTuple):
    """A document, or a part of a long one, of N tokens in S sentences.

    Attributes:
        tokens: `[N]`.
        word_starts: Whether each starts a word, `[N]`.
        sentence_lengths: In tokens, at least 1 each, `[S]`.
    """

    id: bytes
    tokens: npt.NDArray[np.integer]
    word_starts: Bool
    sentence_lengths: Int


class Documents(NamedTuple):
    """The D documents of a shard, of N tokens in S sentences together.

    Attributes:
        ids: Hashes of their texts, `[D]`.
        tokens: `[N]`.
        word_starts: Whether each starts a word, `[N]`.
        document_starts: Where each document starts; the last is N, `[D + 1]`.
        sentence_lengths: In tokens, at least 1 each, `[S]`, and whose they are.
    """

    ids: list[bytes]
    tokens: npt.NDArray[np.integer]
    word_starts: Bool
    document_starts: Int
    sentence_lengths: Column


def token_type(vocab_size: int) -> np.dtype[np.unsignedinteger]:
    """How tokens are stored: in two bytes where these are enough.

    >>> token_type(65536), token_type(65537)
    (dtype('uint16'), dtype('uint32'))
    """
    return np.dtype("<u2" if vocab_size <= 1 << 16 else "<u4")


def encode_document(document: TokenDocument, *, vocab_size: int) -> bytes:
    """A document as a record."""
    count = len(document.sentence_lengths)
    lengths, _ = varints(document.sentence_lengths, np.array([0, count]))
    values = {
        "id": document.id,
        "sentence_lengths": lengths,
        "tokens": document.tokens.astype(token_type(vocab_size)).tobytes(),
        "word_starts": np.packbits(document.word_starts).tobytes(),
    }
    entries = []
    for feature in DOCUMENT_FEATURES:
        value_list = bytes_field(1, values[feature.name])
        value = bytes_field(_LISTS[feature.dtype], value_list)
        key = bytes_field(_KEY, feature.name.encode())
        entries.append(bytes_field(_FEATURE, key + bytes_field(_VALUE, value)))
    return bytes_field(_FEATURES, b"".join(entries))


class _Slices(NamedTuple):
    """Parts of some bytes, one of each record: starts and sizes in bytes, `[D]`."""

    data: npt.NDArray[np.uint8]
    starts: Int
    sizes: Int

    def rows(self) -> list[memoryview]:
        """The parts, `[D]`."""
        view, ends = self.data.data, self.starts + self.sizes
        bounds = zip(self.starts.tolist(), ends.tolist(), strict=True)
        return [view[start:end] for start, end in bounds]


def decode_documents(records: Sequence[bytes], *, vocab_size: int) -> Documents:
    """The documents of records, all at once.

    Raises:
        ValueError: One is damaged. Where there is only one, it is said how, as the end
            of a sentence that begins "The record ...".
    """
    ids, lengths, tokens, bits = _values(records)
    bytes_each = token_type(vocab_size).itemsize
    sizes = tokens.sizes // bytes_each
    last = lengths.data[lengths.starts + lengths.sizes - 1]
    is_cut = (lengths.sizes > 0) & (last > _LAST_DIGIT)
    _refuse_if(is_cut | (tokens.sizes % bytes_each > 0), _NOT_A_DOCUMENT)
    found = Documents(
        ids=list(map(bytes, ids.rows())),
        tokens=np.frombuffer(b"".join(tokens.rows()), token_type(vocab_size)),
        word_starts=np.zeros(sizes.sum(), np.bool_),
        document_starts=np.append(0, np.cumsum(sizes)),
        sentence_lengths=integers(lengths.rows()),
    )
    wrong_id = f"has an id of {ids.sizes.max(initial=0)} bytes and not of {_ID_BYTES}"
    _refuse_if(ids.sizes != _ID_BYTES, wrong_id)
    _refuse_if(sizes == 0, "has no tokens")
    other_number = "has word starts for another number of tokens"
    _refuse_if(bits.sizes != -(-sizes // 8), other_number)
    # A bit tells whether a token starts a word; each document is in whole bytes.
    unpacked = np.unpackbits(np.frombuffer(b"".join(bits.rows()), np.uint8))
    first = 8 * (np.cumsum(bits.sizes) - bits.sizes)
    bounds = itertools.pairwise(found.document_starts.tolist())
    for (start, end), place in zip(bounds, first.tolist(), strict=True):
        found.word_starts[start:end] = unpacked[place : place + end - start]
    _check_text(found, vocab_size=vocab_size)
    return found


def _refuse_if(is_wrong: Any, problem: str) -> None:
    if np.any(is_wrong):
        raise ValueError(problem)


def _check_text(documents: Documents, *, vocab_size: int) -> None:
    """Refuse sentences and tokens that no document has."""
    tokens, (lengths, places) = documents.tokens, documents.sentence_lengths
    # A last length of nothing lets a document without sentences be the last.
    totals = np.add.reduceat(np.append(lengths, 0), places[:-1])
    totals[np.diff(places) == 0] = 0
    is_wrong = totals != np.diff(documents.document_starts)
    problem = "has sentences that are not as long as its tokens"
    _refuse_if(is_wrong, problem)
    _refuse_if(lengths < 1, problem)
    unknown = "has a token that the vocabulary does not have"
    _refuse_if(tokens.max(initial=0) >= vocab_size, unknown)
    _refuse_if(tokens.min(initial=PAD_ID + 1) == PAD_ID, "has padding inside its text")
    begins = documents.word_starts[np.cumsum(lengths) - lengths]
    _refuse_if(~begins, "has a sentence that does not begin with a word")


def _values(records: Sequence[bytes]) -> list[_Slices]:
    """What each feature of each record holds.

    All records have the same fields in the same order, so a field is read in all of
    them by a few array operations.
    """
    # Some more bytes, so that a number can be read wherever a record may end.
    data = np.frombuffer(b"".join([*records, bytes(_ROOM)]), np.uint8)
    sizes = np.array(list(map(len, records)), np.int64)
    ends = np.cumsum(sizes)
    places = _inside(data, ends - sizes, ends, field=_FEATURES)
    found = []
    for feature in DOCUMENT_FEATURES:
        _refuse_if(data[places] != _tag(_FEATURE), _NOT_A_DOCUMENT)
        sizes, places = read_varints(data, places + 1)
        own_ends = places + sizes
        key = np.frombuffer(bytes_field(_KEY, feature.name.encode()), np.uint8)
        _refuse_if((sizes <= len(key)) | (own_ends > ends), _NOT_A_DOCUMENT)
        _refuse_if(data[places[:, None] + np.arange(len(key))] != key, _NOT_A_DOCUMENT)
        places = places + len(key)
        for field in (_VALUE, _LISTS[feature.dtype], 1):
            places = _inside(data, places, own_ends, field=field)
        found.append(_Slices(data, places, own_ends - places))
        places = own_ends
    _refuse_if(places != ends, _NOT_A_DOCUMENT)
    return found


def _inside(data: npt.NDArray[np.uint8], places: Int, ends: Int, *, field: int) -> Int:
    """Where the contents begin of fields that each reach from `places` to `ends`."""
    _refuse_if(data[places] != _tag(field), _NOT_A_DOCUMENT)
    sizes, places = read_varints(data, places + 1)
    _refuse_if(places + sizes != ends, _NOT_A_DOCUMENT)
    return places


def _tag(field: int) -> int:
    """The first byte of a field that holds bytes, text or a message."""
    return bytes_field(field, b"")[0]


def documents_of(tokens: Tokens, ids: list[bytes]) -> Iterator[TokenDocument]:
    """The documents of a shard, in their order."""
    sentences = np.searchsorted(tokens.sentence_starts, tokens.document_starts)
    ends = np.append(tokens.sentence_starts[1:], tokens.document_starts[-1])
    for number, document_id in enumerate(ids):
        text = slice(*tokens.document_starts[number : number + 2])
        own = slice(*sentences[number : number + 2])
        yield TokenDocument(
            id=document_id,
            tokens=tokens.ids[text],
            word_starts=tokens.word_starts[text],
            sentence_lengths=ends[own] - tokens.sentence_starts[own],
        )


def tokens_of(documents: Documents, config: ResolvedDataConfig) -> Tokens:
    """The tokens of all documents of a shard, as the shard was made of them."""
    lengths = documents.sentence_lengths.values
    return Tokens(
        ids=documents.tokens,
        word_starts=documents.word_starts,
        may_cut=cuttable(documents.word_starts, max_tokens=config.max_tokens),
        sentence_starts=np.cumsum(lengths) - lengths,
        document_starts=documents.document_starts,
        document_keys=[document_key(one, seed=config.seed) for one in documents.ids],
    )
