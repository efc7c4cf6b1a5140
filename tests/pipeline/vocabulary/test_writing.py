"""What the files of a vocabulary say of it."""

from collections import Counter

from pipeline.core.counts import ReadingCounts
from pipeline.vocabulary.sampling import KeyedSentence
from pipeline.vocabulary.training import SampledText
from pipeline.vocabulary.writing import (
    vocabulary_card,
    vocabulary_listing,
    vocabulary_manifest,
)
from schemas.config import VocabConfig
from schemas.special_tokens import UNK_ID


def keyed(*texts):
    return [KeyedSentence(key, text) for key, text in enumerate(texts)]


def test_the_card_counts_pieces_words_and_the_unknown(tokenizer):
    texts = ["the value of the object", "☃ is the value"]
    pieces = [piece for ids in tokenizer.encode(texts) for piece in ids]
    assert vocabulary_card(tokenizer, keyed(*texts)) == {
        "held_out_sentences": 2,
        "unknown_rate": round(pieces.count(UNK_ID) / len(pieces), 6),
        "pieces_per_word": round(len(pieces) / 9, 4),
        "characters_per_piece": round(len("".join(texts)) / len(pieces), 4),
    }


def test_the_card_of_no_sentences_is_empty(tokenizer):
    assert vocabulary_card(tokenizer, []) == {
        "held_out_sentences": 0,
        "unknown_rate": 0.0,
        "pieces_per_word": 0.0,
        "characters_per_piece": 0.0,
    }


def test_the_listing_has_each_piece_with_its_score(model, tokenizer):
    lines = vocabulary_listing(model).splitlines()
    assert len(lines) == 2000
    assert lines[:6] == [
        "<pad>\t0",
        "<unk>\t0",
        "[CLS]\t0",
        "[SEP]\t0",
        "[MASK]\t0",
        "(\t0",
    ]
    assert lines[1999] == f"{tokenizer.piece(1999)}\t{tokenizer.score(1999):g}"


def test_the_manifest_describes_the_vocabulary(model, tokenizer):
    counts = ReadingCounts(documents=3, sentences=7, dropped=Counter({"not UTF-8": 1}))
    text = SampledText(keyed("a", "b"), keyed("the value"), counts)
    manifest = vocabulary_manifest(model, text, VocabConfig(vocab_size=2000), [])
    assert manifest == {
        "format": "albert-vocabulary",
        "format_version": 1,
        "config": {
            "vocab_size": 2000,
            "sample_sentences": 1_000_000,
            "cased": False,
            "keep_accents": False,
            "seed": 12345,
        },
        "vocabulary": {
            "file": "spiece.model",
            "sha256": tokenizer.sha256,
            "size": 2000,
        },
        "inputs": [],
        "documents": 3,
        "sentences": 7,
        "trained_on": 2,
        "card": {
            "held_out_sentences": 1,
            "unknown_rate": 0.0,
            "pieces_per_word": 1.0,
            "characters_per_piece": 4.5,
        },
        "dropped": {"not UTF-8": 1},
        "changed": {},
    }
