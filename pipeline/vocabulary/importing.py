"""The vocabulary of a model; that of another ALBERT comes to need no program around it.

It is in a folder of google-research/albert or Hugging Face, or is a SentencePiece model
alone. Elsewhere part of the work is done around the model: both lower the case and drop
accents in Python before it and keep commas after digits apart (`tokenization.py`
`encode_pieces`), as files around the model say. Here all of it goes into the model.
"""

import base64
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import sentencepiece

from pipeline.vocabulary.normalization import (
    QUOTES,
    Normalization,
    is_combining,
    missing_normalization,
    normalization_warning,
    rules_tsv,
)
from pipeline.vocabulary.tokenizer import (
    Tokenizer,
    check_model,
    checked_model,
    compiled_normalization,
    has_own_rules,
    load_tokenizer,
    model_of_pieces,
    read_spm_model,
    with_rules_and_scores,
)
from pipeline.vocabulary.wordpiece import (
    OF_FILE,
    check_post_processing,
    read_wordpiece,
    tokenizer_class,
    tokens_found_whole,
    wordpieces_of,
)
from schemas.errors import AlbertError, SettingError
from schemas.example import SPECIAL_TOKENS, UNK_ID
from schemas.files import read_json, scratch_folder, undamaged
from schemas.layout import (
    DATA_MANIFEST,
    EXPORT_RECORD,
    HF_TOKENIZER,
    HF_TOKENIZER_CONFIG,
    MODEL_CONFIG,
    SPM_MODEL,
    WORDPIECE,
    vocabulary_file,
)
from schemas.manifest import parse_manifest

_OF_ALBERT = "AlbertTokenizer"
# The names of files of WordPiece.
_WORDPIECES = "*vocab*.txt"
_COMPILED = "Precompiled"

# Scores are logarithms of probabilities; SentencePiece keeps them in 32 bits.
_SCORE_BOUND = 1e30


def read_vocabulary(folder: Path) -> Tokenizer:
    """The vocabulary of a run or an export, once it is found to be the model's."""
    if not folder.exists():
        raise SettingError(f"{folder} does not exist; give the folder of a model.")
    file = vocabulary_file(folder)
    if not file.is_file():
        raise AlbertError(
            f"{folder} has no {SPM_MODEL}, so it is neither a run nor an export; give a "
            "folder that albert pretrain or albert export has written."
        )
    if file.name == WORDPIECE and not (folder / MODEL_CONFIG).exists():
        raise AlbertError(
            f"{folder} has a WordPiece vocabulary, whose pieces are numbered differently "
            "here; turn it into a run with albert import."
        )
    tokenizer: Tokenizer = (
        read_wordpiece(file) if file.name == WORDPIECE else load_tokenizer(read_spm_model(folder))
    )
    # Which vocabulary belongs to the model, by the files that say so.
    expected = {}
    if (path := folder / DATA_MANIFEST).exists():
        expected[DATA_MANIFEST] = parse_manifest(read_json(path), path).vocabulary["sha256"]
    if (folder / EXPORT_RECORD).exists():
        sha256 = read_json(folder / EXPORT_RECORD).get("vocabulary_sha256")
        expected[EXPORT_RECORD] = sha256 if isinstance(sha256, str) else "nothing"
    for record, sha256 in expected.items():
        if tokenizer.sha256 != sha256:
            raise AlbertError(
                f"{file} is not the vocabulary that the model was trained "
                f"with (its sha256 is {tokenizer.sha256[:12]}, and {record} says "
                f"{sha256[:12]}); put that vocabulary back."
            )
    return tokenizer


def notes_on(folder: Path) -> Iterator[str]:
    """A sentence where a vocabulary of another program leaves work to that."""
    if not (folder / MODEL_CONFIG).exists():
        model = (folder / SPM_MODEL).read_bytes()
        if warning := normalization_warning(model, vocab=str(folder)):
            yield warning


class ExternalVocabulary(NamedTuple):
    """A vocabulary as another program keeps it.

    Attributes:
        asked: What that program keeps of a text before the model sees it, where it
            says so.
        scores: Of each piece, where that program has others than the model.
    """

    path: Path
    model: bytes
    asked: Normalization | None
    scores: list[float] | None


