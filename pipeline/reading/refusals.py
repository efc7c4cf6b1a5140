"""What holds no text that is read, refused by the name of what it seems to be.

Beside what `refused.tsv` names, any text is refused of which most lines have marks that
are no words: what the marks mean is not known, so a person says if they are text.

Text is read as UTF-8, and lines that are not as Windows-1252, which can write the
languages of Western Europe only (`pipeline.storage.lines`).
"""

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

from pipeline.core.writing_systems import UNSPACED
from pipeline.reading.formats import HEAD_BYTES, Kind, UnusableFile
from pipeline.reading.sentences import rules_of
from pipeline.storage.lines import decode, is_binary, mostly_utf8
from schemas.errors import AlbertError

_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
# Which of each four bytes are mostly zero there.
_ZEROS = {
    **dict.fromkeys(("02", "13"), "UTF-16"),
    **dict.fromkeys(("01", "23", "012", "123"), "UTF-32"),
}
_ASCII = bytes(range(128))
# What switches to other characters, and back to ASCII.
_SEVEN_BITS = (
    (re.compile(rb"\x1b\$\)C|\x0e[!-~]+\x0f"), "ISO-2022-KR"),
    (re.compile(rb"\x1b\$\)[AGE]"), "ISO-2022-CN"),
    (re.compile(rb"\x1b\$\(?[@BD]|\x1b\([BJI]"), "ISO-2022-JP"),
    (re.compile(rb"~\{[!-w][!-~](?:[!-w][!-~])*~\}"), "HZ"),
)
# Encodings told by the letters that words have in them, where no language is given.
_CYRILLIC = "windows-1251 koi8-r cp866 iso8859-5"
_CANDIDATES = "iso8859-15 cp1250 iso8859-2 cp1257 cp1254 cp850 mac_roman cp852"
# Characters of Windows-1252 that stand between letters of a word.
_WITHIN_WORDS = "\u2019\xad\xb7\u2013\u2014\xb4\u2026\xa0\u2022"
# In real text of Windows-1252 a smaller share of what is beyond ASCII is no letter
# though it stands between letters.
_MOST_WITHIN_WORDS, _FEWEST = 0.1, 3
# Letters beyond ASCII of languages that Windows-1252 can write.
_ALPHABETS = (
    # French, German, Spanish, Portuguese, Italian, Dutch, Swedish and Finnish
    "àâæçéèêëîïôœùûüÿ äöüß áéíñóúü áâãàçéêíóôõúü àéèìíîòóùú éëïóöüáèê åäöé "
    # Danish and Norwegian, Icelandic, Catalan, Estonian, Albanian, Irish
    "æøåéèêóòôâä áðéíóúýþæö àçèéíïòóúü äõöüšž çë áéíóú"
)
# In text of such a language all but a few of its letters beyond ASCII are in one of
# these (0.986 and more in eleven of them; 0.90 and less in text of Windows-1250 or
# 1254 that was read as Windows-1252). English has too few to tell.
_LEAST_IN_ALPHABET, _LEAST_BEYOND_ASCII, _FEWEST_LETTERS = 0.95, 0.02, 10


def refuse_escaped(head: bytes, *, path: str) -> None:
    r"""Refuse UTF-16 and 32, and encodings that write in ASCII what is not ASCII.

    >>> try: refuse_escaped(b"\x1b$B:#F|\x1b(B", path="a.txt")
    ... except AlbertError as error: print(str(error)[:21])
    a.txt is ISO-2022-JP;
    """
    # In the bytes of a binary these signs stand by chance.
    is_ascii = 100 * len(head.translate(None, _ASCII)) <= len(head)
    signs = _SEVEN_BITS if is_ascii else ()
    of_seven = (name for sign, name in signs if len(sign.findall(head)) > 1)
    if name := _wide_encoding(head) or next(of_seven, ""):
        raise AlbertError(
            f"{path} is {name}; convert it to UTF-8, for example with iconv -f {name} -t UTF-8."
        )


