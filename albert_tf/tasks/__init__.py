"""What each kind of task makes of a model's logits, and what predictions are worth.

    label_metrics   Measures of predicted labels, from the table of how often which
                    label is called what.
    calibration     Whether probabilities are right: their error, one temperature, one
                    threshold.
    answer_metrics  Answers compared as the scripts of SQuAD 1.1, SQuAD 2.0 and CMRC
                    2018 compare them.
    entity_metrics  Entities of tags, and how many were found, in the default sense of
                    seqeval.
    answers         From where answers may begin and end, token by token, to their
                    text.
    task            What every kind of task asks of a model and of its measures.
    classify        One label for a text.
    multilabel      Any number of labels for a text.
    regress         A score for a text.
    choose          One of several options.
    answer          The answer to a question, in a passage.
    tag             A tag for each word.
    kinds           The class of each kind of task.
    outputs         From the logits of rows to what a model computes for each example.
    measures        What predictions are worth, by the measures of a task.

May import: `runs`. No TensorFlow, no Keras.
"""
