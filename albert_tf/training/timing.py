"""How fast a run and this machine are: steps of a model, products of matrices."""

import contextlib
import dataclasses
import functools
import gc
import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from statistics import fmean, median_low

import keras
import numpy as np
from keras import ops

from albert_tf.data.input_pipeline import Records, StepShape, is_accelerated, training_batches
from albert_tf.model.initial_weights import initialize_weights
from albert_tf.model.pretrainer import AlbertPretrainer, Batch
from albert_tf.model.sampled_softmax import among_any, num_candidates
from albert_tf.model.unpadding import Sizes, unpadded
from albert_tf.planning.budget import Timed, cost_ahead, sample_flops
from albert_tf.planning.cost import predictions_of, training_flops
from albert_tf.training.run import training_steps
from albert_tf.training.steps import Counts, TrainingSteps, micro_batch_size, pretraining_counts
from schemas.architecture import ModelConfig
from schemas.config import Precision, ResolvedDataConfig, TrainConfig
from schemas.example import FIRST_ORDINARY_ID
from schemas.phases import Phase, samples_of
from schemas.readable import prefixed, rounded

# How long steps of a model alone are repeated once they are compiled, and the least number
# of those.
REPEAT_SECONDS, LEAST_REPEATS = 3.0, 2

# The least width W of the products that are timed: about that of a layer on a CPU.
WIDTH, MAX_WIDTH = 1024, 8192

# The products, as multiples of W: those of attention and of both halves of an FFN. The
# fastest counts, so that no training of such layers is faster.
SHAPES = ((1, 1), (1, 4), (4, 1))

# The width is doubled until a product takes so long that the call itself is negligible.
MIN_SECONDS = 0.001

# How long each product is repeated; the shortest time counts.
PRODUCT_SECONDS, LEAST_PRODUCTS = 0.3, 3

# What speaks for bfloat16: a rate of matrix products this many times that of float32.
SPEED_UP = 1.1

# Waiting for data is worth mentioning from this share of the time on.
MUCH_WAITING = 0.1

# The newest steps, which tell how long a step takes.
NEWEST = 200

# A step that took this many times the median compiled something.
COMPILING = 3.0


@dataclasses.dataclass
class Pace:
    """The speed of this process; evaluations and checkpoints do not count.

    Attributes:
        estimate: The seconds of a step that was compiled before, if one was timed.
        steps: Done by this process.
        settled_steps: Those of them that compiled nothing.
        settled_seconds: What they took together.
        newest: The seconds of each of the newest steps, and those of waiting for data.
    """

    batch_size: int
    estimate: float = 0.0
    steps: int = 0
    settled_steps: int = 0
    settled_seconds: float = 0.0
    newest: deque[tuple[float, float]] = dataclasses.field(
        default_factory=lambda: deque(maxlen=NEWEST)
    )

    def add(self, seconds: float, *, waited: float) -> None:
        """Count a step."""
        self.steps += 1
        self.newest.append((seconds, waited))
        if seconds - waited <= self._most_seconds:
            self.settled_steps += 1
            self.settled_seconds += seconds

    @property
    def settled(self) -> list[tuple[float, float]]:
        """The newest steps but for those that compiled something."""
        most = self._most_seconds
        return [each for each in self.newest if each[0] - each[1] <= most]

    @property
    def _most_seconds(self) -> float:
        computing = [seconds - waited for seconds, waited in self.newest]
        return COMPILING * median_low([self.estimate or math.inf, *computing])

    @property
    def mean_seconds(self) -> float:
        """What a step takes on average over the whole run, of which some minutes are faster."""
        if not self.settled_steps:
            return self.estimate
        return self.settled_seconds / self.settled_steps

    @property
    def step_seconds(self) -> float:
        """What a step takes when nothing is left to compile.

        >>> pace = Pace(batch_size=8)
        >>> for seconds in (9.0, 1.0, 2.0, 1.0, 2.0):
        ...     pace.add(seconds, waited=0.0)
        >>> pace.step_seconds
        1.5
        """
        return fmean(seconds for seconds, _ in self.settled) if self.settled else self.estimate

    def text(self) -> str:
        """The rate, and the share of time spent waiting for data if it is large.

        >>> pace = Pace(batch_size=8)
        >>> pace.add(2.0, waited=0.5)
        >>> pace.text()
        '4 seq/s, 25% waiting for data'
        """
        text = f"{rounded(self.batch_size / self.step_seconds)} seq/s"
        waiting = fmean(waited for _, waited in self.settled) if self.settled else 0.0
        share = waiting / self.step_seconds
        return text if share < MUCH_WAITING else f"{text}, {share:.0%} waiting for data"