def _wide_encoding(head: bytes) -> str:
    """UTF-16 or UTF-32 by its mark, or by the places of zeros.

    >>> [_wide_encoding("It was.".encode(name)) for name in ("utf-16-be", "utf-32-le")]
    ['UTF-16', 'UTF-32']
    >>> _wide_encoding(b"It was." + bytes(30))
    ''
    """
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    number = len(head) // 4
    places = (str(p) for p in range(4) if 2 * head[p::4].count(0) > number > 0)
    return _ZEROS.get("".join(places), "")


def _not_utf8(head: bytes) -> bytes:
    """The lines that are neither ASCII nor UTF-8, if they are most of those beyond ASCII."""
    lines = [line for line in head.split(b"\n") if not line.isascii()]
    others = [line for line in lines if mostly_utf8(line, is_cut=True) is None]
    return b"\n".join(others) if 2 * len(others) > len(lines) else b""


def refuse_other_encoding(head: bytes, *, path: str) -> None:
    """Refuse encodings whose text is mostly bytes beyond ASCII, except UTF-8.

    In Windows-1252 text at most a fifth of the bytes are non-ASCII.

    >>> refuse_other_encoding("Привет, мир.".encode("cp1251"), path="a.txt")
    Traceback (most recent call last):
    schemas.errors.AlbertError: a.txt is in another encoding than UTF-8; convert it, \
for example with iconv -f WINDOWS-1251 -t UTF-8 or -f GB18030.
    """
    text = _not_utf8(head)
    if 2 * len(text.translate(None, _ASCII)) > len(text):
        likely = min(_CYRILLIC.split(), key=lambda name: _strange_within_words(text, name))
        raise AlbertError(
            f"{path} is in another encoding than UTF-8; convert it, for example with "
            f"iconv -f {likely.upper()} -t UTF-8 or -f GB18030."
        )


def refuse_foreign_bytes(head: bytes, *, language: str, path: str, has_flag: bool = True) -> None:
    """Refuse bytes that are not UTF-8 where Windows-1252 would read them wrongly.

    It would where it cannot write the language, or where what it reads is no letters
    within words.

    Args:
        has_flag: Whether a person can name the language.

    >>> try: refuse_foreign_bytes("żółw".encode("cp1250"), language="pl", path="a.txt")
    ... except AlbertError as error: print(str(error)[:47])
    a.txt is not UTF-8, and Windows-1252 cannot wri
    """
    text = _not_utf8(head)
    if not text:
        return
    if encoding := rules_of(language).encoding:
        raise AlbertError(
            f"{path} is not UTF-8, and Windows-1252 cannot write its language "
            f"({language}); convert it, for example with iconv -f {encoding} -t UTF-8."
        )
    strange = _strange_within_words(text, "cp1252")
    is_most = strange >= _MOST_WITHIN_WORDS * len(text.translate(None, _ASCII))
    if strange >= _FEWEST and (is_most or not _strange_within_words(text, "iso8859-15")):
        likely = min(_CANDIDATES.split(), key=lambda name: _strange_within_words(text, name))
        raise AlbertError(
            f"{path} is neither UTF-8 nor Windows-1252; convert it, for example with "
            f"iconv -f {codecs.lookup(likely).name.upper()} -t UTF-8, or as its "
            "language needs."
        )
    if not language and not _is_western(head.decode("cp1252", errors="replace")):
        remedy = "from WINDOWS-1252 if it has several languages"
        remedy = "name its language with --language" if has_flag else remedy
        raise AlbertError(
            f"{path} is not UTF-8, and its letters are of no one language that "
            "Windows-1252 can write; convert it with iconv from the encoding of its "
            "language, as WINDOWS-1250 (Czech, Hungarian), -1254 (Turkish) or -1257 "
            f"(Latvian), or {remedy}."
        )


