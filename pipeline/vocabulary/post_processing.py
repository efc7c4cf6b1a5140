"""What Hugging Face's tokenizer does once a text is tokens, as a folder's files say it.

An ALBERT reads `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`, B in segment 1, and the
beginning of a text that is too long. Files that say anything else are refused: a model
that was trained so would be read wrongly without a word.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schemas.errors import AlbertError
from schemas.example import CLS_ID, SEP_ID
from schemas.files import read_json, undamaged
from schemas.layout import HF_TOKENIZER, HF_TOKENIZER_CONFIG

# Which versions of transformers before 5 read as well.
_SPECIAL_TOKENS_MAP = "special_tokens_map.json"

# The names of the special tokens there, in the order of `schemas.example`.
_NAMES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")

# The classes that do only what tokenizer.json says.
OF_FILE = ("PreTrainedTokenizer", "TokenizersBackend")


def tokenizer_class(config: Mapping[str, Any], *, default: str) -> str:
    """The class in a `tokenizer_config.json`, whether it is the fast one or not."""
    return str(config.get("tokenizer_class") or default).removesuffix("Fast")


def check_post_processing(
    folder: Path, special: Sequence[str], ids: Sequence[int]
) -> None:
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
                path,
                f"its post_processor does not make {two} of two texts, B in segment 1",
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
            raise _other(
                path, "it cuts long texts at their beginning (truncation_side)"
            )
    return config


def _other(path: Path, reason: str) -> AlbertError:
    return AlbertError(
        f"{path}: {reason}; give a model whose tokenizer does what ALBERT's does."
    )


def _is_of_albert(
    processor: Mapping[str, Any], *, cls: tuple[str, int], sep: tuple[str, int]
) -> bool:
    """Whether a post-processor puts both tokens, with their ids, where ALBERT does."""
    if processor.get("type") == "BertProcessing":
        return (tuple(processor["cls"]), tuple(processor["sep"])) == (cls, sep)
    if processor.get("type") != "TemplateProcessing":
        return False
    single, pair = (
        [
            (value["id"], value["type_id"])
            for part in processor[which]
            for value in part.values()
        ]
        for which in ("single", "pair")
    )
    first = [(cls[0], 0), ("A", 0), (sep[0], 0)]
    return (
        single == first
        and pair == [*first, ("B", 1), (sep[0], 1)]
        and all(
            processor["special_tokens"][token]["ids"] == [number]
            for token, number in (cls, sep)
        )
    )
