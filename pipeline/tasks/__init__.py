"""From the files of a task to its examples, checked and divided, and back to files.

    table_files     Files of rows with named columns: TSV, CSV, JSON lines, JSON and
                    parquet.
    columns         Which columns of a table a task reads: found by their names, or as
                    given.
    tags            The tags of words: one convention inside, IOB2, whatever a file has.
    conll           CoNLL columns and CoNLL-U: a word a line, an empty line after each
                    sentence.
    squad           SQuAD 1.1 and 2.0, CMRC 2018, and what has the same shape.
    choices         Multiple choice: RACE's folders, C3, and rows with options.
    table_examples  Rows of a table become examples of a task.
    named_tasks     The tasks that have a name: labels, metrics, length, files and
                    submission of each.
    task_files      The files of a task: which are there, and their examples.
    task_labels     What training examples say of a task: its labels, and metrics if
                    it has no name.
    task_checks     What a person should know of the examples of a task before training
                    on them.
    hold_out        A tenth of the training examples to choose by, where there is no
                    file for it.
    submissions     The files that the sites of the tasks take: predictions on a test
                    set.

May import: `core`, `storage`, `reading`, `vocabulary`. No Beam.
"""
