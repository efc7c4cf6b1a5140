"""An example as a person reads it: its segments, and the tokens before masking."""

from collections.abc import Callable
from typing import Any

from pipeline.dataset.contents import unpadded
from schemas.config import SentenceTask
from schemas.report import Example, Token
from schemas.special_tokens import MASK, SEP_ID, SPACE

LABELS: dict[SentenceTask, tuple[str, str]] = {
    "sop": ("in order", "swapped"),
    "nsp": ("B follows A", "B is from elsewhere"),
    "none": ("one segment", "one segment"),
}


def view_example(
    features: dict[str, Any], piece: Callable[[int], str], *, task: SentenceTask
) -> Example:
    """The segments of an example, each masked token with the original.

    Args:
        features: As decoded.
        piece: The text of a token id.
        task: What the label means.
    """
    ids, positions = unpadded(features)
    originals = dict(zip(positions, features["masked_lm_ids"], strict=False))
    tokens = [
        Token(
            shown=piece(token_id),
            original=piece(originals[place]) if place in originals else None,
        )
        for place, token_id in enumerate(ids)
    ]
    separators = [place for place, token_id in enumerate(ids) if token_id == SEP_ID]
    return Example(
        label=LABELS[task][features["next_sentence_labels"][0]],
        segments=tuple(
            tuple(tokens[start + 1 : end])
            for start, end in zip([0, *separators], separators, strict=False)
        ),
    )


def show_example(
    features: dict[str, Any], piece: Callable[[int], str], *, task: SentenceTask
) -> str:
    """A few lines for one example; arguments as in `view_example`.

    >>> pieces = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]", "▁he", "▁came", "."]
    >>> print(show_example({"input_ids": [2, 5, 4, 3, 5, 7, 3],
    ...     "masked_lm_positions": [2], "masked_lm_ids": [6],
    ...     "next_sentence_labels": [1]}, pieces.__getitem__, task="sop"))
    swapped, 7 tokens, 1 masked
      A  he [MASK]
      B  he.
      A was  he «came»
      B was  he.
    """
    ids, positions = unpadded(features)
    example = view_example(features, piece, task=task)
    lines = [f"{example.label}, {len(ids)} tokens, {len(positions)} masked"]
    for kind, spelled in (("", _as_masked), (" was", _as_original)):
        lines += [
            f"  {name}{kind}  {_text([spelled(token) for token in segment])}"
            for name, segment in zip("AB", example.segments, strict=False)
        ]
    return "\n".join(lines)


def _as_masked(token: Token) -> str:
    if token.shown == MASK:
        return f"{SPACE}{MASK}"
    is_masked = token.original is not None
    return f"{SPACE}[{token.shown.strip(SPACE)}]" if is_masked else token.shown


def _as_original(token: Token) -> str:
    return token.shown if token.original is None else f"«{token.original}»"


def _text(tokens: list[str]) -> str:
    """Tokens as text; masked ones next to each other share their marks."""
    text = "".join(tokens).replace(f"«{SPACE}", f"{SPACE}«").replace("»«", "")
    return text.replace(SPACE, " ").replace("» «", " ").strip()
