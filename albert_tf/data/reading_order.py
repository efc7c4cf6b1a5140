"""The order in which training examples are read: an endless stream, known by a count.

A *pass* reads one copy of the split; passes take the copies in turn, so that every
pass over the text brings fresh masks. The shards of a pass come in an order drawn from
(seed, pass), a *group* of them at a time: the files of a group are read side by side
and shuffled in a window. The position in the stream is the number of examples consumed;
from it follow the pass, the group and the place in it, so nothing else is stored.
"""

import dataclasses
import hashlib
import itertools
from collections.abc import Callable, Iterator

import tensorflow as tf

from schemas.layout import TRAIN, shard_file
from schemas.manifest import DatasetManifest, ShardFile

# Shards read side by side: the smallest data set has eight.
GROUP_SHARDS = 8


@dataclasses.dataclass(frozen=True)
class ShardGroup:
    """Files read together, in the order they are opened.

    Attributes:
        skip: Examples already consumed, counted after shuffling.
    """

    files: tuple[ShardFile, ...]
    seed: int
    skip: int


def shard_groups(manifest: DatasetManifest, *, seed: int, start: int) -> Iterator[ShardGroup]:
    """The groups of the endless training stream from a position on.

    Args:
        start: Examples already consumed.

    Raises:
        ValueError: There is nothing to train on.
    """
    copies = [manifest.shard_files(TRAIN, copy) for copy in range(manifest.num_copies(TRAIN))]
    cycle = manifest.num_examples(TRAIN)
    if cycle == 0:
        raise ValueError("no training examples")
    first_pass, left = start // cycle * len(copies), start % cycle
    for number in itertools.count(first_pass):
        files = copies[number % len(copies)]
        if left >= _num_examples(files):
            left -= _num_examples(files)
            continue
        for group in _groups_of_pass(files, seed=seed, number=number):
            size = _num_examples(group.files)
            if left < size:
                yield dataclasses.replace(group, skip=left)
            left = max(0, left - size)


def groups_from(
    manifest: DatasetManifest, *, seed: int, epoch: int, group: int
) -> Iterator[tuple[int, int, ShardGroup]]:
    """The groups of the endless stream that is made of documents, from one on.

    Their order is that of stored copies, as if epoch e read copy e.

    Yields:
        Epoch and number of each group, and the group.
    """
    documents = manifest.shard_files(TRAIN, epoch)
    for number in itertools.count(epoch):
        stored = {
            shard_file(TRAIN, number, shard=n, num_shards=len(documents)): file
            for n, file in enumerate(documents)
        }
        named = tuple(dataclasses.replace(file, name=name) for name, file in stored.items())
        groups = _groups_of_pass(named, seed=seed, number=number)
        for place, found in enumerate(groups):
            if number > epoch or place >= group:
                files = tuple(stored[file.name] for file in found.files)
                yield number, place, dataclasses.replace(found, files=files)


def _groups_of_pass(
    files: tuple[ShardFile, ...], *, seed: int, number: int
) -> Iterator[ShardGroup]:
    """The groups of one pass, all their examples still to come."""

    def draw(purpose: str) -> bytes:
        return hashlib.sha256(f"{seed} {number} {purpose}".encode()).digest()

    order = sorted(files, key=lambda file: draw(file.name))
    for first in range(0, len(order), GROUP_SHARDS):
        group_seed = int.from_bytes(draw(f"group {first}")[:4], "big") >> 1
        yield ShardGroup(tuple(order[first : first + GROUP_SHARDS]), group_seed, 0)


def _num_examples(files: tuple[ShardFile, ...]) -> int:
    return sum(file.examples for file in files)


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
    """What several shards hold in the order of training, without the first `skip`."""
    side_by_side = shards.interleave(of_shard, cycle_length=count, block_length=BLOCK)
    in_order = side_by_side.shuffle(SHUFFLE_WINDOW, seed=seed, reshuffle_each_iteration=False)
    return in_order.skip(skip)
