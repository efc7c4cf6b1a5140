"""BERT's WordPiece: a `vocab.txt`, by which the Chinese ALBERTs divide text.

The package `tokenizers` does it, by what `tokenizer.json` says: that of the folder, or the one
that BertTokenizer makes of a `vocab.txt` and `tokenizer_config.json` (google-research/bert,
`tokenization.py`). What no WordPiece here can do, and files that contradict each other, are
refused. The vocabulary is that of the file but for the order: its special pieces stand first,
where those of every vocabulary here do.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core.writing_systems import is_unspaced
from pipeline.vocabulary.tokenizer import TokenizedText, Tokenizer, vocabulary_bytes
from schemas.errors import AlbertError
from schemas.example import CLS_ID, FIRST_ORDINARY_ID, SEP_ID, SPECIAL_TOKENS, UNK_ID
from schemas.files import read_json, undamaged
from schemas.layout import HF_TOKENIZER, HF_TOKENIZER_CONFIG

# Which versions of transformers before 5 read as well.
_SPECIAL_TOKENS_MAP = "special_tokens_map.json"

# The names of the special tokens there, in the order of `schemas.example`.
_NAMES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")

# The classes that do only what tokenizer.json says, and those that do what BERT's does.
OF_FILE = ("PreTrainedTokenizer", "TokenizersBackend")
_OF_BERT = ("BertTokenizer", "AlbertTokenizer")

# A vocabulary with fewer pieces with capitals, or accents, was made from text
# without them.
LEAST_SHARE_OF_PIECES = 0.01

# As BERT spells them, in the order of `schemas.example`.
SPECIAL_PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# Special pieces, and those that are kept free.
_IN_BRACKETS = re.compile(r"\[\w+\]")
# Before a piece that continues a word.
_INSIDE = "##"

_ADDED = "added_tokens_decoder"
# Where older versions of transformers keep added tokens, with their ids.
_ADDED_TOKENS = "added_tokens.json"
# Of an added token, which is found in a text before anything is done to it; the last but one
# has it found in the text once that is normalized instead.
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
# Special tokens that are more than those of every vocabulary.
_MORE_TOKENS = ("additional_special_tokens", "extra_special_tokens")
_REMEDY = "copy it again"


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


def tokens_found_whole(folder: Path) -> dict[str, dict[str, Any]]:
    """What a tokenizer finds in a text before anything is done to it, as `tokenizer.json` has it.

    That are the tokens which the files of a folder add to those of the model, and those which they
    call special; the latter need no id and have -1 then.
    """
    names = (HF_TOKENIZER_CONFIG, HF_TOKENIZER, _ADDED_TOKENS, _SPECIAL_TOKENS_MAP)
    paths = [folder / name for name in names]
    config, tokenizer, older, special = (read_json(p) if p.exists() else {} for p in paths)
    with undamaged(folder, remedy=_REMEDY):
        # The first of one text holds.
        tokens = list((config.get(_ADDED) or {}).items())
        tokens += ((token["id"], token) for token in tokenizer.get("added_tokens") or ())
        tokens += ((number, {"content": content}) for content, number in older.items())
        named = {n: value for each in (special, config) for n, value in each.items() if value}
        for name, value in named.items():
            if not name.endswith("_token") and name not in _MORE_TOKENS:
                continue
            # One token, a list of them, or each under a name of its own.
            if isinstance(value, dict) and "content" not in value:
                value = list(value.values())
            for token in value if isinstance(value, list) else [value]:
                if isinstance(token, str):
                    token = {"content": token, "normalized": False}
                if isinstance(token, dict):
                    tokens.append((-1, {**token, "special": True}))
        found: dict[str, dict[str, Any]] = {}
        for number, token in tokens:
            # BERT's are found in the text once that is normalized.
            flags = {flag: token.get(flag, flag == "normalized") for flag in _FLAGS}
            one = {"id": int(number), "content": token["content"], **flags}
            found.setdefault(one["content"], one)
        return found


def tokenizer_class(config: Mapping[str, Any], *, default: str) -> str:
    """The class in a `tokenizer_config.json`, whether it is the fast one or not."""
    return str(config.get("tokenizer_class") or default).removesuffix("Fast")


def check_post_processing(folder: Path, special: Sequence[str], ids: Sequence[int]) -> None:
    """Refuse a tokenizer that puts other tokens around a text than ALBERT's does.

    Args:
        special: Its special tokens, in the order of `schemas.example`.
        ids: Their places in the file of the vocabulary.
    """
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
    path = folder / HF_TOKENIZER
    if not path.exists():
        return
    with undamaged(path, remedy=_REMEDY):
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


def _other(path: Path, reason: str) -> AlbertError:
    return AlbertError(f"{path}: {reason}; give a model whose tokenizer does what ALBERT's does.")


def _is_of_albert(
    processor: Mapping[str, Any], *, cls: tuple[str, int], sep: tuple[str, int]
) -> bool:
    """Whether a post-processor puts both tokens, with their ids, where ALBERT does."""
    if processor.get("type") == "BertProcessing":
        return (tuple(processor["cls"]), tuple(processor["sep"])) == (cls, sep)
    expected = template(cls, sep)
    is_like = all(processor.get(part) == expected[part] for part in ("type", "single", "pair"))
    return is_like and all(
        processor["special_tokens"][token]["ids"] == [number] for token, number in (cls, sep)
    )


def template(cls: tuple[str, int], sep: tuple[str, int]) -> dict[str, Any]:
    """What `tokenizer.json` has to make [CLS] A [SEP] B [SEP] of two texts, B in segment 1."""
    begin, end, end_of_b = (
        {"SpecialToken": {"id": token, "type_id": segment}}
        for token, segment in ((cls[0], 0), (sep[0], 0), (sep[0], 1))
    )
    a, b = ({"Sequence": {"id": name, "type_id": n}} for n, name in enumerate("AB"))
    return {
        "type": "TemplateProcessing",
        "single": [begin, a, end],
        "pair": [begin, a, end, b, end_of_b],
        "special_tokens": {
            token: {"id": token, "ids": [token_id], "tokens": [token]}
            for token, token_id in (cls, sep)
        },
    }


def read_pieces(data: bytes, *, path: str) -> list[str]:
    """The pieces of a `vocab.txt`, in its own order."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise AlbertError(f"{path} is not a vocab.txt: it is not UTF-8; {_REMEDY}.") from None
    # Some pieces are line ends by Unicode.
    pieces = text.removesuffix("\n").split("\n")
    pieces = [piece.removesuffix("\r") for piece in pieces]
    for piece in SPECIAL_PIECES:
        if pieces.count(piece) != 1:
            raise AlbertError(
                f"{path} is not a vocab.txt of BERT: {pieces.count(piece)} of its "
                f"lines are {piece}, where there has to be one; {_REMEDY}."
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


def bert_json(
    pieces: Sequence[str],
    *,
    lowercase: bool,
    strip_accents: bool | None = None,
    handle_chinese_chars: bool = True,
) -> dict[str, Any]:
    """`tokenizer.json` of BertTokenizer; accents follow the capitals unless it is said."""
    return {
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": handle_chinese_chars,
            "strip_accents": lowercase if strip_accents is None else bool(strip_accents),
            "lowercase": lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {
            "type": "WordPiece",
            "unk_token": SPECIAL_PIECES[UNK_ID],
            "continuing_subword_prefix": _INSIDE,
            "max_input_chars_per_word": 100,
            "vocab": {piece: number for number, piece in enumerate(pieces)},
        },
    }


class WordPiece(Tokenizer):
    """A `vocab.txt` as loaded, in the place of a SentencePiece model.

    Args:
        values: `tokenizer.json`; by default BERT's, with capitals where the pieces have some.
    """

    def __init__(self, data: bytes, *, path: str, values: dict[str, Any] | None = None) -> None:
        """Load a vocabulary."""
        try:
            import tokenizers
        except ImportError:
            raise AlbertError(
                f"{path} is a WordPiece vocabulary, which needs a package that is not "
                'installed; run pip install "albert-pretraining[wordpiece]".'
            ) from None
        pieces = read_pieces(data, path=path)
        by_pieces = bert_json(pieces, lowercase=not has_capitals(pieces))
        values = values or by_pieces
        try:
            self._tokenizer = tokenizers.Tokenizer.from_str(json.dumps(values))
        # The package raises nothing narrower.
        except Exception as error:
            raise ValueError(str(error)) from error
        self._normalizer, self._added = values["normalizer"], values["added_tokens"]
        # Added tokens that are none of the pieces stand behind them.
        new = [token["content"] for token in self._added if token["id"] >= len(pieces)]
        self.vocab_size = len(pieces) + len(new)
        order = [*special_first(pieces), *range(len(pieces), self.vocab_size)]
        self.order = order
        self.pieces = [[*pieces, *new][place] for place in order]
        self._id_at = np.argsort(order).tolist()
        digest = hashlib.sha256(data)
        if values != by_pieces:
            rules = ("lowercase", "strip_accents", "handle_chinese_chars")
            added = [list(token.values()) for token in self._added]
            effective = [*(self._normalizer[name] for name in rules), added]
            digest.update(json.dumps(effective).encode())
        self.sha256 = digest.hexdigest()
        self.word_starts = np.array([not piece.startswith(_INSIDE) for piece in self.pieces])

    @property
    def config(self) -> dict[str, Any]:
        """The rules as fields of `tokenizer_config.json`, under the names of BertTokenizer."""
        added = {str(token["id"]): token for token in self._added}
        return {
            "do_lower_case": self._normalizer["lowercase"],
            "strip_accents": self._normalizer["strip_accents"],
            "tokenize_chinese_chars": self._normalizer["handle_chinese_chars"],
            **({_ADDED: added} if added else {}),
        }

    def normalize(self, text: str) -> str:
        """A text as the model sees it."""
        normalized = self._tokenizer.normalizer.normalize_str(text)
        words = self._tokenizer.pre_tokenizer.pre_tokenize_str(normalized)
        return " ".join(word for word, _ in words)

    def decode(self, ids: list[int]) -> str:
        """The text of token ids, as normalized, without special tokens."""
        text = ""
        for piece in (self.pieces[i] for i in ids if i >= FIRST_ORDINARY_ID):
            if piece.startswith(_INSIDE):
                text += piece.removeprefix(_INSIDE)
            else:
                is_joined = text and is_unspaced(text[-1]) and is_unspaced(piece[0])
                text += piece if is_joined or not text else f" {piece}"
        return text

    def encode_with_offsets(self, text: str) -> TokenizedText:
        """The token ids of a text, and where each token stands in it."""
        found = self._tokenizer.encode(text, add_special_tokens=False)
        starts, ends = ([offset[side] for offset in found.offsets] for side in (0, 1))
        return TokenizedText([self._id_at[place] for place in found.ids], starts, ends)


def has_capitals(pieces: Sequence[str]) -> bool:
    """Whether a vocabulary was made from text with capital letters, by its pieces."""
    ordinary = [piece for piece in pieces if not _IN_BRACKETS.fullmatch(piece)]
    capitals = sum(piece != piece.lower() for piece in ordinary)
    return capitals > LEAST_SHARE_OF_PIECES * len(ordinary)


def read_wordpiece(path: Path, *, folder: Path | None = None) -> WordPiece:
    """The vocabulary in a `vocab.txt`, with the rules that the files of a folder name.

    Args:
        folder: None for that of the file.
    """
    data, folder = wordpiece_data(path), folder or path.parent
    pieces = read_pieces(data, path=str(path))
    config_file, file = folder / HF_TOKENIZER_CONFIG, folder / HF_TOKENIZER
    config = read_json(config_file) if config_file.exists() else {}
    of_file = read_json(file) if file.exists() else None
    if of_file is not None and wordpieces_of(of_file, source=file) not in (None, pieces):
        raise AlbertError(f"{file} has other pieces than {path}; give the files of one model.")
    check_post_processing(folder, SPECIAL_PIECES, list(map(pieces.index, SPECIAL_PIECES)))
    name = tokenizer_class(config, default=_OF_BERT[0])
    if name not in (*_OF_BERT, *OF_FILE):
        raise AlbertError(
            f"{config_file}: tokenizer_class is {name:.60}, and only WordPiece as "
            "BertTokenizer has it can be read."
        )
    by_default = True if config_file.exists() else not has_capitals(pieces)
    with undamaged(config_file, remedy=_REMEDY):
        values = bert_json(
            pieces,
            lowercase=bool(config.get("do_lower_case", by_default)),
            strip_accents=config.get("strip_accents"),
            handle_chinese_chars=bool(config.get("tokenize_chinese_chars", True)),
        )
    if of_file is not None:
        by_config = values["normalizer"]
        with undamaged(file, remedy=_REMEDY):
            values = _as_bert_has_it(of_file, pieces, source=file)
        goes_by_file = name in OF_FILE or not config_file.exists()
        if not goes_by_file and values["normalizer"] != by_config:
            raise AlbertError(
                f"{config_file} and {file} disagree on capital letters, accents "
                "or Chinese characters; make do_lower_case, strip_accents and "
                "tokenize_chinese_chars of the former what the normalizer of the latter "
                "does, or the other way round."
            )
    found = tokens_found_whole(folder).values()
    with undamaged(folder, remedy=_REMEDY):
        special = {*SPECIAL_TOKENS, *SPECIAL_PIECES}
        added = [token for token in found if token["content"] not in special]
        for token in added:
            if token["id"] < 0 and token["content"] in pieces:
                token["id"] = pieces.index(token["content"])
        added.sort(key=lambda token: token["id"])
        # Each has a place of its own.
        new = [token["content"] for token in added if token["id"] >= len(pieces)]
        places = dict(enumerate([*pieces, *new]))
        if any(places.get(token["id"]) != token["content"] for token in added):
            names = ", ".join(token["content"] for token in added)
            raise AlbertError(
                f"{folder}: its added tokens ({names:.60}) do not stand where its "
                "vocabulary has them or ends; give the files of one model."
            )
        values["added_tokens"] = added
        return WordPiece(data, path=str(path), values=values)


def _as_bert_has_it(
    values: Mapping[str, Any], pieces: Sequence[str], *, source: Path
) -> dict[str, Any]:
    """A `tokenizer.json` in full, which has to be BERT's but for capitals and the like."""
    own = values.get("normalizer") or {}
    bert = bert_json(
        pieces,
        lowercase=own.get("lowercase", True),
        strip_accents=own.get("strip_accents"),
        handle_chinese_chars=own.get("handle_chinese_chars", True),
    )
    for part in ("normalizer", "pre_tokenizer", "model"):
        said = values.get(part) or {"type": None}
        for name, known in bert[part].items():
            is_free = name in ("vocab", "strip_accents")
            if not is_free and said.get(name, known) != known:
                raise AlbertError(
                    f"{source}: the {name} of its {part} is {said[name]!r:.60}, and only "
                    f"{known!r}, as BertTokenizer has it, can be read."
                )
    return bert


def wordpiece_data(path: Path) -> bytes:
    """A `vocab.txt`, or what it would be for a `tokenizer.json`."""
    if path.name == HF_TOKENIZER:
        pieces = wordpieces_of(read_json(path), source=path) or []
        return "".join(f"{piece}\n" for piece in pieces).encode()
    return vocabulary_bytes(path)
