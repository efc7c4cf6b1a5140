import hashlib

import numpy as np
import pytest
import sentencepiece

from pipeline.core.protobuf import number_field
from pipeline.vocabulary import tokenizer as vocabulary
from pipeline.vocabulary.tokenizer import (
    load_tokenizer,
    model_of_pieces,
    read_spm_model,
    starts_word,
)
from schemas.errors import AlbertError
from schemas.example import SPACE, SPECIAL_TOKENS
from tests.refusals import refusal

# What the published code calls punctuation: all of ASCII's but ' < = >.
PUBLISHED_PUNCTUATION = set('!"#$%&()*+,-./:;?@[\\]^_`{|}~')
ENGLISH = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def published_rule(piece):
    """Whether a piece starts a word: google-research/albert, `_is_start_piece_sp`."""
    return (
        piece.startswith((SPACE, "<"))
        or piece in PUBLISHED_PUNCTUATION
        or not set(piece) <= ENGLISH | PUBLISHED_PUNCTUATION
    )


def words_by(rule, pieces):
    """The words of a text given as pieces, with + between those of a word."""
    words = []
    for piece in pieces.split():
        if rule(piece) or not words:
            words.append(piece)
        else:
            words[-1] += "+" + piece
    return " ".join(words)


@pytest.mark.parametrize(
    "expected",
    [
        "▁the ▁un+believ+able ▁dog '+s ▁bone , ▁( 19 84 )",
        "▁не+веро+ятн+ый ▁дом , ▁+да",
        "▁απιστ+ευτ+ο ▁σπιτι ·",
        "▁لا ▁يصد+ق ، ▁بيت",
        "▁ 私 は 東京 に ▁ スーパー 。",
        "▁ ภาษา ไทย สวย ๆ",
        "▁한국+어 ▁책 .",
    ],
)
def test_words_in_several_languages(expected):
    assert words_by(starts_word, expected.replace("+", " ")) == expected


@pytest.mark.parametrize(
    ("pieces", "published", "ours"),
    [
        ("▁the ▁ , 1984 9, 日本 ー ก <unk>", True, True),
        # Scripts without spaces, symbols, and digits of any script.
        ("ກ ཀ ក က 漢 々 ぁ ｱ 𠀀 € – ² ٣", True, True),
        ("ing -- ). s", False, False),
        ("ов ευ يصد 's ’s é 어 веро ятн ый", True, False),
    ],
    ids=["all alike", "other scripts and symbols", "the rest of a word", "other alphabets"],
)
def test_pieces_that_start_a_word_by_the_published_rule_and_here(pieces, published, ours):
    for piece in pieces.split():
        assert (published_rule(piece), starts_word(piece)) == (published, ours), piece


def test_word_starts_are_known_for_every_piece(tokenizer):
    starts = tokenizer.word_starts.tolist()
    pieces = [tokenizer.piece(i) for i in range(tokenizer.vocab_size)]
    assert starts == list(map(starts_word, pieces))
    assert starts[: len(SPECIAL_TOKENS)] == [True] * 5


def test_texts_are_encoded_as_by_sentencepiece(tokenizer, model, sentences):
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    texts = sentences[:500]
    assert tokenizer.encode(texts) == [processor.EncodeAsIds(text) for text in texts]


def test_nothing_is_left_of_blanks_and_marks(tokenizer):
    assert tokenizer.encode(["", "  \t", "\u0301\u200b"]) == [[], [], []]


def test_special_pieces_in_a_text_are_text(tokenizer):
    (ids,) = tokenizer.encode(["a [MASK] and a [SEP] and a <pad>"])
    assert not {0, 2, 3, 4} & set(ids)


def test_a_model_is_loaded_once_and_its_hash_and_size_are_known(model):
    tokenizer = load_tokenizer(model)
    assert tokenizer is load_tokenizer(bytes(model))
    assert tokenizer.vocab_size == 2000
    assert tokenizer.sha256 == hashlib.sha256(model).hexdigest()


def test_a_vocabulary_is_a_folder_or_a_file(tmp_path, model):
    (tmp_path / "spiece.model").write_bytes(model)
    assert read_spm_model(tmp_path) == model
    assert read_spm_model(tmp_path / "spiece.model") == model


def test_the_wordpiece_vocabulary_of_an_import_is_named(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\n")
    assert refusal(read_spm_model, tmp_path) == (
        f"{tmp_path}/vocab.txt is not a SentencePiece model, or not a whole one (a WordPiece "
        "vocabulary or a text file cannot be used); copy it again, or make one with albert vocab."
    )


def with_piece(model, text):
    """A model with another text of its last piece, of the same length."""
    tokenizer = load_tokenizer(model)
    last = tokenizer.piece(tokenizer.vocab_size - 1).encode()
    return model.replace(last, text * len(last))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda model: with_piece(model, b"\xff"), "'utf-8' codec can't decode byte"),
        (lambda model: model + number_field(3, 7), "field 3 holds a number"),
    ],
)
def test_a_damaged_model_that_sentencepiece_loads_is_refused(tmp_path, model, damage, reason):
    path = tmp_path / "spiece.model"
    path.write_bytes(damage(model))
    sentencepiece.SentencePieceProcessor().LoadFromSerializedProto(damage(model))
    said = refusal(read_spm_model, path)
    assert said.startswith(f"{path} is damaged ({reason}")
    assert said.endswith("); copy it again.")


def test_of_a_file_without_end_no_more_is_read_than_a_model_can_have(monkeypatch):
    monkeypatch.setattr(vocabulary, "MAX_MODEL_BYTES", 1 << 20)
    with pytest.raises(AlbertError, match=r"^/dev/zero is a pipe or a device; give a file"):
        read_spm_model("/dev/zero")


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ("▁прив ' язаному", ["▁прив'язаному"]),
        ("▁прив ’ язаному", ["▁прив’язаному"]),
        ("▁col · legi", ["▁col·legi"]),
        ('▁ארה " ב', ['▁ארה"ב']),
        ("▁מנכ ״ ל", ["▁מנכ״ל"]),
        ("▁don ' t", ["▁don", "'t"]),
        ('▁слово " ▁дом', ["▁слово", '"', "▁дом"]),
        ("▁слово ' ▁дом", ["▁слово", "'", "▁дом"]),
        ("▁дом · 3", ["▁дом", "·", "3"]),
        ("' прив", ["'прив"]),
    ],
)
def test_a_mark_between_letters_is_inside_of_their_word(pieces, words):
    found = list(dict.fromkeys(pieces.split()))
    model = model_of_pieces([(piece, 0.0) for piece in (*SPECIAL_TOKENS, *found)], b"")
    ids = np.array([len(SPECIAL_TOKENS) + found.index(piece) for piece in pieces.split()])
    shown = pieces.split()
    starts = load_tokenizer(model).starts(ids).tolist()
    joined = "".join(f" {one}" if start else one for one, start in zip(shown, starts, strict=True))
    assert joined.split() == words
