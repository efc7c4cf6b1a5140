"""Raw text becomes TFRecords of masked sentence pairs.

What happens to a document, and the functions that call each step:

    noise.filters.read_clean        read_texts       bytes become paragraphs
                                    clean            noise goes, with its reason
    noise.look.Looker.watch         shard_documents  paragraphs become sentences
    dataset.shard.write_shard       distinct         copies of a document go
                                    encode           sentences become tokens
                                    pack_copies      tokens become sequences
    examples.examples.make_examples make_pairs       a sequence becomes two segments
                                    mask             words are to be predicted
    dataset.shard.write_copies      encode_rows      examples become records
                                    RecordWriter     records become a file
"""
