"""What guessing gives: the most frequent answer, and what words alone tell.

A model that is worth its time beats both. Words alone are a logistic regression on
which words and pairs of neighbours there are; for choices how many words an option
shares with its text; for tags the most frequent tag of each word.
"""

import itertools
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier

from albert_tf.tasks.evaluation import task_of
from albert_tf.tasks.task import Examples, best_threshold, most_frequent
from albert_tf.tasks.vectors import ranks, similarities
from schemas.task import TaskExample, TaskSpec

# A word; in scripts without spaces a character.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")

# Examples that the regression is fitted on, passes over them, and weights of features,
# of which the solver keeps two dozen copies.
_MOST_EXAMPLES, _PASSES, _MOST_WEIGHTS = 100_000, 200, 4_000_000

# How often a feature has to occur, how little large weights cost, and how exactly they
# are found.
_LEAST_COUNT, _INVERSE_PENALTY, _TOLERANCE = 2, 10.0, 1e-3


def baselines_of(spec: TaskSpec, train: Examples, examples: Examples) -> dict[str, list[Any]]:
    """What is said of examples by guessing, in the form of predictions.

    Args:
        examples: To be guessed; their labels are not looked at.

    Returns:
        Under `majority` and, where words can be asked, under `words`; of `embed` under
        `tf-idf` and `bm25`.
    """
    if spec.kind == "embed":
        return ranked_by_words(spec, train, examples)
    task = task_of(spec)
    targets = [task.target(example) for example in train]
    guesses = {"majority": task.majority(targets, examples)}
    if spec.kind == "tag":
        guesses["words"] = _tags_of_words(train, targets, examples)
    elif spec.kind == "choose":
        guesses["words"] = []
        for example in examples:
            # The option with the largest share of words that its text and question have.
            known = {*words_in(example.text), *words_in(example.text_pair or "")}
            shares = [
                sum(word in known for word in words) / max(len(words), 1)
                for words in map(words_in, example.options)
            ]
            guesses["words"].append(int(np.argmax(shares)))
    elif spec.kind != "answer":
        # From all over the file, which may be sorted by label.
        every = -(-len(train) // _MOST_EXAMPLES)
        guesses["words"] = _regression(spec, train[::every], targets[::every], examples)
    return guesses


def ranked_by_words(spec: TaskSpec, train: Examples, examples: Examples) -> dict[str, list[Any]]:
    """What TF-IDF and BM25 say of pairs of texts, by the words that both have.

    How rare a word is follows from all texts that there are. TF-IDF is scikit-learn's,
    BM25 has the usual k1 of 1.5 and b of 0.75 (Robertson and Zaragoza 2009).
    """
    texts = [example.text for example in examples]
    partners = [example.text_pair or "" for example in examples]
    every = -(-len(train) // _MOST_EXAMPLES)
    known = [text for e in train[::every] for text in (e.text, e.text_pair or "")]
    counter = CountVectorizer(analyzer=words_in)
    counter.fit([*known, *texts, *partners])
    occurring = counter.transform([*known, *texts, *partners])
    weighing = TfidfTransformer().fit(occurring)
    first, second = counter.transform(texts), counter.transform(partners)
    frequency = np.bincount(occurring.indices, minlength=occurring.shape[1])
    rarity = np.log1p((occurring.shape[0] - frequency + 0.5) / (frequency + 0.5))
    lengths = np.asarray(second.sum(axis=1)).ravel()
    scores = second.tocoo().astype(float)
    long = 1.5 * (0.25 + 0.75 * lengths[scores.row] / max(lengths.mean(), 1.0))
    scores.data *= 2.5 / (scores.data + long) * rarity[scores.col]
    pairs = {
        "tf-idf": (weighing.transform(first), weighing.transform(second)),
        "bm25": (first.astype(float), scores.tocsr()),
    }
    compare: Callable[[Any, Any], list[Any]]
    compare = similarities if spec.metrics[0] == "spearman" else ranks
    return {name: compare(*both) for name, both in pairs.items()}


def _tags_of_words(train: Examples, targets: Sequence[Any], examples: Examples) -> list[Any]:
    """The most frequent tag of each word; of an unknown word that of all words."""
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for example, tags in zip(train, targets, strict=True):
        for word, tag in zip(example.words, tags, strict=True):
            counts[word][tag] += 1
            counts[""][tag] += 1
    best = {word: most_frequent(tags) for word, tags in counts.items()}
    return [tuple(best.get(word, best[""]) for word in example.words) for example in examples]


def words_in(text: str) -> list[str]:
    """The words of a text.

    >>> words_in("It's 5 o'clock, 北京")
    ['it', 's', '5', 'o', 'clock', '北', '京']
    """
    return _WORD.findall(text.lower())


def features_of(example: TaskExample) -> dict[str, float]:
    """What words tell of an example: which there are, and of a pair what they share.

    Of a text without words only that it is a text.
    """
    parts, names = [words_in(example.text), words_in(example.text_pair or "")], [""]
    for mark, words in zip(("", "2 "), parts, strict=True):
        names += [mark + name for name in (*words, *map(" ".join, itertools.pairwise(words)))]
    features = dict.fromkeys(names, 1.0 / len(set(names)) ** 0.5)
    if example.text_pair is not None:
        first, second = map(set, parts)
        features |= {
            "= shared of both": _share(first & second, first | second),
            "= shared of first": _share(first & second, first),
            "= shared of second": _share(first & second, second),
            "= length": _share(first, second) if len(first) < len(second) else 1.0,
        }
    return features


def _share(part: set[str], whole: set[str]) -> float:
    return len(part) / max(len(whole), 1)


def _regression(
    spec: TaskSpec, train: Examples, targets: Sequence[Any], examples: Examples
) -> list[Any]:
    """Labels or scores by regression on words."""
    vectors = DictVectorizer()
    rows = vectors.fit_transform(map(features_of, train))
    # The features that occur twice or more, the most frequent that fit in memory.
    counts, most = rows.getnnz(axis=0), _MOST_WEIGHTS // max(len(spec.labels), 1)
    kept = np.flatnonzero(counts >= min(_LEAST_COUNT, rows.shape[0]))
    kept = np.sort(kept[np.argsort(-counts[kept], kind="stable")[: max(most, 1)]])
    rows, others = rows[:, kept], vectors.transform(map(features_of, examples))[:, kept]
    true = np.array(targets)
    if spec.kind == "regress":
        return [*map(float, Ridge().fit(rows, true).predict(others))]
    if spec.kind == "classify":
        different = np.unique(true)
        if len(different) == 1:
            return [int(different[0])] * len(examples)
        return [*map(int, _logistic().fit(rows, true).predict(others))]
    model = OneVsRestClassifier(_logistic())
    with warnings.catch_warnings():
        # A label that all training examples have is given to all others.
        warnings.simplefilter("ignore", UserWarning)
        model.fit(rows, true)
    fit, scores = (np.asarray(model.predict_proba(each)) for each in (rows, others))
    if true.shape[1] == 1:
        # Of a single label scikit-learn gives the probability of its absence too.
        fit, scores = fit[:, -1:], scores[:, -1:]
    threshold = best_threshold(fit.ravel(), true.ravel())
    return [tuple(map(int, row)) for row in scores >= threshold]


def _logistic() -> LogisticRegression:
    return LogisticRegression(C=_INVERSE_PENALTY, tol=_TOLERANCE, max_iter=_PASSES)
