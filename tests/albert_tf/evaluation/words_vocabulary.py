"""A vocabulary for the small data sets of `tests.training_data`."""

import numpy as np

from schemas.special_tokens import SPECIAL_TOKENS
from tests.training_data import VOCAB_SIZE


class Words:
    """A vocabulary in which every ordinary token is a word of two letters."""

    word_starts = np.ones(VOCAB_SIZE, bool)

    def piece(self, piece_id):
        if piece_id < len(SPECIAL_TOKENS):
            return SPECIAL_TOKENS[piece_id]
        return f"▁{chr(97 + piece_id // 8)}{chr(97 + piece_id % 8)}"

    def encode(self, texts):
        ids = {self.piece(i): i for i in range(VOCAB_SIZE)}
        return [[ids[f"▁{word}"] for word in text.split()] for text in texts]


WORDS = Words()
