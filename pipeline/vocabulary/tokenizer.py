"""A SentencePiece model: text to token ids, and which tokens start a word."""

import errno
import functools
import hashlib
import itertools
import operator
import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sentencepiece

from pipeline.core.draws import Bool, Ids
from pipeline.core.scripts import (
    LEAST_SHARE_OF_UNSPACED,
    is_unspaced,
    stands_without_space,
    without_loose_spaces,
)
from pipeline.storage.files import is_remote, join, read_whole
from pipeline.vocabulary.model_file import (
    NO_SPACE_BEFORE,
    SPACE_BEFORE,
    compiled_normalization,
    is_of_unspaced_text,
)
from schemas.errors import AlbertError, SettingError
from schemas.example import SPACE, SPECIAL_TOKENS, UNK_ID
from schemas.layout import SPM_MODEL, vocabulary_file

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


class SentencePieceTokenizer:
    """A SentencePiece model as loaded.

    SentencePiece puts a space before every text. In a vocabulary of scripts without
    spaces it is put only before a text in other scripts alone, and other spaces that
    say nothing are left out. Otherwise a piece that is nothing but a space stands
    before every sentence, and is one of those most often asked for.

    Attributes:
        word_starts: Whether each piece starts a word wherever it stands, `[V]`.
        order: The place of each piece in its file; None where that is its id.
    """

    def __init__(self, model: bytes) -> None:
        self._model = model
        self._processor = self._loaded(b"")
        self._is_of_unspaced_text = is_of_unspaced_text(model)
        if self._is_of_unspaced_text:
            self._processor = self._loaded(SPACE_BEFORE)
        self.sha256 = hashlib.sha256(model).hexdigest()
        self.vocab_size: int = self._processor.GetPieceSize()
        self.order: list[int] | None = None
        pieces = [self.piece(i) for i in range(self.vocab_size)]
        self.word_starts: Bool = np.array(list(map(starts_word, pieces)))
        self._unspaced: Bool = np.array([any(map(is_unspaced, p)) for p in pieces])
        # They go with the token before them, whatever its script.
        self._marks: Bool = np.array(list(map(_is_mark, pieces))) & ~self._unspaced
        self._marks[UNK_ID] = True
        self._space: int = self._processor.PieceToId(SPACE)

    def _loaded(self, prefix: bytes) -> sentencepiece.SentencePieceProcessor:
        """The model, told whether to put a space before a text."""
        processor = sentencepiece.SentencePieceProcessor()
        processor.LoadFromSerializedProto(self._model + prefix)
        return processor

    def starts(self, ids: Ids) -> Bool:
        """Whether each token of a text starts a word, `[T]`.

        In a text of a script without spaces another script starts one: in "我用Python"
        the pieces "P" and "ython" are a word.
        """
        starts = self.word_starts[ids]
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

    def piece(self, piece_id: int) -> str:
        """The text of a piece."""
        return str(self._processor.IdToPiece(piece_id))

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


def read_model(vocab: str | Path) -> bytes:
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
    model = first_bytes(path)
    check_model(model, path=path)
    return model


def first_bytes(path: Path) -> bytes:
    """A model file, but no more of it than `check_model` needs to refuse it."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise OSError(errno.EINVAL, "it is a pipe or a device")
        with path.open("rb") as file:
            # Memory is taken for all that is asked for, so for no more than there is.
            size = os.fstat(file.fileno()).st_size
            return file.read(min(size, MAX_MODEL_BYTES) + 1)
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error.strerror}.") from None


def check_model(model: bytes, *, path: Path | str) -> None:
    """Refuse a damaged model, or one whose first pieces are not the special ones."""
    try:
        if len(model) > MAX_MODEL_BYTES:
            raise RuntimeError("too large")
        # SentencePiece loads whatever bytes a piece and the rules have.
        tokenizer = load_tokenizer(model)
        compiled_normalization(model)
    except RuntimeError:
        raise AlbertError(
            f"{path} is not a SentencePiece model (a WordPiece vocabulary or a text "
            "file cannot be used); make one with albert vocab."
        ) from None
    except ValueError as error:
        raise AlbertError(f"{path} is damaged ({error}); copy it again.") from error
    for index, piece in enumerate(SPECIAL_TOKENS):
        is_there = index < tokenizer.vocab_size
        found = tokenizer.piece(index) if is_there else "nothing"
        if found != piece:
            raise AlbertError(
                f"{path}: piece {index} must be {piece} and is {found}; "
                "make a vocabulary with albert vocab."
            )
