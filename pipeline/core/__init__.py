"""What every room of the pipeline shares: documents, draws, messages.

May import: `schemas` only. No Beam.
"""
