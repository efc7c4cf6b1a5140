"""One file for each command.

    vocab         `albert vocab`: raw text to a SentencePiece model.
    make_data     `albert make-data`: raw text and a vocabulary to TFRecords.
    inspect       `albert inspect`: what a data set is, and whether it is whole.
    pretrain      `albert pretrain`: TFRecords to a trained ALBERT.
    finetune      `albert finetune`: a trained encoder and labelled examples to a model
                  of a task.
    predict       `albert predict`: what a fine-tuned model says of texts.
    plan          `albert plan`: what a run will take, before it is begun.
    evaluate      `albert evaluate`: how good a run is on held-out text.
    fill_mask     `albert fill-mask`: the pieces a model expects at the masks of a text.
    order         `albert order`: which of two passages comes first.
    analyze       `albert analyze`: what a trained model is like inside.
    export        `albert export`: a run becomes files that other programs read.
    import_model  `albert import`: an ALBERT from elsewhere becomes a run to go on from.
    report        `albert report`: data sets and runs on one page for people.
    worker        `albert worker`: workers of make-data for a cluster, without Beam's
                  image.

May import: all of `cli`.
"""
