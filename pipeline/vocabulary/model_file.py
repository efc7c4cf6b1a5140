"""SentencePiece's model file as a message: what is read from one and changed in one.

The numbers are those of the fields of `sentencepiece_model.proto`.
"""

from collections.abc import Sequence

from pipeline.core.protobuf import bytes_field, changed, float_field, nested, number_field
from schemas.example import PAD, PAD_ID, SPECIAL_TOKENS, UNK, UNK_ID

# ModelProto
_PIECE, _TRAINER_SPEC, _NORMALIZER_SPEC = 1, 2, 3
# SentencePiece, and its kinds
_TEXT, _SCORE, _KIND = 1, 2, 3
_UNKNOWN, _CONTROL = 2, 3
# TrainerSpec
_MODEL_TYPE, _VOCAB_SIZE = 3, 4
_UNK_ID, _BOS_ID, _EOS_ID, _PAD_ID, _UNK_PIECE, _PAD_PIECE = 40, 41, 42, 43, 45, 48
_UNIGRAM = 1
_ABSENT = (1 << 64) - 1  # -1
# NormalizerSpec
_NAME, _CHARSMAP, _ADD_DUMMY_PREFIX, _RULE_FILE = 1, 2, 3, 6

# The name of rules that somebody wrote, as `albert vocab` and `albert import` do.
_OWN_RULES = b"user_defined"

# The name of such rules in a vocabulary of scripts without spaces: whether a space is
# thought before a text depends on the text (`SentencePieceTokenizer`).
_UNSPACED_RULES = b"unspaced"

# To be appended to a model file as a second NormalizerSpec: a field that comes twice
# is merged, and the last value holds.
NO_SPACE_BEFORE = bytes_field(_NORMALIZER_SPEC, number_field(_ADD_DUMMY_PREFIX, 0))
SPACE_BEFORE = bytes_field(_NORMALIZER_SPEC, number_field(_ADD_DUMMY_PREFIX, 1))


def compiled_normalization(model: bytes) -> bytes:
    """The normalization rules of a model in their compiled form."""
    return b"".join(_of_rules(model, _CHARSMAP))


def has_own_rules(model: bytes) -> bool:
    """Whether a model has rules that somebody wrote, so that nothing is missing."""
    return not {_OWN_RULES, _UNSPACED_RULES}.isdisjoint(_of_rules(model, _NAME))


def is_of_unspaced_text(model: bytes) -> bool:
    """Whether a model is that of a vocabulary of scripts without spaces."""
    return _UNSPACED_RULES in _of_rules(model, _NAME)


def of_unspaced_text(model: bytes) -> bytes:
    """The model of a vocabulary of scripts without spaces, from one as trained."""
    name = bytes_field(_NORMALIZER_SPEC, bytes_field(_NAME, _UNSPACED_RULES))
    return model + name + NO_SPACE_BEFORE


def _of_rules(model: bytes, number: int) -> list[bytes]:
    """A field of the rules of a model, the one that holds last."""
    specs = nested(model, _NORMALIZER_SPEC)
    return [value for spec in specs for value in nested(spec, number)]


def with_rules_and_scores(model: bytes, *, charsmap: bytes, scores: Sequence[float]) -> bytes:
    """A model with other rules and scores, all else byte for byte as it was."""
    of_pieces = iter(scores)

    def change(number: int, value: int | bytes) -> bytes | None:
        if number == _PIECE and isinstance(value, bytes):
            score = float_field(_SCORE, next(of_pieces))
            piece = changed(value, lambda n, _: score if n == _SCORE else None)
            return bytes_field(_PIECE, piece)
        if number == _NORMALIZER_SPEC and isinstance(value, bytes):
            old = (_NAME, _CHARSMAP, _RULE_FILE)
            kept = changed(value, lambda n, _: b"" if n in old else None)
            own = bytes_field(_NAME, _OWN_RULES) + bytes_field(_CHARSMAP, charsmap)
            return bytes_field(_NORMALIZER_SPEC, own + kept)
        return None

    return changed(model, change)


def model_of_pieces(pieces: Sequence[tuple[str, float]], charsmap: bytes) -> bytes:
    """A model made from its pieces, where another program kept nothing else."""
    written = []
    for number, (text, score) in enumerate(pieces):
        message = bytes_field(_TEXT, text.encode()) + float_field(_SCORE, score)
        if number < len(SPECIAL_TOKENS):
            kind = _UNKNOWN if number == UNK_ID else _CONTROL
            message += number_field(_KIND, kind)
        written.append(bytes_field(_PIECE, message))
    trainer = (
        number_field(_MODEL_TYPE, _UNIGRAM)
        + number_field(_VOCAB_SIZE, len(pieces))
        + number_field(_UNK_ID, UNK_ID)
        + number_field(_BOS_ID, _ABSENT)
        + number_field(_EOS_ID, _ABSENT)
        + number_field(_PAD_ID, PAD_ID)
        + bytes_field(_UNK_PIECE, UNK.encode())
        + bytes_field(_PAD_PIECE, PAD.encode())
    )
    written.append(bytes_field(_TRAINER_SPEC, trainer))
    normalizer = bytes_field(_CHARSMAP, charsmap)
    written.append(bytes_field(_NORMALIZER_SPEC, normalizer))
    return b"".join(written)
