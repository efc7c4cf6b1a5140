"""The vocabulary folder in Hugging Face's AutoTokenizer."""

import pytest

from pipeline.core.protobuf import nested
from pipeline.vocabulary.tokenizer_json import tokenizer_config, tokenizer_json
from schemas.json_file import write_json
from tests.huggingface_albert import assert_equal_but_for_ties

LINES = [
    "The quick brown fox, 1984.",
    "  two  spaces\tand\xa0more ",
    "``Quoted'' and ''again'', (in) \"three\" ways - or £5 – €6.",
    "Ünïcödé ﬁne ＦＵＬＬ width ½ ™",
    "e\u0301 decomposed, Ελληνικά, русский й, العربية، ไทย, 日本語ガ, 한국어",
    "[MASK] and <pad> as text",
    "",
]


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocab")
    write_json(folder / "tokenizer.json", tokenizer_json(model))
    write_json(folder / "tokenizer_config.json", tokenizer_config())
    return folder


def test_the_special_pieces_are_the_only_added_tokens(model):
    added = tokenizer_json(model)["added_tokens"]
    assert [(token["id"], token["content"]) for token in added] == [
        (0, "<pad>"),
        (1, "<unk>"),
        (2, "[CLS]"),
        (3, "[SEP]"),
        (4, "[MASK]"),
    ]


def test_the_pieces_are_those_of_the_model(model, tokenizer):
    vocab = tokenizer_json(model)["model"]["vocab"]
    assert [piece for piece, _ in vocab] == [
        tokenizer.piece(i) for i in range(tokenizer.vocab_size)
    ]


def test_the_rules_for_two_characters_come_before_those_for_one(model):
    first, second, third, *_ = tokenizer_json(model)["normalizer"]["normalizers"]
    assert [first, second] == [
        {"type": "Replace", "pattern": {"String": "``"}, "content": '"'},
        {"type": "Replace", "pattern": {"String": "''"}, "content": '"'},
    ]
    assert third["type"] == "Precompiled"


def test_a_field_that_holds_a_number_is_no_message():
    with pytest.raises(ValueError, match="field 1 holds a number"):
        list(nested(b"\x08\x01", 1))


@pytest.mark.slow
def test_autotokenizer_gives_the_ids_of_sentencepiece_but_for_exact_ties(
    folder, tokenizer, sentences
):
    transformers = pytest.importorskip("transformers")
    loaded = transformers.AutoTokenizer.from_pretrained(folder)
    texts = [line for line in LINES if "[MASK]" not in line and "<pad>" not in line]
    texts += [sentence.text for sentence in sentences]
    theirs = loaded(texts, add_special_tokens=False)["input_ids"]
    assert_equal_but_for_ties(theirs, tokenizer.encode(texts), tokenizer)


@pytest.mark.slow
def test_autotokenizer_builds_pairs_as_make_data_does(folder):
    transformers = pytest.importorskip("transformers")
    loaded = transformers.AutoTokenizer.from_pretrained(folder)
    pair = loaded("one [MASK]", "two")
    assert [pair["input_ids"][0], pair["input_ids"][-1]] == [2, 3]
    assert pair["input_ids"].count(3) == 2
    assert 4 in pair["input_ids"]
    first = pair["input_ids"].index(3)
    assert pair["token_type_ids"] == [
        int(place > first) for place in range(len(pair["input_ids"]))
    ]
