"""A trained model in use: what it predicts, and what its layers do.

    trained_model     A trained model for use, from a run or from what another program
                      reads.
    predictions       What a model says of one text: the pieces at its masks, the order
                      of two passages.
    layer_similarity  How far each layer moves its input: the paper's Figure 1, for any
                      model.

May import: all rooms before it.
"""
