"""What a data set holds: counts that add up over batches, shards and workers."""

import dataclasses
from collections import Counter
from typing import Any

import numpy as np

from pipeline.examples.examples import ExampleBatch
from schemas.config import ResolvedDataConfig
from schemas.example import UNK_ID

# Width of the bars of the length histogram, in tokens.
LENGTH_BAR = 32


@dataclasses.dataclass
class Counts:
    """Integer counts of one copy of one shard, or of a sum of these.

    Attributes:
        totals: By name: examples, tokens, masked and so on.
        spans: Masked spans by their number of words.
        lengths: Examples by length, in bars of `LENGTH_BAR` tokens.
    """

    totals: Counter[str] = dataclasses.field(default_factory=Counter)
    spans: Counter[int] = dataclasses.field(default_factory=Counter)
    lengths: Counter[int] = dataclasses.field(default_factory=Counter)

    def add(self, other: "Counts") -> None:
        """Add the counts of another part."""
        self.totals.update(other.totals)
        self.spans.update(other.spans)
        self.lengths.update(other.lengths)

    def to_dict(self) -> dict[str, dict[str, int]]:
        """A JSON object with its keys in order."""
        return {
            "totals": dict(sorted(self.totals.items())),
            "spans": {str(k): n for k, n in sorted(self.spans.items())},
            "lengths": {str(k): n for k, n in sorted(self.lengths.items())},
        }

    @classmethod
    def from_dict(cls, values: dict[str, dict[str, int]]) -> "Counts":
        """The inverse of `to_dict`."""
        return cls(
            totals=Counter(values["totals"]),
            spans=Counter({int(k): n for k, n in values["spans"].items()}),
            lengths=Counter({int(k): n for k, n in values["lengths"].items()}),
        )


def count_batch(batch: ExampleBatch) -> Counts:
    """The counts of R examples."""
    sequences, pairs, rows, masked = batch
    is_short, is_end = sequences.is_short, sequences.is_end
    lengths = np.diff(rows.offsets)
    full = (is_short == 0) & (is_end == 0)
    totals = {
        "examples": len(pairs),
        "tokens": int(rows.offsets[-1]),
        "unknown": int(np.count_nonzero(rows.ids == UNK_ID)),
        "masked": len(masked.labels),
        "masked_as_mask": int(masked.replaced[0]),
        "masked_kept": int(masked.replaced[1]),
        "masked_random": int(masked.replaced[2]),
        "unmasked_examples": int(np.count_nonzero(np.diff(masked.offsets) == 0)),
        "swapped": int(pairs.labels.sum()),
        "short": int(is_short.sum()),
        "document_ends": int(is_end.sum()),
        "full": int(full.sum()),
        "full_tokens": int(lengths[full].sum()),
    }
    bars = np.bincount(lengths // LENGTH_BAR)
    return Counts(
        totals=Counter({name: n for name, n in totals.items() if n}),
        spans=Counter({n: int(k) for n, k in enumerate(masked.spans_of_length) if k}),
        lengths=Counter({b * LENGTH_BAR: int(k) for b, k in enumerate(bars) if k}),
    )


def realised(counts: Counts, config: ResolvedDataConfig) -> dict[str, Any]:
    """The shares and histograms that the manifest and the data card show.

    Fill is the share of the room for text that is used, over the examples with a full
    target that do not end a document.
    """
    totals = counts.totals
    examples, tokens = totals["examples"], totals["tokens"]
    masked, spans = totals["masked"], sum(counts.spans.values())
    full = totals["full"]
    fill = totals["full_tokens"] - config.num_special_tokens * full
    return {
        "short_share": share(totals["short"], examples),
        "document_end_share": share(totals["document_ends"], examples),
        "fill": share(fill, full * config.max_tokens),
        "masked_share": share(masked, tokens),
        "mask_token_share": share(totals["masked_as_mask"], masked),
        "kept_share": share(totals["masked_kept"], masked),
        "random_share": share(totals["masked_random"], masked),
        "unmasked_examples": totals["unmasked_examples"],
        "pairs_without_other_document": totals["without_other_document"],
        "label_1_share": share(totals["swapped"], examples),
        "unknown_share": share(totals["unknown"], tokens),
        "mean_length": share(tokens, examples),
        "ngram_shares": {
            str(n): share(k, spans) for n, k in sorted(counts.spans.items())
        },
        "length_histogram": {
            f"{low}-{low + LENGTH_BAR - 1}": n
            for low, n in sorted(counts.lengths.items())
        },
    }


def share(part: int, whole: int) -> float:
    """A quotient to six places, 0 where the whole is 0.

    >>> share(1, 3)
    0.333333
    """
    return round(part / whole, 6) if whole else 0.0
