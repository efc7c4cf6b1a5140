"""BERT's WordPiece: a `vocab.txt`, by which the Chinese ALBERTs divide text.

`tokenizer_config.json` and `tokenizer.json` are read as transformers reads them; what
no WordPiece here can do, and files that contradict each other, are refused.

As in google-research/bert (`tokenization.py`), by the package `tokenizers`. The
vocabulary is that of the file but for the order: its special pieces stand first, where
those of every vocabulary here do.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipeline.core.draws import Bool, Ids
from pipeline.core.writing_systems import is_unspaced
from pipeline.vocabulary.tokenizer import (
    SentencePieceTokenizer,
    TokenizedText,
    first_bytes,
    load_tokenizer,
    read_model,
)
from schemas.errors import AlbertError
from schemas.example import CLS_ID, FIRST_ORDINARY_ID, SEP_ID, SPECIAL_TOKENS, UNK_ID
from schemas.files import read_json, undamaged
from schemas.layout import HF_TOKENIZER, HF_TOKENIZER_CONFIG, WORDPIECE, vocabulary_file

# Which versions of transformers before 5 read as well.
_SPECIAL_TOKENS_MAP = "special_tokens_map.json"

# The names of the special tokens there, in the order of `schemas.example`.
_NAMES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")

# The classes that do only what tokenizer.json says.
OF_FILE = ("PreTrainedTokenizer", "TokenizersBackend")


# A vocabulary with fewer pieces with capitals, or accents, was made from text
# without them.
LEAST_SHARE_OF_PIECES = 0.01

# As BERT spells them, in the order of `schemas.example`.
SPECIAL_PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

# Special pieces, and those that are kept free.
_IN_BRACKETS = re.compile(r"\[\w+\]")

# The classes that divide text as BERT's tokenizer does.
_OF_BERT = ("BertTokenizer", "AlbertTokenizer")

_ADDED = "added_tokens_decoder"

# Special tokens that are more than those of every vocabulary.
_MORE_TOKENS = ("additional_special_tokens", "extra_special_tokens")
_REMEDY = "copy it again"

# Where older versions of transformers keep added tokens, with their ids.
ADDED_TOKENS = "added_tokens.json"


class AddedToken(NamedTuple):
    """A token that is found in a text before anything is done to it.

    The flags are those of the package `tokenizers`.

    Attributes:
        id: Its place in the file.
        normalized: Whether it is found in the text once that is normalized instead.
    """

    id: int
    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True
    special: bool = False

    def flags(self) -> dict[str, Any]:
        """All but the id."""
        return {name: value for name, value in self._asdict().items() if name != "id"}


class Rules(NamedTuple):
    """What is done to a text, under the names of BertTokenizer.

    Attributes:
        strip_accents: None where it follows `do_lower_case`.
        tokenize_chinese_chars: Whether each is a word of its own.
        added: In the order of their ids.
    """

    do_lower_case: bool
    strip_accents: bool | None = None
    tokenize_chinese_chars: bool = True
    added: tuple[AddedToken, ...] = ()

    @property
    def drops_accents(self) -> bool:
        """Whether accents are dropped."""
        return self.do_lower_case if self.strip_accents is None else self.strip_accents

    def effective(self) -> list[Any]:
        """The rules as values that are equal where they do the same."""
        added = [list(token) for token in self.added]
        return [self.do_lower_case, self.drops_accents, self.tokenize_chinese_chars, added]

    def config(self) -> dict[str, Any]:
        """The fields of `tokenizer_config.json`, without those left at defaults."""
        values: dict[str, Any] = {"do_lower_case": self.do_lower_case}
        if self.drops_accents != self.do_lower_case:
            values["strip_accents"] = self.strip_accents
        if not self.tokenize_chinese_chars:
            values["tokenize_chinese_chars"] = False
        if self.added:
            values[_ADDED] = {str(token.id): token.flags() for token in self.added}
        return values


def has_capitals(pieces: Sequence[str]) -> bool:
    """Whether a vocabulary was made from text with capital letters, by its pieces."""
    ordinary = [piece for piece in pieces if not _IN_BRACKETS.fullmatch(piece)]
    capitals = sum(piece != piece.lower() for piece in ordinary)
    return capitals > LEAST_SHARE_OF_PIECES * len(ordinary)


def read_rules(folder: Path, pieces: Sequence[str]) -> Rules:
    """The rules that the files of a folder name; where none does, by the pieces."""
    config_file, tokenizer_file = folder / HF_TOKENIZER_CONFIG, folder / HF_TOKENIZER
    config = read_json(config_file) if config_file.exists() else None
    tokenizer = read_json(tokenizer_file) if tokenizer_file.exists() else None
    if config is None and tokenizer is None:
        return Rules(do_lower_case=not has_capitals(pieces))
    check_post_processing(folder, SPECIAL_PIECES, list(map(pieces.index, SPECIAL_PIECES)))
    found = []
    if config is not None:
        name = tokenizer_class(config, default=_OF_BERT[0])
        if name not in (*_OF_BERT, *OF_FILE):
            raise AlbertError(
                f"{config_file}: tokenizer_class is {name:.60}, and only WordPiece as "
                "BertTokenizer has it can be read."
            )
        if not (name in OF_FILE and tokenizer):
            with undamaged(config_file, remedy=_REMEDY):
                found.append(_rules_of(config))
    if tokenizer is not None:
        with undamaged(tokenizer_file, remedy=_REMEDY):
            found.append(_of_normalizer(tokenizer, source=tokenizer_file))
    if len({tuple(rules.effective()[:3]) for rules in found}) > 1:
        raise AlbertError(
            f"{config_file} and {tokenizer_file} disagree on capital letters, accents "
            "or Chinese characters; make do_lower_case, strip_accents and "
            "tokenize_chinese_chars of the former what the normalizer of the latter "
            "does, or the other way round."
        )
    with undamaged(folder, remedy=_REMEDY):
        added = _added(config or {}, tokenizer or {}, pieces, folder=folder)
    return found[0]._replace(added=added)


def wordpieces_of(tokenizer: Mapping[str, Any], *, source: Path) -> list[str] | None:
    """The pieces of a `tokenizer.json`; None where it is no WordPiece."""
    with undamaged(source, remedy=_REMEDY):
        model = tokenizer["model"]
        if model.get("type") != "WordPiece":
            return None
        pieces = sorted(model["vocab"], key=model["vocab"].__getitem__)
        if sorted(model["vocab"].values()) != list(range(len(pieces))):
            raise ValueError("its pieces are not numbered from 0")
        if any("\n" in piece for piece in pieces):
            raise ValueError("a piece has a line end")
        return pieces


def _rules_of(arguments: Mapping[str, Any]) -> Rules:
    """The rules of BertTokenizer with these arguments."""
    accents = arguments.get("strip_accents")
    return Rules(
        do_lower_case=bool(arguments.get("do_lower_case", True)),
        strip_accents=None if accents is None else bool(accents),
        tokenize_chinese_chars=bool(arguments.get("tokenize_chinese_chars", True)),
    )


def _of_normalizer(tokenizer: Mapping[str, Any], *, source: Path) -> Rules:
    """The rules of a `tokenizer.json`, which has to be BERT's in all else."""
    normalizer = tokenizer.get("normalizer") or {}
    pre_tokenizer = tokenizer.get("pre_tokenizer") or {}
    model = tokenizer["model"]
    for what, value, known in (
        ("normalizer", normalizer.get("type"), "BertNormalizer"),
        ("clean_text", normalizer.get("clean_text", True), True),
        ("pre_tokenizer", pre_tokenizer.get("type"), "BertPreTokenizer"),
        ("model", model.get("type"), "WordPiece"),
        ("unk_token", model.get("unk_token", "[UNK]"), "[UNK]"),
        ("prefix", model.get("continuing_subword_prefix", "##"), "##"),
        ("max_input_chars_per_word", model.get("max_input_chars_per_word", 100), 100),
    ):
        if value != known:
            raise AlbertError(
                f"{source}: its {what} is {value!r:.60}, and only {known!r}, as "
                "BertTokenizer has it, can be read."
            )
    return _rules_of(
        {
            "do_lower_case": normalizer.get("lowercase", True),
            "strip_accents": normalizer.get("strip_accents"),
            "tokenize_chinese_chars": normalizer.get("handle_chinese_chars", True),
        }
    )


