"""Training examples made of documents, in the order in which stored ones are read.

Epoch e is what copy e would be. The shards of a group are divided into sequences, which
takes a twentieth of the time of examples; then the numbers of the examples are shuffled
as the examples themselves would be, and only those that are asked for are made. So a
position inside a group is reached without making what comes before it.
"""

import dataclasses
import functools
import itertools
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from albert_tf.data.reading_order import as_written, groups_from, shuffled
from pipeline.examples.packing import Sequences, Tokens
from pipeline.records.reading import (
    CorruptRecord,
    Makers,
    make_records,
    read_tokens,
    sequences_of_epoch,
)
from schemas.manifest import DatasetManifest, ShardFile
from schemas.phases import Phase

# Examples made at a time: of eight shards enough for array operations on each.
CHUNK_EXAMPLES = 8192
# Chunks that are made at the same time, ahead of the training.
CHUNKS_AT_A_TIME = 2

# The number of an example: that of its shard in the group, and its own in the shard.
_SHARD_BITS = 32

# Epochs are counted on from a multiple of this where the settings change, so that no
# copy is one that was made before.
EPOCHS_OF_PHASE = 1 << 20

Numbers = npt.NDArray[np.int64]
Float = npt.NDArray[np.float64]


class Landmark(NamedTuple):
    """A place in the stream of examples from which reading can begin.

    Attributes:
        group: The number of a group of its shards.
        examples: How many examples of the stream come before the group.
    """

    epoch: int = 0
    group: int = 0
    examples: int = 0


BEGINNING = Landmark()


@dataclasses.dataclass(frozen=True)
class OpenShard:
    """A shard in an epoch, divided into sequences: one for each of its examples."""

    name: str
    tokens: Tokens
    sequences: Sequences


@dataclasses.dataclass
class OpenGroup:
    """Shards that are read together, and the examples still to be made of them."""

    shards: list[OpenShard]
    left: int


class Landmarks:
    """The places that reading has come by; it is ahead of the training."""

    def __init__(self) -> None:
        self._passed: deque[Landmark] = deque()
        self._lock = threading.Lock()

    def add(self, landmark: Landmark) -> None:
        """Note one, and drop those not before it: they are beyond a phase's end."""
        with self._lock:
            while self._passed and self._passed[-1].examples >= landmark.examples:
                self._passed.pop()
            self._passed.append(landmark)

    def before(self, examples: int) -> Landmark:
        """The last place to begin reading at, when this many examples are consumed."""
        with self._lock:
            passed = self._passed
            while len(passed) > 1 and passed[1].examples <= examples:
                passed.popleft()
            return passed[0] if passed else BEGINNING


class Making(NamedTuple):
    """The examples of a phase of a run."""

    phase: Phase
    number: int
    batch_size: int

    @property
    def beginning(self) -> Landmark:
        """Where its first example is."""
        first_example = self.phase.first_step * self.batch_size
        return Landmark(self.number * EPOCHS_OF_PHASE, 0, first_example)

    def masked_shares(self, positions: Numbers) -> Float | None:
        """The share of tokens to mask in examples at places of the stream, `[N]`."""
        ramp = self.phase.ramp
        if ramp is None:
            return None
        steps = positions // self.batch_size
        shares: Float = ramp.at(np.clip(steps, ramp.first_step, ramp.last_step))
        return shares


@as_written
def numbered(
    key: tf.Tensor, before: tf.Tensor, sizes: tf.Tensor, seed: tf.Tensor, skip: tf.Tensor
) -> tf.data.Dataset:
    """The numbers of the examples of a group, shuffled, some at a time.

    Args:
        before: Examples of the stream before the group.
        sizes: Examples of each of its shards.

    Returns:
        The key, the place of the first in the stream, and the numbers.
    """
    count = tf.size(sizes, tf.int64)

    def of_shard(place: tf.Tensor) -> tf.data.Dataset:
        first = place * (1 << _SHARD_BITS)
        return tf.data.Dataset.range(first, first + sizes[place])

    places = tf.data.Dataset.range(count)
    numbers = shuffled(places, of_shard, count=count, seed=seed, skip=skip)
    keys = tf.data.Dataset.from_tensors(key).repeat()
    first = tf.data.Dataset.range(before + skip, tf.int64.max, CHUNK_EXAMPLES)
    return tf.data.Dataset.zip((keys, first, numbers.batch(CHUNK_EXAMPLES)))


