"""Noise in a text: seen, counted, and taken out where that is asked for.

May import: `core`, `reading`.
"""
