"""Held-out losses and accuracies, always over the same examples and masks."""

from pathlib import Path
from typing import Any

import numpy as np
from keras import ops

from albert_tf.checkpoints import assign_arrays
from albert_tf.data_check import (
    check_model_fits,
    check_same_vocabulary,
    vocabulary_of,
)
from albert_tf.input_pipeline import Records, evaluation_batches
from albert_tf.interruption import StopRequest
from albert_tf.metrics import Metrics, means, perplexity
from albert_tf.micro_batch import MAX_PIECES
from albert_tf.pretrainer import AlbertPretrainer, Batch, Sums, pretraining_sums
from albert_tf.progress import Progress
from albert_tf.steps import compiled
from albert_tf.trained_model import run_checkpoint, run_config
from schemas.errors import AlbertError
from schemas.layout import EVAL
from schemas.manifest import DatasetManifest, read_manifest

Tensor = Any


def evaluate(
    run: Path, *, data: Path, eval_examples: int | None = None, quiet: bool = False
) -> Metrics:
    """Measure the newest checkpoint of a run on the eval split of a data set.

    Args:
        run: A run directory.
        data: Any data set made with the same vocabulary, whatever its sentence task.
        eval_examples: At most so many examples; None for all.
        quiet: Show no progress.

    Returns:
        Losses in nats, perplexity, accuracies, and the counts they are means over.

    Raises:
        AlbertError: The run or the eval split is absent, or they do not fit.
    """
    manifest = read_manifest(data)
    config = run_config(run)
    check_model_fits(config, manifest, data=data)
    check_same_vocabulary(vocabulary_of(run), manifest, run=run, data=data)
    examples = held_out_examples(manifest, data=data, most=eval_examples)
    with Progress(quiet=quiet) as progress:
        checkpoint = run_checkpoint(run, say=progress.say)
        model = AlbertPretrainer(config)
        assign_arrays(model.weights_by_path, checkpoint.weights)
        progress.start(total=examples, done=0)
        records = Records(data, manifest)
        sums = HeldOut(model, records, examples=examples).sums(progress=progress)
    assert sums is not None, "only a stop request makes it so"
    return {"step": checkpoint.state["step"], "examples": examples, **_report(sums)}


def _stacked_sums(model: AlbertPretrainer, batch: Batch) -> Tensor:
    """The `Sums` of a batch, without dropout, as one tensor `[6]`."""
    return ops.stack(pretraining_sums(model, batch))


def _report(sums: Sums) -> Metrics:
    """Means, the perplexity, and the counts that give them intervals."""
    values = means(sums)
    loss = values["mlm_loss"]
    return {
        **values,
        "mlm_perplexity": None if loss is None else perplexity(loss),
        "mlm_count": int(sums.mlm_count),
        "sentence_count": int(sums.sentence_count),
    }


def held_out_examples(
    manifest: DatasetManifest, *, data: Path, most: int | None
) -> int:
    """How many held-out examples are measured on, at least one.

    Raises:
        AlbertError: The data set has none.
    """
    examples = num_evaluation_examples(manifest, most=most)
    if not examples:
        raise AlbertError(
            f"{data} has no held-out examples; make data from more text or with a "
            "larger --eval-fraction."
        )
    return examples


def num_evaluation_examples(manifest: DatasetManifest, *, most: int | None) -> int:
    """How many held-out examples are measured on."""
    held_out = manifest.num_examples(EVAL)
    return held_out if most is None else min(most, held_out)


class HeldOut:
    """The examples a model is measured on, with the measurement compiled.

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
        self, *, progress: Progress | None = None, stop: StopRequest | None = None
    ) -> Sums | None:
        """Losses and hits over all examples, without dropout; None if stopped.

        Raises:
            AlbertError: A record is corrupt; names file and place.
        """
        total = np.zeros(len(Sums._fields))
        size, left = self._batch_size, self.examples
        for batch in evaluation_batches(
            self._records, batch_size=size, examples=self.examples
        ):
            if stop is not None and stop.reason:
                return None
            total += self._measure(batch)
            if progress is not None:
                progress.advance(min(size, left))
            left -= size
        return Sums(*total.tolist())
