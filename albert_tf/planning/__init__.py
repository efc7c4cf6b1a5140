"""What a run will take and what suits a budget: operations, memory, speed, loss.

    compute_cost   What an architecture costs to train: operations and memory, by
                   arithmetic alone.
    device_memory  The memory that activations may be put into: of the devices, or of
                   the machine.
    micro_batch    How many sequences to compute at a time, when nobody says.
    speed          How long a step of any shape takes on a machine that was measured at
                   a few.
    ladder         A ladder of shapes, and what runs of them have reached: which one
                   suits a budget.
    budget         The model that makes the most of a machine in a given time.
    training_plan  What a run will take, by arithmetic, beside the BERT of the same
                   shape.

May import: the rooms before it. No TensorFlow, no Keras.
"""
