"""The memory that the tensors of a compiled function take."""

import pytest
import tensorflow as tf


def mebibytes_at_the_peak(function, *arguments):
    """What a compiled function takes at most beyond what was there before."""
    compiled = tf.function(function, autograph=False)
    compiled(*arguments)
    try:
        tf.config.experimental.reset_memory_stats("CPU:0")
        before = tf.config.experimental.get_memory_info("CPU:0")["current"]
    except ValueError:
        pytest.skip("TensorFlow counts memory only with oneDNN")
    compiled(*arguments)
    info = tf.config.experimental.get_memory_info("CPU:0")
    return (info["peak"] - before) / 2**20
