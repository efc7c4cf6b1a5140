"""Which of two runs is better, by the words that both were asked about."""

import math
import re

import numpy as np
import pytest

from albert_tf.reporting.run_report import compared
from albert_tf.runs.metrics import WORD_LOSSES, write_evaluation
from albert_tf.runs.run_record import read_run
from tests.evaluations import evaluation
from tests.runs import write_records

WORDS = 1000


def run(folder, bits, *, keys=range(WORDS), text="novels", step=7):
    """A run whose words cost so many bits a character, give or take."""
    if not folder.exists():
        write_records(folder)
    # What each word costs is the same in all runs; how much better one is, nearly so.
    of_word = np.random.default_rng(1).gamma(2.0, size=max(keys) + 1)
    own = np.random.default_rng(len(folder.name)).normal(bits, 0.1, size=max(keys) + 1)
    losses = {
        "keys": list(keys),
        "characters": [5] * len(keys),
        "losses": [5 * math.log(2) * (of_word[key] + own[key]) for key in keys],
    }
    one = evaluation(step=step) | {"text": text, WORD_LOSSES: losses}
    write_evaluation(folder, one)
    return read_run(folder, title=folder.name)


def test_the_better_run_is_named_with_an_interval_and_what_it_was_trained_on(tmp_path):
    a, bb = run(tmp_path / "a", 2.0), run(tmp_path / "bb", 2.1)
    said = compared(a, bb)
    assert said == compared(bb, a)
    found = re.fullmatch(
        r"a is better than bb by (.*) bits per character \((.*) to (.*)\), over 1,000 "
        r"words of novels \(abababababab\), steps 7 and 7\.",
        said,
    )
    value, low, high = map(float, found.groups())
    # Of single words, the losses vary ten times as much as the differences.
    assert value == pytest.approx(0.1, abs=0.02)
    assert 0.015 < high - low < 0.02
    assert low < value < high
    bb.evaluations[0]["trained_on"] = ["novels.txt"]
    assert compared(a, bb) == f"{said} bb was trained on this text."


def test_runs_that_differ_by_chance_are_not_told_apart(tmp_path):
    said = compared(run(tmp_path / "a", 2.0), run(tmp_path / "bb", 2.0))
    assert said.startswith("a and bb cannot be told apart: ")
    assert " to " in said


def test_runs_are_compared_over_the_words_that_both_have(tmp_path):
    a = run(tmp_path / "a", 2.0, keys=range(700), text="one vocabulary")
    bb = run(tmp_path / "bb", 2.5, keys=range(100, 800), text="another vocabulary")
    said = compared(a, bb)
    assert "over 600 words" in said
    assert "different letters" not in said


def test_vocabularies_that_keep_different_letters_are_told_of(tmp_path):
    a = run(tmp_path / "a", 2.0)
    bb = run(tmp_path / "bb", 2.5, keys=range(WORDS - 600, 2 * WORDS))
    assert compared(a, bb).endswith(
        "Only these of 1,000 words are the same for both: other parts of the text were measured, "
        "or the vocabularies keep different letters (case, accents); text without these is easier."
    )


def test_the_newest_of_several_evaluations_counts(tmp_path):
    run(tmp_path / "a", 9.0, step=7)
    a = run(tmp_path / "a", 2.0, step=9)
    bb = run(tmp_path / "bb", 3.0)
    assert compared(a, bb).startswith("a is better than bb by 1.0")
    assert "steps 9 and 7" in compared(a, bb)


def test_why_runs_cannot_be_compared_is_said(tmp_path):
    a = run(tmp_path / "a", 2.0)
    bb = read_run(write_records(tmp_path / "bb"), title="bb")
    assert compared(a, bb) == (
        "a and bb cannot be compared: bb has no words of albert evaluate; run it on "
        "both, with the same --text or --data."
    )
    bb = run(tmp_path / "bb", 2.0, keys=range(WORDS - 10, 2 * WORDS), text="news")
    assert compared(a, bb) == (
        "a and bb cannot be compared: albert evaluate measured them on different text "
        "(novels (abababababab) and news (abababababab)) with 10 words in common; run "
        "it on both with the same --text."
    )
