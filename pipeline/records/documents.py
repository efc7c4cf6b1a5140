"""Documents as records, of which examples are made when they are needed.

A record is a `tf.train.Example` with the features of `DOCUMENT_FEATURES` and nothing
else. The documents of a shard stand in the order of their ids, on which what another
document is depends; so a shard as a whole, with the settings, decides its examples.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import Bool, Int
from pipeline.core.protobuf import bytes_field, fields
from pipeline.examples.packing import cuttable
from pipeline.examples.tokens import Tokens, document_key
from pipeline.records.decoding import integers
from pipeline.records.tf_example import varints
from schemas.config import ResolvedDataConfig
from schemas.example import DOCUMENT_FEATURES
from schemas.special_tokens import PAD_ID

_ID_BYTES = 16

# The fields of tf.train.Example, Features, an entry of its map, Feature, and the lists.
_FEATURES, _FEATURE, _KEY, _VALUE = 1, 1, 1, 2
_LISTS = {"bytes": 1, "int64": 3}
_NOT_A_DOCUMENT = "is not a document as albert make-data writes them"

# Tokens whose words are looked at together: enough for array operations, little memory.
_SOME_TOKENS = 1 << 18


class TokenDocument(NamedTuple):
    """A document, or a part of a long one, of N tokens in S sentences.

    Attributes:
        id: Hash of its text.
        tokens: `[N]`.
        word_starts: Whether each starts a word, `[N]`.
        sentence_lengths: In tokens, at least 1 each, `[S]`.
    """

    id: bytes
    tokens: npt.NDArray[np.integer]
    word_starts: Bool
    sentence_lengths: Int


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


def decode_document(record: bytes, *, vocab_size: int) -> TokenDocument:
    """The document of a record.

    Raises:
        ValueError: It is damaged; continues the sentence "The record ...".
    """
    entries = _parts(_part(record, _FEATURES), _FEATURE)
    if len(entries) != len(DOCUMENT_FEATURES):
        raise ValueError(_NOT_A_DOCUMENT)
    values = {}
    for feature, entry in zip(DOCUMENT_FEATURES, entries, strict=True):
        if _parts(entry, _KEY) != [feature.name.encode()]:
            raise ValueError(_NOT_A_DOCUMENT)
        value_list = _part(_part(entry, _VALUE), _LISTS[feature.dtype])
        values[feature.name] = _part(value_list, 1)
    dtype = token_type(vocab_size)
    is_cut = values["sentence_lengths"][-1:] > b"\x7f"
    if is_cut or len(values["tokens"]) % dtype.itemsize:
        raise ValueError(_NOT_A_DOCUMENT)
    tokens = np.frombuffer(values["tokens"], dtype)
    bits = np.frombuffer(values["word_starts"], np.uint8)
    document = TokenDocument(
        id=values["id"],
        tokens=tokens,
        word_starts=np.unpackbits(bits)[: len(tokens)].view(np.bool_),
        sentence_lengths=integers([values["sentence_lengths"]]).values,
    )
    if problem := _problem(document, bits=len(bits), vocab_size=vocab_size):
        raise ValueError(problem)
    return document


def _part(message: bytes, number: int) -> bytes:
    """The only field of a message, or the last of one with several."""
    found = _parts(message, number)
    if not found:
        raise ValueError(_NOT_A_DOCUMENT)
    return found[-1]


def _parts(message: bytes, number: int) -> list[bytes]:
    try:
        found = [value for field, value in fields(message) if field == number]
    except ValueError:
        raise ValueError(_NOT_A_DOCUMENT) from None
    if not all(isinstance(value, bytes) for value in found):
        raise ValueError(_NOT_A_DOCUMENT)
    return [value for value in found if isinstance(value, bytes)]


def _problem(document: TokenDocument, *, bits: int, vocab_size: int) -> str:
    """What is wrong with a document, as the end of a sentence; empty if nothing is."""
    tokens, lengths = document.tokens, document.sentence_lengths
    if len(document.id) != _ID_BYTES:
        return f"has an id of {len(document.id)} bytes and not of {_ID_BYTES}"
    if not len(tokens):
        return "has no tokens"
    if lengths.min(initial=1) < 1 or lengths.sum() != len(tokens):
        return "has sentences that are not as long as its tokens"
    if bits != -(-len(tokens) // 8):
        return "has word starts for another number of tokens"
    if int(tokens.max()) >= vocab_size:
        return "has a token that the vocabulary does not have"
    if int(tokens.min()) == PAD_ID:
        return "has padding inside its text"
    if not document.word_starts[np.cumsum(lengths) - lengths].all():
        return "has a sentence that does not begin with a word"
    return ""


def documents_of(tokens: Tokens, ids: dict[int, bytes]) -> Iterator[TokenDocument]:
    """The documents of a shard, in their order.

    Args:
        tokens: Of the shard.
        ids: Of the documents, by their keys.
    """
    sentences = np.searchsorted(tokens.sentence_starts, tokens.document_starts)
    ends = np.append(tokens.sentence_starts[1:], tokens.document_starts[-1])
    for number, key in enumerate(tokens.document_keys):
        text = slice(*tokens.document_starts[number : number + 2])
        own = slice(*sentences[number : number + 2])
        yield TokenDocument(
            id=ids[key],
            tokens=tokens.ids[text],
            word_starts=tokens.word_starts[text],
            sentence_lengths=ends[own] - tokens.sentence_starts[own],
        )


def joined(documents: Sequence[TokenDocument], config: ResolvedDataConfig) -> Tokens:
    """The tokens of all documents of a shard, as the shard was made of them."""
    lengths = [len(document.tokens) for document in documents]
    sentences = np.concatenate(
        [np.zeros(0, np.int64), *(one.sentence_lengths for one in documents)]
    )
    return Tokens(
        ids=_end_to_end([one.tokens for one in documents], np.uint16),
        word_starts=_end_to_end([one.word_starts for one in documents], np.bool_),
        may_cut=_end_to_end(list(_cuttable(documents, config.max_tokens)), np.bool_),
        sentence_starts=np.cumsum(sentences) - sentences,
        document_starts=np.cumsum([0, *lengths]),
        document_keys=[document_key(one.id, seed=config.seed) for one in documents],
    )


def _end_to_end(
    arrays: list[npt.NDArray[Any]], dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype)


def _cuttable(documents: Sequence[TokenDocument], max_tokens: int) -> Iterator[Bool]:
    """Where sequences may be cut, in several documents at a time.

    Every document begins with a word, so that none shows in the next.
    """
    some: list[Bool] = []
    count = 0
    for document in documents:
        some.append(document.word_starts)
        count += len(document.tokens)
        if count >= _SOME_TOKENS:
            yield cuttable(np.concatenate(some), max_tokens=max_tokens)
            some, count = [], 0
    if some:
        yield cuttable(np.concatenate(some), max_tokens=max_tokens)
