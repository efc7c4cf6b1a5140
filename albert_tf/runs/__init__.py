"""What a run keeps on disk: checkpoints, metrics, settings.

    run_record       What a run, finished or not, has written about itself, read without
                     TensorFlow.
    checkpoints      Checkpoints: whole or absent, checked when read, the newest few and
                     the best kept.
    saved_state      What `state.json` of a checkpoint says, refused where it cannot be
                     true.
    tensor_files     Files of tensors: what the header says is checked before anything
                     is loaded.
    metrics          What is measured: means of sums, and the lines of JSON that a run
                     keeps of them.
    last_evaluation  The last result of `albert evaluate` of a run: kept there, read, in
                     words.
    confidence       The interval that a share is likely to lie in, by how many trials
                     it was counted.
    finished         Whether a run has anything left to do, told from its files without
                     TensorFlow.

May import: `schemas` only. No TensorFlow, no Keras.
"""
