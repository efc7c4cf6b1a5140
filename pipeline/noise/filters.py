"""What is taken out of documents or repaired, each paragraph with its reason."""

import functools
import importlib.util
from collections.abc import Container, Sequence
from typing import Any, NamedTuple

from pipeline.core.documents import Document
from pipeline.noise.look import line_key
from schemas.config import DataConfig
from schemas.errors import SettingError

# Letters enough to be sure of.
READ_CHARACTERS = 1000


def language_of(text: str) -> str:
    """The code of the language of a text, by its first thousand characters."""
    return str(_identifier().classify(text[:READ_CHARACTERS])[0])


@functools.cache
def _identifier() -> Any:
    # Takes a second, and 130 MB.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)


REPEATED = "line that stands in many documents"
OTHER_LANGUAGE = "document of another language"
REPAIRED = "paragraph with repaired text"


def check_filters(config: DataConfig) -> None:
    """Refuse languages that cannot be told, and filters whose library is missing."""
    for flag, library, is_given in (
        ("--keep-languages", "py3langid", config.keep_languages),
        ("--repair-text", "ftfy", config.repair_text),
    ):
        if is_given and importlib.util.find_spec(library) is None:
            raise SettingError(
                f"{flag} needs {library}, which is not installed; run pip install "
                '"albert-pretraining[noise]".'
            )
    for code in config.keep_languages.split(",") if config.keep_languages else ():
        if code not in map(str, _identifier().labels):
            raise SettingError(
                f"--keep-languages: {code!r:.20} is no language that py3langid tells; "
                "give codes of two letters, with commas, such as uk,ru."
            )


class Removed(NamedTuple):
    """A paragraph, by its place in its document, that went or became another."""

    reason: str
    paragraph: int
    text: str
    became: str | None = None

    def record(self, document: str) -> dict[str, Any]:
        """A JSON object; of what went, without what it became."""
        values = {"document": document, **self._asdict()}
        return {name: value for name, value in values.items() if value is not None}


def clean(
    document: Document, config: DataConfig, *, repeated: Container[int] = ()
) -> tuple[Document | None, tuple[Removed, ...]]:
    """A document as the settings want it, if anything is left, and what went of it.

    Text is repaired first, so that its language can be told. A document of another
    language goes whole: a short paragraph says too little of its language.

    Args:
        repeated: Lines to drop, see `line_number`.

    >>> document = Document(("He came.", "Accept cookies"))
    >>> config = DataConfig(max_line_repeats=9)
    >>> lines = {line_number("Accept cookies")}
    >>> left, removed = clean(document, config, repeated=lines)
    >>> left.paragraphs, removed[0].reason
    (('He came.',), 'line that stands in many documents')
    """
    paragraphs: Sequence[str] = document.paragraphs
    if config.repair_text:
        import ftfy

        # Quotation marks and ligatures stay as they were written, and a line stays one.
        settings = ftfy.TextFixerConfig(
            uncurl_quotes=False,
            fix_latin_ligatures=False,
            fix_character_width=False,
            normalization=None,
            explain=False,
        )
        paragraphs = [
            " ".join(ftfy.fix_text(before, settings).split()) or before for before in paragraphs
        ]
    wanted = config.keep_languages
    if wanted and language_of("\n".join(paragraphs)) not in wanted.split(","):
        return None, removed_whole(document, OTHER_LANGUAGE)
    kept, removed = [], []
    for place, (before, after) in enumerate(zip(document.paragraphs, paragraphs, strict=True)):
        if repeated and line_number(after) in repeated:
            # Said once, of the paragraph as it was read.
            removed.append(Removed(REPEATED, place, before))
            continue
        kept.append(after)
        if after != before:
            removed.append(Removed(REPAIRED, place, before, after))
    if not removed:
        return document, ()
    left = document.left_with(tuple(kept)) if kept else None
    return left, tuple(removed)


def line_number(line: str) -> int:
    """What stands for a line where lines are counted, 64 bits."""
    return int(line_key(line), 16)


def removed_whole(document: Document, reason: str) -> tuple[Removed, ...]:
    """All paragraphs of a document."""
    return tuple(Removed(reason, *one) for one in enumerate(document.paragraphs))
