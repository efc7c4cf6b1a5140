"""A data set as a whole: its shards, what they hold, and whether they are whole.

    shard_plan    Which shard a document belongs to: a function of its id and the
                  settings.
    tokenization  The sentences of a shard's documents become tokens, many sentences at
                  a time.
    shards        All documents of one shard become its files, each of them whole or
                  absent.
    statistics    What a data set holds: counts that add up over batches, shards and
                  workers.
    fingerprint   What decides every byte of a data set, and its hash.
    data_card     A data set described for a person, its `README.md`.
    dataset       A data set from its finished shards: the manifest and the data card.
    contents      The vocabulary and the records of a data set, for those who read them.
    verification  Whether the files of a data set are those of its manifest.
    local_copy    A data set on storage, copied to a folder of this machine where it is
                  read.
    example_view  An example as a person reads it: its segments, and the tokens before
                  masking.
    report        A data set as a section of a report: histograms, sources, drops and
                  sample rows.

May import: all rooms before it. No Beam.
"""
