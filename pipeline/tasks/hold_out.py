"""A tenth of the training examples to choose by, where there is no file for it."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence

from schemas.errors import AlbertError
from schemas.readable import counted
from schemas.task import TaskExample

_SHARE = 0.1


def hold_out(
    examples: Sequence[TaskExample],
) -> tuple[list[TaskExample], list[TaskExample]]:
    """The training examples, and a tenth of each label that is held out of them.

    Which ones depends on the text alone: on neither the order of a file nor what else
    is in it. Examples of the same text, or of the same passage, stay together.

    Args:
        examples: Of a training file.

    >>> examples = [TaskExample(id=str(n), place="", text=str(n), label=str(n % 2))
    ...             for n in range(40)]
    >>> train, held_out = hold_out(examples)
    >>> sorted(e.label for e in held_out)
    ['0', '0', '1', '1']
    """
    groups: dict[str, list[TaskExample]] = defaultdict(list)
    for example in examples:
        groups[example.text].append(example)
    by_label: dict[str, list[str]] = defaultdict(list)
    for text, group in groups.items():
        by_label[group[0].label or ""].append(text)
    chosen = set()
    for texts in by_label.values():
        texts.sort(key=_hash)
        chosen |= set(texts[: round(_SHARE * len(texts))])
    chosen -= _texts_of_all(examples, chosen)
    if not chosen:
        most = max(map(len, by_label.values()), default=0)
        what = "no label has" if any(by_label) else "there are no"
        raise AlbertError(
            f"{len(examples)} training examples are too few to hold out a tenth of "
            f"them: {what} more than {counted(most, 'different text')}; give some to "
            "choose by with --eval."
        )
    return (
        [example for example in examples if example.text not in chosen],
        [example for example in examples if example.text in chosen],
    )


def _texts_of_all(examples: Sequence[TaskExample], chosen: set[str]) -> set[str]:
    """Chosen texts that have a label, or a tag, which no other text has."""
    rest = {each for e in examples if e.text not in chosen for each in _marks(e)}
    return {e.text for e in examples if e.text in chosen and not _marks(e) <= rest}


def _marks(example: TaskExample) -> set[str]:
    """The labels and tags of an example."""
    own = () if example.label is None else (example.label,)
    return {*own, *(example.labels or ()), *(example.tags or ())}


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
