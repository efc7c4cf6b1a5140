"""From examples to the bytes of TFRecord files, and back.

    features    Masked rows become the features of a record, as the feature table
                declares them.
    tf_example  `tf.train.Example` messages for a batch of rows, byte for byte as
                TensorFlow's.
    tfrecord    TFRecord files: records framed by their length and two masked CRC-32C
                checksums.
    decoding    Records become the columns that they were written from, many records at
                a time.
    checks      What is wrong with records, many at a time: the one list of rules there
                is.
    reading     The records of a shard: each as it was written, or what is wrong with
                it.
    documents   Documents as records, from which examples are made when needed.
    epochs      The records of any copy of a split: read where they are stored, else
                made.
    unmasked    The text of records as it was before masking, many records at a time.

May import: `core`, `examples`. `albert_tf` may import this room.
"""
