"""Held-out losses and accuracies, always on the same examples with the same masks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from keras import ops

from albert_tf.data.data_check import (
    check_model_fits,
    check_same_vocabulary,
    vocabulary_of,
)
from albert_tf.data.input_pipeline import Records, evaluation_batches
from albert_tf.model.pretrainer import AlbertPretrainer, Batch, pretraining_sums
from albert_tf.model.run_weights import read_run_weights
from albert_tf.planning.micro_batch import MAX_PIECES
from albert_tf.runs.checkpoints import Which, assign_arrays
from albert_tf.runs.metrics import Metrics, Sums, means, perplexity
from albert_tf.runs.run_record import run_config
from albert_tf.training.backends import compiled
from albert_tf.training.interruption import StopRequest
from albert_tf.training.progress import QUIET, Progress
from schemas.config import Precision
from schemas.errors import AlbertError
from schemas.json_file import read_json
from schemas.layout import CONFIG, EVAL
from schemas.manifest import DatasetManifest, read_manifest

Tensor = Any


def evaluate(
    run: Path,
    *,
    data: Path,
    eval_examples: int | None = None,
    which: Which = "latest",
    precision: Precision | None = None,
    progress: Progress = QUIET,
) -> Metrics:
    """Measure a checkpoint of a run on the eval split of a data set.

    Args:
        run: A run directory.
        data: Any data set made with the same vocabulary, whatever its sentence task.
        eval_examples: The maximum number of examples; None for all.
        which: The newest checkpoint, or the one with the least held-out loss.
        precision: Of the computation; None for that of the run's own evaluations.
        progress: Shows how far it is.

    Returns:
        Losses in nats, perplexity, accuracies, and the counts they are means over.

    Raises:
        AlbertError: The run or the eval split is absent, or they do not fit.
    """
    manifest = read_manifest(data)
    config = run_config(run)
    check_model_fits(config, manifest, data=data)
    check_same_vocabulary(vocabulary_of(run), manifest, run=run, data=data)
    examples = held_out_examples(manifest, data=data, maximum=eval_examples)
    config, weights, step = read_run_weights(run, which=which, say=progress.say)
    model = AlbertPretrainer(config, precision=precision or training_precision(run))
    assign_arrays(model.weights_by_path, weights)
    progress.start("evaluating", total=examples)
    held_out = HeldOut(model, Records(data, manifest), examples=examples)
    sums = held_out.sums(on_batch=progress.advance)
    assert sums is not None, "only a stop request makes it so"
    return {"step": step, "examples": examples, **_report(sums)}


def training_precision(run: Path) -> Precision:
    """The precision that a run trains and evaluates in; float32 for an import.

    Raises:
        AlbertError: The record of its settings cannot be read.
    """
    path = run / CONFIG
    settings = read_json(path) if path.exists() else {}
    return "bfloat16" if settings.get("precision") == "bfloat16" else "float32"


def _stacked_sums(model: AlbertPretrainer, batch: Batch) -> Tensor:
    """The `Sums` of a batch, without dropout, as one tensor `[6]`."""
    return ops.stack(pretraining_sums(model, batch))


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


def held_out_examples(
    manifest: DatasetManifest, *, data: Path, maximum: int | None
) -> int:
    """The number of held-out examples to measure on, at least one.

    Raises:
        AlbertError: The data set has none.
    """
    examples = num_evaluation_examples(manifest, maximum=maximum)
    if not examples:
        raise AlbertError(
            f"{data} has no held-out examples; make data from more text or with a "
            "larger --eval-fraction."
        )
    return examples


def num_evaluation_examples(manifest: DatasetManifest, *, maximum: int | None) -> int:
    """The number of held-out examples to measure on."""
    held_out = manifest.num_examples(EVAL)
    return held_out if maximum is None else min(maximum, held_out)


class HeldOut:
    """The examples that a model is measured on, with the measurement compiled.

    Args:
        model: Measured as it is at each call.
        records: The data set.
        examples: How many, from the first.
    """

    def __init__(
        self,
        model: AlbertPretrainer,
        records: Records,
        *,
        examples: int,
    ) -> None:
        self.examples = examples
        self._records = records
        length = records.manifest.config.max_seq_length
        self._batch_size = max(1, MAX_PIECES // length)
        self._measure = compiled(_stacked_sums, model)

    def sums(
        self,
        *,
        on_batch: Callable[[int], None],
        examples: int | None = None,
        stop: StopRequest | None = None,
    ) -> Sums | None:
        """Losses and hits without dropout.

        Args:
            on_batch: Told the number of examples after each batch.
            examples: How many to measure on, from the first; None for all.
            stop: Asked between batches.

        Returns:
            The sums over the examples; None if stopped.

        Raises:
            AlbertError: A record is corrupt; names file and place.
        """
        total = np.zeros(len(Sums._fields))
        size, left = self._batch_size, examples or self.examples
        for batch in evaluation_batches(self._records, batch_size=size, examples=left):
            if stop is not None and stop.reason:
                return None
            total += self._measure(batch)
            on_batch(min(size, left))
            left -= size
        return Sums(*total.tolist())