def read_external_vocabulary(source: Path, *, given: Path | None = None) -> ExternalVocabulary:
    """The vocabulary of a folder or a file.

    Args:
        source: A folder with a SentencePiece model, or with Hugging Face's
            `tokenizer.json`; or the model itself.
    """
    folder = source if source.is_dir() else source.parent
    path = given or (source if source.is_file() else _only_model(folder))
    asked = _asked(folder)
    tokenizer = folder / HF_TOKENIZER
    if source.is_file() or not tokenizer.exists():
        if path is None:
            raise AlbertError(f"{folder} has no SentencePiece model; give one with --vocab.")
        model = checked_model(path)
        _check_tokens(folder, size=load_tokenizer(model).vocab_size)
        return ExternalVocabulary(path, model, asked, scores=None)
    values = read_json(tokenizer)
    pieces, charsmap = _pieces(values, path=tokenizer)
    _check_tokens(folder, size=len(pieces))
    scores = [score for _, score in pieces]
    model = b"" if path is None else checked_model(path)
    if not is_complete(model, asked):
        _check_steps(values, path=tokenizer)
    if path is None:
        model = model_of_pieces(pieces, charsmap)
        check_model(model, path=tokenizer)
        return ExternalVocabulary(tokenizer, model, asked, scores)
    known = load_tokenizer(model)
    if known.pieces != [piece for piece, _ in pieces]:
        raise AlbertError(f"{tokenizer} has other pieces than {path}; give the files of one model.")
    return ExternalVocabulary(path, model, asked, scores)


def is_complete(model: bytes, asked: Normalization | None) -> bool:
    """Whether a model has rules of its own, and the program around it adds none.

    Args:
        asked: What that program keeps of a text, where it says so.
    """
    if not has_own_rules(model):
        return False
    return asked is None or not missing_normalization(load_tokenizer(model), asked)


def wordpiece_of(source: Path, *, given: Path | None = None) -> Path | None:
    """The WordPiece of a folder, or as given; None for another vocabulary.

    It is a `vocab.txt`, also `vocab_chinese.txt` as google-research/albert calls it, or
    a `tokenizer.json` that stands alone.
    """
    if given is not None or not source.is_dir():
        path = given or source
        return path if path.match(_WORDPIECES) and path.is_file() else None
    if _only_model(source) is not None:
        return None
    for path in (source / WORDPIECE, *sorted(source.glob(_WORDPIECES))):
        if path.is_file():
            return path
    path = source / HF_TOKENIZER
    is_one = path.is_file() and wordpieces_of(read_json(path), source=path) is not None
    return path if is_one else None


def _only_model(folder: Path) -> Path | None:
    """The SentencePiece model of a folder, if it has one."""
    if (folder / SPM_MODEL).exists():
        return folder / SPM_MODEL
    found = sorted(folder.glob("*.model"))
    if len(found) > 1:
        raise AlbertError(
            f"{folder} has {len(found)} SentencePiece models; say which one is the "
            "vocabulary with --vocab."
        )
    return found[0] if found else None


def _asked(folder: Path) -> Normalization | None:
    """What Hugging Face's tokenizer keeps of a text, from the files that it reads.

    One of another kind of model than ALBERT is refused. AlbertTokenizer goes by its
    arguments, and older versions of it by `tokenizer.json`: where these disagree there is no
    telling what the model was trained on.
    """
    path, config = folder / HF_TOKENIZER, folder / HF_TOKENIZER_CONFIG
    values = read_json(config) if config.exists() else {}
    name = tokenizer_class(values, default=_OF_ALBERT)
    if name not in (_OF_ALBERT, *OF_FILE):
        raise AlbertError(
            f"{config}: tokenizer_class is {name:.60}, and only a SentencePiece model "
            f"as {_OF_ALBERT} has it can be read."
        )
    by_config = Normalization(
        cased=not values.get("do_lower_case", True),
        keep_accents=bool(values.get("keep_accents", False)),
    )
    if not path.exists():
        # Classes that go by that file alone have no such arguments.
        return None if name in OF_FILE or not config.exists() else by_config
    kinds = {step.get("type") for step in _steps(read_json(path), path=path)}
    by_file = Normalization(
        cased="Lowercase" not in kinds, keep_accents="StripAccents" not in kinds
    )
    is_albert = str(values.get("tokenizer_class")).startswith("AlbertTokenizer")
    if is_albert and by_config != by_file:
        raise AlbertError(
            f"{config} and {path} disagree on capital letters or accents; make "
            "do_lower_case and keep_accents of the former what the normalizer of the "
            "latter does, or the other way round."
        )
    return by_file


def _check_tokens(folder: Path, *, size: int) -> None:
    """Refuse other special tokens.

    So are tokens that are found before SentencePiece divides a text.
    """
    check_post_processing(folder, SPECIAL_TOKENS, range(len(SPECIAL_TOKENS)))
    if added := sorted(tokens_found_whole(folder).keys() - set(SPECIAL_TOKENS)):
        raise AlbertError(
            f"{folder}: its tokenizer finds {', '.join(added):.60} in a text before "
            f"the {size:,} pieces of its model do, which a SentencePiece vocabulary "
            "cannot; give a model that has no such tokens."
        )


# What is done before and around the pieces where SentencePiece does the same.
_STEPS = ("NFKD", "StripAccents", "Lowercase", _COMPILED, "Strip")
_SPACES = {"Regex": " {2,}"}


