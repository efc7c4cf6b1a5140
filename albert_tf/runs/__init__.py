"""What a run keeps on disk: checkpoints, metrics, settings.

May import: `schemas` only. No TensorFlow, no Keras.
"""
