from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.dataset.manifest import realised
from pipeline.dataset.shard import Counts, count_batch
from pipeline.examples.examples import ExampleBatch
from pipeline.examples.masking import Masked
from pipeline.examples.packing import Sequences
from pipeline.examples.pairs import Pairs, Rows
from schemas.config import DataConfig
from schemas.example import CLS_ID, MASK_ID, SEP_ID, UNK_ID

CONFIG = DataConfig(max_seq_length=128)

tallies = st.integers(1, 10**9)
counts = st.builds(
    Counts,
    totals=st.dictionaries(st.sampled_from(["examples", "masked"]), tallies).map(Counter),
    spans=st.dictionaries(st.integers(1, 10), tallies).map(Counter),
    lengths=st.dictionaries(st.integers(0, 16).map(lambda n: 32 * n), tallies).map(Counter),
)


def test_a_batch_is_counted_with_lengths_in_bars_of_32_pieces():
    # [CLS] 10 11 [SEP] 12 [SEP] in order, [CLS] 13 [SEP] <unk> [SEP] swapped, and others.
    first = [CLS_ID, 10, 11, SEP_ID, 12, SEP_ID, CLS_ID, 13, SEP_ID, UNK_ID, SEP_ID]
    lengths = np.array([6, 5, 31, 32, 63, 64, 512])
    ids = np.array(first + [10] * (31 + 32 + 63 + 64 + 512), np.int32)
    rows = Rows(ids, offsets=np.append(0, np.cumsum(lengths)), word_starts=np.ones(713, bool))
    masked = Masked(
        ids=np.where(np.arange(713) == 1, MASK_ID, ids),
        positions=np.array([1, 2]),
        labels=np.array([10, 11], np.int32),
        offsets=np.array([0] + [2] * 7),
        spans_of_length=np.array([0, 0, 1, 0]),
        replaced=np.array([1, 1, 0]),
    )
    zeros = np.zeros(7, np.int64)
    keys, is_second = zeros.astype(np.uint64), np.arange(7) == 1
    flags = {"is_short": is_second, "is_end": is_second, "is_put_back": zeros != 0}
    sequences = Sequences(chain=zeros, start=zeros, end=zeros, number=zeros, keys=keys, **flags)
    pairs = Pairs(zeros, zeros, zeros, zeros, is_second.astype(np.int64), keys)
    totals = {
        **{"document_ends": 1, "examples": 7, "full": 6, "full_tokens": 708, "masked": 2},
        **{"masked_as_mask": 1, "masked_kept": 1, "short": 1, "swapped": 1, "tokens": 713},
        **{"unknown": 1, "unmasked_examples": 6},
    }
    assert count_batch(ExampleBatch(sequences, pairs, rows, masked)).to_dict() == {
        "totals": totals,
        "spans": {"2": 1},
        "lengths": {"0": 3, "32": 2, "64": 1, "512": 1},
    }


TOTAL = Counts(
    totals=Counter(
        **{"examples": 10, "tokens": 1000, "unknown": 5, "masked": 150, "masked_as_mask": 120},
        **{"masked_kept": 14, "masked_random": 16, "unmasked_examples": 1, "swapped": 4},
        **{"short": 2, "document_ends": 3, "full": 5, "full_tokens": 640},
    ),
    spans=Counter({1: 60, 2: 25, 3: 15}),
    lengths=Counter({64: 4, 32: 1, 96: 5}),
)


def test_counts_become_the_shares_of_the_manifest():
    assert realised(TOTAL, CONFIG) == {
        "short_share": 0.2,
        "document_end_share": 0.3,
        "fill": 1.0,
        "masked_share": 0.15,
        "mask_token_share": 0.8,
        "kept_share": 0.093333,
        "random_share": 0.106667,
        "unmasked_examples": 1,
        "pairs_without_other_document": 0,
        "label_1_share": 0.4,
        "unknown_share": 0.005,
        "mean_length": 100.0,
        "ngram_shares": {"1": 0.6, "2": 0.25, "3": 0.15},
        "length_histogram": {"32-63": 1, "64-95": 4, "96-127": 5},
    }


@pytest.mark.parametrize(("task", "special"), [("sop", 3), ("none", 2)])
def test_fill_leaves_the_special_pieces_out(task, special):
    config = DataConfig(max_seq_length=128, sentence_task=task)
    total = Counts(totals=Counter(full=2, full_tokens=128 + 66))
    used, room = 128 + 66 - 2 * special, 2 * (128 - special)
    assert realised(total, config)["fill"] == pytest.approx(used / room)


def test_without_examples_every_share_is_0():
    nothing = dict.fromkeys(realised(TOTAL, CONFIG), 0)
    expected = nothing | {"ngram_shares": {}, "length_histogram": {}}
    assert realised(Counts(), CONFIG) == expected


@given(counts)
def test_counts_survive_json_and_double_when_they_are_added_twice(one):
    assert Counts.from_dict(one.to_dict()) == one
    total = Counts()
    total.add(one)
    total.add(one)
    for found, given_ in zip(vars(total).values(), vars(one).values(), strict=True):
        assert found == {name: 2 * n for name, n in given_.items()}


def test_keys_of_counts_are_in_order():
    one = Counts(spans=Counter({10: 1, 2: 1}), lengths=Counter({128: 1, 64: 1})).to_dict()
    assert (list(one["spans"]), list(one["lengths"])) == (["2", "10"], ["64", "128"])
