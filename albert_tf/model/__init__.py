"""ALBERT: which weights it has, what its layers compute, and the tasks on top.

May import: `runs`.
"""
