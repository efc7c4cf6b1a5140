"""Rules of scripts: ends of sentences, words without spaces, lines that are joined.

They follow Unicode's tables where these say it: the property Sentence_Terminal for the
ends of sentences, and the class SA (complex context) of line breaking for scripts
written without spaces, with those of East Asia.
"""

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

# Han, Kana, Yi, Thai, Lao, Tibetan, Myanmar, Khmer, Tai Le, New Tai Lue,
# Tai Tham, Tai Viet, Ahom.
_UNSPACED = (
    (0x0E00, 0x109F),
    (0x1780, 0x17FF),
    (0x1950, 0x19FF),
    (0x1A20, 0x1AAF),
    (0x3005, 0x3007),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA000, 0xA4CF),
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAADF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x11700, 0x1174F),
    (0x20000, 0x3FFFF),
)

# A character of such a script, as a set in an expression.
UNSPACED = "".join(f"{chr(first)}-{chr(last)}" for first, last in _UNSPACED)

# Punctuation of Han and Kana, with wide Latin letters and without.
_PUNCTUATION_OF_HAN = "\u3000-\u303f\uff00-\uffef"
_MARKS_OF_HAN = "\u3001-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"

# A space means nothing beside these. In the other scripts without spaces it stands
# between clauses. Nor does it before a number or a mark.
HAN_AND_MARKS = _MARKS_OF_HAN + "".join(
    f"{chr(first)}-{chr(last)}"
    for first, last in _UNSPACED
    if first >= 0x3000 and first != 0xA9E0 and first != 0xAA60 and first != 0x11700
)
LOOSE_SPACE = rf"(?<=[{HAN_AND_MARKS}])\s+|\s+(?=[{HAN_AND_MARKS}\d]|[^\w\s])"
_LOOSE_SPACE = re.compile(LOOSE_SPACE)
_UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")

# Less of a text is in scripts without spaces if these are only quoted in it.
LEAST_SHARE_OF_UNSPACED = 0.1

# Thai and Lao, as a set in an expression: no mark ends a sentence, a space a clause.
UNMARKED = "\u0e00-\u0eff"

# Sentence_Terminal of Unicode 17 (PropList.txt), first and last code points.
_SENTENCE_TERMINAL = """
0021 002E 003F 0589 061D-061F 06D4 0700-0702 07F9 0837 0839 083D-083E 0964-0965
104A-104B 1362 1367-1368 166E 1735-1736 17D4-17D5 1803 1809 1944-1945 1AA8-1AAB
1B4E-1B4F 1B5A-1B5B 1B5E-1B5F 1B7D-1B7F 1C3B-1C3C 1C7E-1C7F 2024 203C-203D 2047-2049
2CF9-2CFB 2E2E 2E3C 2E53-2E54 2E60-2E61 3002 A4FF A60E-A60F A6F3 A6F7 A876-A877
A8CE-A8CF A92F A9C8-A9C9 AA5D-AA5F AAF0-AAF1 ABEB FE12 FE15-FE16 FE52 FE56-FE57 FF01
FF0E FF1F FF61 10A56-10A57 10F55-10F59 10F86-10F89 11047-11048 110BE-110C1 11141-11143
111C5-111C6 111CD 111DE-111DF 11238-11239 1123B-1123C 112A9 113D4-113D5 1144B-1144C
115C2-115C3 115C9-115D7 11641-11642 1173C-1173E 11944 11946 11A42-11A43 11A9B-11A9C
11C41-11C42 11EF7-11EF8 11F43-11F44 16A6E-16A6F 16AF5 16B37-16B38 16B44 16D6E-16D6F
16E98 1BC9F 1DA88
"""


def _characters(ranges: str) -> str:
    """All characters of ranges of code points.

    >>> _characters("0021 061D-061F")
    '!\u061d\u061e؟'
    """
    bounds = ([int(code, 16) for code in each.split("-")] for each in ranges.split())
    return "".join(chr(code) for b in bounds for code in range(b[0], b[-1] + 1))


