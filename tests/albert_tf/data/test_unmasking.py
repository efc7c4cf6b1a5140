"""The texts of masked examples."""

import numpy as np

from albert_tf.data.unmasking import whole_texts
from schemas.example import CLS_ID, FIRST_ORDINARY_ID, MASK_ID, SEP_ID

A, B, C = range(FIRST_ORDINARY_ID, FIRST_ORDINARY_ID + 3)


def test_labels_are_put_back_where_they_were_masked():
    batch = {
        "input_ids": np.array([[[CLS_ID, MASK_ID, B, SEP_ID], [CLS_ID, A, C, SEP_ID]]]),
        "masked_lm_positions": np.array([[[1, 0], [2, 1]]]),
        "masked_lm_ids": np.array([[[A, 0], [B, C]]]),
        "masked_lm_weights": np.array([[[1.0, 0.0], [1.0, 1.0]]]),
    }
    assert whole_texts(batch).tolist() == [
        [CLS_ID, A, B, SEP_ID],
        [CLS_ID, C, B, SEP_ID],
    ]
