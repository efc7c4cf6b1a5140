"""The text of a record: under which key it is, as a list or not, and its line ends."""

import re
from collections.abc import Iterator
from typing import Any

from pipeline.core.scripts import ends_sentence, is_unspaced_text

# Texts are looked for in nested objects, and in nested lists, up to this depth.
_MAX_KEY_DEPTH = 10

# Line ends by their names, and what is a command of a formula or a program.
_SURE_LINE_END = re.compile(
    r"(?:[.!?:;…。！？\"”)]|\\n)\s?(?:\\r)?\\n(?=\\[nr]|\s?[^\sa-z]|$)"
    # Nor the end of a string in a program.
    r"(?!(?:\\[nr])*[\"'”»](?:[\s);,.]|$))"
)
_COMMAND = re.compile(
    r"\\(?:[a-mo-qsv-zA-Z]|n(?:abla|eq|u\b|ot\b|i\b|ewline|oindent)"
    r"|t(?:ext|imes|o\b|au\b|heta|ilde|an\b)|r(?:ight|ho\b|angle|m\b))"
)
_ESCAPES = {"\\r\\n": "\n", "\\n": "\n", "\\r": "\n", "\\t": " ", '\\"': '"'}

# A list of fewer parts may hold paragraphs of one word.
_FEWEST_WORDS = 3
# Half of the words are no longer than this, in scripts without spaces.
_UNSPACED_WORD_CHARACTERS = 4


def find_text(record: Any, key: str) -> str | None:
    r"""The text under a key; ``a.b`` is b in a, or in each object of a list.

    The paragraphs of a list are joined, and the sentences of a list in it. Where the
    parts of a list are words, it is one paragraph.

    >>> find_text({"body": {"text": ["One.", ["Two.", "Three."]]}}, "body.text")
    'One.\n\nTwo. Three.'
    >>> find_text({"said": [{"text": "One."}, {"text": "Two."}]}, "said.text")
    'One.\n\nTwo.'
    >>> find_text({"tokens": ["He", "came", "."]}, "tokens")
    'He came .'
    >>> find_text({"id": 1}, "text") is None
    True
    """
    is_whole = isinstance(record, dict) and key in record
    return _joined(_value_at(record, [key] if is_whole else key.split(".")))


def _value_at(value: Any, path: list[str], *, depth: int = _MAX_KEY_DEPTH) -> Any:
    for place, part in enumerate(path):
        if isinstance(value, list):
            if not depth:
                return None
            return [_value_at(each, path[place:], depth=depth - 1) for each in value]
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _joined(value: Any, *, depth: int = 0) -> str | None:
    if not isinstance(value, list) or depth > _MAX_KEY_DEPTH:
        return value if isinstance(value, str) else None
    parts = [_joined(each, depth=depth + 1) for each in value if each is not None]
    if any(part is None for part in parts) or (value and not parts):
        return None
    texts = [part for part in parts if part is not None]
    if _are_words(texts):
        are_unspaced = is_unspaced_text(texts)
        return ("" if are_unspaced else " ").join(texts)
    return (" " if depth else "\n\n").join(texts)


def _are_words(texts: list[str]) -> bool:
    """Whether the parts of a text are words and marks, not sentences."""
    if len(texts) < _FEWEST_WORDS or any(" " in text or "\n" in text for text in texts):
        return False
    median = sorted(map(len, texts))[len(texts) // 2]
    if median > _UNSPACED_WORD_CHARACTERS and is_unspaced_text(texts):
        return False
    return 2 * sum(map(ends_sentence, texts)) < len(texts)


def list_keys(
    record: dict[str, Any], prefix: str = "", *, depth: int = _MAX_KEY_DEPTH
) -> Iterator[str]:
    """The keys that hold a text, for a person to choose from.

    >>> list(list_keys({"id": 1, "title": "A", "body": {"text": "B"}}))
    ['title', 'body.text']
    >>> list(list_keys({"said": [{"by": "A", "words": "B"}]}))
    ['said.by', 'said.words']
    """
    for key, value in record.items():
        objects = [value] if isinstance(value, dict) else value
        if isinstance(objects, list) and objects and isinstance(objects[0], dict):
            if depth > 1:
                yield from list_keys(objects[0], f"{prefix}{key}.", depth=depth - 1)
        elif find_text(record, key) is not None and value:
            yield prefix + key


def with_line_ends(text: str) -> str:
    r"""A text with line ends where it has their names, as databases write them.

    Some of these follow the end of a sentence, and no letter of a word or formula
    follows them.

    >>> with_line_ends(r"He came.\nShe left.\n\nWhy?")
    'He came.\nShe left.\n\nWhy?'
    >>> print(with_line_ends(r"$\nu$ and so.\nShe left."))
    $\nu$ and so.\nShe left.
    """
    is_sure = "\n" not in text and _SURE_LINE_END.search(text) is not None
    if not is_sure or _COMMAND.search(text):
        return text
    for escape, character in _ESCAPES.items():
        text = text.replace(escape, character)
    return text
