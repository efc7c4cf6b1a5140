"""One record with any values, as TensorFlow serializes it."""

import tensorflow as tf


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
