"""Paragraphs become sentences by the rules of their language; long documents become parts.

Sentences are divided by the rules of `sentencex`, which has some thirty languages and
takes any other code for English without a word. So every name of a language is brought
to the code that its rules have, and a language without rules is known to have none.

Sentences come from `sentencex`, Wikimedia's segmenter. It keeps quoted speech together,
however long, so over-long sentences are split again at the full stops inside them:
otherwise a sequence would have to be cut in the middle of a sentence.

The segmenter's time grows with the square of a paragraph's length where quotation marks
are never closed or marks of any kind crowd together. A paragraph that would take too
long for its length is therefore halved until each part is cheap. Ordinary text stays
whole: novels of a million characters in one paragraph cost half of what is allowed.
"""

import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

import sentencex

from pipeline.core.documents import Document
from pipeline.core.writing_systems import CLOSING_MARKS, MAY_END, SURE_ENDS, UNMARKED, main_script

DEFAULT_LANGUAGE = "en"

# The fields of a record that may tell its language.
LANGUAGE_FIELDS = (
    *("lang", "language", "lang_code", "language_code", "languages", "detected_language"),
    *("inLanguage", "locale", "url"),
)
# Objects of which it is one (OSCAR), and where such an object has it.
_IDENTIFIED = ("identification", "language_identification")
_LABELS = ("label", "code", "id", "value", "name")

# As Wikipedia, BCP 47, POSIX and data sets have them: de, zh-min-nan, pt_BR, deu_Latn.
_CODE = re.compile(r"(?i)[a-z]{2,3}(?:[-_][a-z0-9]{1,9})*")
_WIKI = re.compile(
    r"https?://(?!www\.)([a-z]{2,3}(?:-[a-z0-9]{1,9})*)(?:\.m)?"
    r"\.wik(?:i(?:pedia|source|news|books|quote|voyage|versity)|tionary)\.org\b"
)

# Codes for a language that is not known or for several, and of no language at all.
_NO_LANGUAGE = "und mul mis zxx unk"


class Language(NamedTuple):
    """A row of `languages.tsv`.

    Attributes:
        others: Codes of ISO 639 beside the shortest, withdrawn ones, those for the usual
            form of the language, and Wikipedia's own.
        rules: The language of those that sentencex has whose rules it follows.
        traits: Small letters begin no sentence ("go on"), compared with Universal
            Dependencies, or do after a quotation; nouns have capitals, so that only the words
            around a number say that it is an ordinal: "im 19. Jahrhundert".
        encoding: The usual one, where Windows-1252 cannot write the language.
        titles: Of persons and the like, after which the segmenter divides.
    """

    code: str
    others: str = ""
    name: str = ""
    rules: str = ""
    traits: str = ""
    encoding: str = ""
    titles: str = ""
    frequent: str = ""

    @property
    def segmenter(self) -> str:
        """The language of those that sentencex has whose rules are used: English without any."""
        return self.rules or DEFAULT_LANGUAGE

    def joined(self, found: list[str]) -> list[str]:
        """The sentences found, those joined that the language, or a number, does not divide.

        The segmenter takes a decimal point for an end in all digits but ASCII's, and that
        of the ordinal in a German day, as English.

        >>> rules_of("de").joined(["Im 19. ", "Jahrhundert kam er. ", "Er ging."])
        ['Im 19. Jahrhundert kam er. ', 'Er ging.']
        >>> rules_of("sv").joined(["Han gick. ”", "Jag kom.”"])
        ['Han gick. ', '”Jag kom.”']
        >>> rules_of("ja").joined(["「なぜ？」", "と聞いた。"])
        ['「なぜ？」と聞いた。']
        >>> rules_of("en").joined(["Am 1. ", "August kam er."])
        ['Am 1. August kam er.']
        >>> rules_of("en").joined(["عدد ۳.", "۱۴ است. ", "در سال ۱۳۹۰. ", "۵ نفر."])
        ['عدد ۳.۱۴ است. ', 'در سال ۱۳۹۰. ', '۵ نفر.']
        """
        is_mended = (
            "go on" in self.traits
            or self.code in ("zh", "ja")
            or self.rules not in ("", DEFAULT_LANGUAGE)
        )
        sentences = found[:1]
        for sentence in found[1:]:
            before, is_digit = sentences[-1], sentence[:1].isdecimal()
            goes_on = (is_digit and before[-1:] in (".", "．") and before[-2:-1].isdecimal()) or (
                before[-3:-2].isdigit() and _DAY.search(before[-11:] + sentence[:10])
            )
            if is_mended and not goes_on:
                opening = _OPENING_AT_END.search(before)
                if opening and not sentence[0].isspace():
                    sentence = opening[0] + sentence
                    sentences[-1] = before = before[: opening.start()]
                goes_on = before != "" and self._goes_on(before, sentence)
            if goes_on:
                sentences[-1] = before + sentence
            else:
                sentences.append(sentence)
        return sentences

    def _goes_on(self, before: str, after: str) -> bool:
        """Whether a sentence that seems to end goes on."""
        # Also "J.-C." is one word.
        if (before[-1] in _WITHIN_WORDS and after[0].isalpha()) or (
            before[-1] == "." and after[0] == "-"
        ):
            return True
        rules = rules_of(self.segmenter)
        titles = (self.titles or rules.titles).split()
        if titles and any(word in titles for word in before.rsplit(maxsplit=1)[-1:]):
            return True
        # Japanese says after a quotation that it was one.
        if before[-1] in "」』" and after.startswith(("と", "って")):
            return True
        first, following = (_FIRST_LETTER.match(text) for text in (before, after))
        # Where nobody writes capital letters, small ones say nothing.
        if first and first[1].isupper() and following and following[1].islower():
            is_sure = before.rstrip(f"{CLOSING_MARKS} ")[-1:] in SURE_ENDS
            return not is_sure and "begin" not in rules.traits
        return (
            "nouns" in self.traits
            and _ORDINAL.search(f"{before[-40:].rstrip()}\n{after[:20]}") is not None
        )


