"""What is left of a batch without its padding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.model.unpadding import MAX_SIZES, fill_of, size_of, unpadded
from tests.batches import random_batch
from tests.huggingface_albert import SMALL


def micro_batches(*seeds, rows=6):
    """Random micro-batches `[N, rows, ...]`."""
    batches = [random_batch(SMALL, rows=rows, seed=seed) for seed in seeds]
    return {name: np.stack([b[name] for b in batches]) for name in batches[0]}


def predictions(batch, number):
    """Place in `[B*S]`, label and weight of each prediction of a micro-batch."""
    starts = np.arange(batch["masked_lm_ids"].shape[1])[:, None] * 12
    names = ("masked_lm_ids", "masked_lm_weights")
    values = [batch["masked_lm_positions"] + starts, *(batch[name] for name in names)]
    found = zip(*(value[number].ravel().tolist() for value in values), strict=True)
    return [prediction for prediction in found if prediction[2]]


def test_every_token_has_one_row_padding_none_of_theirs_and_every_prediction_its_place():
    batch = micro_batches(0, 1)
    alone = unpadded(batch)
    for number, mask in enumerate(batch["input_mask"].reshape(2, -1)):
        places, rows = alone["row_places"][number], alone["place_rows"][number]
        tokens = np.flatnonzero(mask)
        assert places[: len(tokens)].tolist() == tokens.tolist()
        assert not mask[places[len(tokens) :]].any()
        assert rows[tokens].tolist() == list(range(len(tokens)))
        assert set(rows[mask == 0]) == {len(places) - 1} != {len(tokens) - 1}
        assert predictions(alone, number) == predictions(batch, number) != []
    # What belongs to whole sequences stays.
    for name in ("input_ids", "input_mask", "segment_ids", "sentence_order_labels"):
        assert alone[name] is batch[name]


def test_places_for_predictions_become_about_as_few_as_these():
    batch = micro_batches(0, rows=30)
    batch["input_mask"][:, :, 6:] = 0
    batch["masked_lm_weights"][:, :, 1:] = 0
    batch["masked_lm_weights"][:, 0, 1] = 1
    assert unpadded(batch)["row_places"].shape == (1, 192)
    assert unpadded(batch)["masked_lm_ids"].shape == (1, 1, 64)
    batch["masked_lm_weights"][:] = 1
    assert unpadded(batch)["masked_lm_ids"].shape == (1, 1, 120)


def test_two_hosts_give_their_micro_batches_the_size_that_they_have_together():
    batch = micro_batches(0, 1, rows=30)
    batch["input_mask"][1, :, 4:] = 0
    batch["masked_lm_weights"][1, :, 1:] = 0
    together = unpadded(batch)
    own = [{n: v[host : host + 1] for n, v in batch.items()} for host in (0, 1)]
    assert fill_of(own[0]) == fill_of(batch) > fill_of(own[1])
    apart = [unpadded(part, fill_of(batch)) for part in own]
    for name, values in together.items():
        theirs = np.concatenate([part[name] for part in apart])
        np.testing.assert_array_equal(theirs, values, err_msg=name)


@pytest.mark.parametrize("filled", [0, 1])
def test_a_batch_of_padding_alone_or_of_none_has_rows_too(filled):
    batch = micro_batches(0)
    batch["input_mask"][:] = filled
    batch["masked_lm_weights"][:] = filled
    alone = unpadded(batch)
    places = list(range(72)) if filled else [0] * 64
    assert alone["row_places"].tolist() == [places]
    assert set(alone["place_rows"].ravel()) == (set(places) if filled else {63})


@given(st.integers(1, 500))
def test_there_are_few_sizes_and_each_leaves_a_row_for_padding(places):
    sizes = [size_of(tokens, places=places) for tokens in range(places + 1)]
    assert len(set(sizes)) <= MAX_SIZES
    assert all(size > tokens for tokens, size in enumerate(sizes[:-1]))
    assert sizes[-1] == places
