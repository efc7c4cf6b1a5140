"""A trained encoder learns a task: six kinds of heads, their training, their worth.

May import: all rooms before it.
"""
