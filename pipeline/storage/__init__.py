"""Where files are and how they become lines: here or on a cluster, packed or plain.

    files        Files, wherever they are: on this machine, or anywhere that Beam can
                 reach.
    compression  Compressed data as blocks of bytes, recognised from its first bytes.
    bz2_streams  bz2 files stream by stream, from anywhere in the file.
    byte_ranges  A file in ranges of bytes, of which each yields whole documents.
    lines        Bytes become lines of text, whatever the encoding and however long the
                 lines.

May import: `core`. With `job` the only room that knows Beam. No NumPy.
"""
