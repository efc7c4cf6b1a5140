"""Runs as a section of a report.

    run_report  Runs as a section of a report: curves over steps, held-out figures,
                configuration.

May import: all rooms before it. No TensorFlow, no Keras.
"""
