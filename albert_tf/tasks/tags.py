"""`tag`: a tag for each word, and how many entities of tags were found.

Outputs are logits `[W, L]`, targets and predictions the number of each word's tag.
Entities are counted as seqeval and conlleval do, whatever scheme the tags follow.
"""

import collections
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from albert_tf.tasks.task import (
    Array,
    Examples,
    Measure,
    Result,
    Targets,
    Task,
    label_scores,
    most_frequent,
    scores_of_label,
    softmax,
    taken,
)
from schemas.task import EncodedExample, Metric, TaskExample, are_entities, entities_of


class Found(NamedTuple):
    """How many entities were found.

    Attributes:
        right: Those found where they are, with their type.
        said: All that were found.
        wanted: All that there are.
    """

    right: int
    said: int
    wanted: int

    @property
    def precision(self) -> float:
        """Of what was found, the share that is right."""
        return self.right / max(self.said, 1)

    @property
    def recall(self) -> float:
        """Of what is there, the share that was found."""
        return self.right / max(self.wanted, 1)

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.right / max(self.said + self.wanted, 1)


def count_entities(
    targets: Iterable[Sequence[str]], predictions: Iterable[Sequence[str]]
) -> dict[str, Found]:
    """How many entities of each type were found, and of all types under "".

    >>> count_entities([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]])[""]
    Found(right=1, said=1, wanted=2)
    """
    counts = collections.defaultdict(lambda: [0, 0, 0], {"": [0, 0, 0]})
    for gold, predicted in zip(targets, predictions, strict=True):
        ours, theirs = set(entities_of(predicted)), set(entities_of(gold))
        for place, entities in enumerate((ours & theirs, ours, theirs)):
            for entity in entities:
                counts[entity.type][place] += 1
                counts[""][place] += 1
    return {name: Found(*counts[name]) for name in sorted(counts)}


class Tag(Task):
    """A tag for each word of a sentence: of entities, or of words one by one."""

    does = "gives each word a tag"
    share_metrics = ()

    def target(self, example: TaskExample) -> tuple[int, ...]:
        """The number of each word's tag."""
        return tuple(self.number_of(tag) for tag in example.tags or ())

    def output(
        self, example: TaskExample, rows: Sequence[EncodedExample], logits: Sequence[Array]
    ) -> Array:
        """The logits of each word's first token, from all parts of the sentence."""
        parts = [scores[list(row.word_starts)] for row, scores in zip(rows, logits, strict=True)]
        return np.concatenate([np.zeros((0, len(self.spec.labels))), *parts])

    def prediction(self, output: Any) -> tuple[int, ...]:
        """The number of the most likely tag of each word."""
        return tuple(int(n) for n in output.argmax(axis=1))

    def shown(self, example: TaskExample, output: Any) -> Result:
        """The words, their tags and the entities that these make."""
        numbers = self.prediction(output)
        tags = [self.spec.labels[number] for number in numbers]
        words = list(example.words[: len(tags)])
        shown: Result = {"words": words, "tags": tags}
        shown["probabilities"] = softmax(output).max(axis=1).tolist() if tags else []
        if are_entities(self.spec.labels):
            shown["entities"] = [
                {
                    "type": entity.type,
                    "text": " ".join(words[entity.start : entity.end]),
                    "first_word": entity.start,
                    "last_word": entity.end - 1,
                }
                for entity in entities_of(tags)
            ]
        return shown

    def measure(self, metric: Metric, targets: Targets, predictions: Targets) -> Measure:
        """F1 of entities, or the share of words, from the counts of each sentence."""
        found = [
            # The share of all words is F1 where each of them has a tag and is given one.
            self._entities([true], [predicted])[""]
            if metric == "entity_f1"
            else (np.equal(true, predicted).sum(), len(true), len(true))
            for true, predicted in zip(targets, predictions, strict=True)
        ]
        counts = np.array(found).reshape(-1, 3)
        return lambda rows: Found(*taken(counts, rows).sum(axis=0).tolist()).f1

    def majority(self, targets: Targets, examples: Examples) -> list[Any]:
        """The most frequent tag of all words."""
        most = most_frequent(collections.Counter(itertools.chain.from_iterable(targets)))
        return [(most,) * len(example.words) for example in examples]

    def named(
        self, example: TaskExample, value: Sequence[int], *, other: Sequence[int]
    ) -> list[str]:
        """The words whose tags differ, each with its tag."""
        rows = zip(example.words, value, other, strict=False)
        labels = self.spec.labels
        return [f"{word}/{labels[n]}" for word, n, wrong in rows if n != wrong]

    def sureness(self, output: Any, target: Any, prediction: Any) -> float:
        """The highest probability of a wrong tag."""
        wrong = np.not_equal(target, prediction)
        return float(softmax(output).max(axis=1)[wrong].max())

    def by_label(self, targets: Targets, predictions: Targets) -> Result:
        """Precision, recall and F1 of each type of entity, or of each tag."""
        labels = self.spec.labels
        if are_entities(labels):
            found = self._entities(targets, predictions)
            return {
                "labels": {
                    name or "all": scores_of_label(
                        count.precision, count.recall, count.f1, count.wanted
                    )
                    for name, count in found.items()
                }
            }
        true, predicted = map(np.concatenate, (targets, predictions))
        scores = label_scores(true, predicted, range(len(labels)))
        return {"labels": dict(zip(labels, scores, strict=True))}

    def _entities(self, targets: Targets, predictions: Targets) -> dict[str, Found]:
        """How many entities of each type were found, and of all under ""."""
        wanted, predicted = (
            [[self.spec.labels[number] for number in numbers] for numbers in sentences]
            for sentences in (targets, predictions)
        )
        return count_entities(wanted, predicted)
