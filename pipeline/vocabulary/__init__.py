"""From sentences to a SentencePiece model, and with it from text to tokens.

    sampling        A random sample of sentences that depends on the text alone.
    normalization   The text normalization of a vocabulary, as rules that live
                    inside the model file.
    accents         What a text would lose with its combining marks.
    training        Text becomes a SentencePiece model with ALBERT's pieces and
                    normalization inside.
    writing         The files of a vocabulary, and the manifest that says what it is.
    tokenizer       A SentencePiece model: text to token ids, and which tokens
                    start a word.
    wordpiece       BERT's WordPiece: a `vocab.txt`, by which the Chinese ALBERTs divide
                    text.
    tokenizer_json  The files by which a vocabulary loads in Hugging Face's
                    AutoTokenizer.
    external        The vocabulary of another ALBERT, as another program keeps it.
    importing       A vocabulary of another ALBERT becomes one that needs no program
                    around it.

May import: all rooms before it. No Beam.
"""
