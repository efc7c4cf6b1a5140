"""The special tokens and the features of a pretraining example, written once.

Writer and reader loop over the features. Names and dtypes are those of
google-research/albert. In the `compact` layout nothing that can be derived is stored
and nothing is padded, so that a record has the length of its text; in `padded` all
features have the fixed length that some parsers ask for.
"""

import dataclasses
from typing import Literal, NamedTuple

# The pieces that every vocabulary starts with, at ids that never change; ALBERT's
# published vocabulary has the same (google-research/albert README).
PAD, UNK, CLS, SEP, MASK = "<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"
SPECIAL_TOKENS = (PAD, UNK, CLS, SEP, MASK)
PAD_ID, UNK_ID, CLS_ID, SEP_ID, MASK_ID = range(5)

# All ids from here on are ordinary pieces, which a random replacement may draw.
FIRST_ORDINARY_ID = len(SPECIAL_TOKENS)

# SentencePiece's mark of a space before a piece.
SPACE = "▁"

# Characters that are always pieces of their own (google-research/albert README).
USER_SYMBOLS = ("(", ")", '"', "-", ".", "–", "£", "€")


RecordLayout = Literal["compact", "padded"]
DType = Literal["bytes", "float32", "int64"]

# The sentence label of a row without one, which no loss counts.
NO_LABEL = -1


@dataclasses.dataclass(frozen=True)
class Feature:
    """One feature of a record.

    Attributes:
        length: The setting that bounds its length, or the number 1.
        is_compact: Whether the `compact` layout stores it; `padded` stores all.
    """

    name: str
    dtype: Literal["float32", "int64"]
    length: Literal["max_seq_length", "max_predictions_per_seq", 1]
    is_compact: bool
    meaning: str


FEATURES = (
    Feature(
        "input_ids",
        "int64",
        "max_seq_length",
        True,
        "[CLS] A [SEP] B [SEP] after masking, as piece ids.",
    ),
    Feature("input_mask", "int64", "max_seq_length", False, "1 at real pieces, 0 at padding."),
    Feature(
        "segment_ids",
        "int64",
        "max_seq_length",
        False,
        "0 at [CLS] A [SEP] and at padding, 1 at B [SEP].",
    ),
    Feature(
        "token_boundary",
        "int64",
        "max_seq_length",
        False,
        "1 at pieces that start a word and at [CLS] and [SEP], else 0.",
    ),
    Feature(
        "masked_lm_positions",
        "int64",
        "max_predictions_per_seq",
        True,
        "Places in input_ids to predict, ascending.",
    ),
    Feature(
        "masked_lm_ids",
        "int64",
        "max_predictions_per_seq",
        True,
        "The original piece ids at those places.",
    ),
    Feature(
        "masked_lm_weights",
        "float32",
        "max_predictions_per_seq",
        False,
        "1.0 at real predictions, 0.0 at padding.",
    ),
    # A misnomer kept for compatibility: ALBERT stores the sentence-order label here.
    Feature(
        "next_sentence_labels",
        "int64",
        1,
        True,
        "0: B follows A. 1: swapped (sop) or from elsewhere (nsp).",
    ),
)


def least_length(feature: Feature) -> int:
    """The minimum number of values of a feature in a record that is not padded.

    There may be no predictions: in a very short row perhaps no word fits the budget.

    >>> [f.name for f in FEATURES if f.is_compact and least_length(f) == 0]
    ['masked_lm_positions', 'masked_lm_ids']
    """
    return 0 if feature.length == "max_predictions_per_seq" else 1


def stored_features(layout: RecordLayout) -> tuple[Feature, ...]:
    """The features a record of this layout holds, in the order of the table.

    >>> [feature.name for feature in stored_features("compact")]
    ['input_ids', 'masked_lm_positions', 'masked_lm_ids', 'next_sentence_labels']
    """
    return tuple(f for f in FEATURES if f.is_compact or layout == "padded")


class DocumentFeature(NamedTuple):
    """One feature of a document, in a data set whose examples are made on the fly."""

    name: str
    dtype: Literal["bytes", "int64"]
    meaning: str


# In the order of their names, in which a record has them.
DOCUMENT_FEATURES = (
    DocumentFeature(
        "id", "bytes", "Hash of its text, 16 bytes, from which with the seed all draws derive."
    ),
    DocumentFeature("sentence_lengths", "int64", "How many tokens each sentence has, at least 1."),
    DocumentFeature(
        "tokens",
        "bytes",
        "Piece ids, lowest byte first: two bytes each in a vocabulary of up to 65,536 "
        "pieces, else four.",
    ),
    DocumentFeature(
        "word_starts",
        "bytes",
        "One bit for each token, highest first: whether it starts a word, as the first "
        "of a sentence always does.",
    ),
)
