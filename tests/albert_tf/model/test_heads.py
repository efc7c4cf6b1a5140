"""The two heads."""

import numpy as np
import tensorflow as tf

from albert_tf.model.heads import MaskedLmHead, gather_rows
from tests.huggingface_albert import SMALL


def test_rows_are_gathered_within_each_sequence():
    rows = tf.reshape(tf.range(2 * 5 * 3), (10, 3))  # 2 sequences of 5 pieces
    gathered = gather_rows(rows, tf.constant([[4, 0], [1, 1]]), 5)
    assert gathered.numpy()[:, 0].tolist() == [12, 0, 18, 18]


def test_masked_lm_logits_come_from_the_embedding_table_and_a_bias():
    head = MaskedLmHead(SMALL)
    head.build()
    table = tf.random.stateless_normal((40, 8), [1, 2])
    head.layer_norm.beta.assign(np.eye(8)[3])
    head.output_bias.assign(np.arange(40))
    # The transform is zero, so what is multiplied with the table is beta.
    expected = table.numpy()[:, 3] + np.arange(40)
    np.testing.assert_allclose(head(tf.ones((1, 16)), table)[0], expected, rtol=1e-5)
