"""The files of a vocabulary: the model, its manifest, and those of AutoTokenizer.

A bare `spiece.model` loads in Hugging Face with other ids for more than half of all
lines: its user symbols become added tokens, and accents are stripped a second time.
`tokenizer.json` says what SentencePiece does instead: the same normalization, compiled,
and the pieces with their scores.
"""

import base64
import dataclasses
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.core.documents import in_order
from pipeline.core.scripts import LOOSE_SPACE, UNSPACED
from pipeline.reading.formats import InputFile
from pipeline.vocabulary.model_file import compiled_normalization, is_of_unspaced_text
from pipeline.vocabulary.normalization import QUOTES
from pipeline.vocabulary.sampling import KeyedSentence, SampledText
from pipeline.vocabulary.tokenizer import Tokenizer, load_tokenizer
from pipeline.vocabulary.wordpiece import WordPiece
from pipeline.vocabulary.wordpiece_rules import Rules
from schemas.config import VocabConfig
from schemas.example import (
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
from schemas.files import whole_file, write_json, write_text
from schemas.layout import (
    HF_TOKENIZER,
    HF_TOKENIZER_CONFIG,
    MANIFEST,
    SPM_MODEL,
    SPM_VOCAB,
    WORDPIECE,
)

# As the published ALBERTs have it.
MAX_LENGTH = 512


def tokenizer_json(model: bytes) -> dict[str, Any]:
    """`tokenizer.json` for a SentencePiece model made by `albert vocab`."""
    tokenizer = load_tokenizer(model)
    pieces = [
        [tokenizer.piece(i), tokenizer.score(i)] for i in range(tokenizer.vocab_size)
    ]
    is_unspaced = is_of_unspaced_text(model)
    metaspace = _metaspace("never" if is_unspaced else "always")
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added_token(i) for i in range(len(SPECIAL_TOKENS))],
        "normalizer": _normalizer(
            compiled_normalization(model), is_unspaced=is_unspaced
        ),
        "pre_tokenizer": metaspace,
        "post_processor": _post_processor(),
        "decoder": _metaspace("always"),
        "model": {
            "type": "Unigram",
            "unk_id": UNK_ID,
            "vocab": pieces,
            "byte_fallback": False,
        },
    }


def tokenizer_config(*, max_length: int = MAX_LENGTH) -> dict[str, Any]:
    """`tokenizer_config.json`: the class to load and the special tokens."""
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


def bert_tokenizer_config(rules: Rules, *, max_length: int) -> dict[str, Any]:
    """`tokenizer_config.json` beside a `vocab.txt`, by which BertTokenizer loads it."""
    return {
        "tokenizer_class": "BertTokenizer",
        **rules.config(),
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


def _normalizer(charsmap: bytes, *, is_unspaced: bool) -> dict[str, Any]:
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
            *(_spaces_of_unspaced_text() if is_unspaced else ()),
        ],
    }


def _spaces_of_unspaced_text() -> Iterator[dict[str, Any]]:
    """What `SentencePieceTokenizer` does to spaces in a vocabulary of such text."""
    no_space_before = rf"\A{SPACE}(?=.*[{UNSPACED}]|[^\p{{L}}]*\z)"
    yield {"type": "Replace", "pattern": {"Regex": LOOSE_SPACE}, "content": ""}
    yield {"type": "Prepend", "prepend": SPACE}
    yield {"type": "Replace", "pattern": {"Regex": no_space_before}, "content": ""}


def _metaspace(prepend: str) -> dict[str, Any]:
    return {
        "type": "Metaspace",
        "replacement": SPACE,
        "prepend_scheme": prepend,
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


def vocabulary_card(
    tokenizer: Tokenizer, held_out: list[KeyedSentence]
) -> dict[str, Any]:
    """How the vocabulary does on sentences it was not trained on."""
    texts = [sentence.text for sentence in held_out]
    pieces = tokenizer.encode(texts)
    # Each begins with the mark of a space, unless nothing is left of it.
    normalized = list(map(tokenizer.normalize, texts))
    words = sum(len(text.split(SPACE)) - 1 for text in normalized)
    characters = sum(len(text.removeprefix(SPACE)) for text in normalized)
    count = sum(map(len, pieces))
    unknown = sum(sentence.count(UNK_ID) for sentence in pieces)
    return {
        "held_out_sentences": len(texts),
        "unknown_rate": round(unknown / count, 6) if count else 0.0,
        "pieces_per_word": round(count / words, 4) if words else 0.0,
        "characters_per_piece": round(characters / count, 4) if count else 0.0,
    }


def vocabulary_listing(model: bytes) -> str:
    """`spiece.vocab`: each piece and its score, one a line."""
    tokenizer = load_tokenizer(model)
    return "".join(
        f"{tokenizer.piece(i)}\t{tokenizer.score(i):g}\n"
        for i in range(tokenizer.vocab_size)
    )


def vocabulary_manifest(
    model: bytes, text: SampledText, config: VocabConfig, files: list[InputFile]
) -> dict[str, Any]:
    """What the vocabulary is: settings, inputs, sample and card."""
    tokenizer = load_tokenizer(model)
    return {
        **_what_it_is(tokenizer, dataclasses.asdict(config)),
        "inputs": [file.describe() for file in files],
        "documents": text.counts.documents,
        "sentences": text.counts.sentences,
        "trained_on": len(text.train),
        "card": vocabulary_card(tokenizer, text.held_out),
        "text": text.look,
        "dropped": in_order(text.counts.dropped),
        "changed": in_order(text.counts.changed),
    }


def imported_manifest(
    tokenizer: Tokenizer, *, file: str, before: bytes, config: dict[str, bool]
) -> dict[str, Any]:
    """What a vocabulary of another program is.

    Args:
        file: The name it is written under.
        config: What is kept of a text, under the names of `VocabConfig`.
    """
    return {
        **_what_it_is(tokenizer, config, file=file),
        "imported_from": {"sha256": hashlib.sha256(before).hexdigest()},
    }


def _what_it_is(
    tokenizer: Tokenizer, config: dict[str, Any], *, file: str = SPM_MODEL
) -> dict[str, Any]:
    return {
        "format": "albert-vocabulary",
        "format_version": 1,
        "config": config,
        "vocabulary": {
            "file": file,
            "sha256": tokenizer.sha256,
            "size": tokenizer.vocab_size,
        },
    }


def write_vocabulary(
    model: bytes,
    manifest: dict[str, Any],
    *,
    output: Path,
    max_length: int = MAX_LENGTH,
) -> None:
    """Write all files of a vocabulary, the manifest last.

    Args:
        max_length: Tokens in the longest sequences of the model that it belongs to.
    """
    with whole_file(output / SPM_MODEL) as file:
        file.write(model)
    write_text(output / SPM_VOCAB, vocabulary_listing(model))
    write_json(output / HF_TOKENIZER, tokenizer_json(model))
    write_json(output / HF_TOKENIZER_CONFIG, tokenizer_config(max_length=max_length))
    write_json(output / MANIFEST, manifest)


def write_wordpiece(
    tokenizer: WordPiece,
    data: bytes,
    manifest: dict[str, Any],
    *,
    output: Path,
    max_length: int,
) -> None:
    """Write BERT's vocabulary as it was found, its rules, and the manifest last.

    Args:
        max_length: Tokens in the longest sequences of the model that it belongs to.
    """
    with whole_file(output / WORDPIECE) as file:
        file.write(data)
    config = bert_tokenizer_config(tokenizer.rules, max_length=max_length)
    write_json(output / HF_TOKENIZER_CONFIG, config)
    write_json(output / MANIFEST, manifest)
