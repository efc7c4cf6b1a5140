"""From the files that a person names to documents and their sentences.

May import: all rooms before it. No NumPy, no Beam.
"""
