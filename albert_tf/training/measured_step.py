"""How long a step takes on this machine, by timing some real ones."""

import contextlib
import dataclasses
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from statistics import fmean

import numpy as np

from albert_tf.data.input_pipeline import Records, training_batches
from albert_tf.data.step_shape import StepShape
from albert_tf.data.unpadding import unpadded
from albert_tf.model.initial_weights import initialize_weights
from albert_tf.model.pretrainer import AlbertPretrainer, Batch
from albert_tf.planning.memory import derive_micro_batch_size, memory_limit
from albert_tf.planning.plan import predictions_of
from albert_tf.training.backends import training_steps
from albert_tf.training.steps import TrainingSteps, step_counts
from schemas.config import ModelConfig, ResolvedDataConfig, TrainConfig
from schemas.phases import Phase, Sample
from schemas.special_tokens import FIRST_ORDINARY_ID

# How long steps are repeated after everything is compiled, and the least number of
# them.
REPEAT_SECONDS, LEAST_REPEATS = 3.0, 2


def step_seconds(
    config: ModelConfig, data: ResolvedDataConfig, train: TrainConfig, *, length: int
) -> float:
    """The seconds that an optimizer step takes, reading of examples left out.

    A whole step of many micro-batches is not computed: the time of one is multiplied.

    Args:
        config: The architecture.
        data: Resolved; gives the length S and the predictions P of the longest example.
        train: Gives batch and precision.
        length: Tokens in an average example.
    """
    steps = _new_steps(config, train)
    size = _micro_batch_size(steps, config, train, samples=[Sample(1.0, data)])
    batch = random_batch(
        (steps.num_devices, size, data.max_seq_length),
        length=length,
        predictions=predictions_of(data, length),
        vocab_size=config.vocab_size,
    )
    batches = itertools.repeat(batch)
    return _timed(steps, batches, batch_size=train.batch_size, seconds=REPEAT_SECONDS)


def fed_step_seconds(
    config: ModelConfig,
    train: TrainConfig,
    samples: Sequence[Sample],
    records: Records,
    *,
    seconds: float,
) -> float:
    """The seconds that an optimizer step of a run takes: on its own examples.

    Args:
        config: The architecture.
        train: Gives batch and precision.
        samples: Of the examples of the run.
        records: The data set.
        seconds: How long steps are repeated, all samples together.

    Raises:
        AlbertError: A record is corrupt.
    """
    steps = _new_steps(config, train)
    size = _micro_batch_size(steps, config, train, samples=samples)
    mean = 0.0
    for share, sample in samples:
        batches = training_batches(
            _with(sample, records),
            StepShape(size * steps.num_devices, size, devices=steps.num_devices),
            seed=train.seed,
        )
        with contextlib.closing(batches):
            mean += share * _timed(
                steps,
                batches,
                batch_size=train.batch_size,
                seconds=seconds * share,
            )
    return mean


def _with(sample: ResolvedDataConfig, records: Records) -> Records:
    """The same with examples of such settings, where they are made of documents."""
    if not records.phases:
        return records
    return dataclasses.replace(records, phases=(Phase(0, sample),))


def _new_steps(config: ModelConfig, train: TrainConfig) -> TrainingSteps:
    """Steps of a model that nobody keeps."""
    model = AlbertPretrainer(
        config, precision=train.precision, recompute=train.recompute
    )
    initialize_weights(model, standard_deviation=config.initializer_range, seed=0)
    return training_steps(model, train)


def _micro_batch_size(
    steps: TrainingSteps,
    config: ModelConfig,
    train: TrainConfig,
    *,
    samples: Sequence[Sample],
) -> int:
    """M, as a run would have it."""
    return train.micro_batch_size or derive_micro_batch_size(
        train,
        config,
        length=max(sample.config.max_seq_length for sample in samples),
        predictions=max(sample.config.max_predictions_per_seq for sample in samples),
        limit=memory_limit(steps.memory()),
        devices=steps.num_devices,
    )


def _timed(
    steps: TrainingSteps, batches: Iterator[Batch], *, batch_size: int, seconds: float
) -> float:
    """The seconds of a step of B sequences, from those of some batches `[N, M, ...]`.

    Getting a batch counts. The first batch of each size and the first update do not:
    they compile.
    """
    accumulating: list[float] = []
    applying: list[float] = []
    sizes = set()
    start, before = math.inf, time.perf_counter()
    for batch in map(unpadded, batches):
        steps.accumulate(batch, counts=step_counts(batch), step=0, micro=0)
        steps.sums()
        between = time.perf_counter()
        steps.apply(0.0, step=0)
        after = time.perf_counter()
        size = tuple(values.shape for values in batch.values())
        if size in sizes:
            accumulating.append(between - before)
            applying.append(after - between)
        start, before = min(start, after), after
        sizes.add(size)
        if len(applying) >= LEAST_REPEATS and after - start >= seconds:
            break
    rows: int = math.prod(batch["input_ids"].shape[:2])
    return math.ceil(batch_size / rows) * fmean(accumulating) + fmean(applying)


def random_batch(
    shape: tuple[int, int, int], *, length: int, predictions: int, vocab_size: int
) -> Batch:
    """A batch of sequences of random tokens, and padding.

    Args:
        shape: `[N, M, S]`.
        length: Tokens in each sequence.
        predictions: P, in each sequence.
        vocab_size: V.

    Returns:
        Arrays `[N, M, ...]`, features as in `pretrainer.BATCH_FEATURES`.
    """
    random = np.random.default_rng(0)
    *rows, longest = shape
    masked = (*rows, predictions)
    places = np.broadcast_to(np.arange(longest), shape)
    mask = (places < length).astype("int32")
    ids = random.integers(FIRST_ORDINARY_ID, vocab_size, shape, "int32")
    return {
        "input_ids": ids * mask,
        "input_mask": mask,
        "segment_ids": (places >= length // 2) * mask,
        "masked_lm_positions": random.integers(1, length, masked, "int32"),
        "masked_lm_ids": random.integers(
            FIRST_ORDINARY_ID, vocab_size, masked, "int32"
        ),
        "masked_lm_weights": np.ones(masked, "float32"),
        "sentence_order_labels": random.integers(0, 2, rows, "int32"),
    }
