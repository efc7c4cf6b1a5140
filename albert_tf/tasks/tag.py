"""`tag`: a tag for each word.

Outputs are logits `[W, L]`, targets and predictions the number of each word's tag.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from albert_tf.tasks import label_metrics
from albert_tf.tasks.calibration import softmax
from albert_tf.tasks.classify import scores_of_table
from albert_tf.tasks.entity_metrics import (
    Found,
    count_entities,
    entities_of,
    has_entities,
)
from albert_tf.tasks.task import (
    Array,
    Measure,
    Result,
    Targets,
    Task,
    most_frequent,
    scores_of_label,
    taken,
)
from schemas.task import EncodedExample, Metric, TaskExample


class Tag(Task):
    """A tag for each word of a sentence: of entities, or of words one by one."""

    does = "gives each word a tag"
    share_metrics = ()

    def target(self, example: TaskExample) -> tuple[int, ...]:
        """The number of each word's tag."""
        return tuple(self.spec.label_number(tag) for tag in example.tags or ())

    def output(
        self,
        example: TaskExample,
        rows: Sequence[EncodedExample],
        logits: Sequence[Array],
        *,
        max_answer_tokens: int,
    ) -> Array:
        """The logits of each word's first token, from all parts of the sentence."""
        parts = [
            scores[list(row.word_starts)]
            for row, scores in zip(rows, logits, strict=True)
        ]
        return np.concatenate([np.zeros((0, len(self.spec.labels))), *parts])

    def prediction(self, output: Any, *, threshold: float | None) -> tuple[int, ...]:
        """The number of the most likely tag of each word."""
        return tuple(int(n) for n in output.argmax(axis=1))

    def shown(
        self, example: TaskExample, output: Any, *, threshold: float | None
    ) -> Result:
        """The words, their tags and the entities that these make."""
        numbers = self.prediction(output, threshold=threshold)
        tags = [self.spec.labels[number] for number in numbers]
        words = list(example.words[: len(tags)])
        shown: Result = {"words": words, "tags": tags}
        shown["probabilities"] = softmax(output).max(axis=1).tolist() if tags else []
        if has_entities(self.spec.labels):
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

    def measure(
        self, metric: Metric, targets: Targets, predictions: Targets
    ) -> Measure:
        """F1 of entities, or the share of words, from the counts of each sentence."""
        pairs = zip(targets, predictions, strict=True)
        if metric == "entity_f1":
            counts = np.array(
                [self._entities([true], [predicted])[""] for true, predicted in pairs]
            ).reshape(-1, 3)
            return lambda rows: Found(*taken(counts, rows).sum(axis=0).tolist()).f1
        rights = np.array(
            [(np.equal(true, predicted).sum(), len(true)) for true, predicted in pairs]
        ).reshape(-1, 2)

        def share(rows: Array | None) -> float:
            right, words = taken(rights, rows).sum(axis=0)
            return float(right / max(words, 1))

        return share

    def majority(self, targets: Targets, examples: Sequence[TaskExample]) -> list[Any]:
        """The most frequent tag of all words."""
        most = most_frequent(Counter(itertools.chain.from_iterable(targets)))
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
        if has_entities(labels):
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
        table = label_metrics.confusion(true, predicted, labels=len(labels))
        return {"labels": scores_of_table(labels, table)}

    def _entities(self, targets: Targets, predictions: Targets) -> dict[str, Found]:
        """How many entities of each type were found, and of all under ""."""
        wanted, predicted = (
            [[self.spec.labels[number] for number in numbers] for numbers in sentences]
            for sentences in (targets, predictions)
        )
        return count_entities(wanted, predicted)
