"""Raw text becomes TFRecords of masked sentence pairs.

What happens to a document, and the functions that call each step:

    job.make_data.read_chunk        read_texts          bytes become paragraphs
                                    clean               noise goes, with its reason
                                    shard_documents     paragraphs become sentences
                                    signature           what tells near-copies is kept
    dataset.shard.write_shard       distinct_documents  copies of a document go
                                    encode              sentences become tokens
                                    pack_copies         tokens become sequences
    examples.examples.make_examples make_pairs          a sequence becomes two segments
                                    mask                words are to be predicted
    dataset.shard.write_shard       encode_rows         examples become records
                                    RecordWriter        records become a file
"""
