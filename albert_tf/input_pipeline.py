"""Records become batches, in TensorFlow.

Records are batched before they are decoded, so that one call decodes a batch. What the
`compact` layout leaves out (padding, mask, segments) is derived here; the batches of
both layouts are equal.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from albert_tf.corrupt_records import CorruptRecord, first_corrupt, read_checked
from albert_tf.reading_order import ShardGroup, shard_groups
from schemas.config import DataConfig
from schemas.errors import AlbertError
from schemas.example import feature_length, least_length, stored_features
from schemas.manifest import DatasetManifest, ShardFile
from schemas.special_tokens import PAD_ID, SEP_ID

Batch = dict[str, Any]

# Examples in the shuffle window, each about 1 kB of bytes. The shards are in the order
# of a hash of their documents, so a window need only part the pairs of a document.
SHUFFLE_WINDOW = 16384

# The label of a row that is no example: it has no masked pieces and no pair.
NO_LABEL = -1

# Where TensorFlow only reads, the memory of the GPUs is for whoever computes.
if keras.backend.backend() != "tensorflow":
    tf.config.set_visible_devices([], "GPU")

# TensorFlow would rewrite the functions below to find loops over tensors in them.
as_written = tf.autograph.experimental.do_not_convert


@dataclasses.dataclass(frozen=True)
class Records:
    """Where examples come from.

    Attributes:
        dataset: The data set's directory.
        manifest: Its manifest.
        on_corrupt: Told about each corrupt record, which then is a row without weight.
            Without it the first one ends the reading, and records need not be checked
            one by one in Python.
        remedy: What to do about a corrupt record that ended the reading.
    """

    dataset: Path
    manifest: DatasetManifest
    on_corrupt: Callable[[CorruptRecord], None] | None = None
    remedy: str = "make the data again"

    def of_shard(self, name: tf.Tensor) -> tf.data.Dataset:
        """The records of one shard, as bytes, as many as the manifest says."""
        if self.on_corrupt is None:
            path = tf.strings.join([str(self.dataset), name], separator="/")
            return tf.data.TFRecordDataset(path)
        signature = tf.TensorSpec([None], tf.string)
        return tf.data.Dataset.from_generator(
            self._checked, args=(name,), output_signature=signature
        ).unbatch()

    def _checked(self, name: bytes) -> Iterator[list[bytes]]:
        """The records of a shard, 64 at a time, empty where they are corrupt."""
        (shard,) = (s for s in self.manifest.shards if s.name == name.decode())
        records = read_checked(self.dataset, shard, self.manifest.config)
        while some := list(itertools.islice(records, 64)):
            for record in some:
                if self.on_corrupt and isinstance(record, CorruptRecord):
                    self.on_corrupt(record)
            yield [record if isinstance(record, bytes) else b"" for record in some]

    def parse(self, batches: tf.data.Dataset) -> tf.data.Dataset:
        """Decode batches of records."""
        parse = functools.partial(
            parse_batch,
            config=self.manifest.config,
            allow_empty=self.on_corrupt is not None,
        )
        return batches.map(parse, num_parallel_calls=2)

    def explain(self, error: Exception, shards: Iterable[ShardFile]) -> AlbertError:
        """A reading error as one sentence that names the record at fault."""
        corrupt = first_corrupt(self.dataset, shards, self.manifest.config)
        what = corrupt or f"{self.dataset} cannot be read: {error}"
        return AlbertError(f"{what}; {self.remedy}.")


def training_batches(
    records: Records,
    *,
    seed: int,
    start: int,
    micro_batch_size: int,
    micro_batches: int,
    devices: int = 1,
) -> Iterator[Batch]:
    """The batches of training steps, without end.

    Args:
        records: The data set.
        seed: Draws the order of the examples.
        start: Examples already consumed.
        micro_batch_size: M.
        micro_batches: K, micro-batches in a step.
        devices: K is filled up to a multiple of it, with rows that count nowhere.

    Yields:
        Dicts of arrays `[K, M, ...]`, features as in `pretrainer.BATCH_FEATURES`.

    Raises:
        AlbertError: A record is corrupt; names file and place.
    """
    stream = training_records(records, seed=seed, start=start)
    batches = records.parse(stream.batch(micro_batch_size, drop_remainder=True))
    batches = batches.batch(micro_batches, drop_remainder=True)
    if micro_batches % devices:
        full = -(-micro_batches // devices) * devices
        batches = batches.map(functools.partial(fill_up, batch_size=full))
    batches = batches.prefetch(2).with_options(_deterministic())
    position = start
    try:
        for batch in batches.as_numpy_iterator():
            yield batch
            position += micro_batch_size * micro_batches
    except tf.errors.OpError as error:
        groups = shard_groups(records.manifest, seed=seed, start=position)
        ahead = SHUFFLE_WINDOW + 4 * micro_batch_size * micro_batches
        raise records.explain(error, _shards_ahead(groups, ahead)) from error


def _shards_ahead(groups: Iterator[ShardGroup], examples: int) -> Iterator[ShardFile]:
    """The shards that may have been opened when reading is so many examples ahead."""
    while examples > 0:
        group = next(groups)
        yield from group.files
        examples -= sum(file.examples for file in group.files) - group.skip


def training_records(records: Records, *, seed: int, start: int) -> tf.data.Dataset:
    """The endless stream of training records from a position on, as bytes."""

    def groups() -> Iterator[tuple[list[str], int, int]]:
        for group in shard_groups(records.manifest, seed=seed, start=start):
            yield [file.name for file in group.files], group.seed, group.skip

    @as_written
    def shuffled(names: tf.Tensor, seed: tf.Tensor, skip: tf.Tensor) -> tf.data.Dataset:
        side_by_side = tf.data.Dataset.from_tensor_slices(names).interleave(
            records.of_shard, cycle_length=tf.size(names, tf.int64), block_length=16
        )
        shuffled = side_by_side.shuffle(
            SHUFFLE_WINDOW, seed=seed, reshuffle_each_iteration=False
        )
        return shuffled.skip(skip)

    number = tf.TensorSpec([], tf.int64)
    signature = (tf.TensorSpec([None], tf.string), number, number)
    return tf.data.Dataset.from_generator(groups, output_signature=signature).flat_map(
        shuffled
    )


def evaluation_batches(
    records: Records, *, batch_size: int, examples: int
) -> Iterator[Batch]:
    """The first examples of the eval split, in the order of the files.

    The last batch is filled up with rows that count nowhere.

    Yields:
        Dicts of arrays `[B, ...]`, features as in `pretrainer.BATCH_FEATURES`.

    Raises:
        AlbertError: A record is corrupt; names file and place.
    """
    shards = records.manifest.shard_files("eval", 0)
    names = tf.data.Dataset.from_tensor_slices([shard.name for shard in shards])
    stream = names.flat_map(records.of_shard).take(examples).batch(batch_size)
    fill = functools.partial(fill_up, batch_size=batch_size)
    batches = records.parse(stream).map(fill).prefetch(2)
    try:
        yield from batches.with_options(_deterministic()).as_numpy_iterator()
    except tf.errors.OpError as error:
        raise records.explain(error, shards) from error


@as_written
def fill_up(batch: Batch, batch_size: int) -> Batch:
    """Add rows without weight to a batch that is too small."""

    def padded(values: tf.Tensor, fill: int) -> tf.Tensor:
        missing = batch_size - tf.shape(values)[0]
        paddings = [[0, missing]] + [[0, 0]] * (values.shape.rank - 1)
        filled = tf.pad(values, paddings, constant_values=fill)
        return tf.ensure_shape(filled, [batch_size, *values.shape[1:]])

    return {
        name: padded(values, NO_LABEL if name == "sentence_order_labels" else 0)
        for name, values in batch.items()
    }


@as_written
def parse_batch(records: tf.Tensor, config: DataConfig, *, allow_empty: bool) -> Batch:
    """Decode serialized examples `[B]`.

    Args:
        records: The examples.
        config: How the data set was made.
        allow_empty: Whether b"" is a row without weight instead of an error.

    Raises:
        tf.errors.InvalidArgumentError: When run, on a record that is no example or has
            more or fewer values than the settings say.
    """
    stored = stored_features(config.record_layout)
    parsed = tf.io.parse_example(
        records, {f.name: tf.io.RaggedFeature(tf.as_dtype(f.dtype)) for f in stored}
    )
    dense = {}
    for feature in stored:
        longest = feature_length(
            feature,
            max_seq_length=config.max_seq_length,
            max_predictions_per_seq=config.max_predictions_per_seq or 0,
        )
        shortest = 0 if allow_empty else least_length(feature)
        fill = NO_LABEL if feature.length == 1 else 0
        values = _check_lengths(parsed[feature.name], shortest, longest)
        fill_value = tf.cast(fill, values.dtype)
        padded = values.to_tensor(default_value=fill_value, shape=[None, longest])
        is_integer = feature.dtype == "int64"
        dense[feature.name] = tf.cast(padded, tf.int32) if is_integer else padded
    if config.record_layout == "compact":
        dense |= derived_features(dense, parsed["masked_lm_ids"].row_lengths())
    dense["sentence_order_labels"] = dense.pop("next_sentence_labels")[:, 0]
    dense.pop("token_boundary", None)
    return dense


def _check_lengths(
    values: tf.RaggedTensor, shortest: int, longest: int
) -> tf.RaggedTensor:
    """The same values, once no row is shorter or longer than allowed."""
    lengths = values.row_lengths()
    message = f"a feature must have {shortest} to {longest} values"
    checks = [
        tf.debugging.assert_greater_equal(tf.reduce_min(lengths), shortest, message),
        tf.debugging.assert_less_equal(tf.reduce_max(lengths), longest, message),
    ]
    with tf.control_dependencies(checks):
        return values.with_values(tf.identity(values.values))


def derived_features(dense: Batch, num_predictions: tf.Tensor) -> Batch:
    """Mask, segments and weights, from padded pieces and the number of predictions.

    The first [SEP] ends segment A; a masked sequence has no other but the last piece.
    """
    input_ids = dense["input_ids"]
    input_mask = tf.cast(input_ids != PAD_ID, tf.int32)
    separators = tf.cast(input_ids == SEP_ID, tf.int32)
    is_after_first = tf.cumsum(separators, axis=1, exclusive=True) > 0
    return {
        "input_mask": input_mask,
        "segment_ids": tf.cast(is_after_first, tf.int32) * input_mask,
        "masked_lm_weights": tf.sequence_mask(
            num_predictions, dense["masked_lm_ids"].shape[1], tf.float32
        ),
    }


def _deterministic() -> tf.data.Options:
    options = tf.data.Options()
    options.deterministic = True
    return options
