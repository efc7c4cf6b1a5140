import sys

import pytest

from pipeline.vocabulary.wordpiece import SPECIAL_PIECES, WordPiece, read_pieces
from tests.refusals import refusal

# As Google's Chinese vocabulary is ordered: the special pieces stand after unused ones.
PIECES = (
    *("[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "\u2028"),
    *("un", "##aff", "##able", "##able\u0301", "cafe", "ok", ",", "!"),
    *("\u8a9e", "\u8a00"),
    *("0", "##0", "a", "##a", "##b", "b"),
)
VOCABULARY = "\n".join(PIECES).encode() + b"\n"


@pytest.fixture(scope="module")
def wordpiece():
    return WordPiece(VOCABULARY, path="vocab.txt")


def shown(wordpiece, text):
    tokens = wordpiece.encode_with_offsets(text)
    assert wordpiece.encode([text]) == [tokens.ids]
    return [(wordpiece.piece(token), text[a:b]) for token, a, b in zip(*tokens, strict=True)]


def test_the_special_pieces_stand_where_those_of_every_vocabulary_do(wordpiece):
    found = [wordpiece.piece(number) for number in range(wordpiece.vocab_size)]
    assert found == [*SPECIAL_PIECES, "[unused1]", *PIECES[6:]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unaffable", [("un", "un"), ("##aff", "aff"), ("##able", "able")]),
        ("  OK,\tCaf\u00e9!", [("ok", "OK"), (",", ","), ("cafe", "Caf\u00e9"), ("!", "!")]),
        ("\u8a00\u8a9eok", [("\u8a00", "\u8a00"), ("\u8a9e", "\u8a9e"), ("ok", "ok")]),
        ("[MASK]", [("[UNK]", "["), ("[UNK]", "MASK"), ("[UNK]", "]")]),
    ],
    ids=["the longest first", "spaces, capitals, accents and marks", "Han", "a special piece"],
)
def test_text_is_divided_as_bert_does_and_told_where_it_stands(wordpiece, text, expected):
    assert shown(wordpiece, text) == expected


def test_a_vocabulary_with_capitals_keeps_them_and_accents():
    cased = WordPiece(VOCABULARY + b"OK\n", path="vocab.txt")
    assert shown(cased, "OK ok caf\u00e9") == [("OK", "OK"), ("ok", "ok"), ("[UNK]", "caf\u00e9")]


def test_text_comes_back_as_it_was_normalized(wordpiece):
    text = " Unaffable,\u8a00\u8a9e OK"
    assert wordpiece.normalize(text) == "unaffable , \u8a00 \u8a9e ok"
    assert wordpiece.decode(wordpiece.encode([text])[0]) == "unaffable , \u8a00\u8a9e ok"


def test_all_pieces_but_those_inside_words_start_one(wordpiece):
    inside = [
        wordpiece.piece(number)
        for number in range(wordpiece.vocab_size)
        if not wordpiece.word_starts[number]
    ]
    assert inside == [piece for piece in PIECES if piece.startswith("##")]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"[PAD]\n[UNK]\n", "0 of its lines are [CLS], where there has to be one; copy it again."),
        (
            VOCABULARY + b"[UNK]\n",
            "2 of its lines are [UNK], where there has to be one; copy it again.",
        ),
        (b"\xff\xfe", "vocab.txt is not a vocab.txt: it is not UTF-8; copy it again."),
    ],
    ids=["no special pieces", "one twice", "bytes"],
)
def test_what_is_no_vocab_txt_is_refused(data, sentence):
    assert refusal(read_pieces, data, path="vocab.txt").endswith(sentence)


def test_lines_that_end_in_crlf_are_the_same_pieces():
    assert read_pieces(VOCABULARY.replace(b"\n", b"\r\n"), path="") == list(PIECES)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert refusal(WordPiece, VOCABULARY, path="vocab.txt") == (
        "vocab.txt is a WordPiece vocabulary, which needs a package that is not "
        'installed; run pip install "albert-pretraining[wordpiece]".'
    )
