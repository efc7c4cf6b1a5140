"""ALBERT: which weights it has, what its layers compute, and the tasks on top.

    sharing                Which layers share which weights (paper, section 3.1 and
                           Table 4).
    parameters             Which weights an architecture has, and how many, without
                           building it.
    run_weights            The architecture of a run and the weights of a checkpoint,
                           once they fit.
    initial_weights        The weights that a run starts from, the same on every
                           backend of Keras.
    operations             What is computed around matrix products: GELU,
                           normalisation, attention, loss.
    tensorflow_operations  What `operations` is on TensorFlow: compiled in parts, and
                           with little kept.
    dropout                Dropout whose masks depend on a key alone, so that a resumed
                           run repeats them.
    unpadding              Rows for tokens alone: padding is computed only where each
                           place needs a row.
    recomputation          Gradient checkpointing: activations are computed again
                           instead of kept.
    layers                 The parts of an ALBERT encoder: factorised embeddings,
                           self-attention, feed-forward.
    encoder                The stack of layers, some or all of them with the same
                           weights.
    heads                  The two tasks of pretraining on top of the encoder.
    layer_consistency      An auxiliary loss for neighbouring layers that agree;
                           ALBERT's paper has none.
    pretrainer             The model that is pretrained, and what is summed over its
                           predictions.
    task_model             ALBERT with the head of one task, under the names and shapes
                           of transformers.
    positional_heads       First weights with which attention heads look at neighbouring
                           tokens.

May import: `runs`.
"""