# Marks after which a sentence ends with or without a space. Tibetan's shads end what is
# said, though Unicode has them as marks of phrases.
SURE_ENDS = _characters(_SENTENCE_TERMINAL).translate(dict.fromkeys(map(ord, "!.?․")))
SURE_ENDS += "།༎"
# The same, for the set of characters that an expression begins with, before (?<=[SURE_ENDS]): it
# compares single ones beyond U+FFFF one by one, at every character, and a range at once.
MAY_END = "".join(mark for mark in SURE_ENDS if mark < "\U00010000") + "\U00010000-\U0010ffff"
# What may stand at the end of a sentence, and after it.
SENTENCE_ENDS = ".!?…" + SURE_ENDS
CLOSING_MARKS = "\"'»”’)]」』”）"
# Marks that close in some languages, as in German, and open in others.
_END_OF_SENTENCE = frozenset(SENTENCE_ENDS + CLOSING_MARKS + "“«‘›》】")

_WRAP = re.compile(
    rf"\n(?<=[{UNSPACED}{_PUNCTUATION_OF_HAN}]\n)\s*"
    rf"(?=[{UNSPACED}{_PUNCTUATION_OF_HAN}])"
)

# Where a word goes on in the next line; at the last two characters it surely does.
# Expressions that begin with the character itself are the quick ones.
_DIVIDED = {
    hyphen: re.compile(rf"{hyphen}(?<=[^\W_].)[^\S\n]*\n[^\S\n]*(?=(?P<tail>[^\W_]+))", re.DOTALL)
    for hyphen in "-\u2010\u058a\u2e17\xad¬"
}
_SURE_HYPHENS = "\xad¬"
# In blackletter the double hyphen divides a word where small letters follow.
_DIVIDED_BEFORE_SMALL = re.compile(r"(?<=[^\W_])\u2e17[^\S\n]*\n[^\S\n]*(?=[a-zß-öø-ÿſ])")
_WORD, _LAST_WORD = re.compile(r"[^\W_]+"), re.compile(r"[^\W_]+$")
_LONGEST_WORD = 60
# After these a hyphen stands for what follows later: "two- and three-year-old".
_SUSPENDED = "and or to und oder bis ou och og eller и или та або lub oraz"
# Words that do so only in a text with a word of their language: "in- en uitvoer".
_SUSPENDED_IN = {
    "het": "en of tot",
    "nie": "en of",
    "ja": "ja tai sekä eli või ning",
    "és": "és vagy illetve",
    "und": "sowie beziehungsweise bzw",
    "och": "samt",
    "i": "i ili",
    "a": "a nebo alebo",
    "ir": "ir ar",
    "un": "un vai",
    "ve": "ve veya",
    "και": "και ή",
    "і": "і й чи",
}
# Of fewer lines than one in this many ends with a hyphen where words were not divided
# when the text was set.
_LINES_OF_A_HYPHEN = 1000


def is_unspaced(character: str) -> bool:
    """Whether a character is of a script written without spaces.

    >>> is_unspaced("語"), is_unspaced("a")
    (True, False)
    """
    return _UNSPACED_CHARACTER.match(character) is not None


def is_unspaced_text(texts: Iterable[str]) -> bool:
    """Whether more than a little of some texts is in scripts without spaces.

    >>> is_unspaced_text(["我用Python写代码。", "ok"])
    True
    >>> is_unspaced_text(["Beijing (北京) is the capital of China."])
    False
    """
    found = total = 0
    for text in texts:
        total += len(text)
        if not text.isascii():
            found += len(_UNSPACED_CHARACTER.findall(text))
    return found > LEAST_SHARE_OF_UNSPACED * total


def stands_without_space(text: str) -> bool:
    """Whether no space is thought before a text, in a language without spaces.

    >>> texts = ("「東京」", "Python入門", "1914.", "Python for beginners")
    >>> [stands_without_space(text) for text in texts]
    [True, True, True, False]
    """
    has_unspaced = not text.isascii() and _UNSPACED_CHARACTER.search(text)
    return bool(has_unspaced) or not any(map(str.isalpha, text))


def without_loose_spaces(text: str) -> str:
    """A text without the spaces that say nothing in a language without spaces.

    These are the ones beside Han and Kana, and before numbers and marks: all of these
    begin a word in any case.

    >>> without_loose_spaces("Visual Basic 6 (入門)　東京 Tokyo")
    'Visual Basic6(入門)東京Tokyo'
    """
    return _LOOSE_SPACE.sub("", text)


