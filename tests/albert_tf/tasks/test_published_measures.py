"""Measures of 2,000 made predictions, as other programs have them.

What SQuAD's and CMRC's own scripts say of the made answers was computed once, by
google-research/albert (b772393, `squad_utils.py`, which has both of SQuAD's scripts)
and ymcui/cmrc2018 (c0eb1b6, `cmrc2018_evaluate.py`, with NLTK 3.10.4). The other
programs are asked each time.
"""

import numpy as np
import pytest

from albert_tf.tasks import answers
from albert_tf.tasks.tags import count_entities
from tests.albert_tf.tasks.made_predictions import (
    NUMBER,
    generator,
    made_answers,
    made_chinese_answers,
    made_null_scores,
)


def close_to(value):
    return pytest.approx(value, abs=1e-9, rel=0)


def percent(measure, made):
    values = [answers.best_of(measure, said, golds) for said, golds in made]
    return 100 * sum(values) / len(values)


def test_answers_are_worth_what_the_script_of_squad_1_says():
    made = made_answers()
    assert percent(answers.exact_match, made) == close_to(14.55)
    assert percent(answers.answer_f1, made) == close_to(71.32382561882591)


def test_answers_and_their_threshold_are_worth_what_the_script_of_squad_2_says():
    made = made_answers(seed=3, has_unanswerable=True)
    assert percent(answers.exact_match, made) == close_to(14.45)
    assert percent(answers.answer_f1, made) == close_to(53.3568179043177)
    for measure, best, threshold in (
        (answers.answer_f1, 63.40681790431819, 9.99),
        (answers.exact_match, 35.45, -3.17),
    ):
        found_threshold, worth = answers.best_null_threshold(
            made_null_scores(made),
            [answers.best_of(measure, said, golds) for said, golds in made],
            [answers.best_of(measure, "", golds) for _, golds in made],
        )
        assert 100 * worth == close_to(best)
        assert found_threshold == close_to(threshold)


def test_chinese_answers_are_worth_what_the_script_of_cmrc_says():
    made = made_chinese_answers()
    assert percent(answers.cmrc_f1, made) == close_to(60.20031936931308)
    assert percent(answers.cmrc_exact_match, made) == close_to(8.55)


@pytest.mark.slow
def test_entities_are_worth_what_seqeval_says():
    """Also of tags that break the rules: an I- after another type, or after none."""
    seqeval = pytest.importorskip("seqeval.metrics")
    rng, tags = generator(9), ("O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-X", "I-X")
    true, said = [], []
    for _ in range(NUMBER):
        right = rng.choice(len(tags), int(rng.integers(1, 12)), p=[0.4, *[0.1] * 6])
        other = rng.choice(len(tags), len(right))
        guess = np.where(rng.random(len(right)) < 0.7, right, other)
        true.append([tags[number] for number in right])
        said.append([tags[number] for number in guess])
    counts = count_entities(true, said)
    theirs = seqeval.classification_report(true, said, output_dict=True)
    assert {name for name in counts if name} == {"PER", "LOC", "X"}
    for name, count in counts.items():
        expected = theirs[name or "micro avg"]
        assert count.precision == close_to(expected["precision"])
        assert count.recall == close_to(expected["recall"])
        assert count.f1 == close_to(expected["f1-score"])
        assert count.wanted == expected["support"]
