"""From sentences to a SentencePiece model, and with it from text to tokens.

May import: all rooms before it. No Beam.
"""
