"""The Beam job from text to data set: the chain, its workers, its progress.

May import: all rooms before it.
"""
