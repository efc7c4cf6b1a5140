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

NUMBER = 2000
WORDS = (
    *("the", "a", "an", "The", "Rhine", "rhine", "river,", "10th", "century;", "U.S."),
    *("Émile's", "3.5", "km²", "the.", "—", "«north»", "(of)", "Basel", "an,", "1,000"),
    *("m-dash", "$5", "'a'", "A.D.", "über", "THE_", "end!", "x"),
)
PARTS = (
    *("北", "京", "市", "大", "学", "中", "国", "的", "，", "。", "《", "》", "、"),
    *("·", "（", "）", "NBA", "40km", "3.5", "1,000", "Henry A. Walsh", "km²", "°"),
    *(" ", "-", "%", "(", "U.S.", "—", "Ａ．", "2018"),
)


def generator(seed):
    return np.random.Generator(np.random.PCG64(seed))


def made_answers(*, seed=0, has_unanswerable=False, parts=WORDS, between=" "):
    """What is said of each question and all that is right: parts of one of these,
    in another case, with something before or after."""
    rng, made = generator(seed), []

    def some(least, most):
        chosen = rng.integers(0, len(parts), int(rng.integers(least, most)))
        words = [parts[number] for number in chosen]
        # What is nothing but articles and marks is an answer to the script of SQuAD
        # 1.1, and half of one to that of SQuAD 2.0; here it is none.
        words.insert(int(rng.integers(len(words) + 1)), parts[int(rng.integers(4, 6))])
        return words

    for _ in range(NUMBER):
        golds = [some(0, 6) for _ in range(rng.integers(1, 4))]
        said = list(golds[int(rng.integers(len(golds)))])
        first = int(rng.integers(0, 2))
        said = said[first : len(said) - int(rng.integers(0, 2))]
        said = some(0, 2) + said if rng.random() < 0.5 else said + some(0, 2)
        if rng.random() < 0.1:
            said = []
        if has_unanswerable and rng.random() < 0.3:
            golds = []
        text = between.join(said)
        text = text.upper() if rng.random() < 0.2 else text
        made.append((text, tuple(map(between.join, golds))))
    return made


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
    # How much likelier no answer is, different for each question, and often right.
    null_scores = generator(2).permutation(NUMBER) / 100 - 10
    null_scores += [0.0 if golds else 7.005 for _, golds in made]
    assert percent(answers.exact_match, made) == close_to(14.45)
    assert percent(answers.answer_f1, made) == close_to(53.3568179043177)
    for measure, best, threshold in (
        (answers.answer_f1, 63.40681790431819, 9.99),
        (answers.exact_match, 35.45, -3.17),
    ):
        found_threshold, worth = answers.best_null_threshold(
            null_scores,
            [answers.best_of(measure, said, golds) for said, golds in made],
            [answers.best_of(measure, "", golds) for _, golds in made],
        )
        assert 100 * worth == close_to(best)
        assert found_threshold == close_to(threshold)


def test_chinese_answers_are_worth_what_the_script_of_cmrc_says():
    made = made_answers(seed=1, parts=PARTS, between="")
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
