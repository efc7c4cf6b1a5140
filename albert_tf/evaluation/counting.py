"""What counting gives where a model predicts: the marks that it has to beat.

Counts of single tokens, and of tokens beside each other, on the text that the model is
trained on. Neighbours are taken as independent given the token between them (naive
Bayes):

    p(t | left, right)  ~  p(t) * p(t | left) / p(t) * p(t | right) / p(t)

p(t) is how frequent a token is. p(t | left) is the share of t among what follows that
neighbour, with `SMOOTHING` more sightings that are spread as tokens are; p(t | right)
likewise. A neighbour that is not known leaves its quotient out. Nothing is trained.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from albert_tf.planning.budget import COUNTED_TOKENS
from pipeline.records.reading import Unmasked, read_unmasked
from schemas.example import FIRST_ORDINARY_ID, MASK_ID
from schemas.layout import EVAL, TRAIN
from schemas.manifest import DatasetManifest

Int = npt.NDArray[np.int64]
Float = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# Sightings added to those beside each neighbour, spread as tokens are.
SMOOTHING = 1000.0

# Held-out examples that counting is asked about to know its loss within a hundredth.
ASKED_EXAMPLES = 1000

# No neighbour: what stands there is masked.
UNKNOWN = -1


class Asked(NamedTuple):
    """N tokens to predict, and what is known beside them.

    Attributes:
        labels: The tokens, `[N]`.
        left: What stands before each, or `UNKNOWN`, `[N]`.
        right: What stands after each, or `UNKNOWN`, `[N]`.
    """

    labels: Int
    left: Int
    right: Int


class Guesses(NamedTuple):
    """How well N tokens were predicted.

    Attributes:
        losses: Minus the log probability of each, in nats, `[N]`.
        hits: Whether each was the likeliest, `[N]`.
    """

    losses: Float
    hits: Bools


def masked_tokens(text: Unmasked) -> Asked:
    """The masked tokens of some rows, with what a model sees beside them.

    If a neighbour is itself masked, a model sees [MASK], so that it is unknown, or what
    replaced it: itself or any other token.
    """
    places = np.flatnonzero(text.is_masked)
    # Every row begins with [CLS] and ends with [SEP], which are never masked.
    left, right = (
        np.where(text.shown[beside] == MASK_ID, UNKNOWN, text.shown[beside])
        for beside in (places - 1, places + 1)
    )
    return Asked(text.ids[places], left, right)


class NeighbourCounts:
    """Counts of the tokens of some text and of which stand side by side.

    Args:
        texts: Rows of tokens, special ones included; these are neighbours, but are
            never predicted.
    """

    def __init__(self, texts: Iterable[Unmasked], *, vocab_size: int) -> None:
        occurrences = np.zeros(vocab_size, np.int64)
        # A pair of tokens as one number, of four bytes where these are enough.
        code = np.uint32 if vocab_size <= 1 << 16 else np.int64
        codes = [np.zeros(0, code)]
        self.rows = 0
        for text in texts:
            self.rows += len(text.offsets) - 1
            occurrences += np.bincount(text.ids, minlength=vocab_size)
            pairs = (text.ids[:-1] * vocab_size + text.ids[1:]).astype(code)
            # The last token of a row and the first of the next are no neighbours.
            codes.append(np.delete(pairs, text.offsets[1:-1] - 1))
        self.tokens = int(occurrences.sum())
        sightings = occurrences + 0.5  # So that no token is impossible.
        sightings[:FIRST_ORDINARY_ID] = 0
        self._share: Float = sightings / sightings.sum()
        found, counts = np.unique(np.concatenate(codes), return_counts=True)
        left, right = np.divmod(found.astype(np.int64), vocab_size)
        # On the side of its left neighbour, and of its right one.
        self._sides = [
            _quotients(neighbours, tokens, counts, share=self._share)
            for neighbours, tokens in ((left, right), (right, left))
        ]

    def from_frequencies(self, asked: Asked) -> Guesses:
        """Tokens predicted by how frequent they are."""
        hits = asked.labels == np.argmax(self._share)
        return Guesses(-np.log(self._share[asked.labels]), hits)

    def from_neighbours(self, asked: Asked) -> Guesses:
        """Tokens predicted by what stands beside them, as far as it is known."""
        losses, hits = np.zeros(len(asked.labels)), np.zeros(len(asked.labels), bool)
        questions = zip(*(column.tolist() for column in asked), strict=True)
        for number, (label, left, right) in enumerate(questions):
            weights = self.weights(left, right)
            losses[number] = np.log(weights.sum() / weights[label])
            hits[number] = weights.argmax() == label
        return Guesses(losses, hits)

    def weights(self, left: int, right: int) -> Float:
        """Numbers in proportion to the probability of each token, `[V]`."""
        weights = self._share.copy()
        for neighbour, (starts, tokens, quotients) in zip((left, right), self._sides, strict=True):
            if neighbour != UNKNOWN:
                some = slice(starts[neighbour], starts[neighbour + 1])
                weights[tokens[some]] *= quotients[some]
        return weights


def _quotients(
    neighbours: Int, tokens: Int, counts: Int, *, share: Float
) -> tuple[Int, Int, Float]:
    """How much likelier than usual each token is beside another one, on one side.

    Scaled for each neighbour so that a token never seen beside it has 1; the scale
    cancels where shares are made of the numbers.

    Args:
        neighbours: Tokens, `[N]`.
        tokens: One that stands beside each, `[N]`.
        counts: How often it does, `[N]`.
        share: How frequent each token is, `[V]`; 0 of those that are not predicted.

    Returns:
        Tokens and their quotients `[M]`, those of neighbour t from `starts[t]` to
        `starts[t + 1]`: the starts first.
    """
    order = np.argsort(neighbours, kind="stable")
    order = order[share[tokens[order]] > 0]
    starts = np.searchsorted(neighbours[order], np.arange(len(share) + 1))
    tokens = tokens[order]
    return starts, tokens, 1 + counts[order] / (SMOOTHING * share[tokens])


def training_text(
    data: Path, manifest: DatasetManifest, *, on_tokens: Callable[[int], None] = lambda tokens: None
) -> Iterator[Unmasked]:
    """The text of the training split, once, up to `COUNTED_TOKENS`."""
    left = COUNTED_TOKENS
    for text in read_unmasked(data, manifest, split=TRAIN):
        if left <= 0:
            return
        yield text
        on_tokens(min(left, len(text.ids)))
        left -= len(text.ids)


def held_out_text(data: Path, manifest: DatasetManifest, *, examples: int) -> Iterator[Unmasked]:
    """The text of the first held-out examples, some at a time."""
    for text in read_unmasked(data, manifest, split=EVAL):
        if examples <= 0:
            return
        yield text.first(examples)
        examples -= len(text.offsets) - 1


def loss_of_counting(data: Path, manifest: DatasetManifest) -> float | None:
    """The held-out loss of counting both neighbours, in nats.

    It is the unit in which the planner expects losses, so a part of the held-out text
    is enough.

    Returns:
        None if there is nothing to count in, or nothing to predict.
    """
    if not (manifest.num_examples(TRAIN) and manifest.num_examples(EVAL)):
        return None
    counts = NeighbourCounts(training_text(data, manifest), vocab_size=manifest.vocabulary["size"])
    held_out = held_out_text(data, manifest, examples=ASKED_EXAMPLES)
    losses = [counts.from_neighbours(masked_tokens(text)).losses for text in held_out]
    return float(np.concatenate(losses).mean()) if losses else None
