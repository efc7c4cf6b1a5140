"""Pairs of texts without labels: two parts of one passage belong together.

Two random crops of a document are what a model learns to bring together without any
label (Izacard et al. 2021, 2112.09118; 2508.03453 for small models): documents on
other subjects in the same batch are what it tells them from.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from pipeline.examples.packing import Tokens
from pipeline.vocabulary.tokenizer import Tokenizer
from schemas.example import SEP_ID
from schemas.task import TaskExample

# Of the passages one in this many is held out, where nothing else is.
_HELD_OUT = 10


class Passage(NamedTuple):
    """Whole sentences of one document, two or more.

    Attributes:
        ids: Its tokens, `[T]`.
        starts: Of its sentences, and its end.
        digest: Decides what is drawn, and whether it is held out.
    """

    ids: Any
    starts: list[int]
    digest: bytes

    @property
    def is_held_out(self) -> bool:
        """Whether it is not to be trained on."""
        return self.digest[0] % _HELD_OUT == 0

    def halves(self, tokenizer: Tokenizer) -> TaskExample:
        """Its two halves, of which one is to find the other."""
        middle = bisect_left(self.starts, self.starts[-1] / 2)
        middle = self.starts[min(max(middle, 1), len(self.starts) - 2)]
        parts = (self.ids[:middle], self.ids[middle:])
        return _pair(parts, tokenizer, name=self.digest.hex()[:16])

    def crops(self, tokenizer: Tokenizer, *, epoch: int) -> TaskExample:
        """Two random crops of it, a quarter to a half each, which may overlap.

        Other ones in each epoch.
        """
        rng = np.random.Generator(np.random.PCG64([*self.digest, epoch]))
        parts = []
        for size in rng.uniform(0.25, 0.5, 2) * self.starts[-1]:
            first = int(rng.integers(0, len(self.starts) - 1))
            end = bisect_left(self.starts, self.starts[first] + size)
            end = min(max(end, first + 1), len(self.starts) - 1)
            parts.append(self.ids[self.starts[first] : self.starts[end]])
        return _pair(parts, tokenizer, name=self.digest.hex()[:16])


def passages_of(tokens: Tokens, *, length: int, seed: int) -> Iterator[Passage]:
    """The passages of the documents of a shard, of half more than `length` tokens.

    The last of a document may have fewer; one sentence alone has no two parts. What is
    drawn from one follows from its document and its place in it.
    """
    bounds = np.append(tokens.sentence_starts, tokens.document_starts[-1])
    documents = np.searchsorted(bounds, tokens.document_starts)
    for key, first, last in zip(tokens.document_keys, documents, documents[1:], strict=False):
        while first < last:
            # The first sentence after it, or the last of the document.
            end = int(np.searchsorted(bounds, bounds[first] + 3 * length // 2))
            end = min(max(end, first + 1), last)
            place, starts = int(bounds[first]), bounds[first : end + 1]
            first = end
            if len(starts) > 2:
                digest = hashlib.sha256(f"{seed} {key} {place}".encode()).digest()
                ids = tokens.ids[place : int(starts[-1])]
                yield Passage(ids, (starts - place).tolist(), digest)


def pairs_of_examples(
    records: Iterable[Mapping[str, list[int]]], tokenizer: Tokenizer
) -> Iterator[TaskExample]:
    """The two segments of each masked example of a data set, where one follows the other.

    Args:
        records: As `read_examples` gives them, of data with a sentence task.
    """
    for number, record in enumerate(records):
        ids = np.array(record["input_ids"])
        ids[record["masked_lm_positions"]] = record["masked_lm_ids"]
        first, second = np.flatnonzero(ids == SEP_ID)
        parts = (ids[1:first], ids[first + 1 : second])
        yield _pair(parts, tokenizer, name=str(number))


def _pair(parts: Iterable[Any], tokenizer: Tokenizer, *, name: str) -> TaskExample:
    text, other = (tokenizer.decode(part.tolist()) for part in parts)
    return TaskExample(id=name, place=f"passage {name}", text=text, text_pair=other, score=1.0)
