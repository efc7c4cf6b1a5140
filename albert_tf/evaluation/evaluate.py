"""All that is measured of a run on a data set, beside what counting gives there."""

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from albert_tf.data.data_check import (
    check_model_fits,
    check_same_vocabulary,
    vocabulary_of,
)
from albert_tf.data.input_pipeline import Records
from albert_tf.evaluation.counting import (
    COUNTED_TOKENS,
    Asked,
    Guesses,
    NeighbourCounts,
    held_out_text,
    masked_tokens,
    training_text,
)
from albert_tf.evaluation.held_out import HeldOut, held_out_examples
from albert_tf.evaluation.minimal_pairs import (
    MinimalPair,
    score_by_paradigm,
    sentence_losses,
    sentence_rows,
    words_of_sentences,
)
from albert_tf.evaluation.words import (
    Row,
    Vocabulary,
    WordScorer,
    bits_per_character,
    first_rows,
    known_beside,
    questions_about,
    sample_words,
    sum_by_word,
)
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.model.trained_model import TrainedModel, pretrainer_of
from albert_tf.runs.metrics import Metrics, Sums, interval, means, perplexity
from albert_tf.runs.progress import QUIET, Progress
from albert_tf.runs.run_record import recorded_settings, recorded_training
from schemas.config import EVALUATED_WORDS, Precision
from schemas.layout import TRAIN
from schemas.manifest import DatasetManifest, read_manifest


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scope:
    """How much is measured.

    Attributes:
        examples: The maximum number of held-out examples; None for all.
        words: The maximum number of held-out words; 0 for none, and no counting.
        pairs: Pairs of sentences to compare.
        sentences: The token ids of their sentences, each good one before the bad,
            without special tokens.
        vocabulary: The model's; without it there are neither words nor
            sentences.
    """

    examples: int | None = None
    words: int = EVALUATED_WORDS
    pairs: Sequence[MinimalPair] = ()
    sentences: Sequence[Sequence[int]] = ()
    vocabulary: Vocabulary | None = None


def evaluate(
    model: TrainedModel,
    *,
    data: Path,
    scope: Scope = Scope(),
    precision: Precision | None = None,
    progress: Progress = QUIET,
) -> Metrics:
    """Measure a run on the eval split of a data set.

    Args:
        model: A run as it was read.
        data: Any data set made with the same vocabulary, whatever its sentence task.
        precision: Of the computation; None for that of the run's own evaluations.

    Returns:
        What `runs.last_evaluation` describes.
    """
    run, manifest = model.folder, read_manifest(data)
    check_model_fits(model.config, manifest, data=data)
    check_same_vocabulary(vocabulary_of(run), manifest, run=run, data=data)
    examples = held_out_examples(manifest, data=data, maximum=scope.examples)
    longest = model.config.max_position_embeddings
    sentences = sentence_rows(scope.pairs, scope.sentences, longest=longest)
    precision = precision or training_precision(run)
    pretrainer = pretrainer_of(model, precision=precision)
    records = Records(data, manifest)
    measured: Metrics = {
        "step": model.step,
        "data_fingerprint": manifest.fingerprint,
        "precision": precision,
        "examples": examples,
        **held_out_losses(pretrainer, records, examples=examples, progress=progress),
    }
    if scope.vocabulary is None:
        return measured
    yardstick = Yardstick(pretrainer, scope.vocabulary, progress)
    if scope.words:
        measured |= yardstick.against_counting(
            records, examples=examples, words=scope.words
        )
    if scope.pairs:
        measured["minimal_pairs"] = yardstick.minimal_pairs(scope.pairs, sentences)
    return measured


def training_precision(run: Path) -> Precision:
    """The precision that a run trains and evaluates in; float32 for an import."""
    return recorded_training(run, recorded_settings(run)).precision


def held_out_losses(
    model: AlbertPretrainer, records: Records, *, examples: int, progress: Progress
) -> Metrics:
    """Means over the first held-out examples, and the counts they are means over."""
    progress.start("evaluating", total=examples)
    held_out = HeldOut(model, records, examples=examples)
    sums = held_out.sums(on_batch=progress.advance)
    assert sums is not None, "only a stop request makes it so"
    return _report(sums)


def _report(sums: Sums) -> Metrics:
    """Means and the perplexity, with the counts that their intervals follow from."""
    values = means(sums)
    loss = values["mlm_loss"]
    return {
        **values,
        "mlm_perplexity": None if loss is None else perplexity(loss),
        "mlm_count": int(sums.mlm_count),
        "sentence_count": int(sums.sentence_count),
    }