_LANGUAGES = {
    row.code: row
    for line in (files("pipeline.reading") / "languages.tsv").read_text("utf-8").splitlines()[1:]
    for row in [Language(*line.split("\t"))]
}
_CODES = {
    name: row.code
    for row in _LANGUAGES.values()
    for name in filter(None, (row.code, *row.others.split(), row.name.lower()))
}
_FREQUENT = {code: row.frequent.split() for code, row in _LANGUAGES.items() if row.frequent}
# What is said of: a text of so many words, in which so many different ones are such
# words of its language, and so large a share of it.
_LEAST_WORDS, _LEAST_DIFFERENT, _LEAST_FREQUENT = 20, 3, 0.08

_ORDINAL = re.compile(
    r"(?i)\b(?:[aizv]m|vom|zum|zur|beim|de[mnrs]|die|das|eine?[mnrs]?|ab|seit|jede[mnrs]?"
    r"|diese[mnrs]?|seine?[mnrs]?|ihre?[mnrs]?|unsere?[mnrs]?|späte[mnrs]?|frühe[mnrs]?"
    r"|anfang|mitte|ende|\d\d?\. (?:und|oder|bis))\s+\d{1,3}\.\n"
    r"|(?<![\w.,])\d{1,3}\.\n(?:jahrhundert|jahrtausend|jahrzehnt|lebensjahr|jahrestag"
    r"|geburtstag|auflage|klasse|kapitel|platz|spieltag|minute|runde|etage|stock)"
)
# A day is sure in any language.
_DAY = re.compile(
    r"(?i)\b(?:(?<!\bi )am|vom|zum|bis|de[mnr]|ab|seit|und) [0-3]?\d\.\s+"
    r"(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b"
)
# Where the mark that opens a quotation was taken for the one that closes it.
_FIRST_LETTER = re.compile(r"[\s\"'“„”«»‘’—–-]*([^\W\d_])")
_OPENING_AT_END = re.compile(r"(?:(?<=\s)[\"'«»„“”‘’(\[]+|(?<=[。！？])[“‘「『《（]+)(?=$)")
# Armenian's marks of a question or an exclamation stand within a word.
_WITHIN_WORDS = "\u055b\u055c\u055e"


def rules_of(language: str) -> Language:
    """What is known of a language, however its name is spelled.

    >>> [rules_of(name).segmenter for name in ("deu_Latn", "pt_BR", "ell", "cmn-Hant")]
    ['de', 'pt', 'el', 'en']
    >>> rules_of("vie").code, rules_of("vie").rules
    ('vi', '')
    """
    code = known_language(language) or language
    return _LANGUAGES.get(code, Language(code))


