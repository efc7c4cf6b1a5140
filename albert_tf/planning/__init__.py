"""What a run will take, by arithmetic: operations, memory, micro-batch.

    compute_cost   What an architecture costs to train: operations and memory, by
                   arithmetic alone.
    device_memory  The memory that activations may be put into: of the devices, or of
                   the machine.
    micro_batch    How many sequences to compute at a time, when nobody says.
    training_plan  What a run will take, by arithmetic, beside the BERT of the same
                   shape.

May import: the rooms before it. No TensorFlow, no Keras.
"""
