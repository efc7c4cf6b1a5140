"""Runs as a section of a report.

    run_report    Runs as a section of a report: curves over steps, held-out figures,
                  configuration.
    tuned_report  A fine-tuned model in a report: its worth beside guessing, and its
                  curves.

May import: all rooms before it. No TensorFlow, no Keras.
"""
