"""From the files that a person names to documents and their sentences.

    inputs      The files that a person names: found, recognised from their content,
                described.
    formats     The formats of raw text: their names, what they imply, how they are
                recognised.
    languages   The language of a text, as a record, an address or a person names it.
    splits      The work of reading, divided into splits that do not depend on the
                workers.
    readers     Every format's reader behind one function: a part of a file becomes
                documents.
    plain_text  Plain text: running prose, one document a line, and BERT's one sentence
                a line.
    bookcorpus  BookCorpus: one tokenized sentence a line, and no sign of where a book
                ends.
    books       Books: one a file, without what Project Gutenberg puts around the text.
    rows        Rows of tables with a text: of articles, books, other documents, or
                sentences.
    jsonl       JSON lines: one record a line, one of whose keys holds the text.
    csv_rows    CSV and TSV: one document a row, under a header that names the columns.
    parquet     Parquet: one document a row, in groups of rows that can be read
                alone.
    counts      What reading counted: documents, and what was left out or changed, by
                reason.
    sentences   Paragraphs become sentences; long documents become parts.

May import: all rooms before it. No NumPy, no Beam.
"""
