"""From the records of a data set to batches, in a reproducible order.

May import: `model`, `runs`; of the pipeline `examples` and `records`.
"""
