"""BERT's WordPiece: a `vocab.txt`, by which the Chinese ALBERTs divide text.

As in google-research/bert (`tokenization.py`): control characters dropped, Han
characters and punctuation marks words of their own, small letters without accents, and
the longest pieces from the left. The vocabulary is that of the file but for the order:
its special pieces stand first, where those of every vocabulary here do.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pipeline.core.arrays import Bool
from pipeline.vocabulary.tokenizer import (
    TokenizedText,
    Tokenizer,
    first_bytes,
    load_tokenizer,
    read_model,
)
from schemas.errors import AlbertError, SettingError
from schemas.layout import WORDPIECE, vocabulary_file
from schemas.special_tokens import FIRST_ORDINARY_ID, UNK_ID

# As BERT spells them, in the order of `schemas.special_tokens`.
_SPECIAL_PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

# A vocabulary of which fewer pieces have capitals, or accents, was made from text
# without them.
LEAST_SHARE_OF_PIECES = 0.01

# A longer word is unknown as a whole.
_MAX_WORD_CHARACTERS = 100

# Special pieces, and those that are kept free.
_IN_BRACKETS = re.compile(r"\[\w+\]")

# Before a piece that continues a word.
_INSIDE = "##"

# What BERT takes for Han characters: neither Kana nor Hangul.
_HAN = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
# Controls, formats and private characters.
_DROPPED = ("Cc", "Cf", "Co")
_ASCII_MARKS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def read_pieces(data: bytes, *, path: str) -> list[str]:
    """The pieces of a `vocab.txt`, in its own order.

    Args:
        data: The file.
        path: Of it, for messages.

    Raises:
        AlbertError: It is not such a file, or a special piece is missing.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise AlbertError(f"{path} is not a vocab.txt: it is not UTF-8.") from None
    # Some pieces are line ends by Unicode.
    pieces = text.removesuffix("\n").split("\n")
    pieces = [piece.removesuffix("\r") for piece in pieces]
    for piece in _SPECIAL_PIECES:
        if pieces.count(piece) != 1:
            raise AlbertError(
                f"{path} is not a vocab.txt of BERT: {pieces.count(piece)} of its "
                f"lines are {piece}, where there has to be one."
            )
    return pieces


def special_first(pieces: list[str]) -> list[int]:
    """The order that puts the special pieces first and leaves all others as they are.

    The rows of an embedding table in the file's order, taken at these places, are in
    the order used here; put back at these places, they are in the file's order again.

    Args:
        pieces: In the order of a `vocab.txt`.

    >>> special_first(["[PAD]", "a", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "b"])
    [0, 2, 3, 4, 5, 1, 6]
    """
    special = [pieces.index(piece) for piece in _SPECIAL_PIECES]
    return special + [n for n in range(len(pieces)) if n not in special]


def spelled(character: str, *, cased: bool) -> str:
    r"""What a character becomes, with spaces around it if it is a word of its own.

    Args:
        character: Any.
        cased: Whether capital letters and accents are kept.

    >>> [spelled(c, cased=False) for c in ("É", "語", ",", "\t", "\x07")]
    ['e', ' 語 ', ' , ', ' ', '']
    """
    if character in "\t\n\r":
        return " "
    if character == "\ufffd" or unicodedata.category(character) in _DROPPED:
        return ""
    if character.isspace():
        return " "
    text = character
    if not cased:
        text = "".join(
            c
            for c in unicodedata.normalize("NFD", character)
            if unicodedata.category(c) != "Mn"
        ).lower()
    if _is_han(character):
        return f" {text} "
    return "".join(f" {c} " if _is_mark(c) else c for c in text)


def _is_han(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _HAN)


def _is_mark(character: str) -> bool:
    return character in _ASCII_MARKS or unicodedata.category(character)[0] == "P"


def has_capitals(pieces: list[str]) -> bool:
    """Whether a vocabulary was made from text with capital letters, by its pieces."""
    ordinary = [piece for piece in pieces if not _IN_BRACKETS.fullmatch(piece)]
    capitals = sum(piece != piece.lower() for piece in ordinary)
    return capitals > LEAST_SHARE_OF_PIECES * len(ordinary)


