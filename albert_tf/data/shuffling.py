"""Shards read side by side and shuffled in a window: the order within a group."""

from collections.abc import Callable

import tensorflow as tf

# Examples in the shuffle window, each about 1 kB. A shard is in random order already:
# the window only has to keep the pairs of a document apart.
SHUFFLE_WINDOW = 16384

# Examples that are read of a shard before the next one has its turn.
BLOCK = 16

# TensorFlow would rewrite functions to find loops over tensors in them.
as_written = tf.autograph.experimental.do_not_convert


@as_written
def shuffled(
    shards: tf.data.Dataset,
    of_shard: Callable[[tf.Tensor], tf.data.Dataset],
    *,
    count: tf.Tensor,
    seed: tf.Tensor,
    skip: tf.Tensor,
) -> tf.data.Dataset:
    """What several shards hold, in the order in which training reads it.

    Args:
        shards: What `of_shard` takes.
        of_shard: The contents of a shard.
        count: How many shards there are.
        seed: Shuffles.
        skip: How much to leave out at the beginning of the result.
    """
    side_by_side = shards.interleave(of_shard, cycle_length=count, block_length=BLOCK)
    in_order = side_by_side.shuffle(
        SHUFFLE_WINDOW, seed=seed, reshuffle_each_iteration=False
    )
    return in_order.skip(skip)