class MadeExamples:
    """The endless stream of examples of a data set of documents.

    Args:
        landmarks: Told of the groups that are opened.
        corrupt: Gets what is wrong with a document, which ends the stream.
        processes: That make the examples, beside this one; 0 for this one alone.
    """

    def __init__(
        self,
        dataset: Path,
        manifest: DatasetManifest,
        making: Making,
        *,
        landmarks: Landmarks,
        corrupt: list[CorruptRecord],
        processes: int = 0,
    ) -> None:
        self._dataset, self._manifest, self._making = dataset, manifest, making
        self._config, self._landmarks = making.phase.config, landmarks
        self._open: dict[int, OpenGroup] = {}
        # What a group that is being opened shares with those that are open.
        self._tokens: weakref.WeakValueDictionary[str, Tokens]
        self._tokens = weakref.WeakValueDictionary()
        self._lock = threading.Lock()
        self._corrupt = corrupt
        self._makers = None
        if processes:
            self._makers = Makers(dataset, manifest, self._config, number=processes)

    def records(self, *, seed: int, start: int, landmark: Landmark = BEGINNING) -> tf.data.Dataset:
        """The stream of serialized examples without the first `start`.

        Args:
            landmark: A place at or before these.
        """
        beginning = self._making.beginning
        if not 0 <= landmark.epoch - beginning.epoch < EPOCHS_OF_PHASE:
            landmark = beginning

        @as_written
        def make(key: tf.Tensor, first: tf.Tensor, numbers: tf.Tensor) -> tf.Tensor:
            records = tf.numpy_function(self._make, [key, first, numbers], tf.string)
            return tf.ensure_shape(records, [None])

        number, sizes = tf.TensorSpec([], tf.int64), tf.TensorSpec([None], tf.int64)
        groups = functools.partial(self._groups, seed=seed, start=start, landmark=landmark)
        open_groups = tf.data.Dataset.from_generator(
            groups, output_signature=(number, number, sizes, number, number)
        )
        # The next group is opened while this one is read.
        chunks = open_groups.prefetch(1).flat_map(numbered)
        return chunks.map(make, num_parallel_calls=CHUNKS_AT_A_TIME).unbatch()

    def close(self) -> None:
        """Let go of the groups that were opened ahead, once nobody reads any more.

        TensorFlow keeps the functions of a stream, and these keep what makes it.
        """
        self._open.clear()
        if self._makers is not None:
            self._makers.end()

    def _groups(
        self, *, seed: int, start: int, landmark: Landmark
    ) -> Iterator[tuple[int, int, list[int], int, int]]:
        """The groups from a landmark on, opened, unless they end before the start.

        Yields:
            The key of a group, the examples before it and in each of its shards, the
            seed that shuffles these, and how many to skip.
        """
        before = landmark.examples
        places = groups_from(self._manifest, seed=seed, epoch=landmark.epoch, group=landmark.group)
        for key, (epoch, number, group) in enumerate(places):
            shards = []
            for file in group.files:
                shard = self._opened(file, epoch)
                if isinstance(shard, CorruptRecord):
                    self._corrupt.append(shard)
                    return
                shards.append(shard)
            sizes = [len(shard.sequences) for shard in shards]
            skip = max(0, start - before)
            self._landmarks.add(Landmark(epoch, number, before))
            if before + sum(sizes) > start:
                self._open[key] = OpenGroup(shards, left=sum(sizes) - skip)
                yield key, before, sizes, group.seed, skip
            before += sum(sizes)

    def _opened(self, file: ShardFile, epoch: int) -> OpenShard | CorruptRecord:
        """A shard in an epoch, its documents read unless they are open already."""
        tokens = self._tokens.get(file.name) or read_tokens(
            self._dataset, file, self._manifest, config=self._config
        )
        if isinstance(tokens, CorruptRecord):
            return tokens
        self._tokens[file.name] = tokens
        return OpenShard(file.name, tokens, sequences_of_epoch(tokens, epoch, config=self._config))

    def _make(self, key: np.int64, first: np.int64, numbers: Numbers) -> npt.NDArray[Any]:
        """The records of some examples of a group, as bytes, `[N]`.

        Args:
            first: The place of the first of them in the stream.
            numbers: Which they are, `[N]`.
        """
        group = self._open[int(key)]
        made = np.empty(len(numbers), object)
        masked_shares = self._making.masked_shares(first + np.arange(len(numbers)))
        shards, rows = numbers >> _SHARD_BITS, numbers & ((1 << _SHARD_BITS) - 1)
        parts = []
        for place in np.unique(shards).tolist():
            shard, own = group.shards[place], np.flatnonzero(shards == place)
            sequences = shard.sequences[rows[own]]
            shares = None if masked_shares is None else masked_shares[own]
            makers = self._makers
            found = makers.records(shard.name, sequences, shares) if makers is not None else None
            parts.append((shard, own, sequences, shares, found))
        for shard, own, sequences, shares, found in parts:
            records = found() if found is not None else None
            # Also where a process was killed: this one can make them all.
            if records is None:
                batches = make_records(
                    sequences,
                    shard.tokens,
                    self._manifest,
                    config=self._config,
                    masked_shares=shares,
                )
                records = list(itertools.chain.from_iterable(batches))
            made[own] = np.fromiter(records, object, len(own))
        with self._lock:
            group.left -= len(numbers)
            if not group.left:
                del self._open[int(key)]
        return made
