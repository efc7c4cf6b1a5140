"""Records become batches, in TensorFlow.

Records are batched before they are decoded, so that one call decodes a batch. What the
`compact` layout leaves out (padding, mask, segments) is derived here; the batches of
both layouts are equal.
"""

import concurrent.futures
import contextlib
import dataclasses
import functools
import itertools
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from albert_tf.data.on_the_fly import BEGINNING, Landmark, Landmarks, MadeExamples, Making
from albert_tf.data.reading_order import as_written, shard_groups, shuffled
from albert_tf.model.unpadding import Fill, Sizes, few_sizes
from pipeline.records.reading import (
    BATCH_RECORDS,
    REMEDY,
    CorruptRecord,
    Item,
    read_shard,
    spare_processes,
)
from schemas.config import ResolvedDataConfig
from schemas.errors import AlbertError
from schemas.example import NO_LABEL, PAD_ID, SEP_ID, stored_features
from schemas.manifest import DatasetManifest
from schemas.phases import Phase, mean_length


@dataclasses.dataclass(frozen=True)
class StepShape:
    """How the examples of a step are divided.

    Attributes:
        batch_size: B, examples in a step.
        micro_batch_size: M.
        devices: N, how many micro-batches are computed at the same time on a host.
        host: Which of several hosts this is; it gets its micro-batches alone.
        num_hosts: H, how many there are.
    """

    batch_size: int
    micro_batch_size: int
    _: dataclasses.KW_ONLY
    devices: int = 1
    host: int = 0
    num_hosts: int = 1

    @property
    def micro_batches(self) -> int:
        """K, those of all hosts, as many for each device.

        >>> StepShape(257, 29).micro_batches
        9
        >>> StepShape(257, 29, devices=2).micro_batches
        10
        """
        at_once = self.devices * self.num_hosts
        return -(-self.batch_size // (self.micro_batch_size * at_once)) * at_once

    @property
    def own(self) -> list[int]:
        """Which of them the host computes, in their order.

        Those that are computed at the same time stand together, so that two hosts with
        a device each do what one does with two.

        >>> StepShape(8, 1, devices=2, host=1, num_hosts=2).own
        [2, 3, 6, 7]
        """
        places = np.arange(self.micro_batches).reshape(-1, self.num_hosts, self.devices)
        own: list[int] = places[:, self.host].ravel().tolist()
        return own


Batch = dict[str, Any]

# Batches come in order. Nothing here is left to autotuning, and a run that ends would
# wait for its thread, which sleeps up to a minute.
OPTIONS = tf.data.Options()
OPTIONS.deterministic = True
OPTIONS.autotune.enabled = False


def is_accelerated() -> bool:
    """Whether a GPU or TPU trains, which is idle in what is small."""
    return any("cpu" not in name for name in keras.distribution.list_devices())


# Where TensorFlow only reads, the memory of the GPUs is for whoever computes.
if keras.backend.backend() != "tensorflow":
    tf.config.set_visible_devices([], "GPU")


@dataclasses.dataclass(frozen=True)
class Records:
    """Where examples come from.

    Attributes:
        phases: Of the training examples, where they are made of documents; as the data
            set says if there are none.
        landmarks: Where reading of documents could begin.
    """

    dataset: Path
    manifest: DatasetManifest
    phases: tuple[Phase, ...] = ()
    landmarks: Landmarks = dataclasses.field(default_factory=Landmarks, init=False)
    # Corrupt ones, which end the reading; TensorFlow's threads read ahead.
    _found: list[CorruptRecord] = dataclasses.field(default_factory=list, init=False)

    @as_written
    def of_shard(self, name: tf.Tensor) -> tf.data.Dataset:
        """The records of one shard, as bytes, as many as the manifest says."""
        signature = tf.TensorSpec([None], tf.string)
        return tf.data.Dataset.from_generator(
            self._rows, args=(name,), output_signature=signature
        ).unbatch()

    def _rows(self, name: bytes) -> Iterator[list[bytes]]:
        """The records of a shard, many at a time, empty where they are corrupt."""
        (shard,) = (s for s in self.manifest.shards if s.name == name.decode())
        items = itertools.chain.from_iterable(read_shard(self.dataset, shard, self.manifest))
        rows = itertools.chain.from_iterable(map(self._rows_of, items))
        while some := list(itertools.islice(rows, BATCH_RECORDS)):
            yield some

    def _rows_of(self, item: Item) -> Iterable[bytes]:
        """The row of a record; a row without weight for each that is lost."""
        if isinstance(item, bytes):
            return (item,)
        self._found.append(item)
        return itertools.repeat(b"", item.lost)

    def sizes(self, rows: int) -> Sizes:
        """The sizes of training batches of so many rows; none on TensorFlow.

        That compiles a size in a second, as it comes. On JAX each is a program that takes
        many seconds, so there are few, and all are known before the first step.
        """
        if keras.backend.backend() == "tensorflow":
            return {}
        data, mean = self.manifest.config, self.manifest.statistics["mean_length"]
        found: dict[tuple[int, int], set[Fill]] = {}
        for phase in self.phases or (Phase(0, data),):
            config, ramp = phase.config, phase.ramp
            shares = [config.masked_lm_prob]
            if ramp is not None:
                # That of its first half, and of its second.
                shares = [max(ramp.first, ramp.last), (ramp.first + ramp.last) / 2]
            length, predictions = config.max_seq_length, config.max_predictions_per_seq
            found.setdefault((length, predictions), set()).update(
                few_sizes(
                    rows=rows,
                    length=length,
                    predictions=predictions,
                    mean=mean_length(config, data=data, length=mean),
                    shares=shares,
                )
            )
        return {shape: sorted(sizes) for shape, sizes in found.items()}

    def made(self, making: Making) -> MadeExamples:
        """The examples of a phase; an accelerator takes more than one process can make."""
        return MadeExamples(
            self.dataset,
            self.manifest,
            making,
            landmarks=self.landmarks,
            corrupt=self._found,
            processes=spare_processes() if is_accelerated() else 0,
        )

    def read(self, batches: tf.data.Dataset) -> Iterator[Batch]:
        """Batches of these records, up to a corrupt one, which is refused."""
        found = batches.prefetch(2).with_options(OPTIONS).as_numpy_iterator()
        while True:
            batch = next(found, None)
            # Also at the end: a corrupt document ends the batches.
            if self._found:
                raise AlbertError(f"{self._found[0]}; {REMEDY}.")
            if batch is None:
                return
            yield batch


def training_batches(
    records: Records, shape: StepShape, *, seed: int, start: int = 0, landmark: Landmark = BEGINNING
) -> Generator[Batch, None, None]:
    """The batches of training steps, without end.

    Args:
        start: Examples that the steps before have had.
        landmark: A place at or before them that is found at once, where examples are
            made of documents.

    Yields:
        Dicts of arrays `[K, M, ...]`, features as in `pretrainer.BATCH_FEATURES`; the
        K of all hosts are the least multiple of H*N with room for B rows, and the last
        rows count nowhere where there are more.
    """
    size, own = shape.batch_size, shape.own
    divide = functools.partial(
        divided, number=shape.micro_batches, size=shape.micro_batch_size, own=own
    )
    for stream, config, examples in _streams(
        records, size, seed=seed, start=start, landmark=landmark
    ):
        batches = stream.batch(size, drop_remainder=True).map(divide).unbatch()
        parse = functools.partial(parse_batch, config=config)
        batches = batches.map(parse, num_parallel_calls=2)
        batches = batches.batch(len(own), drop_remainder=True)
        if examples is not None:
            batches = batches.take(-(-examples // size))
        yield from records.read(batches)


def in_advance(batches: Generator[Any, None, None]) -> Generator[Any]:
    """The same, two of them made by a thread before they are asked for."""
    with contextlib.closing(batches), concurrent.futures.ThreadPoolExecutor(1) as thread:
        waiting = deque(thread.submit(next, batches, None) for _ in range(2))
        try:
            while (batch := waiting.popleft().result()) is not None:
                waiting.append(thread.submit(next, batches, None))
                yield batch
        finally:
            thread.shutdown(cancel_futures=True)


@as_written
def divided(records: tf.Tensor, number: int, size: int, own: list[int]) -> tf.Tensor:
    """Some of the K micro-batches `[..., M]` of records `[B]`.

    The last ones are filled up with rows without weight.
    """
    missing = tf.fill([number * size - tf.shape(records)[0]], b"")
    every = tf.reshape(tf.concat([records, missing], axis=0), [number, size])
    return every if len(own) == number else tf.gather(every, own)


def _streams(
    records: Records, batch_size: int, *, seed: int, start: int, landmark: Landmark
) -> Iterator[tuple[tf.data.Dataset, ResolvedDataConfig, int | None]]:
    """The streams of training records one after the other, the last without end.

    Yields:
        The records, their settings, and how many are read; None for all.
    """
    if not records.manifest.has_documents:
        stream = training_records(records, seed=seed, start=start)
        yield stream, records.manifest.config, None
        return
    phases = records.phases or (Phase(0, records.manifest.config),)
    makings = [Making(phase, n, batch_size) for n, phase in enumerate(phases)]
    ends = [making.beginning.examples for making in makings[1:]]
    for making, end in itertools.zip_longest(makings, ends):
        if end is None or start < end:
            with contextlib.closing(records.made(making)) as made:
                stream = made.records(seed=seed, start=start, landmark=landmark)
                yield stream, making.phase.config, None if end is None else end - start
            start = end or start


def training_records(records: Records, *, seed: int, start: int) -> tf.data.Dataset:
    """The endless stream of stored records from a position on, as bytes."""

    def groups() -> Iterator[tuple[list[str], int, int]]:
        for group in shard_groups(records.manifest, seed=seed, start=start):
            yield [file.name for file in group.files], group.seed, group.skip

    @as_written
    def of_group(names: tf.Tensor, seed: tf.Tensor, skip: tf.Tensor) -> tf.data.Dataset:
        shards = tf.data.Dataset.from_tensor_slices(names)
        count = tf.size(names, tf.int64)
        return shuffled(shards, records.of_shard, count=count, seed=seed, skip=skip)

    number = tf.TensorSpec([], tf.int64)
    signature = (tf.TensorSpec([None], tf.string), number, number)
    return tf.data.Dataset.from_generator(groups, output_signature=signature).flat_map(of_group)


def evaluation_batches(records: Records, *, batch_size: int, examples: int) -> Iterator[Batch]:
    """The first examples of the eval split, in the order of the files.

    The last batch is filled up with rows that count nowhere.

    Yields:
        Dicts of arrays `[B, ...]`, features as in `pretrainer.BATCH_FEATURES`.
    """
    shards = records.manifest.shard_files("eval", 0)
    names = tf.data.Dataset.from_tensor_slices([shard.name for shard in shards])
    stream = names.flat_map(records.of_shard).take(examples).batch(batch_size)
    fill = functools.partial(divided, number=1, size=batch_size, own=[0])
    parse = functools.partial(parse_batch, config=records.manifest.config)
    batches = stream.map(fill).unbatch().map(parse, num_parallel_calls=2)
    return records.read(batches)


@as_written
def parse_batch(records: tf.Tensor, config: ResolvedDataConfig) -> Batch:
    """Decode serialized examples `[B]`; b"" is a row without weight."""
    stored = stored_features(config.record_layout)
    parsed = tf.io.parse_example(
        records, {f.name: tf.io.RaggedFeature(tf.as_dtype(f.dtype)) for f in stored}
    )
    dense = {}
    for feature in stored:
        longest = config.length_of(feature)
        values = parsed[feature.name]
        fill = tf.cast(NO_LABEL if feature.length == 1 else 0, values.dtype)
        padded = values.to_tensor(default_value=fill, shape=[None, longest])
        is_integer = feature.dtype == "int64"
        dense[feature.name] = tf.cast(padded, tf.int32) if is_integer else padded
    if config.record_layout == "compact":
        input_ids, labels = dense["input_ids"], dense["masked_lm_ids"]
        mask = tf.cast(input_ids != PAD_ID, tf.int32)
        separators = tf.cast(input_ids == SEP_ID, tf.int32)
        # The first [SEP] ends segment A; the only other one ends the row.
        is_after_first = tf.cumsum(separators, axis=1, exclusive=True) > 0
        dense["input_mask"] = mask
        dense["segment_ids"] = tf.cast(is_after_first, tf.int32) * mask
        number = parsed["masked_lm_ids"].row_lengths()
        weights = tf.sequence_mask(number, labels.shape[1], tf.float32)
        dense["masked_lm_weights"] = weights
    dense["sentence_order_labels"] = dense.pop("next_sentence_labels")[:, 0]
    dense.pop("token_boundary", None)
    return dense
