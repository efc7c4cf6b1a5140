"""The files of a vocabulary: the model, its manifest, and those of AutoTokenizer.

A bare `spiece.model` loads in Hugging Face with other ids for more than half of all
lines: its user symbols become added tokens, and accents are stripped a second time.
`tokenizer.json` says what SentencePiece does instead: the same normalization, compiled,
and the pieces with their scores.
"""

import base64
import dataclasses
import hashlib
from pathlib import Path
from typing import Any

from pipeline.core.documents import in_order
from pipeline.core.writing_systems import LOOSE_SPACE, UNSPACED
from pipeline.reading.formats import InputFile
from pipeline.vocabulary.normalization import QUOTES
from pipeline.vocabulary.sampling import SampledText
from pipeline.vocabulary.tokenizer import (
    Tokenizer,
    compiled_normalization,
    is_of_unspaced_text,
    load_tokenizer,
)
from pipeline.vocabulary.wordpiece import WordPiece, template
from schemas.config import VocabConfig
from schemas.example import CLS, CLS_ID, MASK, PAD, SEP, SEP_ID, SPACE, SPECIAL_TOKENS, UNK, UNK_ID
from schemas.files import write_bytes, write_json, write_text
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

_METASPACE = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True}
# Less than any pieces of a text have together in place of a special token.
_NEVER = -1000.0


def tokenizer_json(model: bytes) -> dict[str, Any]:
    """`tokenizer.json` for a SentencePiece model made by `albert vocab`."""
    tokenizer, is_unspaced = load_tokenizer(model), is_of_unspaced_text(model)
    pieces = [[piece, tokenizer.score(i)] for i, piece in enumerate(tokenizer.pieces)]
    # Where they are no added tokens (`split_special_tokens`) they are no pieces of a text.
    for special in range(len(SPECIAL_TOKENS)):
        pieces[special][1] = _NEVER
    charsmap = base64.b64encode(compiled_normalization(model)).decode("ascii")
    steps = [
        # The compiled rules are applied there a character at a time, so that the two
        # rules for two characters have to be said again.
        *(_replaced({"String": quotes}, mark) for quotes, mark in QUOTES.items()),
        {"type": "Precompiled", "precompiled_charsmap": charsmap},
        {"type": "Strip", "strip_left": True, "strip_right": True},
        _replaced({"Regex": " {2,}"}, " "),
    ]
    if is_unspaced:
        # What `SentencePieceTokenizer` does to spaces in a vocabulary of such text.
        no_space_before = rf"\A{SPACE}(?=.*[{UNSPACED}]|[^\p{{L}}]*\z)"
        steps += [
            _replaced({"Regex": LOOSE_SPACE}, ""),
            {"type": "Prepend", "prepend": SPACE},
            _replaced({"Regex": no_space_before}, ""),
        ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": token_id,
                "content": content,
                "single_word": False,
                # The space before [MASK] belongs to it, as in "the [MASK] crossed".
                "lstrip": content == MASK,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for token_id, content in enumerate(SPECIAL_TOKENS)
        ],
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": _METASPACE | {"prepend_scheme": "never" if is_unspaced else "always"},
        "post_processor": template((CLS, CLS_ID), (SEP, SEP_ID)),
        "decoder": _METASPACE,
        "model": {"type": "Unigram", "unk_id": UNK_ID, "vocab": pieces, "byte_fallback": False},
    }


def tokenizer_config(max_length: int) -> dict[str, Any]:
    """`tokenizer_config.json`: the class to load and the special tokens."""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        # The model has it all; transformers' AlbertTokenizer would add these.
        "do_lower_case": False,
        "keep_accents": True,
        "model_max_length": max_length,
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        "pad_token": PAD,
        "unk_token": UNK,
        "cls_token": CLS,
        "sep_token": SEP,
        "mask_token": MASK,
    }


def tokenizer_files(
    tokenizer: Tokenizer, model: bytes, *, max_length: int, has_masks: bool = True
) -> dict[str, dict[str, Any]]:
    """What AutoTokenizer reads beside a vocabulary: the JSON of each file by its name.

    BertTokenizer loads a `vocab.txt` by its rules.

    Args:
        has_masks: Whether [MASK] in a text is a token, and so are other special ones.
    """
    typed = {} if has_masks else {"split_special_tokens": True}
    if isinstance(tokenizer, WordPiece):
        config = {
            "tokenizer_class": "BertTokenizer",
            **tokenizer.config,
            "model_max_length": max_length,
        }
        return {HF_TOKENIZER_CONFIG: config | typed}
    return {
        HF_TOKENIZER: tokenizer_json(model),
        HF_TOKENIZER_CONFIG: tokenizer_config(max_length) | typed,
    }


def _replaced(pattern: dict[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def vocabulary_card(tokenizer: Tokenizer, held_out: list[str]) -> dict[str, Any]:
    """How the vocabulary does on sentences it was not trained on."""
    pieces = tokenizer.encode(held_out)
    # Each begins with the mark of a space, unless nothing is left of it.
    normalized = list(map(tokenizer.normalize, held_out))
    words = sum(len(text.split(SPACE)) - 1 for text in normalized)
    characters = sum(len(text.removeprefix(SPACE)) for text in normalized)
    count = sum(map(len, pieces))
    unknown = sum(sentence.count(UNK_ID) for sentence in pieces)
    return {
        "held_out_sentences": len(held_out),
        "unknown_rate": round(unknown / count, 6) if count else 0.0,
        "pieces_per_word": round(count / words, 4) if words else 0.0,
        "characters_per_piece": round(characters / count, 4) if count else 0.0,
    }


def vocabulary_listing(model: bytes) -> str:
    """`spiece.vocab`: each piece and its score, one a line."""
    tokenizer = load_tokenizer(model)
    return "".join(f"{piece}\t{tokenizer.score(i):g}\n" for i, piece in enumerate(tokenizer.pieces))


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
    tokenizer: Tokenizer, *, before: bytes, config: dict[str, bool]
) -> dict[str, Any]:
    """What a vocabulary of another program is."""
    return {
        **_what_it_is(tokenizer, config),
        "imported_from": {"sha256": hashlib.sha256(before).hexdigest()},
    }


def _what_it_is(tokenizer: Tokenizer, config: dict[str, Any]) -> dict[str, Any]:
    return {
        "format": "albert-vocabulary",
        "format_version": 1,
        "config": config,
        "vocabulary": {
            "file": SPM_MODEL if tokenizer.order is None else WORDPIECE,
            "sha256": tokenizer.sha256,
            "size": tokenizer.vocab_size,
        },
    }


def write_vocabulary(
    model: bytes,
    manifest: dict[str, Any],
    *,
    tokenizer: Tokenizer,
    output: Path,
    max_length: int = MAX_LENGTH,
) -> None:
    """Write all files of a vocabulary, the manifest last."""
    name = manifest["vocabulary"]["file"]
    write_bytes(output / name, model)
    if name == SPM_MODEL:
        write_text(output / SPM_VOCAB, vocabulary_listing(model))
    files = tokenizer_files(tokenizer, model, max_length=max_length)
    for other, values in {**files, MANIFEST: manifest}.items():
        write_json(output / other, values)
