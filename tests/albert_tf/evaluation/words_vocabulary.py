"""A vocabulary for the small data sets of `tests.training_data`."""

import numpy as np

from albert_tf.evaluation.bits_per_character import Vocabulary
from schemas.example import SPECIAL_TOKENS
from tests.training_data import VOCAB_SIZE

# Every ordinary token is a word of two letters.
WORDS = Vocabulary(
    [
        SPECIAL_TOKENS[n] if n < len(SPECIAL_TOKENS) else f"▁{chr(97 + n // 8)}{chr(97 + n % 8)}"
        for n in range(VOCAB_SIZE)
    ],
    np.ones(VOCAB_SIZE, bool),
)


def encode(texts):
    return [[WORDS.tokens.index(f"▁{word}") for word in t.split()] for t in texts]
