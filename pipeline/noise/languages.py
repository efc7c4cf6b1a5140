"""The language of a text, by py3langid where it is installed."""

import functools
import importlib.util
from typing import Any

# Letters enough to be sure of.
READ_CHARACTERS = 1000


def is_installed() -> bool:
    """Whether languages can be told."""
    return importlib.util.find_spec("py3langid") is not None


def language_of(text: str) -> str:
    """The code of the language of a text, by its first thousand characters."""
    return str(_identifier().classify(text[:READ_CHARACTERS])[0])


def known_codes() -> frozenset[str]:
    """The codes of all languages that can be told."""
    return frozenset(map(str, _identifier().labels))


@functools.cache
def _identifier() -> Any:
    # Takes a second, and 130 MB.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)
