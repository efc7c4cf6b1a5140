"""Batches whose tokens are predicted from those before them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.data.causal import causal, most_predictions
from albert_tf.data.unmasking import whole_texts
from albert_tf.data.unpadding import unpadded
from schemas.config import DataConfig
from tests.batches import random_batch
from tests.huggingface_albert import SMALL


def micro_batches(*seeds):
    """Random micro-batches `[N, 3, ...]`."""
    batches = [random_batch(SMALL, seed=seed) for seed in seeds]
    return {name: np.stack([b[name] for b in batches]) for name in batches[0]}


@given(st.integers(0, 1000))
def test_every_token_but_the_first_is_predicted_once_at_the_place_before_it(seed):
    batch = micro_batches(seed, seed + 1)
    found = causal(batch)
    texts = whole_texts(batch).reshape(batch["input_ids"].shape)
    assert found["input_ids"].tolist() == texts.tolist()
    places = np.indices(texts[..., 1:].shape)[-1]
    assert found["masked_lm_positions"].tolist() == places.tolist()
    assert found["masked_lm_ids"].tolist() == texts[..., 1:].tolist()
    is_token = batch["input_mask"][..., 1:] == 1
    assert (found["masked_lm_weights"] == 1).tolist() == is_token.tolist()


def test_no_pair_is_told_and_each_token_attends_to_those_up_to_it():
    found = causal(micro_batches(0, 1))
    assert found["sentence_order_labels"].tolist() == [[-1] * 3] * 2
    assert found["attendable"].tolist() == [np.tri(12).astype(int).tolist()] * 2


def test_its_types_are_those_of_the_masked_batch():
    batch = micro_batches(0)
    types = {name: values.dtype for name, values in causal(batch).items()}
    assert types.pop("attendable") == batch["input_mask"].dtype
    assert types == {name: values.dtype for name, values in batch.items()}


def test_the_batch_that_is_given_stays_masked():
    batch = micro_batches(0)
    before = {name: values.copy() for name, values in batch.items()}
    causal(batch)
    assert all((batch[name] == before[name]).all() for name in before)


def test_without_padding_as_many_are_predicted():
    batch = causal(micro_batches(0, 1))
    alone = unpadded(batch)
    assert alone["masked_lm_weights"].sum() == batch["masked_lm_weights"].sum()


def test_a_causal_phase_predicts_all_tokens_of_the_longest_example_but_one():
    short, long = (
        DataConfig(max_seq_length=length, max_predictions_per_seq=9).resolved(
            input_bytes=0
        )
        for length in (64, 128)
    )
    assert most_predictions([short, long], has_causal_phase=False) == 9
    assert most_predictions([short, long], has_causal_phase=True) == 127
