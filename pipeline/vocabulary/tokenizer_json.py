"""The files by which a vocabulary loads in Hugging Face's AutoTokenizer.

A bare `spiece.model` loads there with other ids for more than half of all lines: its
user symbols become added tokens, and accents are stripped a second time. These files
say what SentencePiece does instead: the same normalization, compiled, and the pieces
with their scores.
"""

import base64
from typing import Any

from pipeline.core.sentencepiece_proto import compiled_normalization
from pipeline.vocabulary.normalization import QUOTES
from pipeline.vocabulary.tokenizer import load_tokenizer
from schemas.special_tokens import (
    CLS,
    CLS_ID,
    MASK,
    PAD,
    SEP,
    SEP_ID,
    SPACE,
    SPECIAL_TOKENS,
    UNK,
    UNK_ID,
)

# As the published ALBERTs have it.
MAX_LENGTH = 512


def tokenizer_json(model: bytes) -> dict[str, Any]:
    """`tokenizer.json` for a SentencePiece model made by `albert vocab`."""
    tokenizer = load_tokenizer(model)
    pieces = [
        [tokenizer.piece(i), tokenizer.score(i)] for i in range(tokenizer.vocab_size)
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added_token(i) for i in range(len(SPECIAL_TOKENS))],
        "normalizer": _normalizer(compiled_normalization(model)),
        "pre_tokenizer": _metaspace(),
        "post_processor": _post_processor(),
        "decoder": _metaspace(),
        "model": {
            "type": "Unigram",
            "unk_id": UNK_ID,
            "vocab": pieces,
            "byte_fallback": False,
        },
    }


def tokenizer_config(*, max_length: int = MAX_LENGTH) -> dict[str, Any]:
    """`tokenizer_config.json`: the class to load and the special tokens.

    Args:
        max_length: The longest sequence, in pieces.
    """
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_length,
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        "pad_token": PAD,
        "unk_token": UNK,
        "cls_token": CLS,
        "sep_token": SEP,
        "mask_token": MASK,
    }


def bert_tokenizer_config(*, is_cased: bool, max_length: int) -> dict[str, Any]:
    """`tokenizer_config.json` beside a `vocab.txt`, by which BertTokenizer loads it.

    Args:
        is_cased: Whether capital letters and accents are kept.
        max_length: The longest sequence, in pieces.
    """
    return {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": not is_cased,
        "model_max_length": max_length,
    }


def _added_token(token_id: int) -> dict[str, Any]:
    content = SPECIAL_TOKENS[token_id]
    return {
        "id": token_id,
        "content": content,
        "single_word": False,
        # The space before [MASK] belongs to it, as in "the [MASK] crossed".
        "lstrip": content == MASK,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }


def _normalizer(charsmap: bytes) -> dict[str, Any]:
    # The compiled rules are applied there a character at a time, so that the two rules
    # for two characters have to be said again.
    replace = [
        {"type": "Replace", "pattern": {"String": quotes}, "content": mark}
        for quotes, mark in QUOTES.items()
    ]
    precompiled = base64.b64encode(charsmap).decode("ascii")
    return {
        "type": "Sequence",
        "normalizers": [
            *replace,
            {"type": "Precompiled", "precompiled_charsmap": precompiled},
            {"type": "Strip", "strip_left": True, "strip_right": True},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
        ],
    }


def _metaspace() -> dict[str, Any]:
    return {
        "type": "Metaspace",
        "replacement": SPACE,
        "prepend_scheme": "always",
        "split": True,
    }


def _post_processor() -> dict[str, Any]:
    def special(token: str, segment: int) -> dict[str, Any]:
        return {"SpecialToken": {"id": token, "type_id": segment}}

    a = {"Sequence": {"id": "A", "type_id": 0}}
    b = {"Sequence": {"id": "B", "type_id": 1}}
    single = [special(CLS, 0), a, special(SEP, 0)]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, b, special(SEP, 1)],
        "special_tokens": {
            token: {"id": token, "ids": [token_id], "tokens": [token]}
            for token, token_id in ((CLS, CLS_ID), (SEP, SEP_ID))
        },
    }
