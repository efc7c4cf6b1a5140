"""A SentencePiece model: its file, text to token ids, and which tokens start a word.

The numbers are those of the fields of `sentencepiece_model.proto`.
"""

import functools
import hashlib
import itertools
import operator
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import sentencepiece

from pipeline.core.draws import Bool, Ids
from pipeline.core.protobuf import bytes_field, changed, float_field, nested, number_field
from pipeline.core.writing_systems import (
    LEAST_SHARE_OF_UNSPACED,
    is_unspaced,
    stands_without_space,
    without_loose_spaces,
)
from pipeline.storage.files import is_remote, join, read_whole
from schemas.errors import AlbertError, SettingError
from schemas.example import PAD, PAD_ID, SPACE, SPECIAL_TOKENS, UNK, UNK_ID
from schemas.files import read_bytes
from schemas.layout import SPM_MODEL, vocabulary_file

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


# Marks that stand inside of words between letters (Unicode annex 29: MidLetter, MidNumLet, and
# the double quote between Hebrew letters), by the letters that both sides have at least, see
# `_letter`. An apostrophe between Latin letters begins a word, as in ALBERT: "don" and "'t".
_INSIDE_WORDS = {"·": 1, "‧": 1, "'": 2, "’": 2, "׳": 2, "״": 2, '"': 3}

# A vocabulary of a million pieces has 20 MB.
MAX_MODEL_BYTES = 256 << 20


def starts_word(piece: str) -> bool:
    """Whether a piece starts a word; otherwise it continues the one before.

    It does if it begins with a space, is one punctuation mark or symbol, or has a digit
    or a character of a script written without spaces. The published code asks for the
    letters a to z instead, which makes every Russian or Greek piece a word.

    >>> [starts_word(p) for p in ("▁the", "ing", ",", "'s", "1984", "ов", "日本")]
    [True, False, True, False, True, False, True]
    """
    if piece.startswith(SPACE) or piece in SPECIAL_TOKENS:
        return True
    if _is_mark(piece):
        return True
    return any(c.isdigit() or is_unspaced(c) for c in piece)


def _is_mark(piece: str) -> bool:
    return len(piece) == 1 and unicodedata.category(piece)[0] in "PS"


def _letter(character: str) -> int:
    """0 of no letter, 1 of Latin ones, 2 of others, 3 of Hebrew ones and their points."""
    name = unicodedata.name(character, "")
    if name.startswith(("HEBREW LETTER", "HEBREW POINT")):
        return 3
    is_letter = character.isalpha() or unicodedata.category(character).startswith("M")
    return 0 if not is_letter else 1 if name.startswith("LATIN") else 2


class TokenizedText(NamedTuple):
    """The tokens of a text, and where they stand in it.

    Attributes:
        ids: Of each token, `[T]`.
        starts: The first character of each token in the text as it was given, `[T]`,
            white space before it left out. A token without a character of its own (the
            second of those that ½ becomes) starts where it ends.
        ends: The first character after each token, `[T]`.
    """

    ids: list[int]
    starts: list[int]
    ends: list[int]


class Tokenizer(Protocol):
    """A vocabulary of any kind, of V pieces: a SentencePiece model, or WordPiece.

    Attributes:
        sha256: Of its file, and of rules that the file does not tell.
        pieces: The text of each.
        word_starts: Whether each piece starts a word wherever it stands, `[V]`.
        order: The place of each piece in its file; None where that is its id.
    """

    sha256: str
    vocab_size: int
    pieces: list[str]
    word_starts: Bool
    order: list[int] | None

    def starts(self, ids: Ids) -> Bool:
        """Whether each token of a text starts a word, `[T]`."""
        return self.word_starts[ids]

    def piece(self, piece_id: int) -> str:
        """The text of a piece."""
        return self.pieces[piece_id]

    def normalize(self, text: str) -> str:
        """A text as the model sees it."""

    def encode(self, texts: list[str]) -> list[list[int]]:
        """The token ids of each text; empty where nothing is left of it."""
        return [self.encode_with_offsets(text).ids for text in texts]

    def encode_after(self, text: str) -> list[int]:
        """The token ids of a text that follows another token."""
        return self.encode_with_offsets(text).ids

    def encode_with_offsets(self, text: str) -> TokenizedText:
        """The token ids of a text, and where each token stands in it."""

    def decode(self, ids: list[int]) -> str:
        """The text of token ids, as normalized, without special tokens."""


