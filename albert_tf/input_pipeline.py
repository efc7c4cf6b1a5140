"""Records become batches, in TensorFlow.

Records are batched before they are decoded, so that one call decodes a batch. What the
`compact` layout leaves out (padding, mask, segments) is derived here; the batches of
both layouts are equal.
"""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

from albert_tf.reading_order import shard_groups
from schemas.config import DataConfig
from schemas.example import feature_length, stored_features
from schemas.manifest import DatasetManifest
from schemas.special_tokens import SEP_ID

Batch = dict[str, Any]

# Examples in the shuffle window, each about 1 kB of bytes. The shards are in the order
# of a hash of their documents, so a window need only part the pairs of a document.
SHUFFLE_WINDOW = 16384

# The label of a row that fills up a batch: it has no masked pieces and no pair.
NO_LABEL = -1


def training_batches(
    dataset: Path,
    manifest: DatasetManifest,
    *,
    seed: int,
    start: int,
    micro_batch_size: int,
    micro_batches: int,
) -> tf.data.Dataset:
    """The batches of training steps, without end.

    Args:
        dataset: The data set's directory.
        manifest: Its manifest.
        seed: Draws the order of the examples.
        start: Examples already consumed.
        micro_batch_size: M.
        micro_batches: K, micro-batches in a step.

    Returns:
        Dicts of tensors `[K, M, ...]`, features as in `pretrainer.BATCH_FEATURES`.
    """

    def groups() -> Iterator[tuple[list[str], int, int]]:
        for group in shard_groups(manifest, seed=seed, start=start):
            yield [str(dataset / f.name) for f in group.files], group.seed, group.skip

    signature = (
        tf.TensorSpec([None], tf.string),
        tf.TensorSpec([], tf.int64),
        tf.TensorSpec([], tf.int64),
    )
    parse = functools.partial(parse_batch, config=manifest.config)
    records = tf.data.Dataset.from_generator(groups, output_signature=signature)
    return (
        records.flat_map(_shuffled_records)
        .batch(micro_batch_size, drop_remainder=True)
        .map(parse, num_parallel_calls=2)
        .batch(micro_batches, drop_remainder=True)
        .prefetch(2)
        .with_options(_deterministic())
    )


def evaluation_batches(
    dataset: Path, manifest: DatasetManifest, *, batch_size: int, examples: int
) -> tf.data.Dataset:
    """The first examples of the eval split, in the order of the files.

    The last batch is filled up with rows that count nowhere.

    Returns:
        Dicts of tensors `[B, ...]`, features as in `pretrainer.BATCH_FEATURES`.
    """
    names = [str(dataset / file.name) for file in manifest.shard_files("eval", 0)]

    parse = functools.partial(parse_batch, config=manifest.config)

    @tf.autograph.experimental.do_not_convert
    def fill_up(records: tf.Tensor) -> tf.Tensor:
        missing = batch_size - tf.shape(records)[0]
        return tf.ensure_shape(tf.pad(records, [[0, missing]]), [batch_size])

    return (
        tf.data.TFRecordDataset(names)
        .take(examples)
        .batch(batch_size)
        .map(fill_up)
        .map(parse)
        .prefetch(2)
        .with_options(_deterministic())
    )


@tf.autograph.experimental.do_not_convert
def _shuffled_records(
    files: tf.Tensor, seed: tf.Tensor, skip: tf.Tensor
) -> tf.data.Dataset:
    """The records of one group of shards, read side by side and shuffled."""
    return (
        tf.data.Dataset.from_tensor_slices(files)
        .interleave(
            tf.data.TFRecordDataset,
            cycle_length=tf.size(files, tf.int64),
            block_length=16,
        )
        .shuffle(SHUFFLE_WINDOW, seed=seed, reshuffle_each_iteration=False)
        .skip(skip)
    )


@tf.autograph.experimental.do_not_convert
def parse_batch(records: tf.Tensor, config: DataConfig) -> Batch:
    """Decode serialized examples `[B]`; an empty string becomes a row without weight.

    Raises:
        tf.errors.InvalidArgumentError: When run, on a record that is no example or
            longer than the settings say.
    """
    sizes = {
        "max_seq_length": config.max_seq_length,
        "max_predictions_per_seq": config.max_predictions_per_seq or 0,
    }
    stored = stored_features(config.record_layout)
    parsed = tf.io.parse_example(
        records,
        {f.name: tf.io.RaggedFeature(tf.as_dtype(f.dtype)) for f in stored},
    )
    dense = {
        f.name: _to_dense(
            parsed[f.name],
            feature_length(f, **sizes),
            fill=NO_LABEL if f.length == 1 else 0,
        )
        for f in stored
    }
    if config.record_layout == "compact":
        dense |= derived_features(dense, parsed["masked_lm_ids"].row_lengths())
    dense["sentence_order_labels"] = dense.pop("next_sentence_labels")[:, 0]
    dense.pop("token_boundary", None)
    return dense


def _to_dense(values: tf.RaggedTensor, length: int, *, fill: int) -> tf.Tensor:
    """Rows padded to a static `length`, integers as int32."""
    is_short_enough = tf.debugging.assert_less_equal(
        tf.reduce_max(values.row_lengths()),
        tf.constant(length),
        f"a feature has more than {length} values",
    )
    with tf.control_dependencies([is_short_enough]):
        dense = values.to_tensor(
            default_value=tf.cast(fill, values.dtype), shape=[None, length]
        )
    return dense if dense.dtype == tf.float32 else tf.cast(dense, tf.int32)


def derived_features(dense: Batch, num_predictions: tf.Tensor) -> Batch:
    """Mask, segments and weights, from padded pieces and the number of predictions.

    The first [SEP] ends segment A; a masked sequence has no other but the last piece.
    """
    input_ids = dense["input_ids"]
    input_mask = tf.cast(input_ids != 0, tf.int32)
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