class WordPiece:
    """A `vocab.txt` as loaded, in the place of a SentencePiece model; see `Tokenizer`.

    Attributes:
        is_cased: Whether capital letters and accents are kept.
    """

    def __init__(self, data: bytes, *, path: str) -> None:
        """Load a vocabulary.

        Args:
            data: The file.
            path: Of it, for messages.

        Raises:
            AlbertError: It is not a `vocab.txt`.
        """
        pieces = read_pieces(data, path=path)
        order = special_first(pieces)
        self.order: list[int] | None = order
        self._pieces = [pieces[place] for place in order]
        self._ids = {piece: number for number, piece in enumerate(self._pieces)}
        self._longest = max(map(len, pieces))
        self.is_cased = has_capitals(pieces)
        self._spelled: dict[str, str] = {}
        self._words: dict[str, list[tuple[int, int]]] = {}
        self.sha256 = hashlib.sha256(data).hexdigest()
        self.vocab_size = len(pieces)
        self.word_starts: Bool = np.array(
            [not piece.startswith(_INSIDE) for piece in self._pieces]
        )

    def piece(self, piece_id: int) -> str:
        """The text of a piece, with ## before it if it continues a word."""
        return self._pieces[piece_id]

    def score(self, piece_id: int) -> float:
        """The same for all pieces, because the longest are taken."""
        return 0.0

    def normalize(self, text: str) -> str:
        """A text as the model sees it."""
        return " ".join(word for word, _ in self._words_of(text))

    def decode(self, ids: list[int]) -> str:
        """The text of token ids, as normalized, without special tokens."""
        text = ""
        for piece in (self._pieces[i] for i in ids if i >= FIRST_ORDINARY_ID):
            if piece.startswith(_INSIDE):
                text += piece.removeprefix(_INSIDE)
            else:
                is_joined = text and _is_han(text[-1]) and _is_han(piece[0])
                text += piece if is_joined or not text else f" {piece}"
        return text

    def encode(self, texts: list[str]) -> list[list[int]]:
        """The token ids of each text; empty where nothing is left of it."""
        return [
            [
                token
                for word in "".join(map(self._spell, text)).split(" ")
                for token, _ in self._divided(word)
            ]
            for text in texts
        ]

    def encode_after(self, text: str) -> list[int]:
        """The token ids of a text that follows a word of a script without spaces."""
        return self.encode([text])[0]

    def encode_with_offsets(self, text: str) -> TokenizedText:
        """The token ids of a text, and where each token stands in it."""
        ids, starts, ends = [], [], []
        for word, places in self._words_of(text):
            done = 0
            for token, length in self._divided(word):
                ids.append(token)
                starts.append(places[done])
                done += length
                ends.append(places[done - 1] + 1)
        return TokenizedText(ids, starts, ends)

    def _words_of(self, text: str) -> Iterator[tuple[str, list[int]]]:
        """The words of a text, and where each of their characters comes from."""
        word, places = "", list[int]()
        for place, character in enumerate([*text, " "]):
            for c in self._spell(character):
                if c != " ":
                    word += c
                    places.append(place)
                elif word:
                    yield word, places
                    word, places = "", []

    def _spell(self, character: str) -> str:
        known = self._spelled.get(character)
        if known is None:
            known = self._spelled[character] = spelled(character, cased=self.is_cased)
        return known

    def _divided(self, word: str) -> list[tuple[int, int]]:
        """The tokens of a word, each with its number of characters."""
        known = self._words.get(word)
        if known is None:
            known = self._words[word] = self._divide(word)
        return known

    def _divide(self, word: str) -> list[tuple[int, int]]:
        if len(word) > _MAX_WORD_CHARACTERS:
            return [(UNK_ID, len(word))]
        tokens, start = [], 0
        while start < len(word):
            prefix = _INSIDE if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                token = self._ids.get(prefix + word[start:end])
                if token is not None:
                    break
            else:
                return [(UNK_ID, len(word))]
            tokens.append((token, end - start))
            start = end
        return tokens


def read_wordpiece(path: Path) -> WordPiece:
    """The vocabulary in a `vocab.txt`.

    Raises:
        SettingError: It cannot be read.
        AlbertError: It is not a `vocab.txt`.
    """
    try:
        data = first_bytes(path)
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error.strerror}.") from None
    return WordPiece(data, path=str(path))


def read_tokenizer(folder: Path) -> Tokenizer:
    """The vocabulary of a run, whichever kind it has.

    Raises:
        SettingError: There is none.
        AlbertError: It is damaged.
    """
    path = vocabulary_file(folder)
    if path.name == WORDPIECE:
        return read_wordpiece(path)
    return load_tokenizer(read_model(folder))
