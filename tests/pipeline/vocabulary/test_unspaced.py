"""Vocabularies of scripts without spaces: no invented spaces, words of one script."""

import numpy as np
import pytest

from pipeline.vocabulary.tokenizer import load_tokenizer
from pipeline.vocabulary.training import train_vocabulary
from pipeline.vocabulary.writing import tokenizer_config, tokenizer_json
from schemas.config import VocabConfig
from schemas.example import SPACE
from schemas.files import write_json

JAPANESE = [
    *("今日は港に船が着いた。", "誰も手を振らなかった。"),
    *("学校はPythonの入門を教える。", "彼はTensorFlowで模型を訓練した。"),
    *("東京 (Tokyo) は2019年に雨だった。", "Python for beginners.", "「雨だったのか？」"),
]
THAI = ["วันนี้ อากาศดี มาก", "ผมไปตลาด ซื้อปลา", "ร้าน Python เปิด 9 โมง"]


def vocabulary(texts, size):
    return train_vocabulary(texts * 50, VocabConfig(vocab_size=size))


@pytest.fixture(scope="module")
def japanese():
    return vocabulary(JAPANESE, 78)


@pytest.fixture(scope="module")
def tokenizer(japanese):
    return load_tokenizer(japanese)


def words(tokenizer, text):
    """The words of a text."""
    (ids,) = tokenizer.encode([text])
    found = []
    for start, piece_id in zip(tokenizer.starts(np.array(ids)), ids, strict=True):
        if start or not found:
            found.append("")
        found[-1] += tokenizer.piece(piece_id)
    return found


@pytest.mark.parametrize(
    "text",
    [
        *(t for t in JAPANESE if not t.isascii()),
        *("東京 大阪　京都", "船 が Python ( 2 )。", "。", "1914"),
    ],
)
def test_no_token_is_a_space_alone(tokenizer, text):
    (ids,) = tokenizer.encode([text])
    assert SPACE not in [tokenizer.piece(token) for token in ids]


@pytest.mark.parametrize(
    "text",
    [
        *("学校はPythonの入門", "彼は、Pythonで", "入門（Python）を"),
        *("Pythonの入門", "学校は Python の入門"),
    ],
)
def test_a_change_of_script_begins_a_word(tokenizer, text):
    assert "python" in words(tokenizer, text)


def test_a_text_of_other_scripts_begins_with_a_space(tokenizer):
    (ids,) = tokenizer.encode(["Python for beginners"])
    assert tokenizer.piece(ids[0]).startswith(SPACE)
    assert tokenizer.decode(ids) == "python for beginners"


def test_what_follows_a_mask_is_divided_as_in_training(tokenizer):
    (whole,) = tokenizer.encode(["船が着いた。"])
    assert tokenizer.encode_after(" が着いた。") == tokenizer.encode_after("が着いた。")
    assert whole[-len(tokenizer.encode_after("着いた。")) :]


def test_offsets_are_those_of_the_text_as_given(tokenizer):
    text = "東京 (Tokyo) は 2019 年"
    tokenized = tokenizer.encode_with_offsets(text)
    shown = [text[a:b] for a, b in zip(tokenized.starts, tokenized.ends, strict=True)]
    assert "".join(shown) == text.replace(" ", "")
    assert (tokenized.ids,) == tuple(tokenizer.encode([text]))


def test_spaces_between_clauses_of_thai_belong_to_the_clause_after_them():
    tokenizer = load_tokenizer(vocabulary(THAI, 46))
    for text in THAI:
        found = words(tokenizer, text)
        assert not found[0].startswith(SPACE)
        assert SPACE not in found
    assert any(word.startswith(SPACE) for word in words(tokenizer, THAI[0]))


@pytest.mark.slow
def test_autotokenizer_divides_such_text_alike(japanese, tokenizer, tmp_path):
    transformers = pytest.importorskip("transformers")
    write_json(tmp_path / "tokenizer.json", tokenizer_json(japanese))
    write_json(tmp_path / "tokenizer_config.json", tokenizer_config(512))
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in [*JAPANESE, "東京 大阪", "船 が Python ( 2 )。", "1914", "for 東京"]:
        expected = tokenizer.encode([text])[0]
        assert theirs.encode(text, add_special_tokens=False) == expected, text
