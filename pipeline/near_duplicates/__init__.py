"""Documents that nearly equal others: signatures, candidate pairs, and which go.

May import: `core`.
"""
