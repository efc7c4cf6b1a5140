"""Pairs of texts without labels: two parts of one passage belong together.

Two random crops of a document are what a model learns to bring together without any
label (Izacard et al. 2021, 2112.09118; 2508.03453 for small models): documents on
other subjects in the same batch are what it tells them from.
"""

import hashlib
from collections.abc import Iterator

import numpy as np

from pipeline.examples.packing import Tokens
from pipeline.vocabulary.tokenizer import Tokenizer
from schemas.task import TaskExample

# Of the passages one in this many is held out, up to a most.
_HELD_OUT, MOST_HELD_OUT = 10, 2000


def crop_pairs(
    tokens: Tokens, *, length: int, seed: int, tokenizer: Tokenizer
) -> Iterator[tuple[bool, TaskExample]]:
    """A pair of each passage of the documents of a shard, and whether it is held out.

    A passage is whole sentences of one document, of half more than `length` tokens; the
    last of a document may have fewer. A pair to train on are two random crops of it, a
    quarter to a half each, which may overlap; one that is held out are its halves. Which
    ones follows from the text alone.

    Args:
        length: Tokens in a text.
    """
    bounds = np.append(tokens.sentence_starts, tokens.document_starts[-1])
    documents = np.searchsorted(bounds, tokens.document_starts)
    for key, first, last in zip(tokens.document_keys, documents, documents[1:], strict=False):
        while first < last:
            # The first sentence after it, or the last of the document.
            end = int(np.searchsorted(bounds, bounds[first] + 3 * length // 2))
            end = min(max(end, first + 1), last)
            place, starts = int(bounds[first]), bounds[first : end + 1].tolist()
            first = end
            if len(starts) < 3:
                # One sentence has no two parts.
                continue
            digest = hashlib.sha256(f"{seed} {key} {place}".encode()).digest()
            is_held_out = digest[0] % _HELD_OUT == 0
            if is_held_out:
                middle = int(np.searchsorted(starts, (starts[0] + starts[-1]) / 2))
                middle = min(max(middle, 1), len(starts) - 2)
                parts = [(starts[0], starts[middle]), (starts[middle], starts[-1])]
            else:
                rng = np.random.Generator(np.random.PCG64(list(digest)))
                parts = [_crop(starts, rng) for _ in range(2)]
            text, other = (tokenizer.decode(tokens.ids[slice(*part)].tolist()) for part in parts)
            name = f"{digest.hex()[:16]}"
            yield (
                is_held_out,
                TaskExample(
                    id=name, place=f"passage {name}", text=text, text_pair=other, score=1.0
                ),
            )


def _crop(starts: list[int], rng: np.random.Generator) -> tuple[int, int]:
    """A run of sentences, of a quarter to a half of all tokens, or of one sentence."""
    size = rng.uniform(0.25, 0.5) * (starts[-1] - starts[0])
    first = int(rng.integers(0, len(starts) - 1))
    end = int(np.searchsorted(starts, starts[first] + size))
    return starts[first], starts[min(max(end, first + 1), len(starts) - 1)]
