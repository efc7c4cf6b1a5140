"""From the files of a task to its examples, checked and divided, and back to files.

May import: `core`, `storage`, `reading`, `vocabulary`. No Beam.
"""
