"""What every room of the pipeline shares: documents, draws, messages.

    documents            What every reader yields: a document, or the reason why it was
                         left out.
    arrays               The types of arrays that every room speaks of, and tables with
                         a column each.
    draws                Random draws as functions of (key, counter): no state, so any
                         order and any batch.
    scripts              What scripts have in common: which are written without spaces,
                         what ends a sentence.
    protobuf             The wire format of protocol buffers, as far as it is needed
                         here.
    sentencepiece_proto  SentencePiece's model file as a message: what is read from one
                         and changed in one.
    cores                The processor cores that this process may use.
    memory               Memory that a process frees stays with it, for the next batch.

May import: `schemas` only. No Beam.
"""
