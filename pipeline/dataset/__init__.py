"""A data set as a whole: its shards, what they hold, and whether they are whole.

May import: all rooms before it. No Beam.
"""
