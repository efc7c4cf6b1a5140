"""Bits per character of a few held-out words, again and again while a model trains."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from albert_tf.data.input_pipeline import Records
from albert_tf.evaluation.bits_per_character import bits_per_character
from albert_tf.evaluation.run_evaluation import held_out_text
from albert_tf.evaluation.word_scores import WordScorer, questions_about, sum_by_word
from albert_tf.evaluation.words import Row, Vocabulary, Word, first_rows, sample_words
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.training.interruption import StopRequest

# Held-out examples for each word: words make an evaluation about a quarter longer.
EXAMPLES_PER_WORD = 10


class TrainingWords:
    """A `HeldOutWords` of training: words of the examples that a run is evaluated on.

    They are among those that `albert evaluate` asks about. Nothing is read before they
    are asked for the first time.

    Args:
        model: Measured as it is at each call.
        records: The data set.
        examples: How many held-out examples an evaluation has, from the first.
        vocabulary: The model's.
    """

    def __init__(
        self,
        model: AlbertPretrainer,
        records: Records,
        *,
        examples: int,
        vocabulary: Vocabulary,
    ) -> None:
        self._scorer, self._records = WordScorer(model), records
        self._examples, self._vocabulary = examples, vocabulary
        self._asked: tuple[list[Row], list[Word]] | None = None

    def bits_per_character(self, stop: StopRequest) -> float | None:
        """Of all words; None if there are none, or stopped."""
        if self._asked is None:
            self._asked = self._sample()
        rows, words = self._asked
        if not words:
            return None
        spans = [word.span for word in words]
        questions = questions_about(rows, spans)
        losses = np.zeros(len(questions.row))
        for some, of_batch in self._scorer.answers(questions):
            if stop.agree():
                return None
            losses[some] = of_batch
        characters = np.array([word.characters for word in words], np.float64)
        return bits_per_character(sum_by_word(losses, spans), characters).value

    def _sample(self) -> tuple[list[Row], list[Word]]:
        """Rows of held-out text, and words in them."""

        def rows() -> Iterator[Any]:
            data, manifest = self._records.dataset, self._records.manifest
            # Corrupt records are reported by whoever reads the examples themselves.
            ignores = self._records.on_corrupt is not None
            for text in held_out_text(
                data, manifest, examples=self._examples, skip_corrupt=ignores
            ):
                yield from text.rows

        text = list(first_rows(rows(), self._vocabulary))
        maximum = self._examples // EXAMPLES_PER_WORD
        return text, sample_words(text, self._vocabulary, maximum=maximum)
