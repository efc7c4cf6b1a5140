"""The sentences of a shard's documents become tokens, many sentences at a time."""

import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from pipeline.core.documents import ShardDocument
from pipeline.examples.packing import Tokens, cuttable, document_key
from pipeline.vocabulary.tokenizer import Tokenizer
from schemas.config import ResolvedDataConfig

# Sentences handed to SentencePiece at a time.
ENCODE_SENTENCES = 5000


def tokenize(
    documents: Iterable[ShardDocument],
    *,
    tokenizer: Tokenizer,
    config: ResolvedDataConfig,
) -> Tokens:
    """The tokens of all documents that have any."""
    ids = [np.zeros(0, np.int32)]
    word_starts, may_cut = [np.zeros(0, np.bool_)], [np.zeros(0, np.bool_)]
    sentence_starts = [np.zeros(0, np.int64)]
    document_starts, document_keys = [0], []
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
        document_keys.append(document_key(document.id, seed=config.seed))
    return Tokens(
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
    """Each document with the token ids of its sentences, encoded many at a time."""
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
