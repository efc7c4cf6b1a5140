"""Records: one with any values, as TensorFlow serializes it, and those of a file."""

import tensorflow as tf

from pipeline.records.tfrecord import read_frames


def encode(features) -> bytes:
    """The bytes of a `tf.train.Example`; features with a float hold floats."""
    example = tf.train.Example()
    for name, values in features.items():
        feature = example.features.feature[name]
        if any(isinstance(value, float) for value in values):
            feature.float_list.value.extend(values)
        else:
            feature.int64_list.SetInParent()
            feature.int64_list.value.extend(values)
    return example.SerializeToString(deterministic=True)


def read_records(file) -> list[bytes]:
    """The records of a TFRecord file in which nothing is wrong."""
    return [found.record for found in read_frames(file)]
