"""Files that hold no text we read: what they are, and what a person can do.

Text is read as UTF-8, and lines that are not as Windows-1252, which can write the
languages of Western Europe only. Encodings that would be read wrongly are refused by
the name of what they seem to be.
"""

import codecs
import re
import unicodedata
from collections import Counter

from pipeline.storage.lines import is_binary, mostly_utf8
from schemas.errors import AlbertError

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ASCII = bytes(range(128))
# What switches to other characters, and back to ASCII.
_SEVEN_BITS = (
    (re.compile(rb"\x1b\$\)C|\x0e[!-~]+\x0f"), "ISO-2022-KR"),
    (re.compile(rb"\x1b\$\)[AGE]"), "ISO-2022-CN"),
    (re.compile(rb"\x1b\$\(?[@BD]|\x1b\([BJI]"), "ISO-2022-JP"),
    (re.compile(rb"~\{[!-w][!-~](?:[!-w][!-~])*~\}"), "HZ"),
)
# The encoding that text of a language has which Windows-1252 cannot write.
_ENCODINGS = {
    code: encoding
    for encoding, codes in {
        "WINDOWS-1250": "pl cs sk hu sl hr bs sh ro csb szl hsb dsb",
        "WINDOWS-1251": "ru uk be bg mk sr kk ky mn tg tt ba cv ce os sah",
        "WINDOWS-1253": "el",
        "WINDOWS-1254": "tr az tk crh",
        "WINDOWS-1255": "he yi",
        "WINDOWS-1256": "ar fa ur ps ug ckb",
        "WINDOWS-1257": "lt lv",
        "WINDOWS-1258": "vi",
        "WINDOWS-874": "th",
        "ISO-8859-3": "mt eo",
        "ISO-8859-14": "cy",
        "ARMSCII-8": "hy",
        "SHIFT_JIS": "ja",
        "GB18030": "zh",
        "CP949": "ko",
    }.items()
    for code in codes.split()
}
# Encodings told by the letters that words have in them, where no language is given.
_CANDIDATES = ("cp1250", "iso8859-2", "cp1257", "cp1254", "cp850", "mac_roman", "cp852")
# Characters of Windows-1252 that stand between letters of a word.
_WITHIN_WORDS = "\u2019\xad\xb7\u2013\u2014\xb4\u2026\xa0\u2022"
# In real text of Windows-1252 a smaller share of what is beyond ASCII is no letter
# though it stands between letters.
_MOST_WITHIN_WORDS, _FEWEST = 0.1, 3
# Letters beyond ASCII of languages that Windows-1252 can write.
_ALPHABETS = (
    "àâæçéèêëîïôœùûüÿ",  # French
    "äöüß",  # German
    "áéíñóúü",  # Spanish
    "áâãàçéêíóôõúü",  # Portuguese
    "àéèìíîòóùú",  # Italian
    "éëïóöüáèê",  # Dutch
    "åäöé",  # Swedish, Finnish
    "æøåéèêóòôâä",  # Danish, Norwegian
    "áðéíóúýþæö",  # Icelandic
    "àçèéíïòóúü",  # Catalan
    "äõöüšž",  # Estonian
    "çë",  # Albanian
    "áéíóú",  # Irish
)
# In text of such a language all but a few of its letters beyond ASCII are in one of
# these (0.986 and more in eleven of them; 0.90 and less in text of Windows-1250 or
# 1254 that was read as Windows-1252). English has too few to tell.
_LEAST_IN_ALPHABET, _LEAST_BEYOND_ASCII, _FEWEST_LETTERS = 0.95, 0.02, 10
# A format is recognised by this much of a file, decompressed.
HEAD_BYTES = 1 << 16
PAGE = re.compile(rb"<page[\s>]")
_HTML = re.compile(
    rb"(?:<\?xml[^<>]*+>\s*+)?<(?:!doctype\s++html|html)\b", re.IGNORECASE
)
_FILES_INSIDE = "give the text files inside it"
_PANDOC = "give its text, for example as pandoc -t plain --wrap=none writes it"
_XML = re.compile(
    rb"<\?xml\b|<(?:!DOCTYPE|TEI|tmx|xliff|rss|feed|osis)\b", re.IGNORECASE
)
WARC = re.compile(rb"WARC/1\.\d\r?\n")
# How a file begins that is text for a program, what it is, and what to do about it.
_STRUCTURED = (
    (rb"\[Script Info\]|\{\d+\}\{\d+\}", "subtitles", "convert them to SubRip (.srt)"),
    (rb"INSERT INTO\b", "an SQL dump", "write its texts as JSON lines"),
    (rb"BEGIN:V(?:CALENDAR|CARD)", "a calendar or address book", "give its text"),
    (rb"@[a-zA-Z]+\{[^\s{}]+,\s*\n", "a bibliography", "write it as JSON lines"),
    (rb"%!PS", "PostScript", "give its text, for example as ps2ascii writes it"),
    (rb"(?:#[^\n]*\n)*msgid \"", "a catalogue of messages", "write it as JSON lines"),
    (rb"\\documentclass|\\begin\{document\}", "LaTeX", _PANDOC),
    (rb"(?:--|/\*)[^\n]*\bdump\b", "an SQL dump", "write its texts as JSON lines"),
    (rb"From \S+@\S+ [^\n]*\n(?:[\w-]+:|>)", "a mailbox", "give the text of its mails"),
    (rb"%YAML\b|---\r?\n\w+:", "YAML", "write its texts as JSON lines"),
)
_JSON_ARRAY = re.compile(rb"\[\s*+\{\s*+\"")
# Lines that are looked at for columns.
_SHOWN_LINES = 200
# Other markup shows within this many bytes.
_MARKUP_BYTES = 1000
# How a file begins, what it is then, and what to do about it. What is packed as a zip
# archive tells by the name of its first file.
_BINARIES = (
    (rb"PK\x03\x04.{26}mimetypeapplication/epub", "an EPUB book", _PANDOC),
    (rb"PK\x03\x04.{26}mimetypeapplication/vnd", "an OpenDocument file", _PANDOC),
    (rb"PK\x03\x04.*PK\x03\x04.{26}xl/", "an Excel workbook", "save it as CSV"),
    (rb"PK\x03\x04.{26}(?:\[Content_Types\]|_rels/|word/)", "a docx file", _PANDOC),
    (rb"PK\x03\x04", "a zip archive", _FILES_INSIDE),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", _FILES_INSIDE),
    (rb"Rar!", "a rar archive", _FILES_INSIDE),
    (rb".{257}ustar", "a tar archive", "unpack it and give the folder"),
    (rb"%PDF-", "a PDF", "give its text, for example as pdftotext writes it"),
    (rb"\xd0\xcf\x11\xe0", "an old Office file", "save it as plain text"),
    (rb"\{\\rtf", "an RTF file", _PANDOC),
    (rb"Obj\x01", "an Avro file", "write it as parquet or JSON lines"),
    (rb"ORC", "an ORC file", "write it as parquet or JSON lines"),
    (rb"\x89HDF", "an HDF5 file", "write its texts as JSON lines"),
    (rb"\x93NUMPY", "an array of NumPy", "write its texts as JSON lines"),
    (rb"\x80[\x02-\x05]", "a pickle", "write its texts as JSON lines"),
    (rb"BOOKMOBI|.{60}BOOKMOBI", "a Mobipocket book", _PANDOC),
    (rb"FEA1", "a Feather file of version 1", "write it as parquet"),
    (rb"GGUF|.{7}\0\{\"", "the weights of a model", "give text"),
    (
        rb"\x89PNG|\xff\xd8\xff|GIF8|II\*\0|MM\0\*|AT&TFORM",
        "a picture",
        "give its text",
    ),
    (rb"ID3|OggS|fLaC|RIFF|.{4}ftyp|\x1aE\xdf\xa3", "sound or a film", "give its text"),
    (rb"\x04\x22\x4d\x18", "packed with lz4", "pack it with gz, bz2, xz or zst"),
    (rb"\x1f\x9d|LZIP", "packed with an old program", "pack it with gz or xz"),
    (rb"\x7fELF|\xfe\xed\xfa|\xcf\xfa\xed\xfe", "a program", "give text"),
    (rb"SQLite format 3", "an SQLite database", "write its texts as JSON lines"),
)
# Text that was damaged has fewer zero bytes, or a smaller share of them.
_FEW_ZEROS, _MOST_ZEROS = 64, 0.02
# A tag, or nothing, in the last column of a table of tokens that spaces divide.
_TAG = re.compile(rb"O|_|[BIESL]-[\w-]+|[A-Z]{2,5}\$?|[.,:]")
# Markup that only the file's name tells from plain text.
_MARKUP_NAMES = {
    "md": "Markdown",
    "markdown": "Markdown",
    "rst": "reStructuredText",
    "adoc": "AsciiDoc",
    "org": "Org",
    "tex": "LaTeX",
    "html": "HTML",
    "htm": "HTML",
    "xhtml": "HTML",
    "xml": "XML",
}
_PACKED_NAMES = (".gz", ".bz2", ".xz", ".zst")


