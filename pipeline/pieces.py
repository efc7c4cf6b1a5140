"""The documents of a shard become one long row of pieces."""

import dataclasses
import itertools
from collections.abc import Iterator

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
    documents: list[ShardDocument], *, tokenizer: Tokenizer, config: DataConfig
) -> Pieces:
    """The pieces of all documents that have any."""
    ids = [np.zeros(0, np.int32)]
    sentence_starts = [np.zeros(0, np.int64)]
    document_starts, document_keys = [0], []
    seed = str(config.seed).encode()
    for document, encoded in encode_documents(documents, tokenizer):
        lengths = np.array([len(sentence) for sentence in encoded])
        total = int(lengths.sum())
        if not total:
            continue
        ids.append(np.fromiter(itertools.chain.from_iterable(encoded), np.int32, total))
        starts = np.cumsum(lengths) - lengths
        sentence_starts.append(document_starts[-1] + starts[lengths > 0])
        document_starts.append(document_starts[-1] + total)
        document_keys.append(hash_key(seed, document.id))
    all_ids, all_starts = np.concatenate(ids), np.concatenate(sentence_starts)
    word_starts = tokenizer.word_starts[all_ids]
    word_starts[all_starts] = True
    return Pieces(
        ids=all_ids,
        word_starts=word_starts,
        may_cut=cuttable(word_starts, max_tokens=config.max_tokens),
        sentence_starts=all_starts,
        document_starts=np.array(document_starts),
        document_keys=document_keys,
    )


def encode_documents(
    documents: list[ShardDocument], tokenizer: Tokenizer
) -> Iterator[tuple[ShardDocument, list[list[int]]]]:
    """Each document with the piece ids of its sentences, encoded many at a time."""
    batch: list[tuple[ShardDocument, int]] = []
    sentences: list[str] = []
    for number, document in enumerate(documents, start=1):
        lines = document.text.split("\n")
        batch.append((document, len(lines)))
        sentences += lines
        if len(sentences) >= ENCODE_SENTENCES or number == len(documents):
            encoded = iter(tokenizer.encode(sentences))
            for encoded_document, count in batch:
                yield encoded_document, list(itertools.islice(encoded, count))
            batch, sentences = [], []
