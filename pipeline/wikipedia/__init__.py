"""From a dump of Wikipedia to the paragraphs of its articles.

May import: `core`, `storage`. No NumPy, no Beam.
"""
