"""The vocabulary of another ALBERT, as another program keeps it.

A folder of google-research/albert or Hugging Face, or a SentencePiece model alone. What
is done to a text before the model sees it stands in files around the model.
"""

import base64
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.core.sentencepiece_proto import model_of_pieces
from pipeline.vocabulary.tokenizer import check_model, first_bytes, load_tokenizer
from schemas.errors import AlbertError, SettingError
from schemas.json_file import read_json
from schemas.layout import HF_TOKENIZER, HF_TOKENIZER_CONFIG, SPM_MODEL, WORDPIECE

_COMPILED = "Precompiled"

# Scores are logarithms of probabilities; SentencePiece keeps them in 32 bits.
_SCORE_BOUND = 1e30


class Normalization(NamedTuple):
    """What is kept of a text.

    Attributes:
        cased: Capital letters.
        keep_accents: Accents and other combining marks.
    """

    cased: bool
    keep_accents: bool


class ExternalVocabulary(NamedTuple):
    """A vocabulary as another program keeps it.

    Attributes:
        path: The file it is from.
        model: A SentencePiece model.
        asked: What that program keeps of a text before the model sees it, where it
            says so.
        scores: Of each piece, where that program has others than the model.
    """

    path: Path
    model: bytes
    asked: Normalization | None
    scores: list[float] | None


def read_external(source: Path, *, given: Path | None = None) -> ExternalVocabulary:
    """The vocabulary of a folder or a file.

    Args:
        source: A folder with a SentencePiece model, or with Hugging Face's
            `tokenizer.json`; or the model itself.
        given: The model, wherever it is.

    Raises:
        SettingError: A file that was given does not exist.
        AlbertError: There is no vocabulary, more than one, or one that cannot be read.
    """
    folder = source if source.is_dir() else source.parent
    path = given or (source if source.is_file() else _only_model(folder))
    tokenizer = folder / HF_TOKENIZER
    if source.is_file() or not tokenizer.exists():
        if path is None:
            raise AlbertError(_nothing(folder))
        return ExternalVocabulary(path, _checked(path), _asked(folder), scores=None)
    pieces, charsmap = _pieces(read_json(tokenizer), path=tokenizer)
    scores = [score for _, score in pieces]
    if path is None:
        model = model_of_pieces(pieces, charsmap)
        check_model(model, path=tokenizer)
        return ExternalVocabulary(tokenizer, model, _asked(folder), scores)
    model = _checked(path)
    known = load_tokenizer(model)
    if [known.piece(i) for i in range(known.vocab_size)] != [p for p, _ in pieces]:
        raise AlbertError(
            f"{tokenizer} has other pieces than {path}; give the files of one model."
        )
    return ExternalVocabulary(path, model, _asked(folder), scores)


def wordpiece_of(source: Path, *, given: Path | None = None) -> Path | None:
    """The `vocab.txt` of a folder, or as given; None where there is another vocabulary.

    Args:
        source: A folder or a file.
        given: A vocabulary, wherever it is.
    """
    path = given or (source / WORDPIECE if source.is_dir() else source)
    is_other = given is None and source.is_dir() and _only_model(source) is not None
    return (
        path
        if path.name.endswith(WORDPIECE) and not is_other and path.is_file()
        else None
    )


def _checked(path: Path) -> bytes:
    try:
        model = first_bytes(path)
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error.strerror}.") from None
    check_model(model, path=path)
    return model


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


def _nothing(folder: Path) -> str:
    """Why no vocabulary was found."""
    return f"{folder} has no SentencePiece model; give one with --vocab."


def _asked(folder: Path) -> Normalization | None:
    """What Hugging Face's tokenizer keeps of a text, from the files that it reads."""
    path = folder / HF_TOKENIZER
    if path.exists():
        kinds = {step.get("type") for step in _steps(read_json(path), path=path)}
        return Normalization(
            cased="Lowercase" not in kinds, keep_accents="StripAccents" not in kinds
        )
    if not (folder / HF_TOKENIZER_CONFIG).exists():
        return None
    values = read_json(folder / HF_TOKENIZER_CONFIG)
    # The defaults are those of AlbertTokenizer.
    return Normalization(
        cased=not values.get("do_lower_case", True),
        keep_accents=bool(values.get("keep_accents", False)),
    )


def _steps(values: dict[str, Any], *, path: Path) -> list[dict[str, Any]]:
    """The steps of the normalization of `tokenizer.json`, each with its settings.

    Raises:
        AlbertError: They are not lists and objects.
    """
    normalizer = values.get("normalizer") or {}
    steps = normalizer.get("normalizers") if isinstance(normalizer, dict) else None
    steps = [normalizer] if steps is None else steps
    if not isinstance(steps, list) or not all(isinstance(s, dict) for s in steps):
        raise AlbertError(f"{path} has a normalizer that is not a list of steps.")
    if not all(isinstance(step.get("type", ""), str) for step in steps):
        raise AlbertError(f"{path} has a normalizer with a step that has no name.")
    return steps


def _pieces(
    values: dict[str, Any], *, path: Path
) -> tuple[list[tuple[str, float]], bytes]:
    """Pieces with their scores, and the compiled normalization, of `tokenizer.json`.

    Raises:
        AlbertError: The file is not that of an ALBERT's tokenizer.
    """
    try:
        model = values["model"]
        if model["type"] != "Unigram":
            raise AlbertError(
                f"{path} is a {model['type']} tokenizer, and only Unigram ones can be "
                "read; give a model that has one."
            )
        pieces = [(str(piece), float(score)) for piece, score in model["vocab"]]
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
