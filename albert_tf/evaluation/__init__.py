"""What a model is worth, by measures that do not depend on its vocabulary or masks.

May import: the rooms before it; of the pipeline `examples` and `records`.
"""