def unlike_language(text: str, language: str, *, is_default: bool) -> str:
    """What is to be counted of a text whose language has no rules, or seems another.

    >>> unlike_language("Chào anh.", "vie", is_default=False)
    'document in vi, for which there are no rules: divided into sentences as English'
    >>> unlike_language("Он пришёл. Она ушла.", "en", is_default=True)
    'document mostly in Cyrillic letters, divided as English; give --language'
    >>> unlike_language("He came. She left.", "en", is_default=True)
    ''
    """
    row = rules_of(language)
    if not row.rules and "go on" not in row.traits:
        return (
            f"document in {row.code}, for which there are no rules: divided into "
            "sentences as English"
        )
    if is_default and not text.isascii() and main_script(text) not in ("", "Latin"):
        return (
            f"document mostly in {main_script(text)} letters, divided as English; give --language"
        )
    if is_default and (seeming := _seeming_language(text)):
        return f"document that reads like {seeming}, divided as English; give --language"
    return ""


def _seeming_language(text: str) -> str:
    """The language other than English whose frequent words a text has; empty for none.

    >>> _seeming_language("Sie sah den Mann und das Kind nicht, die mit der Mutter am "
    ...     "Tor standen, und er rief, dass sich das Warten lohnt.")
    'de'
    """
    words = Counter(text.lower().split())
    found = {code: sum(words[word] for word in frequent) for code, frequent in _FREQUENT.items()}
    best, number = max(found, key=found.__getitem__), words.total()
    is_told = (
        number >= _LEAST_WORDS
        and sum(word in words for word in _FREQUENT[best]) >= _LEAST_DIFFERENT
        and found[best] >= max(_LEAST_FREQUENT * number, 3 * found["en"])
    )
    return best if is_told else ""


@functools.cache
def known_language(name: str) -> str:
    """The shortest code of a language: of ISO 639-1 if it has one; empty for no name.

    Script, region and variants are dropped unless the language is known with them.

    >>> [known_language(name) for name in ("DE", "ger", "nds_NL", "zh-Hans-CN", "gsw")]
    ['de', 'de', 'nds-nl', 'zh', 'gsw']
    >>> [known_language(name) for name in ("Portuguese", "__label__deu_Latn", "klingonese", "n/a")]
    ['pt', 'de', '', '']
    """
    name = name.strip().removeprefix("__label__")
    name = re.split("[.@]", name, maxsplit=1)[0].lower().replace("_", "-")
    if (not _CODE.fullmatch(name) and name not in _CODES) or name in _NO_LANGUAGE.split():
        return ""
    while name not in _CODES:
        shorter, dash, _ = name.rpartition("-")
        if not dash:
            return name
        name = shorter
    return _CODES[name]


def language_of_address(address: str) -> str:
    """The language of the wiki that an address leads to; empty if it has none.

    >>> language_of_address("https://uk.m.wikipedia.org/wiki/7")
    'uk'
    >>> language_of_address("https://www.wikipedia.org"), language_of_address("/wiki/A")
    ('', '')
    """
    found = _WIKI.match(address)
    return found[1] if found else ""


def language_of_record(record: Mapping[str, Any]) -> str:
    """The language that a record names for itself, or an object in it; empty for none.

    >>> language_of_record({"text": "Wer?", "lang": ["de", "en"]})
    'de'
    >>> language_of_record({"meta": {"identification": {"label": "cs", "prob": 0.9}}})
    'cs'
    >>> language_of_record({"text": "Wer?", "language": {"code": "de", "name": "German"}})
    'de'
    >>> language_of_record({"url": "https://a.example/x", "meta": {"language": "de"}})
    'de'
    >>> language_of_record({"text": "See https://fr.wikipedia.org", "language": "n/a"})
    ''
    """
    for name in (*LANGUAGE_FIELDS, *_IDENTIFIED):
        value = record.get(name)
        if isinstance(value, list):
            value = next(iter(value), None)
        if isinstance(value, dict):
            value = next((each for n in _LABELS if isinstance(each := value.get(n), str)), None)
        elif name in _IDENTIFIED:
            continue
        if not isinstance(value, str):
            continue
        if code := (language_of_address if name == "url" else known_language)(value):
            return code
    nested = (value for value in record.values() if isinstance(value, dict))
    return next(filter(None, map(language_of_record, nested)), "")


