"""Divide a page without markup into paragraphs, and keep those that are prose."""

import re
from collections.abc import Iterator
from unicodedata import normalize

from pipeline.core.documents import NOT_PROSE, ReadingCounts
from pipeline.core.writing_systems import CLOSING_MARKS, SENTENCE_ENDS, UNSPACED
from pipeline.wikipedia.html import decode_entities
from pipeline.wikipedia.templates import HOLE
from pipeline.wikipedia.word_lists import WORDS

# A shorter line of running text is a fragment unless it ends like a sentence; a list
# item ("Ada Lovelace, English writer") needs more words to be prose.
_LEAST_WORDS, _LEAST_ITEM_WORDS = (4, 2), (8, 5)

_APPARATUS = WORDS["apparatus title"]
_LETTER = re.compile(r"[^\W\d_]")
_SENTENCE_END = re.compile(rf"[{SENTENCE_ENDS}][{re.escape(CLOSING_MARKS)}]*$")
_UNSPACED = re.compile(f"[{UNSPACED}]")
# On average, in such a script, which shows by the length of what stands between spaces.
CHARACTERS_PER_WORD = 2
_LONGEST_WORDS = 12
# A shorter line says too little of what a section is.
_MIN_RUNNING_WORDS = 10

# Counted for each unknown template that stood in the place of words.
LOST_WORDS = "unknown template left out of a sentence"
_LOST_WORDS = re.compile(f"(?<=[^\\W_] ){HOLE}")
# In parentheses what announced it goes too.
_LOST_AFTER_MARK = re.compile(f"(?<=[,;:–—] ){HOLE}")

_TITLE_JOINT = re.compile(
    r" (?:and|und|et|y|e|i|és|și|şi|og|och|en|ja|ir|un|ve|və|và|dan|и|і|й|та|και|եւ|և|و"
    r"|এবং|ও|और|तथा|και|&|\+) | ?[,/、・] ?|و(?=ال)"
)

_LIST_MARKS = ("*", "#", ":", ";")
_LEVEL_OF_PSEUDO_HEADING = 7
# The apparatus itself has sections of this level; further down it may be a subject.
_LEVEL_OF_APPARATUS = 2
# A line as long as this is no heading.
LONGEST_TITLE = 60
# A longer heading is no title of the apparatus. Normalizing takes time in proportion to
# the square of a run of combining marks.
_MAX_NORMALIZED_CHARACTERS = 300


def prose_paragraphs(text: str, *, counts: ReadingCounts | None = None) -> list[str]:
    r"""The paragraphs of prose of a page.

    Args:
        text: The page without markup, except for headings and list marks at the start
            of lines, and ``HOLE`` in place of each unknown template.
        counts: Receives ``NOT_PROSE`` for each paragraph that is left out, and
            ``LOST_WORDS``.

    >>> prose_paragraphs("One line\nand its end.\n\n* item\n== Notes ==\nNo.")
    ['One line and its end.']
    """
    paragraphs = []
    for block, is_item in _blocks(text):
        # Decoded only here, because &#42; at the start of a line does not make a list.
        paragraph = close_holes(decode_entities(block))
        if _is_prose(paragraph, is_item=is_item):
            paragraphs.append(paragraph)
            if counts is not None and HOLE in block:
                open_text = _HOLED_PARENTHESES.sub("", block)
                lost = _LOST_WORDS.findall(block) + _LOST_AFTER_MARK.findall(open_text)
                counts.changed[LOST_WORDS] += len(lost)
        elif counts is not None and paragraph:
            counts.dropped[NOT_PROSE] += 1
    return paragraphs


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    """The paragraphs and list items of the article, and which are items."""
    lines: list[str] = []
    for line in _lines_of_article(text):
        is_item = line.startswith(_LIST_MARKS)
        if lines and (is_item or not line or line.isspace() or line == HOLE):
            yield " ".join(lines), False
            lines = []
        if is_item:
            yield line.lstrip("*#:; \t"), True
        # A line that starts with a bar is the rest of a broken table or template.
        elif not line.startswith(("|", "----")):
            lines.append(line)
    if lines:
        yield " ".join(lines), False


def _lines_of_article(text: str) -> Iterator[str]:
    """The lines outside the apparatus, with an empty line for each heading."""
    hidden_level = 0
    has_items = True
    lines = text.split("\n")
    for place, line in enumerate(lines):
        level, title = _heading(line)
        if level:
            if not hidden_level or level <= hidden_level:
                is_hidden = is_named = is_apparatus(title)
                if is_hidden and level > _LEVEL_OF_APPARATUS and not hidden_level:
                    rest = lines[place + 1 : place + 3]
                    is_hidden = not names_text(title, next(filter(str.strip, rest), ""))
                hidden_level = level if is_hidden else 0
                # Text of such a title may end with a list of books.
                has_items = not is_named
            yield ""
        elif not hidden_level:
            yield line if has_items or not line.startswith(_LIST_MARKS) else ""


