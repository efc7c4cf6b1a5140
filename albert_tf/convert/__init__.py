"""Models of other programs, both ways.

May import: all rooms before it.
"""
