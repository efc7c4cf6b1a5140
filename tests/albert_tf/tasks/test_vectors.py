"""Measures of vectors, and the same of TF-IDF and BM25."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from albert_tf.runs.task_record import measures_table
from albert_tf.tasks.baselines import baselines_of, words_in
from albert_tf.tasks.evaluation import answers_from, evaluated, task_of
from schemas.task import EncodedExample, TaskExample, TaskSpec

PAIRS = [
    ("The cat sat on the mat.", "A cat on a mat is warm."),
    ("Rain fell on the harbour.", "The harbour was wet with rain."),
    ("She plays the violin.", "A violin is what she plays."),
]
RANKED = TaskSpec(name="embed", kind="embed", metrics=("recall_at_1", "recall_at_10"))
SCORED = TaskSpec(name="embed", kind="embed", metrics=("spearman",))


def vectors_at(*angles):
    """Units of these angles, two for each pair."""
    return [*np.stack([np.cos(angles), np.sin(angles)], axis=-1)]


def examples(scores=(1.0, 1.0, 1.0)):
    return [
        TaskExample(id=str(n), place="", text=a, text_pair=b, score=score)
        for n, ((a, b), score) in enumerate(zip(PAIRS, scores, strict=True))
    ]


def answered(spec, vectors, given):
    rows = [EncodedExample(example=n, sequences=()) for n in range(len(given))]
    return answers_from(task_of(spec), given, rows, vectors)


def test_pairs_are_measured_by_the_nearest_or_where_scored_by_the_order_of_their_cosines():
    vectors = vectors_at([0.0, 0.1], [1.0, 1.1], [2.0, 0.95])
    result = evaluated(answered(RANKED, vectors, examples()))
    assert result["metrics"] == {"recall_at_1": pytest.approx(1 / 3), "recall_at_10": 1.0}
    assert result["errors"] == []
    vectors = vectors_at([0.0, 0.1], [0.0, 1.0], [0.0, 0.5])
    given = examples(scores=(5.0, 1.0, 3.0))
    assert evaluated(answered(SCORED, vectors, given))["metrics"] == {"spearman": 1.0}


def test_what_is_beside_the_model_has_intervals_too():
    baselines, vectors = {"bm25": [0, 2, 0], "tf-idf": [0, 0, 0]}, vectors_at(*[[0.8, 0.8]] * 3)
    result = evaluated(answered(RANKED, vectors, examples()), baselines=baselines)
    # Wilson's, of two of three and of all.
    intervals = result["baseline_intervals"]
    assert intervals["bm25"]["recall_at_1"] == pytest.approx((0.2077, 0.9385), abs=1e-4)
    assert intervals["tf-idf"]["recall_at_1"] == pytest.approx((0.4385, 1), abs=1e-4)
    (first, _) = measures_table(result).rows
    assert first[2:] == ("0.6667 (0.2077 to 0.9385)", "1.0000 (0.4385 to 1.0000)")


@pytest.mark.parametrize("name", ["tf-idf", "bm25"])
def test_words_find_partners_that_share_them(name):
    found = baselines_of(RANKED, examples(), examples())
    assert found[name] == [0, 0, 0]
    scores = baselines_of(SCORED, examples(), examples())[name]
    assert len(scores) == 3
    assert min(scores) > 0


def test_tf_idf_is_that_of_scikit_learn():
    known = [text for pair in PAIRS for text in pair]
    vectorizer = TfidfVectorizer(analyzer=words_in).fit([*known, *known])
    first, second = (vectorizer.transform([pair[n] for pair in PAIRS]) for n in (0, 1))
    expected = np.asarray(first.multiply(second).sum(axis=1)).ravel()
    # The texts are both trained on and measured.
    assert baselines_of(SCORED, examples(), examples())["tf-idf"] == pytest.approx(expected)
