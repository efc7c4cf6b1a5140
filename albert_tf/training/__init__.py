"""From batches to a trained model: the loop, its steps, evaluation.

    train             Training from end to end: checks, a new or a resumed run, the
                      loop with the pauses of a budget.
    job               What a training is to do: which model, on which data, with which
                      settings.
    origin            What a run starts from: the weights of another run, or all of its
                      state.
    run_check         What makes a training impossible, said before anything is written
                      or removed.
    beginning         How a run begins, or goes on from its newest checkpoint.
    parts             The parts of a run, put together at the step where it stands.
    continuation      What may be set anew when a run is continued, and what stays as it
                      began.
    budget_revision   The steps of a budget, counted again once a run has shown its
                      pace.
    training_loop     The training loop: steps, and between them evaluations and
                      checkpoints.
    announcement      What is said before the first step: what it takes, and its share
                      of the machine.
    evaluations       When a run is evaluated, what that costs, and whether it is the
                      best so far.
    saver             When a run is saved.
    step_record       What is reported of the steps: a short line for the person, the
                      means for the metrics.
    pace              How fast a run trains, to say what it does in a second and how
                      long it will take.
    run_state         What a checkpoint remembers besides the weights and the state of
                      the optimizer.
    interruption      What ends a run before its last step: Ctrl-C, SIGTERM or the time
                      allowed.
    health            Training that went wrong, said in words with the likely cause.
    progress          What training asks of whoever shows its progress to a person.
    backends          The backends that compute the steps, each imported only when it
                      is used.
    steps             An optimizer step: what the loop asks of a backend, and what both
                      backends share.
    tensorflow_steps  An optimizer step on TensorFlow, in two compiled pieces:
                      accumulate, then apply.
    jax_steps         An optimizer step on JAX, in two compiled pieces: accumulate,
                      then apply.
    optimizers        LAMB and AdamW as google-research/albert and BERT have them, Muon,
                      a clipped step.
    schedule          The learning rate over the steps of a run: ALBERT's schedule, or
                      with a cooldown.
    warm_start        Starting from another run: its weights, even in a deeper model, or
                      all its state.
    evaluation        Held-out losses and accuracies, always on the same examples with
                      the same masks.
    metrics_log       The metrics of a run while it trains: `metrics.jsonl` and
                      TensorBoard's events.
    matrix_rate       How fast this machine multiplies matrices, and whether bfloat16
                      pays on it.
    measured_step     How long a step takes on this machine, by timing some real ones.
    budget_choice     The model and the settings for the time one has, from speeds
                      measured now.

May import: all rooms before it.
"""
