"""The vocabulary of another ALBERT, and what its program does around it."""

import base64
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.imported_vocabulary import Normalization
from pipeline.protobuf import bytes_field, float_field, number_field
from pipeline.tokenizer import Tokenizer, check_model
from schemas.errors import AlbertError, SettingError
from schemas.json_file import read_json
from schemas.layout import HF_TOKENIZER, HF_TOKENIZER_CONFIG, SPM_MODEL
from schemas.special_tokens import PAD, PAD_ID, SPECIAL_TOKENS, UNK, UNK_ID

_WORDPIECE = "vocab.txt"

# Numbers of the fields of SentencePiece's messages, and of its kinds of pieces.
_PIECE, _TRAINER_SPEC, _NORMALIZER_SPEC = 1, 2, 3
_PIECE_TEXT, _PIECE_SCORE, _PIECE_KIND = 1, 2, 3
_UNKNOWN, _CONTROL = 2, 3
_MODEL_TYPE, _VOCAB_SIZE = 3, 4
_UNK_ID, _BOS_ID, _EOS_ID, _PAD_ID, _UNK_PIECE, _PAD_PIECE = 40, 41, 42, 43, 45, 48
_UNIGRAM = 1
_NONE = (1 << 64) - 1  # -1
_CHARSMAP = 2


class ForeignVocabulary(NamedTuple):
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


def read_vocabulary(source: Path, *, given: Path | None = None) -> ForeignVocabulary:
    """The vocabulary of a folder or a file.

    Args:
        source: A folder with a SentencePiece model, or with Hugging Face's
            `tokenizer.json`; or the model itself.
        given: The model, wherever it is.

    Raises:
        SettingError: A file that was given does not exist.
        AlbertError: There is no one vocabulary, or it is of no use.
    """
    folder = source if source.is_dir() else source.parent
    path = given or (source if source.is_file() else _only_model(folder))
    tokenizer = folder / HF_TOKENIZER
    if source.is_file() or not tokenizer.exists():
        if path is None:
            raise AlbertError(_nothing(folder))
        return ForeignVocabulary(path, _checked(path), _asked(folder), scores=None)
    pieces, charsmap = _pieces(read_json(tokenizer), path=tokenizer)
    scores = [score for _, score in pieces]
    if path is None:
        model = model_of_pieces(pieces, charsmap)
        check_model(model, path=tokenizer)
        return ForeignVocabulary(tokenizer, model, _asked(folder), scores)
    model = _checked(path)
    known = Tokenizer(model)
    if [known.piece(i) for i in range(known.vocab_size)] != [p for p, _ in pieces]:
        raise AlbertError(
            f"{tokenizer} has other pieces than {path}; give the files of one model."
        )
    return ForeignVocabulary(path, model, _asked(folder), scores)


def _checked(path: Path) -> bytes:
    try:
        model = path.read_bytes()
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
    """Why there is no vocabulary."""
    if (folder / _WORDPIECE).exists():
        return (
            f"{folder / _WORDPIECE} is a WordPiece vocabulary, and only those of "
            "SentencePiece can be read; give a model that has one."
        )
    return f"{folder} has no SentencePiece model; give one with --vocab."


def _asked(folder: Path) -> Normalization | None:
    """What Hugging Face's tokenizer keeps of a text, from the files that it reads."""
    if (folder / HF_TOKENIZER).exists():
        normalizer = read_json(folder / HF_TOKENIZER).get("normalizer") or {}
        steps = normalizer.get("normalizers", [normalizer])
        kinds = {step.get("type") for step in steps}
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


def _pieces(
    values: dict[str, Any], *, path: Path
) -> tuple[list[tuple[str, float]], bytes]:
    """Pieces with their scores, and the compiled normalization, of `tokenizer.json`.

    Raises:
        AlbertError: It is no tokenizer of an ALBERT.
    """
    try:
        model = values["model"]
        if model["type"] != "Unigram":
            raise AlbertError(
                f"{path} is a {model['type']} tokenizer, and only Unigram ones can be "
                "read; give a model that has one."
            )
        pieces = [(str(piece), float(score)) for piece, score in model["vocab"]]
        normalizer = values["normalizer"] or {}
        steps = normalizer.get("normalizers", [normalizer])
        (compiled,) = [s for s in steps if s["type"] == "Precompiled"] or [{}]
        return pieces, base64.b64decode(compiled.get("precompiled_charsmap", ""))
    except (KeyError, TypeError, ValueError) as error:
        raise AlbertError(
            f"{path} is no tokenizer.json of an ALBERT ({error})."
        ) from error


def model_of_pieces(pieces: list[tuple[str, float]], charsmap: bytes) -> bytes:
    """A SentencePiece model, where Hugging Face kept only its pieces.

    Args:
        pieces: With their scores; the special ones first.
        charsmap: The compiled normalization.
    """
    return (
        b"".join(
            bytes_field(_PIECE, _piece(number, text, score))
            for number, (text, score) in enumerate(pieces)
        )
        + bytes_field(
            _TRAINER_SPEC,
            number_field(_MODEL_TYPE, _UNIGRAM)
            + number_field(_VOCAB_SIZE, len(pieces))
            + number_field(_UNK_ID, UNK_ID)
            + number_field(_BOS_ID, _NONE)
            + number_field(_EOS_ID, _NONE)
            + number_field(_PAD_ID, PAD_ID)
            + bytes_field(_UNK_PIECE, UNK.encode())
            + bytes_field(_PAD_PIECE, PAD.encode()),
        )
        + bytes_field(_NORMALIZER_SPEC, bytes_field(_CHARSMAP, charsmap))
    )


def _piece(number: int, text: str, score: float) -> bytes:
    message = bytes_field(_PIECE_TEXT, text.encode()) + float_field(_PIECE_SCORE, score)
    if number >= len(SPECIAL_TOKENS):
        return message
    return message + number_field(
        _PIECE_KIND, _UNKNOWN if number == UNK_ID else _CONTROL
    )
