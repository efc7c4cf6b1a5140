"""Minimal pairs as BLiMP and Zorro are distributed."""

import pytest

from albert_tf.evaluation import minimal_pairs
from albert_tf.evaluation.minimal_pairs import MinimalPair, read_minimal_pairs
from cli.support.trained_model import plain_vocabulary
from schemas.example import CLS_ID, SEP_ID
from tests.refusals import refusal

# A file of pairs, and these.
FILES = {
    "agreement.jsonl": (
        '{"sentence_good": "Dogs bark.", "sentence_bad": "Dogs barks.", "UID": "sva"}\n\n'
        '{"sentence_good": "She runs.", "sentence_bad": "She run."}\n',
        [
            MinimalPair("sva", "Dogs bark.", "Dogs barks."),
            MinimalPair("agreement", "She runs.", "She run."),
        ],
    ),
    # A mark of byte order, and what separates lines within a sentence.
    "number.jsonl": (
        '\ufeff{"sentence_good": "Dogs\u2028bark.", "sentence_bad": "Dogs barks."}\r\n',
        [MinimalPair("number", "Dogs\u2028bark.", "Dogs barks.")],
    ),
    "case.txt": ("him runs .\nhe runs .\n", [MinimalPair("case", "he runs .", "him runs .")]),
}


@pytest.mark.parametrize("name", FILES)
def test_json_lines_name_the_paradigm_and_of_lines_of_text_every_second_is_right(tmp_path, name):
    content, pairs = FILES[name]
    (tmp_path / name).write_bytes(content.encode())
    assert read_minimal_pairs(tmp_path / name) == pairs


NO_PAIR = "line 1 has no sentence_good and sentence_bad; give files of BLiMP or Zorro."


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.jsonl", b'{"sentence_good": "A."}\n', NO_PAIR),
        ("a.jsonl", rb'{"sentence_good": "A \ud83d.", "sentence_bad": "A."}', NO_PAIR),
        ("a.jsonl", b"[" * 100_000, NO_PAIR),
        (
            *("a.txt", b"One.\n"),
            "has 1 sentences; give JSON lines with sentence_good and sentence_bad, or lines of "
            "which every second one is the grammatical form of the one before.",
        ),
        ("a.txt", b"\xff\xfe", "cannot be read: not UTF-8."),
    ],
)
def test_other_files_are_refused_in_one_sentence(tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content)
    assert refusal(read_minimal_pairs, path).removeprefix(f"{path}").lstrip(": ") == sentence


PAIRS = [
    MinimalPair("order", "the dog barks.", "dog the barks."),
    MinimalPair("number", "dogs bark.", "dogs barks."),
    MinimalPair("order", "a cat.", "cat a."),
]


def test_of_each_paradigm_the_first_pairs_are_taken():
    assert list(minimal_pairs.first_of_paradigms(PAIRS, maximum=1)) == PAIRS[:2]
    assert list(minimal_pairs.first_of_paradigms(PAIRS, maximum=None)) == PAIRS


def test_every_word_of_a_sentence_is_predicted_and_punctuation_too(tokenizer):
    texts = [text for pair in PAIRS for text in (pair.good, pair.bad)]
    rows = minimal_pairs.sentence_rows(PAIRS, tokenizer.encode(texts), longest=20)
    assert len(rows) == 6
    words = minimal_pairs.words_of_sentences(rows[:1], plain_vocabulary(tokenizer))
    spelled = ["".join(map(tokenizer.piece, rows[0][word.start : word.end])) for word in words]
    assert spelled == ["▁the", "▁dog", "▁barks", "."]
    assert (rows[0][0], rows[0][-1]) == (CLS_ID, SEP_ID)