def _check_steps(values: dict[str, Any], *, path: Path) -> None:
    """Refuse steps that cannot be written into a SentencePiece model."""
    with undamaged(path, remedy="copy it again"):
        for step in _steps(values, path=path):
            kind, pattern = step.get("type"), step.get("pattern")
            quotes = pattern.get("String") if isinstance(pattern, dict) else None
            is_replaced = kind == "Replace" and (pattern == _SPACES or quotes in QUOTES)
            if step and kind not in _STEPS and not is_replaced:
                named = f"{kind} {pattern}" if pattern else f"{kind}"
                raise AlbertError(
                    f"{path} has a normalizer with the step {named:.60}, which a "
                    "SentencePiece vocabulary cannot take; give a model without it."
                )
        before = values.get("pre_tokenizer")
        for part in (before or {}).get("pretokenizers", [before] if before else []):
            kind, scheme = part.get("type"), part.get("prepend_scheme", "always")
            if kind not in ("Metaspace", "WhitespaceSplit") or scheme == "never":
                raise AlbertError(
                    f"{path} divides text by {kind} with prepend_scheme {scheme}, and "
                    "an ALBERT's words begin with a space; give a model that has that."
                )
        if values["model"].get("byte_fallback"):
            raise AlbertError(
                f"{path} spells unknown characters in bytes (byte_fallback), which an "
                "ALBERT does not; give a model without it."
            )


def _steps(values: dict[str, Any], *, path: Path) -> list[dict[str, Any]]:
    """The steps of the normalization of `tokenizer.json`, each with its settings."""
    normalizer = values.get("normalizer") or {}
    steps = normalizer.get("normalizers") if isinstance(normalizer, dict) else None
    steps = [normalizer] if steps is None else steps
    if not isinstance(steps, list) or not all(isinstance(s, dict) for s in steps):
        raise AlbertError(f"{path} has a normalizer that is not a list of steps.")
    if not all(isinstance(step.get("type", ""), str) for step in steps):
        raise AlbertError(f"{path} has a normalizer with a step that has no name.")
    return steps


def _pieces(values: dict[str, Any], *, path: Path) -> tuple[list[tuple[str, float]], bytes]:
    """Pieces with their scores, and the compiled normalization, of `tokenizer.json`."""
    try:
        model = values["model"]
        if model["type"] != "Unigram":
            raise AlbertError(
                f"{path} is a {model['type']} tokenizer, and only Unigram ones can be "
                "read; give a model that has one."
            )
        pieces = [(piece, float(score)) for piece, score in model["vocab"]]
        if model.get("unk_id") not in (None, UNK_ID):
            raise ValueError(f"unk_id is {model['unk_id']} and not {UNK_ID}")
        for piece, _ in pieces:
            piece.encode()
        if not all(abs(score) < _SCORE_BOUND for _, score in pieces):
            raise ValueError("a score is not a number, or too large")
        compiled = [s for s in _steps(values, path=path) if s.get("type") == _COMPILED]
        (charsmap,) = [s["precompiled_charsmap"] for s in compiled] or [""]
        return pieces, base64.b64decode(charsmap)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise AlbertError(
            f"{path} is not the tokenizer.json of an ALBERT ({error}); copy it again."
        ) from error


# What Hugging Face takes from the score of a piece such as "▁1," (`AlbertConverter`),
# so that "▁1" and "," are always better.
_COMMA_PENALTY = 100


def imported_model(
    model: bytes, asked: Normalization, *, scores: list[float] | None = None
) -> bytes:
    """A model that does by itself what was done around it.

    Args:
        model: The other program's; unchanged if all rules were written into it.
        scores: Of each piece as the other program has them; without, the model's own,
            with the penalty on commas.
    """
    if is_complete(model, asked):
        return model
    native = sentencepiece.SentencePieceNormalizer(
        model_proto=model,
        add_dummy_prefix=False,
        escape_whitespaces=False,
        remove_extra_whitespaces=False,
    )

    def normalize(text: str) -> str:
        # Hugging Face drops every combining mark. google-research/albert drops those with a
        # combining class, which spares some vowel signs of Indian scripts.
        if not asked.keep_accents:
            text = unicodedata.normalize("NFKD", text)
            text = "".join(c for c in text if not is_combining(c))
        if not asked.cased:
            # One by one, because the sigma at the end of a word stays as it is there.
            text = "".join(c.lower() for c in text)
        return str(native.Normalize(text))

    with scratch_folder("import") as folder:
        path = folder / "normalization.tsv"
        path.write_text(rules_tsv(normalize), encoding="utf-8")
        rules = sentencepiece.SentencePieceNormalizer(rule_tsv=str(path))
    charsmap = compiled_normalization(rules.serialized_model_proto())
    if scores is None:
        tokenizer = load_tokenizer(model)
        scores = [tokenizer.score(i) for i in range(tokenizer.vocab_size)]
        for number, piece in enumerate(tokenizer.pieces):
            if piece[-1:] == "," and piece[-2:-1].isdigit():
                scores[number] -= _COMMA_PENALTY
    return with_rules_and_scores(model, charsmap=charsmap, scores=scores)