# Longer sentences are split again; about a hundred words.
LONG_SENTENCE_CHARACTERS = 500

# A longer document is divided, so that a long book need not fit into one shard.
MAX_SENTENCES = 2000

# What one call of the segmenter may get: anything short, and longer paragraphs up to a
# length and an estimated cost for each character.
CHEAP_CHARACTERS = 1000
MAX_SEGMENTED_CHARACTERS = 1 << 20
MAX_COST_PER_CHARACTER = 1000

_CLOSED = f"[{re.escape(CLOSING_MARKS)}]"
# A mark, maybe a closing quote, and white space, or nothing where none is needed. Thai,
# Lao and their neighbours have no mark; what is said ends with a space. Begins with the
# mark itself, for speed.
_SPACED, _PHRASED = ".!?;…", f"{UNMARKED}\u1000-\u109f\u1780-\u17ff"
_INNER_END = re.compile(
    rf"([{_SPACED}{MAY_END}{_PHRASED}]"
    rf"(?:(?<=[{_SPACED}]){_CLOSED}?(?=\s)|(?<=[{SURE_ENDS}]){_CLOSED}?(?=\s*.)|(?<=[{_PHRASED}])(?=\s)))\s*"
)

# The Greek question mark; a doubled Ethiopic space between words, and the danda of India, also as
# people type them.
_ENDS_OF_SCRIPTS = {
    "\u037e": "\u037e",
    "\u1361\u1361": "\u1361\u1361",
    "::": "(?<=[\u1200-\u135a])::",
    "|": r"(?<=[\u0900-\u0dff])\s?\|++(?!\s?\d)",
}

# Where a clause of Thai or Lao ends: not before a number or a mark, or "ๆ", which
# repeats a word. Several make a sentence of at least so many characters.
_UNMARKED = re.compile(f"[{UNMARKED}]")
_CLAUSE_END = re.compile(rf"(?<=[{UNMARKED}])\s+(?=[^\W\dๆ])")
_LEAST_OF_CLAUSES = 60

# What begins an item or a paragraph of a law and is no sentence: (1), (a), (iv), 1., a),
# Art. 1.
_ITEM = re.compile(
    r"(?:(?:\((?:\d{1,3}|[^\W\d_]|[ivxlc]{1,6}|[IVXLC]{1,6})\)|•|\d{1,3}[.)]|[^\W\d_]\)|[ivx]{1,5}[.)]"
    r"|(?:Art\.|Article|Artikel|Art[ií]culo|Section|Sec\.|§)\s?\d{1,4}[a-z]?\.)\s+)+(?=\S)"
)

_ITEM_CHARACTERS = 5
_BARE_ITEM = re.compile(r"\((?:\d{1,3}|[^\W\d_])\)|\d{1,2}[.)]")
# A., II., and Q., which are no initials where so many paragraphs, and such a share, begin with one.
_LETTER_ITEM = re.compile(r"(?:[^\W\d_]|[IVXLC]{2,6})\.(?:\s+(?=\S)|$)")
_FEWEST_LETTERED, _LEAST_LETTERED = 3, 0.2
# The number of a verse of India, which is part of it.
_VERSE_NUMBER = re.compile(r"\d{1,3}\s?[।॥]")

# Marks of quotation that are letters (Uzbek, Hawaiian): between two letters where one is
# U+2018, and before a letter where more words begin with one than nothing closes.
# Each begins with the mark itself, for speed.
_IN_WORD = re.compile(r"‘(?<=[^\W\d_]‘)(?=[^\W\d_])")
_BETWEEN_LETTERS = re.compile(r"[‘’](?<=[^\W\d_].)(?=[^\W\d_])")
# That of ’tis, and of ’n in Afrikaans.
_BEFORE_WORD = re.compile(r"’(?<=\s’)(?=[^\W\d_])")
_OPENER, _CLOSER = re.compile(r"‘(?<!\w‘)(?=[^\W\d_])"), re.compile(r"’(?<=\S’)(?!\w)")
_LETTER, _MOST_UNCLOSED = "\u02bc", 0.1

