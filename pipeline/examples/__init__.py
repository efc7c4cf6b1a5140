"""From the tokens of documents to masked sentence pairs, in NumPy alone.

    tokens     The documents of a shard become one long row of tokens.
    packing    Documents become sequences: consecutive ranges of their tokens, none
               left out.
    sequences  All sequences of all copies of a shard, in the order in which they are
               written.
    pairs      Sequences become pairs [CLS] A [SEP] B [SEP] with a sentence-order label.
    masking    N-gram masking of whole words, for many rows at once.
    examples   Sequences become examples: paired, written out and masked, many at a
               time.

May import: `core`. `albert_tf` may import this room.
"""