def _is_western(text: str) -> bool:
    """Whether the letters beyond ASCII are those of one language of Western Europe.

    >>> _is_western("Größe ändert für Schüler übrigens nichts, größtenteils schön.")
    True
    >>> _is_western("Für 5 µg und 7 µg wäre es schön. " * 2)
    True
    >>> _is_western("Pøíliš žluouèký kùò úpìl ïábelské ódy, øeka teèe.")
    False
    """
    # A unit of measurement in any language.
    letters = Counter(filter(str.isalpha, text.lower().replace("\xb5", "")))
    beyond = {letter: n for letter, n in letters.items() if not letter.isascii()}
    number = sum(beyond.values())
    if number < max(_FEWEST_LETTERS, _LEAST_BEYOND_ASCII * letters.total()):
        return True
    return any(
        sum(beyond.get(letter, 0) for letter in alphabet) >= _LEAST_IN_ALPHABET * number
        for alphabet in _ALPHABETS.split()
    )


def _strange_within_words(text: bytes, encoding: str) -> int:
    """How often no letter, or a capital after a small letter, stands within a word."""
    decoded = text.decode(encoding, errors="replace")
    strange = 0
    for before, character, after in zip(decoded, decoded[1:], decoded[2:], strict=False):
        if character.isascii() or not (before.isalpha() and after.isalpha()):
            continue
        is_letter = unicodedata.category(character)[0] in "LM"
        is_misplaced = character.isupper() and before.islower()
        strange += is_misplaced or not (is_letter or character in _WITHIN_WORDS)
    return strange


# A mark that is no word. Expressions with brackets and bars of their own, as verbose.
_ODD = re.compile(
    r"""(?x)
    \\(?:u[0-9a-f]{4}|[^\W\d_]+\d?)                       # \v \u0414
    | </?(?!unk>)[^\W\d_][^<>]{0,200}> | <\|[^<>|\s]{1,40}\|>   # <range>
    | (?<=\S)\|(?=\S) | \|{3,} | ¶ | ~~                     # 1|2|
    | (?<=\w)@@(?=\s|$) | \u2581 | (?:^|(?<=\s))(?:\#\#|@@)(?=\w)  # of pieces of words
    | \{\{ | \}\} | \[\[ | \]\] | ''' | \[\*\* | \*\*\]
    | (?<=[\w=])=[0-9A-F]{2} | (?<=\w)=$ | %[0-9A-F]{2}(?=\w|%)
    | \ufffd | (?<=[^\W\d_UNSPACED])\?(?=[^\W\d_UNSPACED])     # letters that were lost
    | (?<!\S)\?\?+(?!\S) | ^%[0-9A-Z](?=[ ]) | (?<=[ ])/$
    | ^\s*[A-Z][A-Z0-9]{1,3}(?:(?:[ ]{2})?-[ ](?!-)|[ ]{2,4}(?=\S))   # AB  -
    | (?<=[^\W\d])[/_][A-Z]{2,5}\$?(?=\s|$)      # It/PRP
    | (?<!\S)(?:[^\s/_]++[/_](?![A-Z]{2,5}\$?\s)[^\W\d_][\w$*+-]{0,8}\s+){4}   # The/at mill/nn
    | \((?:[A-Z][-A-Z]*+)?[ ]\( | \([A-Z]{1,4}[ ]\w+\)\)   # (S (NP
    | ^(?:\[|\((?=.*['"],[ ]?(?:[rb]?['"\d]|\)$)))[rb]?(['"]).*(?:['"]|\d|(?<=,))[\])],?$  # ['So.']
    | [\x01-\x08\x0e-\x1f]                 # characters that control
    | ^\W*[A-Z]+_OF_[A-Z]+ | (?<!=)={2,}+[ ](?=\w) | \[/[A-Za-z]{1,10}\]
    | ^\[\w+[ ]".*"\]$ | ^[*%@][A-Za-z]{2,6}:\t | ^\#META | ^>\w+\|
    | ^(?=\S*\d)(?=\S*[A-Za-z])[A-Za-z0-9+/_-]{40,}={0,2}$ | ^(?:[0-9a-f]{8,}+\s?)+$
    | ^[A-Za-z]+_\d+(?=:) | ^\d+[ ]\d{3,}(?=[ ][^\W\d])   # SPEAKER_00: It was; 0 900 It was
    # utt_001 It was
    | ^(?:(?!(?:19|20)\d{6}\b)\d{7,}|\d+-\d{3,}-\d{3,}|[A-Za-z][\w-]*\d{3}[\w-]*)(?=\s+\S)
    | ^\d[ ](?:@\w+@[ ])?[A-Z_]{3,5}(?=\s|$) | ^[-+]?\d+\.\d+[ ]+\S+[ ]+[-+]?\d+\.\d+$
    | [ ]-[ ]-[ ]\[\d
    """.replace("UNSPACED", UNSPACED)
)
# Nearly all lines of a text have nothing of this; the pattern alone takes several times longer.
_MAY_BE_ODD = re.compile(
    r"[\\<|¶~@\u2581\ufffd#{}\[\]=%_/\x01-\x08\x0e-\x1f]"
    r"|'''|\( ?[A-Z(\'\"]|^\W*[A-Z\d]{2}|^[-+\d]|^\S{40}|^[0-9a-f]{8}"
    r"|\w\?\w|\?\?|^[A-Za-z][\w-]*\d{3}"
)
# Addresses, and the bars that people type for a danda, are no such marks.
_NO_MARK = re.compile(
    r"\b(?:https?://|www\.)\S+|(?<!\S)[^\s@]++@\S+\.\S+"
    r"|\|\|\s?[\d.,-]+\s?\|\||(?<=[\u0900-\u0dff])\s?\|+(?=[\s\u0900-\u0dff]|$)"
)
# Shares of the lines that have any such mark, or the same one, and of lines that are
# nothing else.
_MOST_ODD, _MOST_SAME, _MOST_ALONE = 0.6, 0.4, 0.04
_FEWEST_LINES, _FEWEST_MARKED = 5, 3
# A page in a line may have a bar or two.
_CHARACTERS_A_MARK = 200
_VERSE = re.compile(r"(?:\W?|[^\W\d][^:]{0,40} [(\[]?)\d{1,3}:\d\b(?![:.])")
_DAY = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}\.? [^\W\d]{3,9}\.? \d{4}")
# Lines that are looked at.
SHOWN_LINES = 200


