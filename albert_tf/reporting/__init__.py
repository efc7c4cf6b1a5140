"""Runs as a section of a report.

May import: all rooms before it. No TensorFlow, no Keras.
"""
