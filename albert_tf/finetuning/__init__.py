"""A trained encoder learns a task: six kinds of heads, their training, their worth.

    baselines        What guessing gives: the most frequent answer, and what words alone
                     tell.
    task_batches     Encoded examples become batches: rows of like length together, in
                     few widths.
    task_loss        What a task is trained on: one loss for each kind, in float32.
    task_logits      What a model computes of many encoded examples, each as if it were
                     alone.
    tuning_job       What `finetune` was asked to do, and the model that it begins with.
    task_evaluation  What a fine-tuned model is worth on examples whose labels are
                     known.
    tuning           Fine-tuning: steps, and between them evaluations, each with a
                     checkpoint.
    tuned_model      A fine-tuned model in its folder: what its task is, and its
                     weights.
    task_worth       What `eval.json` says of a fine-tuned model, as tables and in
                     sentences.
    tuned_card       The card of a fine-tuned model: what it does, and what it is worth,
                     for a person.
    finetune         Fine-tuning from end to end: training, the best checkpoint, what it
                     is worth.
    repeated_runs    Many runs of one task: with several seeds, and with several values
                     of settings.

May import: all rooms before it.
"""
