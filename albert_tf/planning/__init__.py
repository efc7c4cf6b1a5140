"""What a run will take and what suits a budget: operations, memory, speed, loss.

May import: the rooms before it. No TensorFlow, no Keras.
"""
