"""All that is measured of a run on a data set, beside what counting gives there."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from albert_tf.data.data_check import check_model_fits, check_same_vocabulary
from albert_tf.data.input_pipeline import Records
from albert_tf.evaluation.bits_per_character import (
    Row,
    Vocabulary,
    WordScorer,
    held_out_rows,
    known_beside,
    questions_about,
    sample_words,
    sum_by_word,
    width_of,
)
from albert_tf.evaluation.counting import (
    Asked,
    Guesses,
    Int,
    NeighbourCounts,
    held_out_text,
    masked_tokens,
    training_text,
)
from albert_tf.evaluation.held_out import HeldOut, error_of_ratio, held_out_examples
from albert_tf.evaluation.minimal_pairs import (
    MinimalPair,
    score_by_paradigm,
    sentence_rows,
    words_of_sentences,
)
from albert_tf.model.compiling import compile_together
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.model.trained_model import TrainedModel, pretrainer_of
from albert_tf.planning.budget import COUNTED_TOKENS
from albert_tf.runs.metrics import (
    QUIET,
    WORD_LOSSES,
    Metrics,
    Progress,
    bits_per_character,
    interval,
    perplexity,
)
from albert_tf.runs.run_record import recorded_settings, recorded_training
from schemas.config import EVALUATED_WORDS, Precision
from schemas.layout import TRAIN
from schemas.manifest import read_manifest


class Text(NamedTuple):
    """Held-out text.

    Attributes:
        records: A data set whose eval split has it.
    """

    name: str
    hash: str
    records: Records


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scope:
    """How much is measured.

    Attributes:
        examples: The maximum number of held-out examples; None for all.
        words: The maximum number of held-out words; 0 for none, and no counting.
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
    data: Path | None = None,
    text: Text | None = None,
    scope: Scope = Scope(),
    precision: Precision | None = None,
    progress: Progress = QUIET,
) -> Metrics:
    """Measure a run on a text, or on a data set's eval split; see `runs.evaluations`.

    Args:
        data: Of the same vocabulary; the tokens of its training split are counted.
        precision: None for that of the run's own evaluations.
    """
    training = _checked(Records(data, read_manifest(data)), model) if data else None
    if text is None:
        assert training, "there is nothing to measure on"
        manifest = training.manifest
        text = Text(training.dataset.resolve().name, manifest.fingerprint, training)
    records = _checked(text.records, model)
    examples = held_out_examples(records, maximum=scope.examples)
    longest = model.config.max_position_embeddings
    sentences = sentence_rows(scope.pairs, scope.sentences, longest=longest)
    run = model.folder
    precision = precision or recorded_training(run, recorded_settings(run)).precision
    pretrainer = pretrainer_of(model, precision=precision)
    held_out = HeldOut(pretrainer, records, examples=examples)
    programs = held_out.programs()
    yardstick: Yardstick | None = None
    rows: list[Row] = []
    if scope.vocabulary is not None:
        yardstick = Yardstick(pretrainer, scope.vocabulary, progress)
        if scope.words:
            rows = held_out_rows(records, scope.vocabulary, examples=examples)
        if programs:
            lengths = [max(map(len, asked)) for asked in (rows, sentences) if asked]
            widths = {width_of(length, longest=longest) for length in lengths}
            programs += map(yardstick.scorer.program, widths)
    compile_together(programs, say=progress.say)
    progress.start("evaluating", total=examples)
    found = held_out.measure(on_batch=progress.advance)
    assert found is not None, "only a stop request makes it so"
    values = found.figures()
    loss = values["mlm_loss"]
    measured: Metrics = {
        "step": model.step,
        "text": text.name,
        "data_fingerprint": text.hash,
        "precision": precision,
        "examples": examples,
        **values,
        "mlm_perplexity": None if loss is None else perplexity(loss),
    }
    if yardstick is None:
        return measured
    if scope.words:
        measured |= yardstick.against_counting(
            records, training, examples=examples, rows=rows, words=scope.words
        )
    if scope.pairs:
        measured["minimal_pairs"] = yardstick.minimal_pairs(scope.pairs, sentences)
    return measured


def _checked(records: Records, model: TrainedModel) -> Records:
    """Records that a model can read."""
    data, run = records.dataset, model.folder
    check_model_fits(model.config, records.manifest, data=data)
    check_same_vocabulary(records.manifest, run=run, data=data)
    return records


