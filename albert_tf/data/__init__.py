"""From the records of a data set to batches, in a reproducible order.

    data_check       Whether a model, a data set and a run belong together, checked
                     before any work.
    reading_order    The order in which training examples are read: an endless stream,
                     known by a count.
    shuffling        Shards read side by side and shuffled in a window: the order within
                     a group.
    on_the_fly       Training examples made of documents, in the order in which stored
                     ones are read.
    corrupt_records  What becomes of corrupt records in training: each is left out with
                     a line.
    step_shape       The shape of a step: its micro-batches, and those of them that a
                     host computes.
    input_pipeline   Records become batches, in TensorFlow.
    unmasking        The texts of masked examples: their tokens with the masked ones put
                     back.
    causal           Causal batches: every token is predicted from those before it, as a
                     first phase.
    token_vectors    Vectors of tokens from how often they stand beside each other.
    unigrams         How frequent each token is among those that are to be predicted.
    unpadding        Batches without padding: which places of their rows hold a token to
                     compute.

May import: `model`, `runs`; of the pipeline `examples` and `records`.
"""