def _heading(line: str) -> tuple[int, str]:
    """The level and title of a heading, level 0 for any other line.

    The title of an apparatus section alone on a line (bold, or a definition term) is a
    heading of the lowest level.

    >>> _heading("== Early life =="), _heading("a = b"), _heading(";References")
    ((2, 'Early life'), (0, ''), (7, 'References'))
    """
    if line.startswith("="):
        bare = line.replace(HOLE, "").rstrip()
        if len(bare) > 2 and bare.endswith("="):
            title = bare.strip("=")
            level = min(len(bare) - len(bare.lstrip("=")), _LEVEL_OF_PSEUDO_HEADING - 1)
            return level, title.strip()
    elif 0 < len(line) < LONGEST_TITLE and not line.startswith(("*", "#", ":")):
        title = line.lstrip(";").strip()
        if is_apparatus(title):
            return _LEVEL_OF_PSEUDO_HEADING, title
    return 0, ""


def is_apparatus(title: str) -> bool:
    """Whether a section of this title follows the article and is no part of it.

    >>> is_apparatus("Notes and references"), is_apparatus("Early life")
    (True, False)
    """
    if len(title) > _MAX_NORMALIZED_CHARACTERS:
        return False
    title = normalize("NFC", title).lower().strip(" \t:.：'")
    if title in _APPARATUS:
        return True
    parts = _TITLE_JOINT.split(title)
    return len(parts) > 1 and all(part.strip() in _APPARATUS for part in parts)


def names_text(title: str, following: str) -> bool:
    """Whether a section has text of the article though its title may mean apparatus.

    "Literatur" and "Sources" are lists of books at the end of an article, and sections
    of the history of a country or of a play within it.

    Args:
        following: The line after the title.

    >>> names_text("Literatur", "Seit der Unabhängigkeit erscheinen die meisten Romane "
    ...            "in beiden Sprachen des Landes, und viele werden übersetzt.")
    True
    >>> names_text("Literatur", "Karl Corino: Robert Musil. Eine Biographie. Rowohlt, "
    ...            "Reinbek bei Hamburg 2003, ISBN 3-498-00891-9.")
    False
    """
    title = normalize("NFC", title).lower().strip(" \t:.：'")
    return title in WORDS["subject title"] and is_running(following)


def is_running(line: str) -> bool:
    """Whether a line is a sentence of some length, and not the title of a book.

    >>> is_running("He came.")
    False
    """
    words = line.split()
    if count_words(line) < _MIN_RUNNING_WORDS or not _SENTENCE_END.search(line):
        return False
    # Names and numbers begin more than half of the words of a bibliography.
    bare = [word.lstrip("\"'([„“«") for word in words]
    names = sum(word[:1].isupper() or word[:1].isdigit() for word in bare)
    return not line[0].islower() and 2 * names < len(words)


def count_words(text: str) -> int:
    """Count words, by the length of the text in scripts without spaces.

    >>> count_words("He wrote it."), count_words("彼は最初のプログラムを書いた。")
    (3, 7)
    """
    words = text.count(" ") + 1 if text else 0
    if text.isascii() or len(text) < words * _LONGEST_WORDS:
        return words
    return len(text) // CHARACTERS_PER_WORD


def _is_prose(paragraph: str, *, is_item: bool) -> bool:
    """Whether a paragraph is long enough, or enough of a sentence, to be prose.

    >>> _is_prose("He left.", is_item=False), _is_prose("1,234 km", is_item=False)
    (True, False)
    >>> _is_prose("Ada Lovelace, English writer", is_item=True)
    False
    """
    if not _LETTER.search(paragraph):
        return False
    most = _LEAST_ITEM_WORDS[0]
    words = len(paragraph.split(None, most))
    if words < most and not paragraph.isascii():
        unspaced = len(_UNSPACED.findall(paragraph[:100]))
        words += unspaced // CHARACTERS_PER_WORD
    enough, of_sentence = _LEAST_ITEM_WORDS if is_item else _LEAST_WORDS
    return words >= enough or (words >= of_sentence and bool(_SENTENCE_END.search(paragraph)))