class UnusableFile(AlbertError):
    """A file that holds no text we can read; in a folder it is passed over."""


class DumpIndex(UnusableFile):
    """The index that Wikimedia publishes beside a multistream dump; never needed."""


def refuse_binary(head: bytes, *, path: str) -> None:
    """Refuse what is not text; the sentence names what it is and what to do."""
    for start, name, advice in _BINARIES:
        if re.match(start, head, re.DOTALL):
            raise UnusableFile(f"{path} is {name}; {advice}.")
    refuse_utf16(head, path=path)
    refuse_seven_bits(head, path=path)
    zeros = head.count(0)
    if is_binary(head) or zeros > max(_FEW_ZEROS, _MOST_ZEROS * len(head)):
        raise UnusableFile(
            f"{path} is not text: it is full of control characters; give text, "
            "plain or packed with gz, bz2, xz or zst."
        )
    refuse_other_encoding(head[:HEAD_BYTES], path=path)


def refuse_columns(head: bytes, *, path: str) -> None:
    """Refuse lines of columns: tokens with tags, tables without the name of one."""
    lines = [line.strip() for line in head.split(b"\n")[:_SHOWN_LINES] if line.strip()]
    of_columns = sum(b"\t" in line for line in lines)
    tagged = sum(
        line.count(b" ") == lines[0].count(b" ") > 0
        and _TAG.fullmatch(line.rpartition(b" ")[2]) is not None
        for line in lines
    )
    most = 0.9 * len(lines)
    if len(lines) < 3 or max(of_columns, tagged) < most:
        return
    # A token has no space in it.
    tokens = sum(b" " not in line.split(b"\t")[0] for line in lines)
    name = "a token" if tagged > most or tokens > most else "several columns"
    divided = "spaces" if tagged > most else "tabs"
    raise UnusableFile(
        f"{path} has {name} in each line, between {divided}; give its text, or name a "
        "table with a header .tsv."
    )


