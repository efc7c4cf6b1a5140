"""From the examples of a task to tokens, as a model reads them.

May import: `vocabulary`. No Beam.
"""
