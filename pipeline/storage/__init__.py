"""Where files are and how they become lines: here or on a cluster, packed or plain.

May import: `core`. The only room that knows fsspec. No NumPy.
"""
