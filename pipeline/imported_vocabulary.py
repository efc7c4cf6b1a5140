"""A SentencePiece model of another ALBERT becomes a vocabulary that needs no help.

Elsewhere part of the work is done around the model: google-research/albert and Hugging
Face lower the case and drop accents in Python before it, and both keep commas behind
digits apart (`tokenization.py` `encode_pieces`). Here all of it goes into the model.
"""

import tempfile
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import sentencepiece

from pipeline.normalization import rules_tsv
from pipeline.protobuf import (
    bytes_field,
    changed,
    fields,
    float_field,
    nested,
)
from pipeline.tokenizer import Tokenizer
from schemas.special_tokens import FIRST_ORDINARY_ID

# Numbers of the fields of SentencePiece's ModelProto, SentencePiece and NormalizerSpec.
_PIECE, _NORMALIZER_SPEC = 1, 3
_PIECE_SCORE = 2
_NAME, _CHARSMAP, _RULE_FILE = 1, 2, 6

# The name of rules that somebody wrote, as `albert vocab` and this module do.
_OWN_RULES = b"user_defined"

# What Hugging Face takes from the score of a piece such as "▁1," (`AlbertConverter`),
# so that "▁1" and "," are always better.
_COMMA_PENALTY = 100

# A vocabulary with fewer such pieces than this share was made from text without them.
_SHARE_OF_PIECES = 0.01


class Normalization(NamedTuple):
    """What is kept of a text.

    Attributes:
        cased: Capital letters.
        keep_accents: Accents and other combining marks.
    """

    cased: bool
    keep_accents: bool


def has_own_rules(model: bytes) -> bool:
    """Whether a model has rules that somebody wrote, so that nothing is missing."""
    return _OWN_RULES in [
        value
        for spec in nested(model, _NORMALIZER_SPEC)
        for number, value in fields(spec)
        if number == _NAME
    ]


def normalization_of_pieces(tokenizer: Tokenizer) -> Normalization:
    """What the text was like that a vocabulary was made from, told by its pieces."""
    pieces = [tokenizer.piece(i) for i in range(tokenizer.vocab_size)]
    enough = _SHARE_OF_PIECES * len(pieces)
    ordinary = pieces[FIRST_ORDINARY_ID:]
    return Normalization(
        cased=sum(piece != piece.lower() for piece in ordinary) > enough,
        keep_accents=sum(map(_has_marks, ordinary)) > enough,
    )


def missing_normalization(tokenizer: Tokenizer) -> list[str]:
    """What would have to be done to a text before this model sees it."""
    made_from = normalization_of_pieces(tokenizer)
    missing = []
    if not made_from.cased and "A" in tokenizer.normalize("A"):
        missing.append("lower-casing")
    if not made_from.keep_accents and "é" in tokenizer.normalize("é"):
        missing.append("dropping accents")
    return missing


def normalization_warning(tokenizer: Tokenizer, *, vocab: str) -> str:
    """What to say of a model without its normalization; empty if nothing is missing."""
    missing = " and ".join(missing_normalization(tokenizer))
    if not missing:
        return ""
    return (
        f"{vocab} leaves {missing} to the program around it, without which words "
        f"become unknown pieces; albert import {vocab} --output NEW writes it into a "
        "vocabulary."
    )


def imported_model(
    model: bytes, asked: Normalization, *, scores: list[float] | None = None
) -> bytes:
    """A model that does by itself what was done around it.

    Args:
        model: The other program's; unchanged if its rules were written into it.
        asked: What the other program keeps of a text before the model sees it.
        scores: Of each piece as the other program has them; without, the model's own,
            with the penalty on commas.
    """
    if has_own_rules(model):
        return model
    rules = rules_tsv(_before(model, asked))
    charsmap = _compiled(rules)
    pieces = iter(scores if scores is not None else _penalized(Tokenizer(model)))

    def change(number: int, value: int | bytes) -> bytes | None:
        if number == _PIECE and isinstance(value, bytes):
            return bytes_field(_PIECE, _with_score(value, next(pieces)))
        if number == _NORMALIZER_SPEC and isinstance(value, bytes):
            return bytes_field(_NORMALIZER_SPEC, _with_rules(value, charsmap))
        return None

    return changed(model, change)


def _before(model: bytes, asked: Normalization) -> Callable[[str], str]:
    """What becomes of a character: Hugging Face's part first, then the model's own.

    Hugging Face drops every combining mark. google-research/albert drops those with a
    combining class, which spares some vowel signs of Indian scripts.
    """
    native = sentencepiece.SentencePieceNormalizer(
        model_proto=model,
        add_dummy_prefix=False,
        escape_whitespaces=False,
        remove_extra_whitespaces=False,
    )

    def normalize(text: str) -> str:
        if not asked.keep_accents:
            text = unicodedata.normalize("NFKD", text)
            text = "".join(c for c in text if not _is_mark(c))
        if not asked.cased:
            # One by one, because the sigma at the end of a word stays as it is there.
            text = "".join(c.lower() for c in text)
        normalized: str = native.Normalize(text)
        return normalized

    return normalize


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def _has_marks(piece: str) -> bool:
    return any(map(_is_mark, unicodedata.normalize("NFKD", piece)))


def _compiled(rules: str) -> bytes:
    """The rules in SentencePiece's compiled form."""
    with tempfile.TemporaryDirectory(prefix="albert-import-") as folder:
        path = Path(folder, "normalization.tsv")
        path.write_text(rules, encoding="utf-8")
        normalizer = sentencepiece.SentencePieceNormalizer(rule_tsv=str(path))
    (spec,) = nested(normalizer.serialized_model_proto(), _NORMALIZER_SPEC)
    (charsmap,) = nested(spec, _CHARSMAP)
    return charsmap


def _with_rules(spec: bytes, charsmap: bytes) -> bytes:
    """A NormalizerSpec with these rules instead of its own."""
    kept = changed(
        spec,
        lambda number, _: b"" if number in (_NAME, _CHARSMAP, _RULE_FILE) else None,
    )
    return bytes_field(_NAME, _OWN_RULES) + bytes_field(_CHARSMAP, charsmap) + kept


def _with_score(piece: bytes, score: float) -> bytes:
    """A SentencePiece with another score."""
    return changed(
        piece,
        lambda number, _: (
            float_field(_PIECE_SCORE, score) if number == _PIECE_SCORE else None
        ),
    )


def _penalized(tokenizer: Tokenizer) -> list[float]:
    """The scores of all pieces, those of a digit and a comma lowered."""
    return [
        tokenizer.score(i) - _COMMA_PENALTY * _is_number_with_comma(tokenizer.piece(i))
        for i in range(tokenizer.vocab_size)
    ]


def _is_number_with_comma(piece: str) -> bool:
    return len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit()