def refuse_markup_by_name(path: str, *, plain: str) -> None:
    """Refuse markup that only the name of a file tells from plain text.

    Args:
        plain: The format in which it is read as it stands.
    """
    ending = ending_of(path)
    if ending in _MARKUP_NAMES:
        raise UnusableFile(
            f"{path} is named like {_MARKUP_NAMES[ending]}; {_PANDOC}, or say "
            f"--input-format {plain} to read it as it stands."
        )


def refuse_other_markup(head: bytes, *, path: str) -> None:
    """Refuse what would be read as text with its markup."""
    start = without_lead(head[:_MARKUP_BYTES])
    if _HTML.match(start):
        raise UnusableFile(f"{path} is HTML; {_PANDOC}.")
    is_dump = b"<mediawiki" in start or PAGE.search(start)
    if _XML.match(start) and not is_dump:
        raise UnusableFile(f"{path} is XML; give its text.")
    if WARC.match(start) and b"\nWARC-Type: response" in head:
        raise UnusableFile(
            f"{path} holds web pages as they were sent; give its WET, or the text of "
            "its pages as JSON lines."
        )
    for structured, name, advice in _STRUCTURED:
        if re.match(structured, start):
            raise UnusableFile(f"{path} is {name}; {advice}.")
    if _JSON_ARRAY.match(start):
        raise UnusableFile(
            f"{path} is a JSON array; write one object a line, "
            f"for example with jq -c '.[]'."
        )


def without_lead(head: bytes) -> bytes:
    r"""The first bytes of a file without the mark and white space before its text.

    >>> without_lead(b"\xef\xbb\xbf\n <page>")
    b'<page>'
    """
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()


def ending_of(path: str) -> str:
    """The ending of a file's name, whether the file is compressed or not.

    >>> ending_of("gs://bucket/rows.TSV.gz")
    'tsv'
    """
    return unpacked_name(path).rpartition(".")[2]


def unpacked_name(path: str) -> str:
    """A file's name in lower case, without the ending that compressing it added.

    >>> unpacked_name("gs://bucket/Rows.TSV.gz")
    'rows.tsv'
    """
    name = path.lower().rpartition("/")[2]
    for packed in _PACKED_NAMES:
        name = name.removesuffix(packed)
    return name


