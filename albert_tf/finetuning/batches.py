"""Encoded examples become batches: rows of like length together, in few widths.

A batch is as wide as the next of a few widths. One that is not full is filled up with rows
of weight zero.
"""

import bisect
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from albert_tf.finetuning.job import TuningJob, TuningState
from albert_tf.tasks.evaluation import task_of
from schemas.example import PAD_ID
from schemas.task import EncodedExample, Kind, TaskSpec

Batch = dict[str, Any]
Array = npt.NDArray[Any]

WIDTHS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512)
# Each is compiled, under JAX for seconds.
WIDTHS_OF_JAX = (64, 128, 256, 512)

# Rows are sorted by length within this many batches, which then come in random order:
# so a batch is almost as random as one that is drawn.
SORTED_BATCHES = 64

# Tokens that are computed at a time where nothing is trained.
TOKENS = 4096


def task_batches(job: TuningJob, state: TuningState) -> Generator[Batch, None, None]:
    """The rows from where a run stands, a step at a time `[B, ...]`.

    Scores are standardised: those of all rows have mean 0 and deviation 1.
    """
    size, train = job.config.batch_size, job.train
    weights = label_weights(job)
    epoch, place = divmod(state.step, -(-len(train.rows) // size))
    while True:
        chosen = epoch_batches(train.lengths, batch_size=size, seed=job.config.seed, epoch=epoch)
        for rows in chosen[place:]:
            draw = job.redraw if epoch else None
            batch = batch_of(
                [draw(int(row), epoch) if draw else train.rows[row] for row in rows],
                job.spec,
                size=size,
                longest=job.config.max_seq_length,
                options=train.options,
                label_weights=weights,
            )
            if (state.score_mean, state.score_deviation) != (0.0, 1.0):
                targets = batch["targets"] - state.score_mean
                batch["targets"] = (targets / state.score_deviation).astype("float32")
            yield batch
        epoch, place = epoch + 1, 0


def label_weights(job: TuningJob) -> list[float]:
    """Of each label in the loss; none where all are alike.

    As scikit-learn's "balanced": n / (L n_c) for the n_c of n rows, or words, that
    have label c. A label that does not occur has no weight.
    """
    if job.config.class_weights == "none":
        return []
    targets = map(task_of(job.spec).target, job.train.examples)
    numbers = np.concatenate([np.atleast_1d(target) for target in targets])
    counts = np.bincount(numbers.astype(int), minlength=len(job.spec.labels))
    weights = len(numbers) / (len(counts) * np.maximum(counts, 1))
    return [float(w) if n else 0.0 for w, n in zip(weights, counts, strict=True)]


def batches_to_predict(
    rows: Sequence[EncodedExample], kind: Kind, *, longest: int
) -> Iterator[tuple[list[int], Batch]]:
    """Batches `[B, ...]` of all rows, the widest first, with the numbers of theirs."""
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        width = batch_width(row.length, longest=longest)
        alike[width, len(row.sequences)].append(number)
    for width, options in sorted(alike, key=lambda shape: (-shape[0], shape[1])):
        numbers = alike[width, options]
        size = max(1, TOKENS // (width * options))
        for first in range(0, len(numbers), size):
            some = numbers[first : first + size]
            asked = [rows[number] for number in some]
            yield some, inputs_of(asked, kind, size=size, longest=longest)


def batch_width(length: int, *, longest: int) -> int:
    """The width of a batch whose longest row has this many tokens; here on TensorFlow.

    >>> [batch_width(length, longest=100) for length in (3, 17, 97)]
    [16, 32, 100]
    """
    widths = WIDTHS_OF_JAX if keras.backend.backend() == "jax" else WIDTHS
    place = bisect.bisect_left(widths, length)
    return min(longest, widths[place]) if place < len(widths) else longest


def epoch_batches(lengths: Sequence[int], *, batch_size: int, seed: int, epoch: int) -> list[Array]:
    """The rows of each batch of an epoch, all rows once.

    A function of seed and epoch. The last batch may be smaller.

    Args:
        lengths: Of each row, in tokens.
    """
    rng = np.random.Generator(np.random.PCG64([seed, epoch]))
    order = rng.permutation(len(lengths))
    sizes = np.asarray(lengths)
    batches = []
    for first in range(0, len(order), SORTED_BATCHES * batch_size):
        rows = order[first : first + SORTED_BATCHES * batch_size]
        rows = rows[np.argsort(sizes[rows], kind="stable")]
        batches += np.split(rows, range(batch_size, len(rows), batch_size))
    return [batches[number] for number in rng.permutation(len(batches))]


def batch_of(
    rows: Sequence[EncodedExample],
    spec: TaskSpec,
    *,
    size: int,
    longest: int,
    options: int = 1,
    label_weights: Sequence[float] = (),
) -> Batch:
    """Rows as arrays, filled up with rows of weight zero.

    Args:
        rows: At most `size`, with targets.
        size: B.
        longest: Tokens of the longest row that there may be.
        options: Number of options of `choose`, O, more if a row has more.
        label_weights: Of each label in the loss; all are 1 if there are none.

    Returns:
        What `inputs_of` returns, with `targets`, as in `losses_of`, and `weights`
        `[B]`, of `tag` `[B, S]`.
    """
    batch = inputs_of(rows, spec.kind, size=size, longest=longest, options=options)
    weights = np.zeros(size, np.float32)
    weights[: len(rows)] = 1
    if spec.kind == "tag":
        shape = (size, batch["input_ids"].shape[-1])
        targets, weights = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
        for number, row in enumerate(rows):
            places = list(row.word_starts)
            targets[number, places] = np.asarray(row.target, np.int32)
            weights[number, places] = 1
    else:
        is_number = spec.kind in ("multilabel", "regress", "embed")
        values = np.array([row.target for row in rows], np.float32 if is_number else np.int32)
        targets = np.zeros((size, *values.shape[1:]), values.dtype)
        targets[: len(rows)] = values
    if label_weights:
        weights = weights * np.asarray(label_weights, np.float32)[targets]
    return batch | {"targets": targets, "weights": weights}


def inputs_of(
    rows: Sequence[EncodedExample], kind: Kind, *, size: int, longest: int, options: int = 1
) -> Batch:
    """The inputs of a model for some rows, as in `batch_of`, without targets.

    Returns:
        `input_ids`, `input_mask`, `segment_ids`, `[B, S]` or of `choose` and `embed`
        `[B, O, S]` with `option_mask` `[B, O]`.
    """
    width = batch_width(max(row.length for row in rows), longest=longest)
    most = max(options, *(len(row.sequences) for row in rows))
    shape = (size, most, width)
    ids, mask, segments = (np.full(shape, value, np.int32) for value in (PAD_ID, 0, 0))
    present = np.zeros(shape[:2], np.int32)
    for number, row in enumerate(rows):
        for option, sequence in enumerate(row.sequences):
            length = len(sequence.token_ids)
            ids[number, option, :length] = sequence.token_ids
            mask[number, option, :length] = 1
            segments[number, option, :length] = sequence.segment_ids
            present[number, option] = 1
    batch = {"input_ids": ids, "input_mask": mask, "segment_ids": segments}
    if kind in ("choose", "embed"):
        return {**batch, "option_mask": present}
    return {name: values[:, 0] for name, values in batch.items()}


def micro_batches(batch: Batch, *, size: int, devices: int) -> Iterator[Batch]:
    """A batch as groups of N micro-batches `[N, M, ...]`, filled up with zeros.

    Args:
        batch: Arrays `[B, ...]`.
        size: M.
        devices: N.
    """
    rows = len(batch["input_ids"])
    missing = -rows % (size * devices)
    groups = {
        name: np.concatenate(
            [values, np.zeros((missing, *values.shape[1:]), values.dtype)]
        ).reshape(-1, devices, size, *values.shape[1:])
        for name, values in batch.items()
    }
    for number in range((rows + missing) // (size * devices)):
        yield {name: values[number] for name, values in groups.items()}
