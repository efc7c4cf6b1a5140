"""A vocabulary of another ALBERT becomes one that needs no program around it.

Elsewhere part of the work is done around the model: google-research/albert and Hugging
Face lower the case and drop accents in Python before it, and both keep commas after
digits apart (`tokenization.py` `encode_pieces`). Here all of it goes into the model.
"""

import tempfile
import unicodedata
from collections.abc import Callable
from pathlib import Path

import sentencepiece

from pipeline.core.sentencepiece_proto import (
    compiled_normalization,
    has_own_rules,
    with_rules_and_scores,
)
from pipeline.vocabulary.external import Normalization
from pipeline.vocabulary.normalization import rules_tsv
from pipeline.vocabulary.tokenizer import Tokenizer, load_tokenizer
from pipeline.vocabulary.wordpiece import LEAST_SHARE_OF_PIECES
from schemas.special_tokens import FIRST_ORDINARY_ID

# What Hugging Face takes from the score of a piece such as "▁1," (`AlbertConverter`),
# so that "▁1" and "," are always better.
_COMMA_PENALTY = 100


def normalization_of_pieces(tokenizer: Tokenizer) -> Normalization:
    """What kind of text a vocabulary was made from, judging by its pieces."""
    pieces = [tokenizer.piece(i) for i in range(tokenizer.vocab_size)]
    enough = LEAST_SHARE_OF_PIECES * len(pieces)
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
    return with_rules_and_scores(
        model,
        charsmap=_compiled(rules_tsv(_before(model, asked))),
        scores=_penalized(load_tokenizer(model)) if scores is None else scores,
    )


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
    return compiled_normalization(normalizer.serialized_model_proto())


def _penalized(tokenizer: Tokenizer) -> list[float]:
    """The scores of all pieces, those of a digit and a comma lowered."""
    return [
        tokenizer.score(i) - _COMMA_PENALTY * _is_number_with_comma(tokenizer.piece(i))
        for i in range(tokenizer.vocab_size)
    ]


def _is_number_with_comma(piece: str) -> bool:
    return len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit()
