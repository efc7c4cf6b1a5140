"""The endless order of shards, and that a position is all it takes to go on."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.data.reading_order import GROUP_SHARDS, shard_groups
from schemas.layout import shard_file
from schemas.manifest import ShardFile
from tests.training_data import make_manifest


def manifest_of(*copies):
    """A manifest whose copies have shards of these numbers of examples."""
    return make_manifest(
        [
            ShardFile(
                name=shard_file("train", copy, shard=n, num_shards=len(sizes)),
                examples=size,
                bytes=0,
                sha256="",
            )
            for copy, sizes in enumerate(copies)
            for n, size in enumerate(sizes)
        ]
    )


def first_groups(manifest, count, **kwargs):
    return list(itertools.islice(shard_groups(manifest, **kwargs), count))


def names(group):
    return [file.name for file in group.files]


def test_each_pass_reads_all_its_shards_once_in_an_order_of_its_own_and_of_the_seed():
    manifest = manifest_of([1] * 20)
    groups, again, others = (first_groups(manifest, 9, seed=seed, start=0) for seed in (1, 1, 2))
    passes = [list(itertools.chain.from_iterable(map(names, groups[i : i + 3]))) for i in (0, 3, 6)]
    everything = sorted(file.name for file in manifest.shards)
    assert [sorted(order) for order in passes] == [everything] * 3
    assert passes[0] != passes[1] != passes[2]
    assert [len(group.files) for group in groups[:3]] == [GROUP_SHARDS] * 2 + [4]
    assert [*map(names, groups)] == [*map(names, again)] != [*map(names, others)]


@given(start=st.integers(0, 500), sizes=st.lists(st.integers(0, 5), min_size=1))
def test_going_on_from_a_position_is_the_stream_without_its_beginning(start, sizes):
    manifest = manifest_of([*sizes, 1], [2, *sizes])

    def examples(start, count):
        """Place holders of the examples, in the order they would be consumed."""
        stream = (
            (group.seed, n)
            for group in shard_groups(manifest, seed=7, start=start)
            for n in range(group.skip, sum(file.examples for file in group.files))
        )
        return list(itertools.islice(stream, count))

    assert examples(start, 20) == examples(0, start + 20)[start:]


def test_a_position_after_many_passes_is_found_at_once_and_none_without_examples():
    (group,) = first_groups(manifest_of([10], [10]), 1, seed=1, start=10**15 + 13)
    assert (names(group)[0].split("/")[1], group.skip) == ("copy-01", 3)
    with pytest.raises(ValueError, match="no training examples"):
        first_groups(manifest_of([0, 0]), 1, seed=1, start=0)