# Two columns of a page: words that go on in the next line, a gap, and where the words beside
# them begin.
_BESIDE = re.compile(r" *+(?:\S++ {1,2}(?! )){2,}+\S++(?<=\w) {3,}(?=\S+ \S+ \S)")


class Sign(NamedTuple):
    """What a file is that has a sign, and what to do about it; a row of `refused.tsv`.

    Attributes:
        place: Where the sign stands: in the ending of the name, at the first of all bytes, at
            the start of a text (which may be read as it stands, but for the `first`), or in
            its lines, as markup or otherwise.
        share: Of the lines that have the sign, the least; of code, of their characters.
    """

    place: str
    share: str
    name: str
    advice: str
    sign: str


_SIGNS = [
    Sign(*row.replace("{UNSPACED}", UNSPACED).split("\t"))
    for row in (files("pipeline.reading") / "refused.tsv").read_text("utf-8").splitlines()
]


def refuse_named(place: str, head: bytes, *, path: str, otherwise: str = "") -> None:
    """Refuse what begins with the sign of something that is no text for us."""
    for own, _, name, advice, sign in _SIGNS:
        if own == place and re.match(sign.encode(), head, re.DOTALL * (place == "bytes")):
            raise UnusableFile(f"{path} is {name}; {advice}{otherwise}.")