class SentencePieceTokenizer(Tokenizer):
    """A SentencePiece model as loaded.

    SentencePiece puts a space before every text. In a vocabulary of scripts without
    spaces it is put only before a text in other scripts alone, and other spaces that
    say nothing are left out. Otherwise a piece that is nothing but a space stands
    before every sentence, and is one of those most often asked for.
    """

    def __init__(self, model: bytes) -> None:
        self._model = model
        self._processor = self._loaded(b"")
        self._is_of_unspaced_text = is_of_unspaced_text(model)
        if self._is_of_unspaced_text:
            self._processor = self._loaded(SPACE_BEFORE)
        self.sha256 = hashlib.sha256(model).hexdigest()
        self.vocab_size = self._processor.GetPieceSize()
        self.order = None
        pieces = [str(self._processor.IdToPiece(i)) for i in range(self.vocab_size)]
        self.pieces = pieces
        self.word_starts = np.array(list(map(starts_word, pieces)))
        self._unspaced: Bool = np.array([any(map(is_unspaced, p)) for p in pieces])
        # They go with the token before them, whatever its script.
        self._marks: Bool = np.array(list(map(_is_mark, pieces))) & ~self._unspaced
        self._marks[UNK_ID] = True
        self._space: int = self._processor.PieceToId(SPACE)
        self._inside_words = np.array([_INSIDE_WORDS.get(piece, 0) for piece in pieces])
        self._first, self._last = (
            np.array([_letter(piece[side]) for piece in pieces]) for side in (0, -1)
        )

    def _loaded(self, prefix: bytes) -> sentencepiece.SentencePieceProcessor:
        """The model, told whether to put a space before a text."""
        processor = sentencepiece.SentencePieceProcessor()
        processor.LoadFromSerializedProto(self._model + prefix)
        return processor

    def starts(self, ids: Ids) -> Bool:
        """Whether each token of a text starts a word, `[T]`.

        In a text of a script without spaces another script starts one: in "我用Python"
        the pieces "P" and "ython" are a word. A mark that stands inside of words does not.
        """
        starts = super().starts(ids)
        marks = np.flatnonzero(self._inside_words[ids[1:-1]]) + 1
        beside = np.minimum(self._last[ids[marks - 1]], self._first[ids[marks + 1]])
        starts[marks[beside >= self._inside_words[ids[marks]]]] = False
        unspaced = self._unspaced[ids]
        if unspaced.sum() <= LEAST_SHARE_OF_UNSPACED * len(ids):
            return starts
        # The last token up to each that is no mark.
        places = np.where(self._marks[ids], 0, np.arange(len(ids)))
        script = unspaced[np.maximum.accumulate(places)]
        starts[1:] |= script[:-1]
        if self._is_of_unspaced_text:
            # A space alone is no word, but belongs to what it stands before.
            starts[1:] &= ids[:-1] != self._space
        return starts

    def score(self, piece_id: int) -> float:
        """The log probability of a piece."""
        return float(self._processor.GetScore(piece_id))

    def encode(self, texts: list[str]) -> list[list[int]]:
        """The token ids of each text; empty where nothing is left of it."""
        if not self._is_of_unspaced_text:
            return self._encoded(texts, self._processor)
        texts = list(map(without_loose_spaces, texts))
        is_inside = list(map(stands_without_space, texts))
        inside = iter(self._encoded(itertools.compress(texts, is_inside), self._inside))
        others = itertools.compress(texts, map(operator.not_, is_inside))
        beginning = iter(self._encoded(others, self._processor))
        return [next(inside if without else beginning) for without in is_inside]

    def _encoded(
        self, texts: Iterable[str], processor: sentencepiece.SentencePieceProcessor
    ) -> list[list[int]]:
        ids: list[list[int]] = processor.Encode(list(texts), out_type=int, num_threads=1)
        return ids

    def encode_after(self, text: str) -> list[int]:
        """The token ids of a text that follows another token.

        Without a space at its beginning it continues the word of that token.
        """
        if self._is_of_unspaced_text:
            text = without_loose_spaces(text)
        # A letter before it shows whether the model reads a space there.
        begins_word = self.normalize(f"a{text}").startswith(f"{SPACE}a{SPACE}")
        processor = self._processor if begins_word else self._inside
        return self._encoded([text], processor)[0]

    def encode_with_offsets(self, text: str) -> TokenizedText:
        """The token ids of a text, and where each token stands in it."""
        read, processor = text, self._processor
        if self._is_of_unspaced_text:
            read = without_loose_spaces(text)
            processor = self._inside if stands_without_space(read) else processor
        found = processor.Encode(read, return_type="offset_mapping")
        starts, ends = [], []
        for start, end in found["offsets"]:
            while start < end and read[start].isspace():
                start += 1
            starts.append(start)
            ends.append(end)
        if read != text:
            places = _places_of(read, text)
            ends = [places[end - 1] + 1 if end else 0 for end in ends]
            starts = [min(places[start], end) for start, end in zip(starts, ends, strict=True)]
        return TokenizedText(list(found["ids"]), starts, ends)

    def decode(self, ids: list[int]) -> str:
        """The text of token ids, as normalized, without special tokens."""
        return str(self._processor.Decode(ids))

    @functools.cached_property
    def _inside(self) -> sentencepiece.SentencePieceProcessor:
        """The same model, except that it puts no space before a text."""
        return self._loaded(NO_SPACE_BEFORE)

    def normalize(self, text: str) -> str:
        """A text as the model sees it, a space before it."""
        return str(self._processor.Normalize(text))


