"""One file for each command.

May import: all of `cli`.
"""
