"""Where files are and how they become lines: here or on a cluster, packed or plain.

    remote       Storage that is no folder of this machine, through fsspec.
    files        Files, wherever they are: on this machine, or on storage that its
                 program reaches.
    compression  Compressed data as blocks of bytes, recognised from its first bytes.
    bz2_streams  bz2 files stream by stream, from anywhere in the file.
    byte_ranges  A file in ranges of bytes, each of which yields whole documents.
    lines        Bytes become lines of text, whatever the encoding and however long the
                 lines.

May import: `core`. The only room that knows fsspec. No NumPy.
"""
