"""An example as a person reads it: both segments, the masks, and what stood there."""

from collections.abc import Callable
from typing import Any

from pipeline.tokenizer import SPACE
from pipeline.verification import unpadded
from schemas.config import SentenceTask
from schemas.report import Example, Piece
from schemas.special_tokens import MASK, SEP_ID

LABELS: dict[SentenceTask, tuple[str, str]] = {
    "sop": ("in order", "swapped"),
    "nsp": ("B follows A", "B is from elsewhere"),
    "none": ("one segment", "one segment"),
}


def view_example(
    features: dict[str, Any], piece: Callable[[int], str], *, task: SentenceTask
) -> Example:
    """The segments of an example, each masked piece with what stood there.

    Args:
        features: As decoded.
        piece: The text of a piece id.
        task: What the label means.
    """
    ids, positions = unpadded(features)
    labels = dict(zip(positions, features["masked_lm_ids"], strict=False))
    pieces = [
        Piece(
            shown=piece(i), original=piece(labels[place]) if place in labels else None
        )
        for place, i in enumerate(ids)
    ]
    separators = [place for place, i in enumerate(ids) if i == SEP_ID]
    return Example(
        label=LABELS[task][features["next_sentence_labels"][0]],
        segments=tuple(
            tuple(pieces[start + 1 : end])
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
    swapped, 7 pieces, 1 masked
      A  he [MASK]
      B  he.
      A was  he «came»
      B was  he.
    """
    ids, positions = unpadded(features)
    example = view_example(features, piece, task=task)
    lines = [f"{example.label}, {len(ids)} pieces, {len(positions)} masked"]
    for kind, spelled in (("", _as_masked), (" was", _as_original)):
        lines += [
            f"  {name}{kind}  {_text([spelled(piece) for piece in segment])}"
            for name, segment in zip("AB", example.segments, strict=False)
        ]
    return "\n".join(lines)


def _as_masked(piece: Piece) -> str:
    if piece.shown == MASK:
        return f"{SPACE}{MASK}"
    is_masked = piece.original is not None
    return f"{SPACE}[{piece.shown.strip(SPACE)}]" if is_masked else piece.shown


def _as_original(piece: Piece) -> str:
    return piece.shown if piece.original is None else f"«{piece.original}»"


def _text(pieces: list[str]) -> str:
    """Pieces as text; neighbouring masked ones share their marks."""
    text = "".join(pieces).replace(f"«{SPACE}", f"{SPACE}«").replace("»«", "")
    return text.replace(SPACE, " ").replace("» «", " ").strip()
