"""What a person asks a trained model, as tokens like those of its training.

    masked_text  Text with [MASK] written in it becomes the tokens that a model saw in
                 training.
    passages     Two passages become a pair [CLS] A [SEP] B [SEP] like those of
                 training.

May import: `vocabulary`, `examples`.
"""