class Yardstick:
    """What compares a model with counting and with models of other vocabularies."""

    def __init__(
        self, model: AlbertPretrainer, vocabulary: Vocabulary, progress: Progress
    ) -> None:
        self._config, self._vocabulary = model.config, vocabulary
        self._scorer, self._progress = WordScorer(model), progress

    def against_counting(
        self, records: Records, *, examples: int, words: int
    ) -> Metrics:
        """Bits per character of held-out words, and how well counting predicts.

        Args:
            examples: Held-out examples, from the first, that are measured on.
        """
        data, manifest = records.dataset, records.manifest
        counts = self._counts(data, manifest)
        rows = itertools.chain.from_iterable(
            text.rows for text in held_out_text(data, manifest, examples=examples)
        )
        asked = [
            masked_tokens(text)
            for text in held_out_text(data, manifest, examples=examples)
        ]
        masked = Asked(*map(np.concatenate, zip(*asked, strict=True)))
        return {
            "counting": {
                "examples": counts.rows,
                "tokens": counts.tokens,
                "neighbours": _guessed(counts.from_neighbours(masked)),
                "unigram": _guessed(counts.from_frequencies(masked)),
            },
            "bits_per_character": self._word_bits(
                list(first_rows(rows, self._vocabulary)), counts, maximum=words
            ),
        }

    def _counts(self, data: Path, manifest: DatasetManifest) -> NeighbourCounts:
        """What the first copy of the training split has, as far as it is counted."""
        copies = manifest.splits[TRAIN]["copies"] if TRAIN in manifest.splits else ()
        tokens = copies[0]["tokens"] if copies else 0
        self._progress.start("counting", total=min(COUNTED_TOKENS, tokens))
        return NeighbourCounts(
            training_text(data, manifest, on_tokens=self._progress.advance),
            vocab_size=self._config.vocab_size,
        )

    def _word_bits(
        self, rows: Sequence[Row], counts: NeighbourCounts, *, maximum: int
    ) -> Metrics | None:
        """Bits per character by the model and by counting; None without words."""
        words = sample_words(rows, self._vocabulary, maximum=maximum)
        if not words:
            return None
        spans = [word.span for word in words]
        characters = np.array([word.characters for word in words], np.float64)
        questions = questions_about(rows, spans)
        asked = known_beside(questions)
        self._progress.start("predicting words", total=len(questions.row))
        losses = {
            "model": self._scorer.losses(rows, spans, on_batch=self._progress.advance),
            "neighbours": sum_by_word(counts.from_neighbours(asked).losses, spans),
            "unigram": sum_by_word(counts.from_frequencies(asked).losses, spans),
        }
        losses["model_minus_neighbours"] = losses["model"] - losses["neighbours"]
        return {
            "words": len(words),
            "characters": int(characters.sum()),
            **{
                name: bits_per_character(of_words, characters)._asdict()
                for name, of_words in losses.items()
            },
        }

    def minimal_pairs(
        self, pairs: Sequence[MinimalPair], rows: Sequence[Row]
    ) -> Metrics:
        """How many pairs a model gets right, by paradigm and in all.

        Args:
            pairs: N of them.
            rows: The tokens of their 2N sentences, each good one before the bad.
        """
        words = words_of_sentences(rows, self._vocabulary)
        tokens = sum(word.end - word.start for word in words)
        self._progress.start("comparing sentences", total=tokens)
        losses = self._scorer.losses(rows, words, on_batch=self._progress.advance)
        scores = score_by_paradigm(
            pairs, sentence_losses(losses, words, sentences=len(rows))
        )
        return {
            **_share_of(sum(s.right for s in scores), len(pairs)),
            "paradigms": [
                {"paradigm": s.paradigm, **_share_of(s.right, s.pairs)} for s in scores
            ],
        }


def _guessed(guesses: Guesses) -> dict[str, float | None]:
    """Mean loss in nats and accuracy, under the names they have of a model."""
    if not len(guesses.losses):
        return {"mlm_loss": None, "mlm_accuracy": None}
    loss, hits = guesses.losses.mean(), guesses.hits.mean()
    return {"mlm_loss": float(loss), "mlm_accuracy": float(hits)}


def _share_of(right: int, pairs: int) -> dict[str, Any]:
    """A share of some pairs with its 95 % interval, Wilson's."""
    low, high = interval(right / pairs, pairs)
    return {
        "right": right,
        "pairs": pairs,
        "accuracy": right / pairs,
        "low": low,
        "high": high,
    }