def _places_of(read: str, text: str) -> list[int]:
    """Where each character stood before spaces were left out, and the end of all.

    >>> _places_of("a東京", "a 東京")
    [0, 2, 3, 4]
    """
    places, place = [], 0
    for character in read:
        place = text.index(character, place)
        places.append(place)
        place += 1
    return [*places, len(text)]


@functools.lru_cache(maxsize=2)
def load_tokenizer(model: bytes) -> SentencePieceTokenizer:
    """One tokenizer for each model in a process."""
    return SentencePieceTokenizer(model)


def read_spm_model(vocab: str | Path) -> bytes:
    """The checked model file of a vocabulary given as directory or file."""
    if is_remote(place := str(vocab)):
        place = place if place.endswith(".model") else join(place, SPM_MODEL)
        model = read_whole(place)
        check_model(model, path=place)
        return model
    path = Path(vocab)
    if path.is_dir():
        path = vocabulary_file(path)
    if not path.exists():
        raise SettingError(f"{path} does not exist; make a vocabulary with albert vocab.")
    return checked_model(path)


def checked_model(path: Path) -> bytes:
    """A model file, once it is found to be one."""
    model = vocabulary_bytes(path)
    check_model(model, path=path)
    return model


def vocabulary_bytes(path: Path) -> bytes:
    """The file of a vocabulary, if it is no larger than any."""
    try:
        return read_bytes(path, most=MAX_MODEL_BYTES)
    except AlbertError as error:
        raise SettingError(str(error)) from None


def check_model(model: bytes, *, path: Path | str) -> None:
    """Refuse a damaged model, or one whose first pieces are not the special ones."""
    try:
        # SentencePiece loads whatever bytes a piece and the rules have.
        tokenizer = load_tokenizer(model)
        compiled_normalization(model)
    except RuntimeError:
        raise AlbertError(
            f"{path} is not a SentencePiece model, or not a whole one (a WordPiece "
            "vocabulary or a text file cannot be used); copy it again, or make one with "
            "albert vocab."
        ) from None
    except ValueError as error:
        raise AlbertError(f"{path} is damaged ({error}); copy it again.") from error
    for index, piece in enumerate(SPECIAL_TOKENS):
        found = tokenizer.pieces[index] if index < tokenizer.vocab_size else "nothing"
        if found != piece:
            raise AlbertError(
                f"{path}: piece {index} must be {piece} and is {found}; "
                "make a vocabulary with albert vocab."
            )