def ends_sentence(text: str) -> bool:
    """Whether the last character may be the last of a sentence.

    >>> [ends_sentence(text) for text in ("He came.", "„So!“", "ខ្ញុំទៅ។", "He", "")]
    [True, True, True, False, False]
    """
    return text[-1:] in _END_OF_SENTENCE


def unwrapped(text: str) -> str:
    r"""A paragraph in one line, with single spaces.

    A line end between characters of scripts without spaces becomes none.

    >>> unwrapped("He came \nlate."), unwrapped("東京は日本の\n首都である。")
    ('He came late.', '東京は日本の首都である。')
    """
    return " ".join(_WRAP.sub("", text).split())


def with_whole_words(text: str) -> str:
    r"""A text whose words are not divided at the ends of lines.

    A word is joined without its hyphen if it stands whole elsewhere in the text, and
    with it otherwise, since it may be a compound. Only a text that has such line ends
    in more than a thousandth of its lines was set with divided words.

    >>> with_whole_words("The commit-\ntee met.\nA well-\nknown committee.")
    'The committee met.\nA well-known committee.'
    >>> with_whole_words("The two- \nand three-year-old colts.")
    'The two- \nand three-year-old colts.'
    >>> with_whole_words("Over het nut van de in-\nen uitvoer.")
    'Over het nut van de in-\nen uitvoer.'
    """
    if "\u2e17" in text:
        text = _DIVIDED_BEFORE_SMALL.sub("", text)
    for hyphen in _SURE_HYPHENS:
        if hyphen in text:
            text = _DIVIDED[hyphen].sub("", text)
    divided = [pattern for hyphen, pattern in _DIVIDED.items() if hyphen in text]
    found = [each for pattern in divided for each in pattern.finditer(text)]
    # The words before which a hyphen of a text may stand for what follows later.
    suspended = set(_SUSPENDED.split())
    for sign, words_of_language in _SUSPENDED_IN.items():
        if found and f" {sign} " in text:
            suspended.update(words_of_language.split())
    are_words = [each for each in found if each["tail"] not in suspended]
    if not found or len(are_words) * _LINES_OF_A_HYPHEN < text.count("\n"):
        return text
    words = set(_WORD.findall(text.casefold()))

    def joint(found: re.Match[str]) -> str:
        end = found.start()
        head = _LAST_WORD.search(found.string[max(0, end - _LONGEST_WORD) : end])
        if head and f"{head[0]}{found['tail']}".casefold() in words:
            return ""
        return found[0] if found["tail"] in suspended else found[0][0]

    for pattern in divided:
        text = pattern.sub(joint, text)
    return text


# Names of scripts in those of their characters that a person knows by another.
_SCRIPT_NAMES = {"Cjk": "Chinese", "Hiragana": "Japanese", "Katakana": "Japanese"}
# Names of letters that are of no script: signs of units, modifiers, numbers.
_NO_SCRIPTS = frozenset(
    ["Micro", "Modifier", "Feminine", "Masculine", "Double-Struck", "Script", "Black-Letter"]
)


@functools.lru_cache(maxsize=1 << 14)
def script_of(character: str) -> str:
    """The script of a letter, by its name in Unicode; empty for what is no letter.

    >>> [script_of(character) for character in "aЖ中ガ1"]
    ['Latin', 'Cyrillic', 'Chinese', 'Japanese', '']
    """
    if not character.isalpha():
        return ""
    name = unicodedata.name(character, "").partition(" ")[0].title()
    return "" if name in _NO_SCRIPTS else _SCRIPT_NAMES.get(name, name)


def main_script(text: str) -> str:
    """The script of most letters of a text; empty if it has none.

    >>> main_script("Он читал PDF-файлы."), main_script("1914")
    ('Cyrillic', '')
    """
    scripts: Counter[str] = Counter()
    for character, count in Counter(text).items():
        scripts[script_of(character)] += count
    del scripts[""]
    return max(sorted(scripts), key=scripts.__getitem__, default="")
