"""From the examples of a task to tokens, as a model reads them.

    sequences  One or two texts become [CLS] A [SEP] or [CLS] A [SEP] B [SEP].
    windows    A passage becomes windows, each after the question, and answers become
               tokens and text again.
    words      Words that have tags become tokens, each with the place of its first.
    encoding   The examples of a task become the rows of batches.

May import: `vocabulary`. No Beam.
"""