def refuse_lines(kind: Kind, text: bytes, *, path: str) -> None:
    """Refuse text with markup, code, and lines that are no sentences.

    Args:
        text: Whole lines.
    """
    raw = [line for line in decode(text).split("\n") if line.strip()][:SHOWN_LINES]
    if len(raw) < _FEWEST_LINES:
        return
    _refuse_signs(kind, "markup", raw, path=path)
    refuse_odd_marks(raw, path=path, otherwise=as_it_stands(kind))
    _refuse_signs(kind, "lines", raw, path=path)
    beside = Counter(found.end() for found in map(_BESIDE.match, raw) if found)
    if max(beside.values(), default=0) >= _MOST_SAME * len(raw):
        raise UnusableFile(
            f"{path} has columns side by side; give its text, for example as pdftotext writes it "
            f"without -layout, or {as_it_stands(kind)}."
        )


def refuse_odd_marks(lines: list[str], *, path: str, otherwise: str) -> None:
    """Refuse lines of which most have marks that are no words, naming the commonest."""
    if len(lines) < _FEWEST_LINES:
        return
    each = [dict.fromkeys(_marks_of(line)) for line in lines]
    marks = Counter(mark for found in each for mark in found)
    mark, number = next(iter(marks.most_common(1)), ("", 0))
    odd = sum(map(bool, each))
    alone = sum(
        not _ODD.sub("", line).strip() and any(map(str.isalpha, line))
        for line, found in zip(lines, each, strict=True)
        if found
    )
    is_most = odd >= _MOST_ODD * len(lines) or number >= _MOST_SAME * len(lines)
    if is_most or alone >= max(_FEWEST_MARKED, _MOST_ALONE * len(lines)):
        mark = mark if mark.isprintable() else repr(mark)[1:-1]
        raise UnusableFile(
            f"{path} has marks that are no words in {odd} of {len(lines)} lines, most often "
            f'"{mark:.40}"; give its text without them, or {otherwise}.'
        )


def _refuse_signs(kind: Kind, place: str, lines: list[str], *, path: str) -> None:
    full = [" ".join(line.split()) for line in lines]
    for own, share, name, advice, sign in _SIGNS:
        found = [match for line in full if own == place and (match := re.search(sign, line))]
        marked = [match.string for match in found]
        # In a text about programs a few short lines are code; each entry of a diary has
        # another day.
        size = len if name != "code" else _characters
        days = {day[0] for line in marked if (day := _DAY.search(line))}
        # Minutes have two digits, and verses of a chapter one.
        verses = sum(_VERSE.match(line) is not None for line in full)
        is_dated = len(days) == len(marked) or verses >= _MOST_ALONE * len(full)
        is_most = len(marked) >= _FEWEST_MARKED and size(marked) >= float(share) * size(full)
        # Who speaks does so again; in a programme each time is of something else.
        is_most &= 2 * len({match.groupdict().get("who") for match in found}) <= len(found)
        if is_most and not (is_dated and "chat" in name):
            raise UnusableFile(f"{path} looks like {name}; {advice}, or {as_it_stands(kind)}.")


def _characters(lines: list[str]) -> int:
    return sum(map(len, lines))


def odd_marks(line: str) -> Iterator[str]:
    r"""The marks in a line that are no words, but for addresses.

    >>> list(odd_marks(r"\v 12 He came\f + \fr 1:12 late.")), list(odd_marks("1:12 He came."))
    (['\\v', '\\f', '\\fr'], [])
    """
    if _MAY_BE_ODD.search(line):
        for found in _ODD.finditer(_NO_MARK.sub("", line)):
            yield found[0].strip() or found[0]


def is_unlike_text(line: str) -> bool:
    """Whether a line has marks that are no words, or mostly digits and punctuation.

    >>> is_unlike_text("He came in 1914."), is_unlike_text("12.5 | 33 | -"), is_unlike_text("a|b")
    (False, True, True)
    """
    others = sum(unicodedata.category(c)[0] not in "LMZ" for c in line)
    return 2 * others > len(line) or any(odd_marks(line))


def _marks_of(line: str) -> list[str]:
    """The odd marks of a line that begins with one or has them all along it."""
    found = [*odd_marks(line)]
    is_marked = found and (
        line.lstrip().startswith(found[0]) or len(line) <= _CHARACTERS_A_MARK * len(found)
    )
    return found if is_marked else []


