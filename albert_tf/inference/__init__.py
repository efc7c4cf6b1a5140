"""A trained model in use: what it predicts, and what its layers do.

May import: all rooms before it.
"""
