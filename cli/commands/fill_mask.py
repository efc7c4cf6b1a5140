"""`albert fill-mask`: the pieces a model expects at the masks of a text; surprisal."""

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.support.console import tell
from cli.support.options import UserPath, debug_option, json_option
from cli.support.trained_model import checkpoint_option, open_model, vocabulary_for_text
from schemas.errors import AlbertError, SettingError
from schemas.example import CLS_ID, MASK, MASK_ID, SEP_ID
from schemas.files import read_bytes
from schemas.readable import in_a_line, percent

if TYPE_CHECKING:
    from albert_tf.model.pretrainer import AlbertPretrainer
    from albert_tf.model.trained_model import TrainedModel
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
@click.option(
    "--score",
    type=UserPath(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Print the surprisal of each word of a file instead, in bits, with the word as "
    "the only one that is masked: a text a line, in columns with tabs between.",
)
@checkpoint_option
@json_option("Print one JSON object per text, or per word.")
@debug_option
def fill_mask(
    model: Path,
    texts: tuple[str, ...],
    top: int,
    score: Path | None,
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
    if score is not None and texts:
        raise SettingError("--score takes its texts from a file; leave TEXT out.")
    if not texts and score is None and (not sys.stdin or sys.stdin.isatty()):
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

    if score is not None:
        for line in scored(score, trained, tokenizer, as_json=as_json):
            click.echo(line)
        return
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
                tell(in_a_line(f"Line {place}: {error}"))
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
    from pipeline.encoding.queries import encode_masked

    ids = encode_masked(text, tokenizer)
    check_length(text, len(ids), longest=longest or len(ids))
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


def scored(
    file: Path, model: "TrainedModel", tokenizer: "Tokenizer", *, as_json: bool
) -> Iterator[str]:
    """The surprisal of each word of a file with a text a line, in bits, as lines.

    A token of a word is predicted while it and the rest of its word are masked (Kauf and
    Ivanova, 2305.10588); the surprisal of a word is the sum of its tokens'.
    """
    import numpy as np

    from albert_tf.evaluation.words import Span, WordScorer, word_bounds
    from albert_tf.model.trained_model import pretrainer_of

    texts = [decoded(line) for line in read_bytes(file).splitlines()]
    found = list(map(tokenizer.encode_with_offsets, texts))
    rows = [np.array([CLS_ID, *each.ids, SEP_ID], np.int32) for each in found]
    words = []
    for number, row in enumerate(rows):
        check_length(texts[number], len(row), longest=model.max_seq_length)
        starts = tokenizer.starts(row[:-1])
        starts[:2] = True
        words += [Span(number, *bounds) for bounds in word_bounds(starts) if bounds[0]]
    losses = WordScorer(pretrainer_of(model)).losses(rows, words)
    if not as_json:
        yield "line\tword\tsurprisal"
    for (number, start, end), bits in zip(words, losses / math.log(2), strict=True):
        word = texts[number][found[number].starts[start - 1] : found[number].ends[end - 2]]
        answer = {"line": number + 1, "word": word, "surprisal": float(bits)}
        shown = f"{number + 1}\t{word}\t{bits:.4f}"
        yield json.dumps(answer, ensure_ascii=False) if as_json else shown


def check_length(text: str, length: int, *, longest: int) -> None:
    """Refuse a text of more tokens than a model reads."""
    from pipeline.encoding.queries import quoted

    if length > longest:
        raise AlbertError(
            f"{quoted(text)} has {length} tokens with [CLS] and [SEP] and the "
            f"model reads {longest}; give less text."
        )


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
