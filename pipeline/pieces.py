"""The documents of a shard become one long row of pieces."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from pipeline.documents import ShardDocument
from pipeline.draws import hash_key
from pipeline.packing import cuttable
from pipeline.pairs import Int
from pipeline.tokenizer import Tokenizer
from schemas.config import DataConfig

# Sentences handed to SentencePiece at a time.
ENCODE_SENTENCES = 5000


@dataclasses.dataclass(frozen=True)
class Pieces:
    """The pieces of all D documents of a shard.

    Attributes:
        ids: `[N]`.
        word_starts: Whether a piece starts a word, `[N]`.
        may_cut: Whether a sequence may be cut at a piece, `[N]`.
        sentence_starts: Ascending, `[sentences]`.
        document_starts: Where each document starts; the last is N, `[D + 1]`.
        document_keys: What all draws for a document derive from, `[D]`.
    """

    ids: npt.NDArray[np.int32]
    word_starts: npt.NDArray[np.bool_]
    may_cut: npt.NDArray[np.bool_]
    sentence_starts: Int
    document_starts: Int
    document_keys: list[int]


def tokenize(
    documents: Iterable[ShardDocument], *, tokenizer: Tokenizer, config: DataConfig
) -> Pieces:
    """The pieces of all documents that have any."""
    ids = [np.zeros(0, np.int32)]
    word_starts, may_cut = [np.zeros(0, np.bool_)], [np.zeros(0, np.bool_)]
    sentence_starts = [np.zeros(0, np.int64)]
    document_starts, document_keys = [0], []
    seed = str(config.seed).encode()
    for document, encoded in encode_documents(documents, tokenizer):
        lengths = np.array([len(sentence) for sentence in encoded])
        total = int(lengths.sum())
        if not total:
            continue
        ids.append(np.fromiter(itertools.chain.from_iterable(encoded), np.int32, total))
        starts = (np.cumsum(lengths) - lengths)[lengths > 0]
        # A document at a time, so that no look-up takes memory for the whole shard.
        word_starts.append(tokenizer.word_starts[ids[-1]])
        word_starts[-1][starts] = True
        may_cut.append(cuttable(word_starts[-1], max_tokens=config.max_tokens))
        sentence_starts.append(document_starts[-1] + starts)
        document_starts.append(document_starts[-1] + total)
        document_keys.append(hash_key(seed, document.id))
    return Pieces(
        ids=np.concatenate(ids),
        word_starts=np.concatenate(word_starts),
        may_cut=np.concatenate(may_cut),
        sentence_starts=np.concatenate(sentence_starts),
        document_starts=np.array(document_starts),
        document_keys=document_keys,
    )


def encode_documents(
    documents: Iterable[ShardDocument], tokenizer: Tokenizer
) -> Iterator[tuple[ShardDocument, list[list[int]]]]:
    """Each document with the piece ids of its sentences, encoded many at a time."""
    batch: list[tuple[ShardDocument, int]] = []
    sentences: list[str] = []
    for document in documents:
        lines = document.text.split("\n")
        batch.append((document, len(lines)))
        sentences += lines
        if len(sentences) >= ENCODE_SENTENCES:
            yield from _encode_batch(batch, sentences, tokenizer)
            batch, sentences = [], []
    yield from _encode_batch(batch, sentences, tokenizer)


def _encode_batch(
    batch: list[tuple[ShardDocument, int]], sentences: list[str], tokenizer: Tokenizer
) -> Iterator[tuple[ShardDocument, list[list[int]]]]:
    encoded = iter(tokenizer.encode(sentences))
    for document, count in batch:
        yield document, list(itertools.islice(encoded, count))