def refuse_utf16(head: bytes, *, path: str) -> None:
    """Refuse UTF-16, in which every other byte is often zero."""
    zeros = max(head[0::2].count(0), head[1::2].count(0))
    if head.startswith(_UTF16) or (len(head) > 3 and zeros > len(head) // 4):
        raise AlbertError(
            f"{path} is UTF-16; convert it to UTF-8, "
            f"for example with iconv -f UTF-16 -t UTF-8."
        )


def refuse_seven_bits(head: bytes, *, path: str) -> None:
    r"""Refuse encodings that write other characters than ASCII as sequences of it.

    >>> try: refuse_seven_bits(b"\x1b$B:#F|\x1b(B", path="a.txt")
    ... except AlbertError as error: print(str(error)[:21])
    a.txt is ISO-2022-JP;
    """
    for sign, name in _SEVEN_BITS:
        if len(sign.findall(head)) > 1:
            raise AlbertError(
                f"{path} is {name}; convert it to UTF-8, for example with iconv -f "
                f"{name} -t UTF-8."
            )


def refuse_other_encoding(head: bytes, *, path: str) -> None:
    """Refuse encodings whose text is mostly bytes beyond ASCII, except UTF-8.

    In Windows-1252 text at most a fifth of the bytes are non-ASCII.

    >>> refuse_other_encoding("Привет, мир.".encode("cp1251"), path="a.txt")
    Traceback (most recent call last):
    schemas.errors.AlbertError: a.txt is in another encoding than UTF-8; convert it, \
for example with iconv -f WINDOWS-1251 -t UTF-8 or -f GB18030.
    """
    lines = [line for line in head.split(b"\n") if not line.isascii()]
    others = [line for line in lines if mostly_utf8(line, is_cut=True) is None]
    text = b"".join(others)
    beyond = len(text.translate(None, _ASCII))
    if 2 * len(others) > len(lines) and 2 * beyond > len(text):
        raise AlbertError(
            f"{path} is in another encoding than UTF-8; convert it, for example with "
            "iconv -f WINDOWS-1251 -t UTF-8 or -f GB18030."
        )


def refuse_foreign_bytes(head: bytes, *, language: str, path: str) -> None:
    """Refuse bytes that are not UTF-8 where Windows-1252 would read them wrongly.

    It would where it cannot write the language, or where what it reads is no letters
    within words.

    Args:
        language: The short code of the language, empty if nothing names it.

    >>> try: refuse_foreign_bytes("żółw".encode("cp1250"), language="pl", path="a.txt")
    ... except AlbertError as error: print(str(error)[:47])
    a.txt is not UTF-8, and Windows-1252 cannot wri
    """
    lines = [line for line in head.split(b"\n") if not line.isascii()]
    others = [line for line in lines if mostly_utf8(line, is_cut=True) is None]
    if 2 * len(others) <= len(lines) or not others:
        return
    text = b"\n".join(others)
    if encoding := _ENCODINGS.get(language):
        raise AlbertError(
            f"{path} is not UTF-8, and Windows-1252 cannot write its language "
            f"({language}); convert it, for example with iconv -f {encoding} -t UTF-8."
        )
    strange = _strange_within_words(text, "cp1252")
    if strange >= max(_FEWEST, _MOST_WITHIN_WORDS * len(text.translate(None, _ASCII))):
        likely = min(_CANDIDATES, key=lambda name: _strange_within_words(text, name))
        raise AlbertError(
            f"{path} is neither UTF-8 nor Windows-1252; convert it, for example with "
            f"iconv -f {codecs.lookup(likely).name.upper()} -t UTF-8, or as its "
            "language needs."
        )
    if not language and not _is_western(head.decode("cp1252", errors="replace")):
        raise AlbertError(
            f"{path} is not UTF-8, and its letters are of no language that "
            "Windows-1252 can write; convert it with iconv from the encoding of its "
            "language, as WINDOWS-1250 (Czech, Hungarian), -1254 (Turkish) or -1257 "
            "(Latvian), or name its language with --language."
        )


def _is_western(text: str) -> bool:
    """Whether the letters beyond ASCII are those of one language of Western Europe.

    >>> _is_western("Größe ändert für Schüler übrigens nichts, größtenteils schön.")
    True
    >>> _is_western("Pøíliš žluouèký kùò úpìl ïábelské ódy, øeka teèe.")
    False
    """
    letters = Counter(filter(str.isalpha, text.lower()))
    beyond = {letter: n for letter, n in letters.items() if not letter.isascii()}
    number = sum(beyond.values())
    if number < max(_FEWEST_LETTERS, _LEAST_BEYOND_ASCII * letters.total()):
        return True
    return any(
        sum(beyond.get(letter, 0) for letter in alphabet) >= _LEAST_IN_ALPHABET * number
        for alphabet in _ALPHABETS
    )


def _strange_within_words(text: bytes, encoding: str) -> int:
    """How often no letter, or a capital after a small letter, stands within a word."""
    decoded = text.decode(encoding, errors="replace")
    strange = 0
    for before, character, after in zip(
        decoded, decoded[1:], decoded[2:], strict=False
    ):
        if character.isascii() or not (before.isalpha() and after.isalpha()):
            continue
        is_letter = unicodedata.category(character)[0] in "LM"
        is_misplaced = character.isupper() and before.islower()
        strange += is_misplaced or not (is_letter or character in _WITHIN_WORDS)
    return strange
