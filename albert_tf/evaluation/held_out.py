"""Held-out losses and accuracies, always on the same examples with the same masks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from keras import ops

from albert_tf.data.input_pipeline import Records, evaluation_batches
from albert_tf.data.unpadding import unpadded
from albert_tf.evaluation.compiled import compiled
from albert_tf.model.pretrainer import AlbertPretrainer, Batch, pretraining_sums
from albert_tf.planning.memory import MAX_TOKENS
from albert_tf.runs.metrics import Sums
from schemas.errors import AlbertError
from schemas.layout import EVAL
from schemas.manifest import DatasetManifest

Tensor = Any
# Asked now and then; true to stop. Several hosts have to ask together.
Stop = Callable[[], object]


def never() -> bool:
    """A `Stop` of what nobody ends early."""
    return False


def _stacked_sums(model: AlbertPretrainer, batch: Batch) -> Tensor:
    """The `Sums` of a batch, without dropout, as one tensor `[6]`."""
    return ops.stack(pretraining_sums(model, batch))


def held_out_examples(
    manifest: DatasetManifest, *, data: Path, maximum: int | None
) -> int:
    """The number of held-out examples to measure on, at least one."""
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
        examples: How many, from the first.
    """

    def __init__(
        self, model: AlbertPretrainer, records: Records, *, examples: int
    ) -> None:
        self.examples = examples
        self._records = records
        length = records.manifest.config.max_seq_length
        self._batch_size = max(1, MAX_TOKENS // length)
        self._measure = compiled(_stacked_sums, model)

    def sums(
        self,
        *,
        on_batch: Callable[[int], None],
        examples: int | None = None,
        should_stop: Stop = never,
    ) -> Sums | None:
        """Losses and hits without dropout; None if stopped.

        Args:
            on_batch: Told the number of examples after each batch.
            examples: How many to measure on, from the first; None for all.
            should_stop: Asked between batches.
        """
        total = np.zeros(len(Sums._fields))
        size, left = self._batch_size, examples or self.examples
        for batch in evaluation_batches(self._records, batch_size=size, examples=left):
            if should_stop():
                return None
            alone = unpadded({name: values[None] for name, values in batch.items()})
            total += self._measure({name: values[0] for name, values in alone.items()})
            on_batch(min(size, left))
            left -= size
        return Sums(*total.tolist())
