"""`albert fill-mask`: the pieces a model expects at the masks of a text."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schemas.errors import AlbertError, SettingError
from schemas.special_tokens import MASK, MASK_ID

if TYPE_CHECKING:
    from albert_tf.pretrainer import AlbertPretrainer
    from pipeline.tokenizer import Tokenizer


@click.command(epilog='Example:  albert fill-mask run "The [MASK] crosses the river."')
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option(
    "--top",
    default=5,
    show_default=True,
    type=click.IntRange(min=1),
    help="Pieces to show for each mask.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object a text.")
@click.option("--debug", is_flag=True, help="Show where an error happened.")
def fill_mask(
    model: Path, texts: tuple[str, ...], top: int, as_json: bool, debug: bool
) -> None:
    """Say which pieces a model expects at the masks of texts.

    MODEL is a run or an export. Write [MASK] where a piece is to be found; several in a
    text are filled in each by itself. Without TEXT, texts are read from standard input,
    one a line. A piece that begins a word is shown with a "▁" before it; one without
    continues the word before.
    """
    from cli.asked_model import open_model, vocabulary_for_text
    from pipeline.masked_text import encode_masked, quoted

    tokenizer = vocabulary_for_text(model)
    encoded = [(text, encode_masked(text, tokenizer)) for text in given(texts)]
    asked = open_model(model, tokenizer)
    for text, ids in encoded:
        if len(ids) > asked.max_seq_length:
            raise AlbertError(
                f"{quoted(text)} has {len(ids)} pieces with [CLS] and [SEP] and the "
                f"model reads {asked.max_seq_length}; give less text."
            )
    for text, ids in encoded:
        answer = {
            "text": text,
            **filled(ids, asked.model, tokenizer=tokenizer, top=top),
        }
        click.echo(json.dumps(answer, ensure_ascii=False) if as_json else shown(answer))


def filled(
    input_ids: list[int],
    model: "AlbertPretrainer",
    *,
    tokenizer: "Tokenizer",
    top: int,
) -> dict[str, Any]:
    """The best pieces at each mask, and the text with the very best."""
    from albert_tf.predictions import likeliest, mask_probabilities

    best = [likeliest(row, top=top) for row in mask_probabilities(model, input_ids)]
    chosen = (pieces[0][0] for pieces in best)
    ids = [next(chosen) if i == MASK_ID else i for i in input_ids]
    masks = [
        [{"piece": tokenizer.piece(i), "id": i, "probability": p} for i, p in pieces]
        for pieces in best
    ]
    return {"filled": tokenizer.decode(ids), "masks": masks}


def given(texts: tuple[str, ...]) -> list[str]:
    """The texts on the command line, or else the lines of standard input.

    Raises:
        SettingError: There is none, or it is no text.
    """
    if not texts and sys.stdin and not sys.stdin.isatty():
        lines = sys.stdin.buffer.read().decode("utf-8", "surrogateescape").split("\n")
        texts = tuple(line.strip() for line in lines if line.strip())
    if not texts:
        raise SettingError(
            f"Give a text with {MASK} in it, or send texts on standard input, one a "
            "line."
        )
    for number, text in enumerate(texts, start=1):
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            raise SettingError(f"Text {number} is not UTF-8; convert it first.")
    return list(texts)


def shown(answer: dict[str, Any]) -> str:
    """An answer for a person.

    >>> print(shown({"text": "A [MASK].", "filled": "a tree.", "masks": [[
    ...     {"piece": "▁tree", "probability": 0.5},
    ...     {"piece": "▁cat", "probability": 0.125}]]}))
    A [MASK].
      ▁tree 50.0 %   ▁cat 12.5 %
      a tree.
    """
    rows = [
        "   ".join(f"{p['piece']} {100 * p['probability']:.1f} %" for p in mask)
        for mask in answer["masks"]
    ]
    return "\n  ".join([answer["text"], *rows, answer["filled"]])
