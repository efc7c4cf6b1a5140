"""The settings of a vocabulary, and how many pieces suit a text."""

import dataclasses

from schemas.settings import check_bounds, option

# The smallest vocabulary: the special pieces and an alphabet.
LEAST_PIECES = 32

# Pieces that suit texts of at least so many tokens (docs/reproducing.md).
_SUITED = (
    *((5_500_000, 30_000), (1_200_000, 16_000), (400_000, 8000)),
    *((60_000, 2000), (0, 1000)),
)

# Pieces for each character that a text has, at least.
_PIECES_OF_A_CHARACTER = 1.25


def suited_vocab_size(tokens: int, *, characters: int) -> int:
    """How many pieces give a text of this many tokens the best model in a given time.

    Args:
        characters: Different ones in the text, which all have room.

    >>> suited_vocab_size(500_000, characters=90)
    8000
    >>> suited_vocab_size(500_000, characters=8000)
    10000
    """
    suited = next(size for least, size in _SUITED if tokens >= least)
    return max(suited, round(_PIECES_OF_A_CHARACTER * characters))


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabConfig:
    """How text becomes a vocabulary."""

    vocab_size: int = option(
        30000,
        "Pieces in the vocabulary, special ones included; auto is what suits the size of the text.",
        minimum=LEAST_PIECES,
    )
    sample_sentences: int = option(
        1_000_000, "Sentences to train on, a random sample of the text.", minimum=1
    )
    cased: bool = option(False, "Keep capital letters.")
    keep_accents: bool = option(False, "Keep accents and other combining marks.")
    seed: int = option(12345, "Seed of the sample of sentences.", minimum=0)

    def __post_init__(self) -> None:
        check_bounds(self)