# What the segmenter searches for after each opening quotation mark.
_PAIRS = "`` '' ` ` ' ' \" \" « » » « ‹ › ‘ ’ ‚ ‚ ‛ ‛ “ ” „ “ ‟ ‟ 《 》 「 」"
_CLOSING = dict(zip(_PAIRS.split()[::2], _PAIRS.split()[1::2], strict=True))
_OPENING = "".join(dict.fromkeys("".join(_CLOSING)))
_OTHER_MARKS = "’”›》」[](){}<>（）•.!?…։؟۔।॥།။።。！？｡"

# The marks that the segmenter looks at. An apostrophe or backtick may open or close a
# quotation, or stand loose; within a word it counts as no mark. The set comes first in
# the expression, which makes the search for it several times as fast.
_MARK = re.compile(
    rf"[{re.escape(_OPENING + _OTHER_MARKS)}](?:(?<=`)`|(?<=')'"
    r"|(?P<opens>(?<=\B[`'])(?=\w))|(?P<closes>(?<=[^\s'][`'])(?!\w))"
    r"|(?P<loose>(?<=(?<!\w)[`'])|(?<=[`'])(?!\w))|(?<![`']))"
)
# How many comparisons of two marks it costs to search one character.
_SEARCH_COST = 20


def split_sentences(document: Document, *, language: str) -> list[list[str]]:
    """Return the sentences of each paragraph of a document.

    >>> split_sentences(Document(("He came. She left.", "Why?")), language="en")
    [['He came.', 'She left.'], ['Why?']]
    """
    if document.is_segmented:
        return [[sentence] for sentence in document.paragraphs]
    rules = rules_of(language)
    text = "\n".join(document.paragraphs)
    missed = "|".join(end for mark, end in _missed_ends().items() if mark in text)
    missed_end = re.compile(f"(?:{missed})+{_CLOSED}*(?=.)") if missed else None
    lettered = sum(map(bool, map(_LETTER_ITEM.match, document.paragraphs)))
    are_lettered = lettered >= max(_FEWEST_LETTERED, _LEAST_LETTERED * len(document.paragraphs))
    # They have three bytes in UTF-8, which is quicker to see of a text than to count them.
    is_unmarked = len(text.encode("utf-8", "surrogatepass")) > 2 * len(text)
    is_unmarked = is_unmarked and 2 * len(_UNMARKED.findall(text)) > len(text)
    paragraphs = []
    for paragraph in document.paragraphs:
        sentences: list[str] = []
        item = _ITEM.match(paragraph)
        if are_lettered and not item:
            item = _LETTER_ITEM.match(paragraph)
        for part in cheap_parts(paragraph[item.end() :] if item else paragraph):
            found = rules.joined(_segmented(part, rules))
            if missed_end:
                found = missed_end.sub(r"\g<0>\n", "\n".join(found)).split("\n")
            if is_unmarked:
                found = [part for sentence in found for part in of_clauses(sentence)]
            for sentence in found:
                is_long = len(sentence) > LONG_SENTENCE_CHARACTERS
                sentences += split_long(sentence) if is_long else [sentence.strip()]
        sentences = [*filter(None, sentences)]
        if item:
            sentences[:1] = [item[0] + "".join(sentences[:1])]
        if len(sentences) > 1 and min(map(len, sentences)) <= _ITEM_CHARACTERS:
            for place in range(len(sentences) - 2, -1, -1):
                two = sentences[place : place + 2]
                is_item = _BARE_ITEM.fullmatch(two[0]) or (
                    are_lettered and _LETTER_ITEM.fullmatch(two[0])
                )
                if is_item or _VERSE_NUMBER.fullmatch(two[1]):
                    sentences[place : place + 2] = [" ".join(two)]
        paragraphs.append(sentences)
    return paragraphs


def _segmented(text: str, rules: Language) -> list[str]:
    """What the segmenter finds, with marks of quotation that are letters as such.

    >>> _segmented("他来了!她走了?下雨了.", rules_of("zh"))
    ['他来了!', '她走了?', '下雨了.']
    """
    masked = text
    if "‘" in text or " ’" in text:
        masked = _BETWEEN_LETTERS.sub(_LETTER, text) if _IN_WORD.search(text) else text
        masked = _BEFORE_WORD.sub(_LETTER, masked)
        # A speech that goes on has one mark that nothing closes, and dialect a few.
        most = max(1, _MOST_UNCLOSED * (text.count(" ") + 1))
        if len(_OPENER.findall(masked)) - len(_CLOSER.findall(masked)) > most:
            masked = _OPENER.sub(_LETTER, masked)
    found: list[str] = sentencex.segment(rules.segmenter, masked)
    if masked is text:
        return found
    ends = [0, *itertools.accumulate(map(len, found))]
    return [text[start:end] for start, end in itertools.pairwise(ends)]


