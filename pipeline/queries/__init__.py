"""What a person asks a trained model, as tokens like those of its training.

May import: `vocabulary`, `examples`.
"""
