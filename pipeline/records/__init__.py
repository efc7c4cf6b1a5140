"""From examples to the bytes of TFRecord files, and back.

May import: `core`, `examples`. `albert_tf` may import this room.
"""