def added_tokens(config: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> Iterator[AddedToken]:
    """The tokens that a folder's two files add to those of the model."""
    for token in tokenizer.get("added_tokens") or ():
        yield _token(int(token["id"]), token)
    for number, token in (config.get(_ADDED) or {}).items():
        yield _token(int(number), token)


def named_tokens(folder: Path) -> dict[str, dict[str, Any]]:
    """The flags of the special tokens that the settings of a folder call so.

    They are found whole in a text too, whether or not they are among the added ones.
    """
    values: dict[str, Any] = {}
    for path in (folder / _SPECIAL_TOKENS_MAP, folder / HF_TOKENIZER_CONFIG):
        settings = read_json(path) if path.exists() else {}
        names = (n for n in settings if n.endswith("_token") or n in _MORE_TOKENS)
        values |= {name: settings[name] for name in names if settings[name]}
    named: dict[str, dict[str, Any]] = {}
    for value in values.values():
        # One token, a list of them, or each under a name of its own.
        if isinstance(value, dict) and "content" not in value:
            value = list(value.values())
        for token in value if isinstance(value, list) else [value]:
            if isinstance(token, str):
                token = {"content": token, "normalized": False}
            if isinstance(token, dict):
                named[token["content"]] = {**token, "special": True}
    return named


def _added(
    config: Mapping[str, Any], tokenizer: Mapping[str, Any], pieces: Sequence[str], *, folder: Path
) -> tuple[AddedToken, ...]:
    """Added tokens in order, without those that every vocabulary has."""
    found = {token.content: token for token in added_tokens(config, tokenizer)}
    older = folder / ADDED_TOKENS
    if older.exists():
        for content, number in read_json(older).items():
            found.setdefault(content, AddedToken(int(number), content))
    special = (*SPECIAL_TOKENS, "[PAD]", "[UNK]")
    for content, flags in named_tokens(folder).items():
        if content in found or content in special:
            continue
        if content not in pieces:
            raise AlbertError(
                f"{folder}: its special token {content!r:.60} has no place in its "
                "vocabulary; give the files of one model."
            )
        found[content] = _token(pieces.index(content), flags)
    tokens = sorted(token for name, token in found.items() if name not in special)
    # Each has a place of its own.
    new = [token for token in tokens if token.id >= len(pieces)]
    is_piece = all(pieces[t.id] == t.content for t in tokens if t not in new)
    places = range(len(pieces), len(pieces) + len(new))
    if not is_piece or [token.id for token in new] != [*places]:
        names = ", ".join(name for name in found if name not in special)
        raise AlbertError(
            f"{folder}: its added tokens ({names:.60}) do not stand where its "
            "vocabulary has them or ends; give the files of one model."
        )
    return tuple(tokens)


def _token(number: int, values: Mapping[str, Any]) -> AddedToken:
    flags = {n: values[n] for n in AddedToken._fields if n in values and n != "id"}
    return AddedToken(number, **flags)


def tokenizer_class(config: Mapping[str, Any], *, default: str) -> str:
    """The class in a `tokenizer_config.json`, whether it is the fast one or not."""
    return str(config.get("tokenizer_class") or default).removesuffix("Fast")


def check_post_processing(folder: Path, special: Sequence[str], ids: Sequence[int]) -> None:
    """Refuse a tokenizer that puts other tokens around a text than ALBERT's does.

    Args:
        special: Its special tokens, in the order of `schemas.example`.
        ids: Their places in the file of the vocabulary.
    """
    config = _checked_config(folder, special)
    path = folder / HF_TOKENIZER
    if not path.exists():
        return
    with undamaged(path, remedy="copy it again"):
        tokenizer = read_json(path)
        truncation = tokenizer.get("truncation") or {}
        if truncation.get("direction", "Right") != "Right":
            raise _other(path, "it cuts long texts at their beginning (truncation)")
        processor = tokenizer.get("post_processor")
        is_of_file = tokenizer_class(config, default="") in OF_FILE
        if processor is None and not is_of_file:
            return
        cls, sep = ((special[i], ids[i]) for i in (CLS_ID, SEP_ID))
        if not _is_of_albert(processor or {}, cls=cls, sep=sep):
            two = f"{cls[0]} A {sep[0]} B {sep[0]}"
            raise _other(
                path, f"its post_processor does not make {two} of two texts, B in segment 1"
            )


def _checked_config(folder: Path, special: Sequence[str]) -> dict[str, Any]:
    """The `tokenizer_config.json`, once its special tokens are the vocabulary's."""
    config: dict[str, Any] = {}
    for path in (folder / _SPECIAL_TOKENS_MAP, folder / HF_TOKENIZER_CONFIG):
        config = read_json(path) if path.exists() else {}
        for name, expected in zip(_NAMES, special, strict=True):
            value = config.get(name)
            found = value.get("content") if isinstance(value, dict) else value
            if found not in (None, expected):
                raise _other(path, f"its {name} is {found!r:.60} and not {expected!r}")
        if config.get("truncation_side", "right") != "right":
            raise _other(path, "it cuts long texts at their beginning (truncation_side)")
    return config


def _other(path: Path, reason: str) -> AlbertError:
    return AlbertError(f"{path}: {reason}; give a model whose tokenizer does what ALBERT's does.")


def _is_of_albert(
    processor: Mapping[str, Any], *, cls: tuple[str, int], sep: tuple[str, int]
) -> bool:
    """Whether a post-processor puts both tokens, with their ids, where ALBERT does."""
    if processor.get("type") == "BertProcessing":
        return (tuple(processor["cls"]), tuple(processor["sep"])) == (cls, sep)
    if processor.get("type") != "TemplateProcessing":
        return False
    single, pair = (
        [(value["id"], value["type_id"]) for part in processor[which] for value in part.values()]
        for which in ("single", "pair")
    )
    first = [(cls[0], 0), ("A", 0), (sep[0], 0)]
    return (
        single == first
        and pair == [*first, ("B", 1), (sep[0], 1)]
        and all(
            processor["special_tokens"][token]["ids"] == [number] for token, number in (cls, sep)
        )
    )


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
