"""What BERT's tokenizer does to a text before WordPiece, as a folder's files say it.

`tokenizer_config.json` and `tokenizer.json` are read as transformers reads them; what
no WordPiece here can do, and files that contradict each other, are refused.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.vocabulary.post_processing import (
    OF_FILE,
    check_post_processing,
    tokenizer_class,
)
from schemas.errors import AlbertError
from schemas.example import SPECIAL_TOKENS
from schemas.files import read_json, undamaged
from schemas.layout import HF_TOKENIZER, HF_TOKENIZER_CONFIG

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

    def new_pieces(self, size: int) -> list[str]:
        """The added tokens that stand behind the pieces of the model."""
        return [token.content for token in self.added if token.id >= size]

    def effective(self) -> list[Any]:
        """The rules as values that are equal where they do the same."""
        added = [list(token) for token in self.added]
        return [
            self.do_lower_case,
            self.drops_accents,
            self.tokenize_chinese_chars,
            added,
        ]

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
    check_post_processing(
        folder, SPECIAL_PIECES, list(map(pieces.index, SPECIAL_PIECES))
    )
    is_of_file = False
    if config is not None:
        is_of_file = _is_of_file(config, source=config_file)
    found = []
    if config is not None and not (is_of_file and tokenizer):
        with undamaged(config_file, remedy=_REMEDY):
            found.append(_of_config(config))
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
        added = _added(config or {}, tokenizer or {}, folder=folder)
    return found[0]._replace(added=_checked(added, pieces, folder=folder))


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


def _is_of_file(config: Mapping[str, Any], *, source: Path) -> bool:
    """Whether the tokenizer's class does only what `tokenizer.json` says."""
    name = tokenizer_class(config, default=_OF_BERT[0])
    if name not in (*_OF_BERT, *OF_FILE):
        raise AlbertError(
            f"{source}: tokenizer_class is {name:.60}, and only WordPiece as "
            "BertTokenizer has it can be read."
        )
    return name in OF_FILE


def _of_config(config: Mapping[str, Any]) -> Rules:
    """The rules of BertTokenizer with these arguments."""
    accents = config.get("strip_accents")
    return Rules(
        do_lower_case=bool(config.get("do_lower_case", True)),
        strip_accents=None if accents is None else bool(accents),
        tokenize_chinese_chars=bool(config.get("tokenize_chinese_chars", True)),
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
    accents = normalizer.get("strip_accents")
    return Rules(
        do_lower_case=bool(normalizer.get("lowercase", True)),
        strip_accents=None if accents is None else bool(accents),
        tokenize_chinese_chars=bool(normalizer.get("handle_chinese_chars", True)),
    )


def added_tokens(
    config: Mapping[str, Any], tokenizer: Mapping[str, Any]
) -> Iterator[AddedToken]:
    """The tokens that a folder's two files add to those of the model."""
    for token in tokenizer.get("added_tokens") or ():
        yield _token(int(token["id"]), token)
    for number, token in (config.get(_ADDED) or {}).items():
        yield _token(int(number), token)


def _added(
    config: Mapping[str, Any], tokenizer: Mapping[str, Any], *, folder: Path
) -> dict[str, AddedToken]:
    """Added tokens by their content, without those that every vocabulary has."""
    found = {token.content: token for token in added_tokens(config, tokenizer)}
    older = folder / ADDED_TOKENS
    if older.exists():
        for content, number in read_json(older).items():
            found.setdefault(content, AddedToken(int(number), content))
    special = (*SPECIAL_TOKENS, "[PAD]", "[UNK]")
    return {name: token for name, token in found.items() if name not in special}


def _token(number: int, values: Mapping[str, Any]) -> AddedToken:
    flags = {n: values[n] for n in AddedToken._fields if n in values and n != "id"}
    return AddedToken(number, **flags)


def _checked(
    added: Mapping[str, AddedToken], pieces: Sequence[str], *, folder: Path
) -> tuple[AddedToken, ...]:
    """Added tokens in order, once each has a place of its own."""
    tokens = sorted(added.values())
    new = [token for token in tokens if token.id >= len(pieces)]
    is_piece = all(
        pieces[token.id] == token.content for token in tokens if token not in new
    )
    places = [token.id for token in new]
    if not is_piece or places != list(range(len(pieces), len(pieces) + len(new))):
        raise AlbertError(
            f"{folder}: its added tokens ({', '.join(added)[:60]}) do not stand where "
            "its vocabulary has them or ends; give the files of one model."
        )
    return tuple(tokens)
