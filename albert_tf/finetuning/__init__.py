"""A trained encoder learns a task: its batches, its training, what it is worth.

May import: all rooms before it.
"""