class Yardstick:
    """What compares a model with counting and with models of other vocabularies."""

    def __init__(self, model: AlbertPretrainer, vocabulary: Vocabulary, progress: Progress) -> None:
        self._config, self._vocabulary = model.config, vocabulary
        self.scorer, self._progress = WordScorer(model), progress

    def against_counting(
        self,
        records: Records,
        training: Records | None,
        *,
        examples: int,
        rows: Sequence[Row],
        words: int,
    ) -> Metrics:
        """Bits per character of held-out words, and how well counting predicts.

        Args:
            rows: The words are drawn from these.
        """
        counts = None
        if training is not None:
            data, manifest = training.dataset, training.manifest
            tokens = manifest.splits[TRAIN]["copies"][0]["tokens"]
            self._progress.start("counting", total=min(COUNTED_TOKENS, tokens))
            counts = NeighbourCounts(
                training_text(data, manifest, on_tokens=self._progress.advance),
                vocab_size=self._config.vocab_size,
            )
        measured = self._of_words(rows, counts, maximum=words)
        if counts:
            texts = list(held_out_text(records.dataset, records.manifest, examples=examples))
            asked = [masked_tokens(text) for text in texts]
            masked = Asked(*map(np.concatenate, zip(*asked, strict=True)))
            of_rows = np.concatenate([text.masked_of_rows for text in texts])
            measured["counting"] = {
                "examples": counts.rows,
                "tokens": counts.tokens,
                "neighbours": _guessed(counts.from_neighbours(masked), of_rows),
                "unigram": _guessed(counts.from_frequencies(masked), of_rows),
            }
        return measured

    def _of_words(
        self, rows: Sequence[Row], counts: NeighbourCounts | None, *, maximum: int
    ) -> Metrics:
        """Bits per character by the model and by counting, and the losses of words."""
        words = sample_words(rows, self._vocabulary, maximum=maximum)
        # One word alone has no interval.
        if len(words) < 2:
            return {"bits_per_character": None}
        spans = [word.span for word in words]
        characters = np.array([word.characters for word in words], np.float64)
        questions = questions_about(rows, spans)
        self._progress.start("predicting words", total=len(questions.row))
        losses = {"model": self.scorer.losses(rows, spans, on_batch=self._progress.advance)}
        if counts:
            asked = known_beside(questions)
            for name, guesses in (
                ("neighbours", counts.from_neighbours(asked)),
                ("unigram", counts.from_frequencies(asked)),
            ):
                losses[name] = sum_by_word(guesses.losses, spans)
            losses["model_minus_neighbours"] = losses["model"] - losses["neighbours"]
        return {
            "bits_per_character": {
                "words": len(words),
                "characters": int(characters.sum()),
                **{
                    name: bits_per_character(of_words, characters)._asdict()
                    for name, of_words in losses.items()
                },
            },
            WORD_LOSSES: {
                "keys": [word.key for word in words],
                "characters": [word.characters for word in words],
                "losses": [float(f"{loss:.6g}") for loss in losses["model"].tolist()],
            },
        }

    def minimal_pairs(self, pairs: Sequence[MinimalPair], rows: Sequence[Row]) -> Metrics:
        """How many pairs a model gets right; `rows` has good and bad ones in turn."""
        words = words_of_sentences(rows, self._vocabulary)
        tokens = sum(word.end - word.start for word in words)
        self._progress.start("comparing sentences", total=tokens)
        losses = self.scorer.losses(rows, words, on_batch=self._progress.advance)
        # Minus the pseudo-log-likelihood of each sentence, in nats.
        of_sentences: Any = np.bincount(
            [word.row for word in words], weights=losses, minlength=len(rows)
        )
        scores = score_by_paradigm(pairs, of_sentences)
        return {
            **_share_of(sum(right for _, right, _ in scores), len(pairs)),
            "paradigms": [
                {"paradigm": paradigm, **_share_of(*score)} for paradigm, *score in scores
            ],
        }


def _guessed(guesses: Guesses, of_rows: Int) -> Metrics:
    """Mean loss in nats and accuracy, under the names they have of a model.

    Args:
        of_rows: How many of the tokens each row has, over the draw of which the loss
            has its interval, as that of a model has, `[R]`.
    """
    if not len(guesses.losses):
        return {"mlm_loss": None, "mlm_accuracy": None, "mlm_loss_error": None}
    row = np.repeat(np.arange(len(of_rows)), of_rows)
    sums = np.bincount(row, weights=guesses.losses, minlength=len(of_rows))
    return {
        "mlm_loss": float(guesses.losses.mean()),
        "mlm_accuracy": float(guesses.hits.mean()),
        "mlm_loss_error": error_of_ratio(sums, of_rows),
    }


def _share_of(right: int, pairs: int) -> dict[str, Any]:
    """A share of some pairs with its 95 % interval, Wilson's."""
    low, high = interval(right / pairs, pairs)
    return {"right": right, "pairs": pairs, "accuracy": right / pairs, "low": low, "high": high}
