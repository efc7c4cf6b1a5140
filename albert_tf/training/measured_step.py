"""How long a step takes on this machine: a few real ones, on random examples."""

import math
import time
from statistics import median

import numpy as np

from albert_tf.data.unpadding import unpadded
from albert_tf.model.initial_weights import initialize_weights
from albert_tf.model.pretrainer import AlbertPretrainer, Batch
from albert_tf.planning.device_memory import room_of
from albert_tf.planning.micro_batch import derive_micro_batch_size
from albert_tf.planning.training_plan import predictions_of
from albert_tf.training.backends import training_steps
from albert_tf.training.steps import TrainingSteps, step_counts
from schemas.config import ModelConfig, ResolvedDataConfig, TrainConfig
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
    model = AlbertPretrainer(config, precision=train.precision)
    initialize_weights(model, standard_deviation=config.initializer_range, seed=0)
    steps = training_steps(model, train)
    room = room_of(steps.memory())
    size = train.micro_batch_size or derive_micro_batch_size(
        train.batch_size,
        config,
        length=data.max_seq_length,
        predictions=data.max_predictions_per_seq,
        free_bytes=room.free_bytes,
        max_tokens=room.max_tokens,
        precision=train.precision,
        devices=steps.num_devices,
    )
    batch = random_batch(
        (steps.num_devices, size, data.max_seq_length),
        length=length,
        predictions=predictions_of(data, length),
        vocab_size=config.vocab_size,
    )
    accumulating, applying = _timed(steps, unpadded(batch))
    rounds = math.ceil(train.batch_size / size / steps.num_devices)
    return rounds * accumulating + applying


def _timed(steps: TrainingSteps, batch: Batch) -> tuple[float, float]:
    """The seconds that N micro-batches `[N, M, ...]` and an update take."""
    counts = step_counts(batch)
    accumulating = [steps.compile([batch])]
    applying: list[float] = []
    start = time.perf_counter()
    while (
        len(applying) <= LEAST_REPEATS or time.perf_counter() - start < REPEAT_SECONDS
    ):
        before = time.perf_counter()
        steps.accumulate(batch, counts=counts, step=0, micro=0)
        steps.sums()
        between = time.perf_counter()
        steps.apply(0.0, step=0)
        accumulating.append(between - before)
        applying.append(time.perf_counter() - between)
    return median(accumulating), median(applying[1:])  # the first update compiles


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
