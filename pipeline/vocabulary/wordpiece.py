"""BERT's WordPiece: a `vocab.txt`, by which the Chinese ALBERTs divide text.

As in google-research/bert (`tokenization.py`), by the package `tokenizers`. The
vocabulary is that of the file but for the order: its special pieces stand first, where
those of every vocabulary here do.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core.draws import Bool, Ids
from pipeline.core.scripts import is_unspaced
from pipeline.vocabulary.tokenizer import (
    SentencePieceTokenizer,
    TokenizedText,
    first_bytes,
    load_tokenizer,
    read_model,
)
from pipeline.vocabulary.wordpiece_rules import (
    SPECIAL_PIECES,
    Rules,
    has_capitals,
    read_rules,
    wordpieces_of,
)
from schemas.errors import AlbertError
from schemas.example import FIRST_ORDINARY_ID, UNK_ID
from schemas.files import read_json
from schemas.layout import HF_TOKENIZER, WORDPIECE, vocabulary_file

# Before a piece that continues a word.
_INSIDE = "##"


def read_pieces(data: bytes, *, path: str) -> list[str]:
    """The pieces of a `vocab.txt`, in its own order."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise AlbertError(f"{path} is not a vocab.txt: it is not UTF-8.") from None
    # Some pieces are line ends by Unicode.
    pieces = text.removesuffix("\n").split("\n")
    pieces = [piece.removesuffix("\r") for piece in pieces]
    for piece in SPECIAL_PIECES:
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

    >>> special_first(["[PAD]", "a", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "b"])
    [0, 2, 3, 4, 5, 1, 6]
    """
    special = [pieces.index(piece) for piece in SPECIAL_PIECES]
    return special + [n for n in range(len(pieces)) if n not in special]


class WordPiece:
    """A `vocab.txt` as loaded, in the place of a SentencePiece model.

    Args:
        rules: None for those that the pieces themselves tell.
    """

    def __init__(self, data: bytes, *, path: str, rules: Rules | None = None) -> None:
        """Load a vocabulary."""
        pieces = read_pieces(data, path=path)
        by_pieces = Rules(do_lower_case=not has_capitals(pieces))
        self.rules = by_pieces if rules is None else rules
        order = special_first(pieces)
        model = [pieces[place] for place in order]
        # Added tokens that are none of the pieces stand behind them.
        new = [each.content for each in self.rules.added if each.id >= len(pieces)]
        self._pieces = [*model, *new]
        self.vocab_size = len(self._pieces)
        self.order: list[int] | None = [*order, *range(len(order), self.vocab_size)]
        self._tokenizer = _bert_tokenizer(model, self.rules, path=path)
        digest = hashlib.sha256(data)
        if self.rules.effective() != by_pieces.effective():
            digest.update(json.dumps(self.rules.effective()).encode())
        self.sha256 = digest.hexdigest()
        self.word_starts: Bool = np.array([not piece.startswith(_INSIDE) for piece in self._pieces])

    def starts(self, ids: Ids) -> Bool:
        """Whether each token of a text starts a word, `[T]`."""
        return self.word_starts[ids]

    def piece(self, piece_id: int) -> str:
        """The text of a piece, with ## before it if it continues a word."""
        return self._pieces[piece_id]

    def score(self, piece_id: int) -> float:
        """The same for all pieces, because the longest are taken."""
        return 0.0

    def normalize(self, text: str) -> str:
        """A text as the model sees it."""
        normalized = self._tokenizer.normalizer.normalize_str(text)
        words = self._tokenizer.pre_tokenizer.pre_tokenize_str(normalized)
        return " ".join(word for word, _ in words)

    def decode(self, ids: list[int]) -> str:
        """The text of token ids, as normalized, without special tokens."""
        text = ""
        for piece in (self._pieces[i] for i in ids if i >= FIRST_ORDINARY_ID):
            if piece.startswith(_INSIDE):
                text += piece.removeprefix(_INSIDE)
            else:
                is_joined = text and is_unspaced(text[-1]) and is_unspaced(piece[0])
                text += piece if is_joined or not text else f" {piece}"
        return text

    def encode(self, texts: list[str]) -> list[list[int]]:
        """The token ids of each text; empty where nothing is left of it."""
        return [self._tokenizer.encode(text).ids for text in texts]

    def encode_after(self, text: str) -> list[int]:
        """The token ids of a text that follows a word of a script without spaces."""
        return self.encode([text])[0]

    def encode_with_offsets(self, text: str) -> TokenizedText:
        """The token ids of a text, and where each token stands in it."""
        found = self._tokenizer.encode(text)
        starts, ends = ([offset[side] for offset in found.offsets] for side in (0, 1))
        return TokenizedText(found.ids, starts, ends)


# A vocabulary of any kind.
Tokenizer = SentencePieceTokenizer | WordPiece


def _bert_tokenizer(pieces: list[str], rules: Rules, *, path: str) -> Any:
    """The tokenizer of google-research/bert with these pieces and rules."""
    try:
        from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers
    except ImportError:
        raise AlbertError(
            f"{path} is a WordPiece vocabulary, which needs a package that is not "
            'installed; run pip install "albert-pretraining[wordpiece]".'
        ) from None
    ids = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token=SPECIAL_PIECES[UNK_ID]))
    tokenizer.normalizer = normalizers.BertNormalizer(
        lowercase=rules.do_lower_case,
        strip_accents=rules.drops_accents,
        handle_chinese_chars=rules.tokenize_chinese_chars,
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_tokens([AddedToken(**token.flags()) for token in rules.added])
    return tokenizer


def read_wordpiece(path: Path, *, folder: Path | None = None) -> WordPiece:
    """The vocabulary in a `vocab.txt`, with the rules in the files of a folder.

    Args:
        folder: None for that of the file.
    """
    data = wordpiece_data(path)
    folder = folder or path.parent
    pieces = read_pieces(data, path=str(path))
    tokenizer = folder / HF_TOKENIZER
    if tokenizer.exists():
        others = wordpieces_of(read_json(tokenizer), source=tokenizer)
        if others is not None and others != pieces:
            raise AlbertError(
                f"{tokenizer} has other pieces than {path}; give the files of one model."
            )
    return WordPiece(data, path=str(path), rules=read_rules(folder, pieces))


def wordpiece_data(path: Path) -> bytes:
    """A `vocab.txt`, or what it would be for a `tokenizer.json`."""
    if path.name == HF_TOKENIZER:
        pieces = wordpieces_of(read_json(path), source=path) or []
        return "".join(f"{piece}\n" for piece in pieces).encode()
    return first_bytes(path)


def read_tokenizer(folder: Path) -> Tokenizer:
    """The vocabulary of a run, whichever kind it has."""
    path = vocabulary_file(folder)
    if path.name == WORDPIECE:
        return read_wordpiece(path)
    return load_tokenizer(read_model(folder))
