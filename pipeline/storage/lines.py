"""Bytes become lines of text, however long the lines.

Text is read as UTF-8, and lines that are not as Windows-1252, which can write the
languages of Western Europe only. Encodings that would be read wrongly are refused by
the name of what they seem to be.
"""

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

from pipeline.core.documents import Dropped, ReadingCounts
from schemas.errors import AlbertError

# A longer line is divided at a space, so that no line takes memory without bound.
MAX_LINE_BYTES = 1 << 20

# A longer line is not a document; the longest novels have 6 MB.
MAX_RECORD_BYTES = 32 << 20
TOO_LONG = Dropped("line too long")

# Changes that are counted; nothing is left out.
NOT_UTF8 = "line not UTF-8, read as Windows-1252"
BAD_BYTES = "line with a few bytes that are not UTF-8, left out"
NUL_BYTES = "zero byte taken out"

_BYTE_ORDER_MARK = "\ufeff"
# Bytes that no text has: control characters except white space, zero and escape.
_CONTROL = bytes({*range(1, 8), *range(14, 27), *range(28, 32), 127})


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


def is_binary(data: bytes) -> bool:
    """Whether bytes are not text in any encoding: many are control characters."""
    return len(data) - len(data.translate(None, _CONTROL)) > len(data) // 20


def mostly_utf8(line: bytes, *, is_cut: bool = False) -> str | None:
    """A line of UTF-8 without its bad bytes; None where good ones are not more.

    Args:
        is_cut: Whether its last character may lack bytes, which then is no fault.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    replaced = decoder.decode(line, final=not is_cut)
    text = replaced.replace("\ufffd", "")
    good = sum(not character.isascii() for character in text)
    bad = len(replaced) - len(text)
    return text if good > bad or not bad else None


def decode(data: bytes, *, counts: ReadingCounts | None = None) -> str:
    r"""Whole lines as text that ends its lines in LF.

    A line that is not UTF-8 is read as Windows-1252, or as UTF-8 without its bad bytes
    where good characters beyond ASCII are more. Zero bytes and byte-order marks are
    left out. Lines may have ended in CR LF or CR.

    Args:
        data: Lines, so that no character is cut.
        counts: Receives `NOT_UTF8` or `BAD_BYTES` for each such line, and `NUL_BYTES`.

    >>> counts = ReadingCounts()
    >>> decode("é\r\n".encode() + "caf\0é".encode("latin-1"), counts=counts)
    'é\ncafé'
    >>> dict(counts.changed)
    {'zero byte taken out': 1, 'line not UTF-8, read as Windows-1252': 1}
    """
    if b"\0" in data:
        if counts is not None:
            counts.changed[NUL_BYTES] += data.count(b"\0")
        data = data.replace(b"\0", b"")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        # Where lines end in CR alone, the whole would be one line.
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        text = "\n".join(decode_line(line, counts=counts) for line in data.split(b"\n"))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _BYTE_ORDER_MARK in text:
        text = text.replace(_BYTE_ORDER_MARK, "")
    return text


def decode_line(line: bytes, *, counts: ReadingCounts | None = None) -> str:
    r"""One line as text, UTF-8 or else Windows-1252.

    >>> counts = ReadingCounts()
    >>> decode_line("Приве".encode()[:-1] + b"!", counts=counts), dict(counts.changed)
    ('Прив!', {'line with a few bytes that are not UTF-8, left out': 1})
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        text = mostly_utf8(line)
    if counts is not None:
        counts.changed[NOT_UTF8 if text is None else BAD_BYTES] += 1
    return line.decode("cp1252", errors="replace") if text is None else text


def line_blocks(
    blocks: Iterable[bytes], *, limit: int = MAX_LINE_BYTES
) -> Iterator[bytes]:
    r"""Blocks cut at line feeds, so that each holds whole lines.

    A line of more than `limit` bytes is cut at its last space before that.

    >>> list(line_blocks([b"a\nb", b"c\nd"]))
    [b'a\n', b'bc\n', b'd']
    >>> list(line_blocks([b"one two three"], limit=6))
    [b'one ', b'two ', b'three']
    """
    held = b""
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end:
            yield from _cut_lines(held + block[:end], limit)
            held = block[end:]
        else:
            held += block
        while len(held) > limit:
            cut = cut_position(held, limit)
            yield held[:cut]
            held = held[cut:]
    if held:
        yield held


def whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes | Dropped]:
    """Whole lines, many at a time; a line that is too long is dropped."""
    fragment = b""
    is_skipping = False
    for block in line_blocks(blocks, limit=MAX_RECORD_BYTES):
        if fragment and not is_skipping:
            # More came after a line without an end: it had been cut.
            yield TOO_LONG
            is_skipping = True
        if is_skipping:
            _, line_feed, block = block.partition(b"\n")
            if not line_feed:
                continue
            is_skipping = False
        lines, _, fragment = block.rpartition(b"\n")
        yield lines
    if fragment and not is_skipping:
        yield fragment


def read_whole_lines(
    blocks: Iterable[bytes], *, counts: ReadingCounts | None = None
) -> Iterator[str | Dropped]:
    """The lines in some blocks that are not blank; one that is too long is dropped."""
    for lines in whole_lines(blocks):
        if isinstance(lines, Dropped):
            yield lines
        else:
            for line in decode(lines, counts=counts).split("\n"):
                if line and not line.isspace():
                    yield line


def _cut_lines(lines: bytes, limit: int) -> Iterator[bytes]:
    """Lines as one block, or in several where one is too long."""
    start = line = 0
    while len(lines) - line > limit:
        line_feed = lines.rfind(b"\n", line, line + limit + 1)
        if line_feed >= 0:
            line = line_feed + 1
            continue
        line += cut_position(lines[line : line + limit + 1], limit)
        yield lines[start:line]
        start = line
    if start < len(lines):
        yield lines[start:]


def cut_position(line: bytes, limit: int) -> int:
    """Where to cut a line of more than `limit` bytes: after a space if it has one.

    >>> cut_position(b"one two three", 6), cut_position("éé".encode(), 3)
    (4, 2)
    """
    cut = line.rfind(b" ", 0, limit) + 1 or limit
    while cut > 1 and line[cut] & 0xC0 == 0x80:  # not inside a character
        cut -= 1
    return cut


def read_raw_lines(
    blocks: Iterable[bytes], *, counts: ReadingCounts | None = None
) -> Iterator[str]:
    """The lines in some blocks, with the white space that they have."""
    for block in line_blocks(blocks):
        text = decode(block, counts=counts)
        yield from text.removesuffix("\n").split("\n")


def read_lines(
    blocks: Iterable[bytes], *, counts: ReadingCounts | None = None
) -> Iterator[str]:
    """The lines in some blocks, with single spaces and none at the ends."""
    for line in read_raw_lines(blocks, counts=counts):
        yield " ".join(line.split())


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