_HOLED_PARENTHESES = re.compile(f"[(（][^()（）{HOLE}]*+{HOLE}[^()（）]*+[)）]")
_SEPARATOR = re.compile(r"([,;，；、،؛])")
_HOLES_IN_A_ROW = re.compile(f"{HOLE}[ {HOLE}]*{HOLE}")
_HOLE_BEFORE_PUNCTUATION = re.compile(rf" ?{HOLE} ?([,;:.!?)）、，。])")
# Nearly all paragraphs need no mending, so these cheap patterns are tried first, each
# of a bracket that is there. With alternatives they would take three times as long.
_LOOSE_BRACKETS = {
    **{mark: re.compile(rf"\{mark}[\s,;:/，；：、،)）\]]") for mark in "(（["},
    **{mark: re.compile(rf"\{mark}(?<=[\s,;，；、،].)") for mark in ")）"},
}
_LOOSE_STOP = re.compile(r" [,.،。、](?:\s|$)")
_EMPTY_PARENTHESES = re.compile(
    r"(?:^|(?<=\s))[(\[][\s,;:/]*+[)\]]|（[\s,;:、，；：]*+）|(?<=\w)\([\s,;:/]++\)"
)
_AFTER_OPENING = re.compile(r"([(（])[\s,;:，；、،]++")
_BEFORE_CLOSING = re.compile(r"(?<![\s,;，；、،])[\s,;，；、،]++([)）])")
_SPACE_BEFORE_STOP = re.compile(r" ([,.،。、])(?=\s|$)")
_REPEATED_COMMA = re.compile(r",(?: ?,)++")
_LEADING_PUNCTUATION = re.compile(r"^[\s,;:.،、，]++(?=\s)|^[,;:、，。]++")


def close_holes(paragraph: str) -> str:
    """A paragraph with single spaces and no trace of what was left out.

    >>> close_holes(f"Ada ({HOLE}; born {HOLE} in London,  )  wrote ( ) , really.")
    'Ada (born in London) wrote, really.'
    >>> close_holes(f"Ada (pronounced {HOLE}) and main()")
    'Ada and main()'
    """
    paragraph = paragraph.strip()
    # The only white space that counts as printable is the space.
    if "  " in paragraph or not paragraph.isprintable():
        paragraph = " ".join(paragraph.split())
    if HOLE in paragraph:
        paragraph = _HOLES_IN_A_ROW.sub(HOLE, paragraph)
        paragraph = _HOLED_PARENTHESES.sub(_mend, paragraph)
        paragraph = _HOLE_BEFORE_PUNCTUATION.sub(r"\1", paragraph)
        paragraph = " ".join(paragraph.replace(HOLE, "").split())
    if any(b in paragraph and p.search(paragraph) for b, p in _LOOSE_BRACKETS.items()):
        paragraph = _EMPTY_PARENTHESES.sub("", paragraph)
        paragraph = _AFTER_OPENING.sub(r"\1", paragraph)
        paragraph = _BEFORE_CLOSING.sub(r"\1", paragraph)
        paragraph = " ".join(paragraph.split())
    if _LOOSE_STOP.search(paragraph):
        paragraph = _SPACE_BEFORE_STOP.sub(r"\1", paragraph)
    if ",," in paragraph or ", ," in paragraph:
        paragraph = _REPEATED_COMMA.sub(",", paragraph)
    if not paragraph[:1].isalnum():
        paragraph = _LEADING_PUNCTUATION.sub("", paragraph).strip()
    return paragraph


def _mend(parentheses: re.Match[str]) -> str:
    """Parentheses without the parts whose content was lost.

    >>> _HOLED_PARENTHESES.sub(_mend, f"(French: {HOLE}, 5 May {HOLE}; poet)")
    '(5 May ; poet)'
    """
    kept = ""
    parts = _SEPARATOR.split(parentheses[0][1:-1])
    for separator, part in zip(["", *parts[1::2]], parts[::2], strict=True):
        if not _is_emptied(part):
            kept += separator * bool(kept) + part.replace(HOLE, "")
    return parentheses[0][0] + kept.strip() + parentheses[0][-1] if kept else ""


def _is_emptied(part: str) -> bool:
    """Whether a part of a sentence lost its content with a template.

    A hole attached to a word is a footnote mark. A hole in place of a word, after at
    most two others, was what these announced, unless they are a name or hold a number.

    >>> _is_emptied(f"born {HOLE}"), _is_emptied(f"Greek: {HOLE}")
    (True, True)
    >>> _is_emptied(f"poet{HOLE}"), _is_emptied(f"born Ada {HOLE}")
    (False, False)
    """
    words = part.split()
    if not any(word.strip(".:") == HOLE for word in words):
        return HOLE in part and not any(map(str.isalnum, part))
    others = [word for word in words if any(map(str.isalnum, word))]
    if len(others) > 2 or any(map(str.isdigit, part)):
        return False
    return not others or others[-1].endswith((":", "：")) or part == part.lower()
