"""What a model is worth, by measures that do not depend on its vocabulary or masks.

    words               Which words of held-out text a model is asked about.
    word_scores         How likely a model finds whole words in their places.
    neighbour_counts    What counting gives where a model predicts.
    bits_per_character  How many bits a model needs for each character of such words.
    minimal_pairs       Pairs of sentences of which one is grammatical.
    run_evaluation      All that is measured of a run on a data set, beside what
                        counting gives there.
    training_words      Bits per character of a few held-out words, again and again
                        while a model trains.

May import: the rooms before it; of the pipeline `examples` and `records`.
"""