def of_clauses(text: str) -> Iterator[str]:
    """Sentences of a text in which no mark ends one, of several clauses each.

    >>> [len(part) for part in of_clauses("วันนี้อากาศดีมาก " * 10)]
    [67, 67, 34]
    """
    start = 0
    for space in _CLAUSE_END.finditer(text):
        if space.start() - start >= _LEAST_OF_CLAUSES:
            yield text[start : space.start()]
            start = space.end()
    yield text[start:]


@functools.cache
def _missed_ends() -> dict[str, str]:
    """What ends a sentence for Unicode, or in some scripts, but not for the segmenter."""
    found = {m: re.escape(m) for m in SURE_ENDS if len(sentencex.segment("en", f"A{m} B")) == 1}
    return found | _ENDS_OF_SCRIPTS


def cheap_parts(paragraph: str) -> Iterator[str]:
    """Yield a paragraph whole, or halved until the segmenter is quick with each part.

    >>> list(cheap_parts("He came. She left."))
    ['He came. She left.']
    >>> [len(part) for part in cheap_parts("“" * 2000)]
    [1000, 1000]
    """
    characters = len(paragraph)
    if characters <= CHEAP_CHARACTERS or (
        characters <= MAX_SEGMENTED_CHARACTERS
        and segmentation_cost(paragraph) <= MAX_COST_PER_CHARACTER * characters
    ):
        yield paragraph
        return
    # Where a sentence or a word ends after the middle, or in the middle.
    middle = characters // 2
    end = middle + LONG_SENTENCE_CHARACTERS
    found = _INNER_END.search(paragraph, middle - 1, end)
    cut = found.end() if found else paragraph.find(" ", middle, end) + 1 or middle
    yield from cheap_parts(paragraph[:cut])
    yield from cheap_parts(paragraph[cut:])


def segmentation_cost(paragraph: str) -> int:
    """Estimate what it costs to segment a paragraph: searches, and pairs of marks.

    >>> [segmentation_cost(text) for text in ("No mark", "“Yes”", "““")]
    [0, 84, 64]
    """
    searched = 0
    nearest: dict[str, int] = {}
    marks = list(_MARK.finditer(paragraph))
    for found in reversed(marks):
        mark, position = found[0], found.start()
        if mark in _CLOSING and found.lastgroup not in ("closes", "loose"):
            searched += nearest.get(_CLOSING[mark], len(paragraph)) - position
        if found.lastgroup not in ("opens", "loose"):
            nearest[mark] = position
    return _SEARCH_COST * searched + len(marks) ** 2


def split_long(sentence: str) -> list[str]:
    """Split after every full stop, question or exclamation mark and semicolon.

    >>> split_long('"Come in. Sit down!" he said; so I did.')
    ['"Come in.', 'Sit down!"', 'he said;', 'so I did.']
    """
    found = _INNER_END.split(sentence.strip())
    return [*map(str.__add__, found[::2], found[1::2]), found[-1]]


def divide(paragraphs: list[list[str]], *, maximum: int = MAX_SENTENCES) -> list[list[str]]:
    """Divide a long document at paragraph ends into parts of about equal size.

    A paragraph is divided only if it has more than `maximum` sentences itself.

    >>> divide([["a", "b"], ["c", "d"], ["e"]], maximum=3)
    [['a', 'b', 'c', 'd'], ['e']]
    >>> divide([["a", "b", "c", "d"]], maximum=3)
    [['a', 'b'], ['c', 'd']]
    """
    total = sum(map(len, paragraphs))
    size = -(-total // max(1, -(-total // maximum)))
    parts: list[list[str]] = [[]]
    for paragraph in paragraphs:
        step = size if len(paragraph) > maximum else maximum
        for start in range(0, len(paragraph), step):
            if len(parts[-1]) >= size:
                parts.append([])
            parts[-1] += paragraph[start : start + step]
    return [part for part in parts if part]
