"""An example as a person reads it: both segments, the masks, and what stood there."""

from collections.abc import Callable
from typing import Any

from pipeline.tokenizer import SPACE
from pipeline.verification import unpadded
from schemas.config import SentenceTask
from schemas.special_tokens import MASK, MASK_ID, SEP_ID

_LABELS: dict[SentenceTask, tuple[str, str]] = {
    "sop": ("in order", "swapped"),
    "nsp": ("B follows A", "B is from elsewhere"),
    "none": ("one segment", "one segment"),
}


def show_example(
    features: dict[str, Any], piece: Callable[[int], str], *, task: SentenceTask
) -> str:
    """A few lines for one example.

    Args:
        features: As decoded.
        piece: The text of a piece id.
        task: What the label means.

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
    labels = dict(zip(positions, features["masked_lm_ids"], strict=False))
    label = _LABELS[task][features["next_sentence_labels"][0]]
    masked = [_masked_piece(piece, i, place in labels) for place, i in enumerate(ids)]
    original = [
        f"«{piece(labels[place])}»" if place in labels else piece(i)
        for place, i in enumerate(ids)
    ]
    separators = [place for place, i in enumerate(ids) if i == SEP_ID]
    bounds = list(zip([0, *separators], separators, strict=False))
    lines = [f"{label}, {len(ids)} pieces, {len(positions)} masked"]
    for kind, pieces in (("", masked), (" was", original)):
        lines += [
            f"  {name}{kind}  {_text(pieces[start + 1 : end])}"
            for name, (start, end) in zip("AB", bounds, strict=False)
        ]
    return "\n".join(lines)


def _masked_piece(piece: Callable[[int], str], piece_id: int, is_masked: bool) -> str:
    if piece_id == MASK_ID:
        return f"{SPACE}{MASK}"
    return f"{SPACE}[{piece(piece_id).strip(SPACE)}]" if is_masked else piece(piece_id)


def _text(pieces: list[str]) -> str:
    """Pieces as text; neighbouring masked ones share their marks."""
    text = "".join(pieces).replace(f"«{SPACE}", f"{SPACE}«").replace("»«", "")
    return text.replace(SPACE, " ").replace("» «", " ").strip()