def step_seconds(
    config: ModelConfig, data: ResolvedDataConfig, train: TrainConfig, *, length: int
) -> float:
    """The seconds that an optimizer step takes, reading of examples left out.

    A whole step of many micro-batches is not computed: the time of one is multiplied.

    Args:
        data: Gives the length S and the predictions P of the longest example.
        length: Tokens in an average example.
    """
    steps = _new_steps(config, train)
    size = micro_batch_size(steps, train, [data])
    batch = random_batch(
        (steps.num_devices, size, data.max_seq_length),
        length=length,
        predictions=predictions_of(data, length),
        vocab_size=config.vocab_size,
    )
    batches = itertools.repeat(batch)
    return _timed(steps, batches, batch_size=train.batch_size, seconds=REPEAT_SECONDS).step


class ThisMachine:
    """See `planning.budget.Machine`: steps are timed on a run's own examples.

    Args:
        precision: The number format that was asked for; None for the faster one.

    Attributes:
        precision: The number format.
    """

    now = staticmethod(time.monotonic)

    def __init__(self, records: Records, *, precision: Precision | None) -> None:
        self._records = records
        self.is_accelerator = is_accelerated()
        is_made_for_it = _is_made_for_bfloat16()
        self.precision: Precision = precision or ("bfloat16" if is_made_for_it else "float32")
        self.rate = matrix_rate(self.precision)
        if precision is None and not is_made_for_it:
            rate = matrix_rate("bfloat16")
            if rate > SPEED_UP * self.rate:
                self.precision, self.rate = "bfloat16", rate
        if self.is_accelerator:
            self.rate *= len(keras.distribution.list_devices())

    def timed(self, config: ModelConfig, train: TrainConfig, *, seconds: float) -> Timed:
        """See `Machine.timed`: on average over a run, from the examples that it begins with."""
        records, manifest = self._records, self._records.manifest
        steps = _new_steps(config, train)
        samples = list(samples_of(manifest.config, train))
        size = micro_batch_size(steps, train, [sample.config for sample in samples])
        # Examples of such settings, where they are made of documents.
        phases = (Phase(0, samples[0].config),) if records.phases else ()
        batches = training_batches(
            dataclasses.replace(records, phases=phases),
            StepShape(size * steps.num_devices, size, devices=steps.num_devices),
            seed=train.seed,
        )
        with contextlib.closing(batches):
            first = _timed(
                steps,
                batches,
                batch_size=train.batch_size,
                seconds=seconds,
                sizes=records.sizes(size),
                candidates=num_candidates(config, train, manifest.config),
            )
        if self.is_accelerator:
            # A circle of objects holds what was timed, in the memory that the run is to have.
            del steps
            gc.collect()
        ahead = cost_ahead(sample_flops(config, train, manifest))
        return first._replace(step=first.step * ahead)


def _new_steps(config: ModelConfig, train: TrainConfig) -> TrainingSteps:
    """Steps of a model that nobody keeps."""
    model = AlbertPretrainer(config, precision=train.precision, recompute=train.recompute)
    initialize_weights(model, standard_deviation=config.initializer_range, seed=0)
    return training_steps(model, train)


def _timed(
    steps: TrainingSteps,
    batches: Iterator[Batch],
    *,
    batch_size: int,
    seconds: float,
    sizes: Sizes | None = None,
    candidates: int | None = None,
) -> Timed:
    """A step of B sequences, from micro-batches `[N, M, ...]` that are repeated for a while.

    Getting a batch counts, but it is always the first that is computed: those of other sizes
    would compile too.

    Args:
        candidates: Tokens that it predicts among; None for the whole vocabulary.
    """
    batch = unpadded(next(batches), sizes=sizes)
    if candidates:
        batch = among_any(batch, number=candidates)
    counts = pretraining_counts(batch)
    spent: list[tuple[float, float]] = []
    while len(spent) <= LEAST_REPEATS or sum(map(sum, spent[1:])) < seconds:
        start = time.perf_counter()
        unpadded(next(batches), sizes=sizes)
        steps.accumulate(batch, counts=counts, step=0, micro=0)
        steps.sums()
        between = time.perf_counter()
        float(steps.apply(0.0, step=0))
        spent.append((between - start, time.perf_counter() - between))
    compiled, *repeated = spent
    micro, update = map(fmean, zip(*repeated, strict=True))
    rows: int = math.prod(batch["input_ids"].shape[:2])
    return Timed(math.ceil(batch_size / rows) * micro + update, sum(compiled) - micro - update)


