"""Near-copies found among documents whose pairs are known, beside other libraries.

    python -m benchmarks.near_duplicates [DOCUMENTS]

Documents of words drawn by Zipf's law; one in four gets a copy in which some words are
replaced, so that Jaccard similarities from 0.4 to 1 occur. Recall is by the true
similarity of the pair, precision of all pairs found; datasketch and rensa are measured
where they are installed, on the same 5-grams with as many bands and rows.
"""

import contextlib
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np

from pipeline.noise.near_copies import (
    BANDS,
    NGRAM,
    ROWS,
    THRESHOLD,
    are_near,
    groups_by_key,
    pairs_to_check,
    signature,
    word_hashes,
)

Pairs = set[tuple[int, int]]


def documents(number: int, *, seed: int = 1) -> Iterator[str]:
    """Documents of 20 to 2,000 words, each fourth followed by a changed copy."""
    draws = np.random.default_rng(seed)
    for place in range(number):
        if place % 5 == 4:
            words = words.copy()  # noqa: F821 - of the document before
            changed = draws.random(len(words)) < draws.uniform(0, 0.08)
            words[changed] = draws.zipf(1.2, changed.sum()) % 50_000
        else:
            length = int(20 * 100 ** draws.random())
            words = draws.zipf(1.2, length) % 50_000
        yield " ".join(f"w{word}" for word in words)


def ngrams(text: str) -> set[str]:
    """The 5-grams of a text that has no marks and no capitals."""
    words = text.split()
    return {" ".join(words[i : i + NGRAM]) for i in range(len(words) - NGRAM + 1)}


def own(texts: list[str]) -> Pairs:
    """What this program finds."""
    signatures = [signature(word_hashes(text)) for text in texts]
    bands = np.array([one.bands for one in signatures if one])
    pairs: Pairs = set()
    for keys in bands.T:
        for group in groups_by_key(keys):
            pairs.update(pairs_to_check(group.tolist(), "drop", is_held_out=bool))
    return {(a, b) for a, b in pairs if are_near(signatures[a].sketch, signatures[b].sketch)}


def datasketch(texts: list[str]) -> Pairs:
    """What datasketch finds."""
    from datasketch import MinHash, MinHashLSH  # type: ignore[import-not-found]

    index = MinHashLSH(num_perm=BANDS * ROWS, params=(BANDS, ROWS))
    pairs: Pairs = set()
    for place, text in enumerate(texts):
        minhash = MinHash(num_perm=BANDS * ROWS)
        minhash.update_batch([gram.encode() for gram in ngrams(text)])
        pairs.update((other, place) for other in index.query(minhash))
        index.insert(place, minhash)
    return pairs


def rensa(texts: list[str]) -> Pairs:
    """What rensa finds."""
    from rensa import RMinHash, RMinHashLSH  # type: ignore[import-not-found]

    index = RMinHashLSH(threshold=THRESHOLD, num_perm=BANDS * ROWS, num_bands=BANDS)
    pairs: Pairs = set()
    for place, text in enumerate(texts):
        minhash = RMinHash(num_perm=BANDS * ROWS, seed=1)
        minhash.update(list(ngrams(text)))
        pairs.update((other, place) for other in index.query(minhash))
        index.insert(place, minhash)
    return pairs


def report(name: str, find: Callable[[list[str]], Pairs], texts: list[str]) -> None:
    """Print time, recall by similarity, and precision."""
    start = time.perf_counter()
    found = find(texts)
    seconds = time.perf_counter() - start
    grams = [ngrams(text) for text in texts]

    def similarity(a: int, b: int) -> float:
        return len(grams[a] & grams[b]) / len(grams[a] | grams[b])

    hits = defaultdict(list)
    for place in range(4, len(texts), 5):
        pair = (place - 1, place)
        hits[int(10 * similarity(*pair)) / 10].append(pair in found)
    right = [similarity(*pair) >= THRESHOLD for pair in found]
    characters = sum(map(len, texts)) / 1e6
    print(f"{name}: {seconds:.1f} s, {characters / seconds:.1f} million characters/s")
    print(f"  {len(found)} pairs, {np.mean(right):.4f} of them at {THRESHOLD} or more")
    for least, of_pairs in sorted(hits.items()):
        print(f"  {least:.1f}: {np.mean(of_pairs):.4f} of {len(of_pairs)}")


def main() -> None:
    """Compare what is installed."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    texts = list(documents(number))
    for name, find in (("albert", own), ("datasketch", datasketch), ("rensa", rensa)):
        with contextlib.suppress(ImportError):
            report(name, find, texts)


if __name__ == "__main__":
    main()
