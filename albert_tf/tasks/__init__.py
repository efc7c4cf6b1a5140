"""What each kind of task makes of a model's logits, and what predictions are worth.

May import: `runs`. No TensorFlow, no Keras.
"""
