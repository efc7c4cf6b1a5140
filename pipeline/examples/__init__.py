"""From the tokens of documents to masked sentence pairs, in NumPy alone.

May import: `core`. `albert_tf` may import this room.
"""