def as_it_stands(kind: Kind) -> str:
    """What to do about a file that is text although it does not look like it."""
    plain = "book" if kind == "books" else "prose"
    return f"say --input-format {plain} to read it as it stands"


# No comma of a sentence has a letter right after it.
_COLUMN_NAMES = re.compile(
    rb'(?i)"?(?:[a-z_][\w #/().-]*)?"?([,;])(?:"?[a-z_][\w #/().-]*"?\1)*"?[a-z_]'
    rb'(?:[\w #/().-]*[\w#)])?"?'
)
# Text that was damaged has fewer zero bytes, or a smaller share of them.
_FEW_ZEROS, _MOST_ZEROS = 64, 0.02
# A tag, or nothing, in the last column of a table of tokens that spaces divide.
_TAG = re.compile(rb"O|_|[BIESL]-[\w-]+|[A-Z]{2,5}\$?|[.,:]")
# The mark of an item, or of who speaks, before a tab is part of the text.
_ITEM = re.compile(
    rb"(?:\(?\w{1,4}[.)]|\d{1,3}(?:\.\d{1,3})+\.?|(?:\xc2\xa7)+ ?\d+\w?"
    rb"|[-*\xe2\x80\xa2\xc2\xb7]+|[\w. -]{1,30}:)\t[^\t]*"
)
# A token has less than this, a sentence more.
_TOKEN_BYTES = 40


def refuse_binary(head: bytes, *, path: str) -> None:
    """Refuse what is not text; the sentence names what it is and what to do."""
    refuse_named("bytes", head, path=path)
    refuse_escaped(head, path=path)
    zeros = head.count(0)
    if is_binary(head) or zeros > max(_FEW_ZEROS, _MOST_ZEROS * len(head)):
        raise UnusableFile(
            f"{path} is not text: it is full of control characters; give text, "
            "plain or packed with gz, bz2, xz or zst."
        )
    refuse_other_encoding(head[:HEAD_BYTES], path=path)


def refuse_columns(kind: Kind, head: bytes, *, path: str) -> None:
    """Refuse lines of columns: tokens with tags, tables not named as such."""
    lines = [line.strip() for line in head.split(b"\n")[:SHOWN_LINES] if line.strip()]
    if len(lines) > 2 and (names := _COLUMN_NAMES.fullmatch(lines[0])):
        number = lines[0].count(names[1])
        # The last line may be cut.
        rows = sum(line.count(names[1]) >= number for line in lines[1:-1])
        if rows >= 0.9 * (len(lines) - 2):
            raise UnusableFile(
                f"{path} has names of columns in its first line; name a table .csv, or "
                f"{as_it_stands(kind)}."
            )
    # Of a corpus of tokens these are comments and tags.
    lines = [line for line in lines if not line.startswith((b"#", b"<"))]
    most = 0.9 * len(lines)
    if len(lines) < 3 or sum(_ITEM.fullmatch(line) is not None for line in lines) >= most:
        return
    of_columns = sum(b"\t" in line for line in lines)
    tagged = sum(
        line.count(b" ") == lines[0].count(b" ") > 0
        and _TAG.fullmatch(line.rpartition(b" ")[2]) is not None
        for line in lines
    )
    if max(of_columns, tagged) < most:
        return
    # A token has no space in it, and what stands beside it is short.
    cells = [line.split(b"\t") for line in lines]
    tokens = sum(b" " not in row[0] and max(map(len, row)) < _TOKEN_BYTES for row in cells)
    name = "a token" if tagged > most or tokens > most else "several columns"
    divided = "spaces" if tagged > most else "tabs"
    numbers = " (without a header, --text-key takes a number)" if name != "a token" else ""
    raise UnusableFile(
        f"{path} has {name} in each line, between {divided}; give its text, name a table "
        f".tsv{numbers}, or {as_it_stands(kind)}."
    )