def random_batch(
    shape: tuple[int, int, int], *, length: int, predictions: int, vocab_size: int
) -> Batch:
    """A batch of sequences of random tokens, and padding.

    Args:
        shape: `[N, M, S]`.
        length: Tokens in each sequence, and P predictions.

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
        "masked_lm_ids": random.integers(FIRST_ORDINARY_ID, vocab_size, masked, "int32"),
        "masked_lm_weights": np.ones(masked, "float32"),
        "sentence_order_labels": random.integers(0, 2, rows, "int32"),
    }


def _is_made_for_bfloat16() -> bool:
    """Whether what trains is a TPU, or GPUs of NVIDIA's from Ampere on."""
    if keras.backend.backend() == "jax":
        import jax

        from albert_tf.model.jax_operations import has_tensor_cores_of_bfloat16

        return jax.default_backend() == "tpu" or has_tensor_cores_of_bfloat16()
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    found = [tf.config.experimental.get_device_details(gpu) for gpu in gpus]
    return bool(found) and all(each.get("compute_capability", (0, 0)) >= (8, 0) for each in found)


@functools.cache
def matrix_rate(precision: Precision) -> float:
    """The rate of matrix products on one device, in FLOP/s, measured once in a process.

    This is an upper bound for training. Random numbers, because hardware is faster on
    numbers that are all the same.
    """
    if is_accelerated():  # each product is compiled, and none of them says more than the largest
        width, shapes = MAX_WIDTH, [SHAPES[0]]
    else:
        width, shapes = WIDTH, [*SHAPES]
        while width < MAX_WIDTH and _width_seconds(width, (1, 1), precision) < MIN_SECONDS:
            width *= 2
    # Of 4W rows, a multiplication with its addition as two.
    flops = 2 * 4 * width**3
    return max(
        flops * inputs * outputs / _width_seconds(width, (inputs, outputs), precision)
        for inputs, outputs in shapes
    )


def _width_seconds(width: int, shape: tuple[int, int], precision: Precision) -> float:
    """The least seconds of a product `[4W, iW] x [iW, oW]`."""
    inputs, outputs = (factor * width for factor in shape)
    rows = keras.random.normal((4 * width, inputs), dtype=precision, seed=1)
    kernel = keras.random.normal((inputs, outputs), dtype=precision, seed=2)
    seconds: list[float] = []
    # The first one compiles.
    while len(seconds) <= LEAST_PRODUCTS or sum(seconds[1:]) < PRODUCT_SECONDS:
        start = time.perf_counter()
        product = ops.matmul(rows, kernel)
        float(ops.cast(product[0, 0], "float32"))  # waits for the result
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


def utilization_text(
    steps: TrainingSteps,
    counts: Counts,
    seconds: float,
    *,
    devices: int,
    config: TrainConfig,
    candidates: int | None,
    say: Callable[[str], None],
) -> str:
    """Text such as " (MFU 50% of 123 GFLOP/s)".

    Padding counts as no work.

    Args:
        counts: Of the step, which takes these seconds on so many devices.
        candidates: Tokens that it predicts among; None for the whole vocabulary.
        say: Told if float32 is faster here.
    """
    rate = matrix_rate(config.precision)
    if config.precision == "bfloat16" and not _is_made_for_bfloat16():
        times = matrix_rate("float32") / rate
        if times > 1.0:
            say(
                f"bfloat16 makes matrix products {times:.1f} times slower on this "
                "machine, which has no instructions for it; --precision float32 is "
                "faster here."
            )
    rate *= devices
    flops = config.batch_size * training_flops(
        steps.model.config,
        length=round(counts["piece_count"] / config.batch_size),
        predictions=round(counts["mlm_count"] / config.batch_size),
        candidates=candidates,
    )
    # The rate is measured before on one shape of matrices, so a step can seem to exceed it.
    share = min(1.0, flops / seconds / rate)
    return f" (MFU {share:.0%} of {prefixed(rate, 'FLOP')}/s)"
