"""What of a text is noise: seen, counted, and taken out where that is asked for.

May import: `core`, `reading`.
"""
