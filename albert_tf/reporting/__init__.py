"""Runs as a section of a report.

    learning_curves  The metrics of runs as curves over their steps, with few
                     enough points to draw.
    run_report       Runs as a section of a report: curves, held-out figures,
                     configuration.
    tuned_report     A fine-tuned model in a report: its worth beside guessing, and its
                     curves.

May import: all rooms before it. No TensorFlow, no Keras.
"""
