import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.dataset.shard import Shard, ShardPlan, plan_shards
from schemas.config import DataConfig

PLAN = plan_shards(DataConfig(num_shards=16, eval_fraction=0.1).resolved(input_bytes=0))

ids = st.binary(min_size=16, max_size=16)


def test_a_plan_follows_from_the_settings():
    config = DataConfig(num_shards=64, eval_fraction=0.05, dupe_factor=10).resolved(input_bytes=0)
    assert plan_shards(config) == ShardPlan(
        train_shards=64, eval_shards=4, eval_bound=round(0.05 * 2**64)
    )


def test_shards_are_numbered_train_first():
    plan = ShardPlan(train_shards=2, eval_shards=1, eval_bound=1)
    assert [plan.shard(number) for number in plan.shard_numbers()] == [
        Shard(split="train", index=0, num_shards=2),
        Shard(split="train", index=1, num_shards=2),
        Shard(split="eval", index=0, num_shards=1),
    ]


@given(ids)
def test_every_document_has_a_shard_and_without_an_eval_fraction_none_is_held_out(document_id):
    assert PLAN.shard_of(document_id) in PLAN.shard_numbers()
    plan = plan_shards(DataConfig(num_shards=3, eval_fraction=0.0).resolved(input_bytes=0))
    assert plan.eval_shards == 0
    assert plan.shard(plan.shard_of(document_id)).split == "train"


@given(st.binary(min_size=8, max_size=8), st.lists(st.binary(min_size=8, max_size=8)))
def test_the_parts_of_a_document_are_in_one_split(head, tails):
    splits = {PLAN.shard(PLAN.shard_of(head + tail)).split for tail in tails}
    assert len(splits) <= 1


@given(ids, st.integers(1, 1000))
def test_the_number_of_shards_does_not_decide_what_is_held_out(document_id, number):
    other = plan_shards(DataConfig(num_shards=number, eval_fraction=0.1).resolved(input_bytes=0))
    split = PLAN.shard(PLAN.shard_of(document_id)).split
    assert other.shard(other.shard_of(document_id)).split == split


def test_documents_are_spread_evenly_over_the_shards():
    hashes = (hashlib.blake2b(n.to_bytes(8, "big"), digest_size=16) for n in range(50_000))
    numbers = [PLAN.shard_of(each.digest()) for each in hashes]
    shares = [numbers.count(number) / 50_000 for number in PLAN.shard_numbers()]
    train, held_out = [0.9 / 16] * 16, [0.1 / 2] * 2
    assert shares == pytest.approx(train + held_out, rel=0.1)


def test_a_document_at_the_bound_is_trained_on():
    plan = ShardPlan(train_shards=1, eval_shards=1, eval_bound=256)
    below, at = (number.to_bytes(8, "big") + bytes(8) for number in (255, 256))
    assert (plan.shard_of(below), plan.shard_of(at)) == (1, 0)
