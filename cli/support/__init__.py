"""What several commands share: flags, folders, what a person sees.

    console          What a person sees while a command works: lines and progress bars
                     on stderr.
    parameter_types  What a flag takes: paths as people type them, folders to write, and
                     times.
    config_file      The file of --config: its settings stand between the defaults and
                     the flags.
    options          Flags made from the fields of a config, and the flags that all
                     commands have.
    recipes          The flags that begin with a set of settings: --recipe and --budget.
    raw_text         The flags for raw text, and the files that they name.
    architecture     The architecture a command is given: a preset or a file, and fields
                     changed in it.
    budget           What --budget chooses, as lines for a person and as flags.
    planned_run      What a run of `albert pretrain` is to be, and what `config.json`
                     says of it.
    footprints       What each command leaves in its folder, and when all of it is
                     there.
    lock             A folder that one process at a time writes.
    output_folder    The folder a command writes: recognised, continued or refused.
    several_hosts    Several hosts that train together, as a command meets them.
    remote_output    The output of a job on a cluster's storage: recognised, continued
                     or refused.
    data_folder      The data set that a command reads: a folder here, or on storage and
                     copied first.
    task_data        The examples of a task, from files to rows of tokens, with what a
                     person should know.
    asked_model      The model that a command asks: its vocabulary, its weights, how
                     much it reads.
    start_model      The model that fine-tuning starts from: its architecture, and what
                     of its weights.
    task_identity    What decides the result of fine-tuning, as hashes of it where it is
                     large.

May import: `pipeline`, `albert_tf`, inside functions where they are heavy.
"""
