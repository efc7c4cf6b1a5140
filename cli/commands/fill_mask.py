"""`albert fill-mask`: the pieces a model expects at the masks of a text."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.support.console import tell
from cli.support.options import UserPath, debug_option, json_option
from cli.support.trained_model import checkpoint_option, open_model, vocabulary_for_text
from schemas.errors import AlbertError, SettingError
from schemas.example import MASK, MASK_ID
from schemas.readable import percent

if TYPE_CHECKING:
    from albert_tf.model.pretrainer import AlbertPretrainer
    from albert_tf.runs.checkpoints import Which
    from pipeline.vocabulary.tokenizer import Tokenizer

_NO_TEXT = f"Give a text with {MASK} in it, or send texts on standard input, one per line."


@click.command(epilog='Example:  albert fill-mask run "The [MASK] crosses the river."')
@click.argument("model", type=UserPath(path_type=Path))
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option(
    "--top",
    default=5,
    show_default=True,
    type=click.IntRange(min=1),
    help="Pieces to show for each mask.",
)
@checkpoint_option
@json_option("Print one JSON object per text.")
@debug_option
def fill_mask(
    model: Path,
    texts: tuple[str, ...],
    top: int,
    checkpoint: "Which | None",
    as_json: bool,
    debug: bool,
) -> None:
    """Show the pieces a model expects at the masks of texts.

    MODEL is a run or an export. Write [MASK] where a piece is missing; several masks in
    a text are filled independently. Without TEXT, texts are read from standard input,
    one per line, and answered as they arrive; a line that cannot be answered is
    reported. A piece that begins a word is shown with a leading "▁"; one without it
    continues the word before.
    """
    if not texts and (not sys.stdin or sys.stdin.isatty()):
        # Nobody sends what would be waited for.
        raise SettingError(_NO_TEXT)
    tokenizer = vocabulary_for_text(model, say=tell)
    for text in texts:
        encode(text, tokenizer)
    trained = open_model(model, tokenizer, which=checkpoint, say=tell)
    longest = trained.max_seq_length
    encoded = [(text, encode(text, tokenizer, longest=longest)) for text in texts]
    lines = Lines(tokenizer, longest=longest)
    from albert_tf.model.trained_model import pretrainer_of

    pretrainer = pretrainer_of(trained, is_compiled=False)
    for text, ids in encoded or lines:
        answer = {"text": text, **filled(ids, pretrainer, tokenizer=tokenizer, top=top)}
        click.echo(json.dumps(answer, ensure_ascii=False) if as_json else shown(answer))
    if lines.failed:
        raise click.exceptions.Exit(1)


class Lines:
    """The lines of standard input that hold a text with a mask, each as it comes.

    Attributes:
        failed: Whether a line could not be taken; each was named on standard error.
    """

    def __init__(self, tokenizer: "Tokenizer", *, longest: int) -> None:
        self.failed = False
        self._tokenizer, self._longest = tokenizer, longest

    def __iter__(self) -> Iterator[tuple[str, list[int]]]:
        """Each text and its token ids."""
        number = 0
        for place, line in enumerate(sys.stdin.buffer, start=1):
            if not line.strip():
                continue
            number += 1
            try:
                text = decoded(line)
                yield text, encode(text, self._tokenizer, longest=self._longest)
            except AlbertError as error:
                self.failed = True
                click.echo(f"Line {place}: {error}", err=True)
        if not number:
            raise SettingError(_NO_TEXT)


def decoded(line: bytes) -> str:
    """A line as text, without the space around it."""
    try:
        return line.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise AlbertError("the text is not UTF-8; convert it first.") from None


def encode(text: str, tokenizer: "Tokenizer", *, longest: int | None = None) -> list[int]:
    """The token ids of a text; refused if it is longer than a loaded model reads."""
    from pipeline.encoding.queries import encode_masked, quoted

    ids = encode_masked(text, tokenizer)
    if longest is not None and len(ids) > longest:
        raise AlbertError(
            f"{quoted(text)} has {len(ids)} tokens with [CLS] and [SEP] and the "
            f"model reads {longest}; give less text."
        )
    return ids


def filled(
    input_ids: list[int], model: "AlbertPretrainer", *, tokenizer: "Tokenizer", top: int
) -> dict[str, Any]:
    """The best pieces at each mask, and the text with the very best."""
    from albert_tf.model.trained_model import likeliest, mask_probabilities

    best = [likeliest(row, top=top) for row in mask_probabilities(model, input_ids)]
    chosen = (pieces[0][0] for pieces in best)
    ids = [next(chosen) if i == MASK_ID else i for i in input_ids]
    masks = [
        [{"piece": tokenizer.piece(i), "id": i, "probability": p} for i, p in pieces]
        for pieces in best
    ]
    return {"filled": tokenizer.decode(ids), "masks": masks}


def shown(answer: dict[str, Any]) -> str:
    """An answer for a person.

    >>> print(shown({"text": "A [MASK].", "filled": "a tree.", "masks": [[
    ...     {"piece": "▁tree", "probability": 0.5},
    ...     {"piece": "▁cat", "probability": 0.125}]]}))
    A [MASK].
      ▁tree 50.0%   ▁cat 12.5%
      a tree.
    """
    rows = [
        "   ".join(f"{p['piece']} {percent(p['probability'])}" for p in mask)
        for mask in answer["masks"]
    ]
    return "\n  ".join([answer["text"], *rows, answer["filled"]])
