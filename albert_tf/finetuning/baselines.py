"""What guessing gives: the most frequent answer, and what words alone tell.

A model that is worth its time beats both. Words alone are a logistic regression on
which words and pairs of neighbours there are; for choices how many words an option
shares with its text; for tags the most frequent tag of each word.
"""

import itertools
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from albert_tf.tasks.calibration import best_threshold, sigmoid, softmax
from albert_tf.tasks.kinds import task_of
from albert_tf.tasks.task import most_frequent
from schemas.task import TaskExample, TaskSpec

Array = npt.NDArray[Any]

# Predictions, under the name of what guessed them.
Guesses = dict[str, list[Any]]

# A word; in scripts without spaces a character.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")

# Examples that the regression is fitted on, and passes over them.
_MOST_EXAMPLES, _PASSES = 100_000, 120
# How often a feature has to occur; how far its weight moves in a pass at most, and how
# much of it is taken back.
_LEAST_COUNT, _RATE, _DECAY = 2, 0.1, 1e-5


def baselines_of(
    spec: TaskSpec, train: Sequence[TaskExample], examples: Sequence[TaskExample]
) -> Guesses:
    """What is said of examples by guessing, in the form of predictions.

    Args:
        spec: The task.
        train: What guessing learns from.
        examples: To be guessed; their labels are not looked at.

    Returns:
        Under `majority` and, where words can be asked, under `words`.
    """
    task = task_of(spec)
    targets = [task.target(example) for example in train]
    guesses = {"majority": task.majority(targets, examples)}
    if spec.kind == "tag":
        guesses["words"] = _tags_of_words(train, targets, examples)
    elif spec.kind == "choose":
        guesses["words"] = [_shared_words(example) for example in examples]
    elif spec.kind != "answer":
        # From all over the file, which may be sorted by label.
        every = -(-len(train) // _MOST_EXAMPLES)
        guesses["words"] = _regression(spec, train[::every], targets[::every], examples)
    return guesses


def _tags_of_words(
    train: Sequence[TaskExample],
    targets: Sequence[Any],
    examples: Sequence[TaskExample],
) -> list[Any]:
    """The most frequent tag of each word; of an unknown word that of all words."""
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for example, tags in zip(train, targets, strict=True):
        for word, tag in zip(example.words, tags, strict=True):
            counts[word][tag] += 1
            counts[""][tag] += 1
    best = {word: most_frequent(tags) for word, tags in counts.items()}
    return [
        tuple(best.get(word, best[""]) for word in example.words)
        for example in examples
    ]


def _shared_words(example: TaskExample) -> int:
    """The option with the largest share of words that its text and question have."""
    known = set(words_of(example.text)) | set(words_of(example.text_pair or ""))
    shares = []
    for option in example.options:
        words = words_of(option)
        shares.append(sum(word in known for word in words) / max(len(words), 1))
    return int(np.argmax(shares))


def words_of(text: str) -> list[str]:
    """The words of a text.

    >>> words_of("It's 5 o'clock, 北京")
    ['it', 's', '5', 'o', 'clock', '北', '京']
    """
    return _WORD.findall(text.lower())


def features_of(example: TaskExample) -> dict[str, float]:
    """What words tell of an example: which there are, and of a pair what they share."""
    features: dict[str, float] = {}
    parts = [words_of(example.text), words_of(example.text_pair or "")]
    for mark, words in zip(("", "2 "), parts, strict=True):
        neighbours = map(" ".join, itertools.pairwise(words))
        for name in (*words, *neighbours):
            features[mark + name] = 1.0
    norm = max(len(features), 1) ** 0.5
    features = {name: value / norm for name, value in features.items()}
    if example.text_pair is not None:
        first, second = map(set, parts)
        for name, share in {
            "= shared of both": _share(first & second, first | second),
            "= shared of first": _share(first & second, first),
            "= shared of second": _share(first & second, second),
            "= length": _share(first, second) if len(first) < len(second) else 1.0,
        }.items():
            features[name] = share
    return features


def _share(part: set[str], whole: set[str]) -> float:
    return len(part) / max(len(whole), 1)


class Rows:
    """Features of many examples, only those that occur twice or more.

    The features of an example are found twice rather than kept: as text they take far
    more memory than as numbers.

    Args:
        examples: Whose features.
        names: The number of each feature; found in the examples if not given.
    """

    def __init__(
        self, examples: Sequence[TaskExample], names: dict[str, int] | None = None
    ) -> None:
        if names is None:
            counts = Counter(name for each in examples for name in features_of(each))
            kept = sorted(n for n, count in counts.items() if count >= _LEAST_COUNT)
            names = {name: number for number, name in enumerate(kept)}
        self.names, self.number = names, len(examples)
        rows, columns, values = array("q"), array("q"), array("d")
        for row, example in enumerate(examples):
            features = features_of(example)
            found = [name for name in features if name in names]
            rows.extend([row] * len(found))
            columns.extend(names[name] for name in found)
            values.extend(features[name] for name in found)
        self._rows, self._columns = np.asarray(rows), np.asarray(columns)
        self._values = np.asarray(values)

    def times(self, weights: Array) -> Array:
        """The products `[N, C]` with weights `[F, C]`."""
        return np.stack(
            [
                np.bincount(
                    self._rows,
                    self._values * column[self._columns],
                    minlength=self.number,
                )
                for column in weights.T
            ],
            axis=1,
        )

    def transposed_times(self, errors: Array) -> Array:
        """The products `[F, C]` with errors `[N, C]`."""
        return np.stack(
            [
                np.bincount(
                    self._columns,
                    self._values * column[self._rows],
                    minlength=len(self.names),
                )
                for column in errors.T
            ],
            axis=1,
        )


def _regression(
    spec: TaskSpec,
    train: Sequence[TaskExample],
    targets: Sequence[Any],
    examples: Sequence[TaskExample],
) -> list[Any]:
    """Labels or scores by regression on words."""
    true = np.array(targets)
    wanted = true.astype(np.float64)
    if spec.kind == "classify":
        wanted = np.eye(len(spec.labels))[true]
    elif spec.kind == "regress":
        wanted = wanted[:, None]
    rows = Rows(train)
    weights, bias = fitted(rows, wanted, kind=spec.kind)
    others = Rows(examples, rows.names)
    scores = others.times(weights) + bias
    if spec.kind == "classify":
        return list(map(int, scores.argmax(axis=1)))
    if spec.kind == "regress":
        return list(map(float, scores[:, 0]))
    fit = sigmoid(rows.times(weights) + bias)
    threshold = best_threshold(fit.ravel(), true.ravel())
    return [tuple(map(int, row)) for row in sigmoid(scores) >= threshold]


def fitted(rows: Rows, wanted: Array, *, kind: str) -> tuple[Array, Array]:
    """Weights `[F, C]` and bias `[C]` that tell `wanted` `[N, C]` from features.

    By Adam on all examples at once, for softmax, sigmoid or squares.
    """
    activation = {"classify": softmax, "multilabel": sigmoid}.get(kind)
    bias = wanted.mean(axis=0) if activation is None else np.zeros(wanted.shape[1])
    parts = [np.zeros((len(rows.names), wanted.shape[1])), bias]
    moments = [(np.zeros_like(part), np.zeros_like(part)) for part in parts]
    for step in range(1, _PASSES + 1):
        scores = rows.times(parts[0]) + parts[1]
        errors = (activation(scores) if activation else scores) - wanted
        errors = errors / rows.number
        gradients = [
            rows.transposed_times(errors) + _DECAY * parts[0],
            errors.sum(axis=0),
        ]
        for place, gradient in enumerate(gradients):
            first, second = moments[place]
            first = 0.9 * first + 0.1 * gradient
            second = 0.99 * second + 0.01 * gradient**2
            moments[place] = first, second
            mean, square = first / (1 - 0.9**step), second / (1 - 0.99**step)
            parts[place] = parts[place] - _RATE * mean / (np.sqrt(square) + 1e-9)
    return parts[0], parts[1]
