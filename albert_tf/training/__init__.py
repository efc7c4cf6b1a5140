"""From batches to a trained model: the loop, its steps, evaluation.

May import: all rooms before it.
"""
