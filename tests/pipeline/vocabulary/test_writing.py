"""The files of a vocabulary, and that AutoTokenizer divides text by them as it does."""

from collections import Counter

import pytest

from pipeline.core.documents import ReadingCounts
from pipeline.core.protobuf import nested
from pipeline.vocabulary import writing
from pipeline.vocabulary.sampling import SampledText
from schemas.config import VocabConfig
from schemas.example import SPECIAL_TOKENS, UNK_ID
from schemas.files import write_json
from tests.huggingface_albert import assert_equal_but_for_ties


def test_the_card_counts_pieces_words_and_the_unknown(tokenizer):
    texts = ["the value of the object", "☃ is the value"]
    pieces = [piece for ids in tokenizer.encode(texts) for piece in ids]
    assert writing.vocabulary_card(tokenizer, texts) == {
        "held_out_sentences": 2,
        "unknown_rate": round(pieces.count(UNK_ID) / len(pieces), 6),
        "pieces_per_word": round(len(pieces) / 9, 4),
        "characters_per_piece": round(len("".join(texts)) / len(pieces), 4),
    }


def test_the_card_of_no_sentences_is_empty(tokenizer):
    rates = dict.fromkeys(("unknown_rate", "pieces_per_word", "characters_per_piece"), 0.0)
    assert writing.vocabulary_card(tokenizer, []) == {"held_out_sentences": 0, **rates}


def test_the_listing_has_each_piece_with_its_score(model, tokenizer):
    lines = writing.vocabulary_listing(model).splitlines()
    assert len(lines) == 2000
    assert lines[:6] == [f"{piece}\t0" for piece in (*SPECIAL_TOKENS, "(")]
    assert lines[1999] == f"{tokenizer.piece(1999)}\t{tokenizer.score(1999):g}"


def test_the_manifest_describes_the_vocabulary(model, tokenizer):
    counts = ReadingCounts(documents=3, sentences=7, dropped=Counter({"not UTF-8": 1}))
    text = SampledText(["a", "b"], ["the value"], counts, {"documents": 3}, [])
    config = VocabConfig(vocab_size=2000, keep_accents=False)
    manifest = writing.vocabulary_manifest(model, text, config, [])
    assert manifest == {
        **{"format": "albert-vocabulary", "format_version": 1},
        "config": {
            **{"vocab_size": 2000, "sample_sentences": 1_000_000, "seed": 12345},
            **{"cased": False, "keep_accents": False},
        },
        "vocabulary": {"file": "spiece.model", "sha256": tokenizer.sha256, "size": 2000},
        **{"inputs": [], "documents": 3, "sentences": 7, "trained_on": 2},
        "card": {
            **{"held_out_sentences": 1, "unknown_rate": 0.0},
            **{"pieces_per_word": 1.0, "characters_per_piece": 4.5},
        },
        **{"text": {"documents": 3}, "dropped": {"not UTF-8": 1}, "changed": {}},
    }


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
    write_json(folder / "tokenizer.json", writing.tokenizer_json(model))
    write_json(folder / "tokenizer_config.json", writing.tokenizer_config(512))
    return folder


def test_the_pieces_are_those_of_the_model_and_its_special_ones_the_only_added_tokens(
    model, tokenizer
):
    values = writing.tokenizer_json(model)
    added, vocab = values["added_tokens"], values["model"]["vocab"]
    assert [(token["id"], token["content"]) for token in added] == [*enumerate(SPECIAL_TOKENS)]
    assert [p for p, _ in vocab] == [tokenizer.piece(i) for i in range(tokenizer.vocab_size)]


def test_the_rules_for_two_characters_come_before_those_for_one(model):
    first, second, third, *_ = writing.tokenizer_json(model)["normalizer"]["normalizers"]
    assert [first, second] == [
        {"type": "Replace", "pattern": {"String": "``"}, "content": '"'},
        {"type": "Replace", "pattern": {"String": "''"}, "content": '"'},
    ]
    assert third["type"] == "Precompiled"


def test_a_field_that_holds_a_number_is_no_message():
    with pytest.raises(ValueError, match="field 1 holds a number"):
        list(nested(b"\x08\x01", 1))


@pytest.mark.slow
def test_autotokenizer_gives_the_ids_of_sentencepiece_but_for_ties(folder, tokenizer, sentences):
    transformers = pytest.importorskip("transformers")
    loaded = transformers.AutoTokenizer.from_pretrained(folder)
    texts = [line for line in LINES if "[MASK]" not in line and "<pad>" not in line]
    texts += sentences
    theirs = loaded(texts, add_special_tokens=False)["input_ids"]
    assert_equal_but_for_ties(theirs, tokenizer.encode(texts), tokenizer)


@pytest.mark.slow
def test_autotokenizer_builds_pairs_as_make_data_does(folder):
    transformers = pytest.importorskip("transformers")
    pair = transformers.AutoTokenizer.from_pretrained(folder)("one [MASK]", "two")
    assert [pair["input_ids"][0], pair["input_ids"][-1]] == [2, 3]
    assert pair["input_ids"].count(3) == 2
    assert 4 in pair["input_ids"]
    first = pair["input_ids"].index(3)
    assert pair["token_type_ids"] == [int(place > first) for place in range(len(pair["input_ids"]))]
