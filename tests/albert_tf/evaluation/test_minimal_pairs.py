"""Minimal pairs as BLiMP and Zorro are distributed."""

import pytest

from albert_tf.evaluation.minimal_pairs import MinimalPair, read_minimal_pairs
from schemas.errors import AlbertError


def test_json_lines_name_the_paradigm(tmp_path):
    path = tmp_path / "agreement.jsonl"
    path.write_text(
        '{"sentence_good": "Dogs bark.", "sentence_bad": "Dogs barks.", "UID": "sva"}\n'
        "\n"
        '{"sentence_good": "She runs.", "sentence_bad": "She run."}\n'
    )
    assert read_minimal_pairs(path) == [
        MinimalPair("sva", "Dogs bark.", "Dogs barks."),
        MinimalPair("agreement", "She runs.", "She run."),
    ]


def test_of_lines_of_text_every_second_one_is_grammatical(tmp_path):
    path = tmp_path / "case.txt"
    path.write_text("him runs .\nhe runs .\n")
    assert read_minimal_pairs(path) == [MinimalPair("case", "he runs .", "him runs .")]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (
            "a.jsonl",
            b'{"sentence_good": "A."}\n',
            "line 1 has no sentence_good and sentence_bad; give files of BLiMP or "
            "Zorro.",
        ),
        (
            "a.jsonl",
            b"[" * 100_000,
            "line 1 has no sentence_good and sentence_bad; give files of BLiMP or "
            "Zorro.",
        ),
        (
            "a.txt",
            b"One.\n",
            "has 1 sentences; give JSON lines with sentence_good and sentence_bad, or "
            "lines of which every second one is the grammatical form of the one "
            "before.",
        ),
        ("a.txt", b"\xff\xfe", "cannot be read: not UTF-8."),
    ],
)
def test_other_files_are_refused_in_one_sentence(tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(AlbertError) as refusal:
        read_minimal_pairs(path)
    assert str(refusal.value).removeprefix(f"{path}").lstrip(": ") == sentence
