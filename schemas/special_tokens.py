"""The pieces every vocabulary starts with, at ids that never change.

ALBERT's published vocabulary has the same ids (google-research/albert README), so
models and data made here agree with everything trained elsewhere.
"""

PAD, UNK, CLS, SEP, MASK = "<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"
SPECIAL_TOKENS = (PAD, UNK, CLS, SEP, MASK)
PAD_ID, UNK_ID, CLS_ID, SEP_ID, MASK_ID = range(5)

# All ids from here on are ordinary pieces, which a random replacement may draw.
FIRST_ORDINARY_ID = len(SPECIAL_TOKENS)

# SentencePiece's mark of a space before a piece.
SPACE = "▁"

# Characters that are always pieces of their own (google-research/albert README).
USER_SYMBOLS = ("(", ")", '"', "-", ".", "–", "£", "€")
