"""The rules of BERT's tokenizer are those that the files of a folder name."""

import json

import pytest

from pipeline.vocabulary.wordpiece import read_wordpiece
from tests.refusals import refusal

PIECES = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *("cafe", "café", "Cafe", "Café", "中", "##文", "文", "<", ">", "e", "##1"),
]
BERT = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
LOWER, CASED = {"do_lower_case": True}, {"do_lower_case": False}


def added(content, number, **flags):
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": number, "content": content, **dict.fromkeys(names, False), **flags}


def tokenizer_json(*, tokens=(), model=(), **normalizer):
    return {
        "added_tokens": list(tokens),
        "normalizer": {**BERT, **normalizer},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {piece: number for number, piece in enumerate(PIECES)},
            **dict(model),
        },
    }


def wordpiece(folder, *, config=None, tokenizer=None):
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    for name, values in (("_config", config), ("", tokenizer)):
        if values is not None:
            (folder / f"tokenizer{name}.json").write_text(json.dumps(values))
    return read_wordpiece(folder / "vocab.txt")


@pytest.mark.parametrize(
    ("config", "tokenizer", "expected"),
    [
        (None, None, "Café 中 文"),
        ({}, None, "cafe 中 文"),
        (LOWER, None, "cafe 中 文"),
        (CASED, None, "Café 中 文"),
        ({"strip_accents": False}, None, "café 中 文"),
        ({**CASED, "strip_accents": True}, None, "Cafe 中 文"),
        ({"tokenize_chinese_chars": False}, None, "cafe 中 ##文"),
        (None, {"lowercase": False}, "Café 中 文"),
        (None, {"strip_accents": False}, "café 中 文"),
        (None, {"handle_chinese_chars": False}, "cafe 中 ##文"),
        ({"tokenizer_class": "TokenizersBackend"}, {"lowercase": False}, "Café 中 文"),
        (CASED, {"lowercase": False}, "Café 中 文"),
    ],
)
def test_case_accents_and_chinese_characters(tmp_path, config, tokenizer, expected):
    values = None if tokenizer is None else tokenizer_json(**tokenizer)
    vocabulary = wordpiece(tmp_path, config=config, tokenizer=values)
    (ids,) = vocabulary.encode(["Café 中文"])
    assert [vocabulary.piece(token) for token in ids] == expected.split()


def test_added_tokens_are_found_before_anything_is_done(tmp_path):
    tokens = [added("<e1>", 16), added("Cafe", 7), added("[MASK]", 4, special=True)]
    values = tokenizer_json(tokens=tokens)
    vocabulary = wordpiece(tmp_path, config=LOWER, tokenizer=values)
    assert vocabulary.vocab_size == len(PIECES) + 1
    found = vocabulary.encode_with_offsets("Café <e1>Cafe")
    assert [vocabulary.piece(token) for token in found.ids] == ["cafe", "<e1>", "Cafe"]
    assert (found.starts, found.ends) == ([0, 5, 9], [4, 9, 13])


NAMED = (
    {"additional_special_tokens": ["Cafe"]},
    {"extra_special_tokens": ["Cafe"]},
    {"extra_special_tokens": {"place_token": "Cafe"}},
    {"bos_token": "Cafe", "eos_token": None, "add_bos_token": True},
    {"bos_token": {"content": "Cafe", "normalized": False}},
)


@pytest.mark.parametrize(
    ("file", "values", "token"),
    [
        *(("tokenizer_config.json", {**LOWER, **named}, "Cafe") for named in NAMED),
        *(("special_tokens_map.json", named, "Cafe") for named in NAMED),
        # As older folders have them.
        ("added_tokens.json", {"<e1>": 16, "[MASK]": 4}, "<e1>"),
    ],
)
def test_tokens_that_are_only_named_are_found_whole(tmp_path, file, values, token):
    wordpiece(tmp_path, config=LOWER)
    (tmp_path / file).write_text(json.dumps(values))
    vocabulary = read_wordpiece(tmp_path / "vocab.txt")
    (ids,) = vocabulary.encode([f"Café {token}cafe"])
    assert [vocabulary.piece(each) for each in ids] == ["cafe", token, "cafe"]


def test_what_is_written_of_the_rules_reads_as_the_same(tmp_path):
    config = {
        **CASED,
        "strip_accents": True,
        "tokenize_chinese_chars": False,
        "added_tokens_decoder": {"16": added("<e1>", 16)},
    }
    first = wordpiece(tmp_path, config=config)
    second = wordpiece(tmp_path, config=first.config)
    assert second.config == first.config
    assert second.sha256 == first.sha256
    assert wordpiece(tmp_path, config=CASED).sha256 != first.sha256


@pytest.mark.parametrize(
    ("config", "tokenizer", "words"),
    [
        (CASED, tokenizer_json(), "disagree on capital letters"),
        ({"strip_accents": False}, tokenizer_json(), "disagree on capital letters"),
        ({"tokenizer_class": "BertJapaneseTokenizer"}, None, "BertJapaneseTokenizer"),
        (None, tokenizer_json(clean_text=False), "the clean_text of its normalizer is False"),
        (None, tokenizer_json(type="NFC"), "the type of its normalizer is 'NFC'"),
        (None, tokenizer_json(model={"unk_token": "?"}), "the unk_token of its model is '?'"),
        (None, tokenizer_json(model={"vocab": {"a": 0}}), "has other pieces than"),
        (None, tokenizer_json(model={"vocab": {"a": 5}}), "not numbered from 0"),
        (None, tokenizer_json(model={"vocab": {"a\n": 0}}), "a piece has a line end"),
        (None, tokenizer_json(tokens=[added("<e1>", 40)]), "added tokens (<e1>)"),
        ({"bos_token": "<e1>"}, None, "added tokens (<e1>)"),
        (None, tokenizer_json(tokens=[{"id": 16}]), "is damaged"),
        (None, {}, "is damaged: it has no 'model'"),
    ],
)
def test_what_cannot_be_done_is_refused(tmp_path, config, tokenizer, words):
    assert words in refusal(wordpiece, tmp_path, config=config, tokenizer=tokenizer)
