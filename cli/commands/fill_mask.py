"""`albert fill-mask`: the pieces a model expects at the masks of a text; surprisal."""

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.support.console import tell
from cli.support.options import COUNT, FILE, PATH, debug_option, json_option, refuse_given
from cli.support.trained_model import checkpoint_option, open_model
from schemas.errors import AlbertError, SettingError
from schemas.example import CLS_ID, MASK, MASK_ID, SEP_ID
from schemas.files import Values, read_bytes
from schemas.readable import in_a_line, percent

if TYPE_CHECKING:
    from albert_tf.inference import Model
    from albert_tf.runs.checkpoints import Which

_NO_TEXT = f"Give a text with {MASK} in it, or send texts on standard input, one per line."


@click.command(epilog='Example:  albert fill-mask run "The [MASK] crosses the river."')
@click.argument("model", type=PATH)
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--top", default=5, type=COUNT, help="Pieces to show for each mask.")
@click.option(
    "--score",
    type=FILE,
    metavar="FILE",
    help="Print the surprisal of each word of a file instead, in bits, with the word as "
    "the only one that is masked: a text a line, in columns with tabs between.",
)
@checkpoint_option
@json_option("Print one JSON object per text, or per word.")
@debug_option
def fill_mask_command(
    model: Path,
    texts: tuple[str, ...],
    top: int,
    score: Path | None,
    checkpoint: "Which | None",
    as_json: bool,
) -> None:
    """Show the pieces a model expects at the masks of texts.

    MODEL is a run or an export --to hf. Write [MASK] where a piece is missing; several masks in
    a text are filled independently. Without TEXT, texts are read from standard input,
    one per line, and answered as they arrive; a line that cannot be answered is
    reported. A piece that begins a word is shown with a leading "▁"; one without it
    continues the word before.
    """
    if score is not None and texts:
        raise SettingError("--score takes its texts from a file; leave TEXT out.")
    lines = None
    if score is not None:
        refuse_given("top", why="is for masks, of which --score takes none; leave one of them out.")
        from cli.support.task_data import decoded

        each = enumerate(read_bytes(score).splitlines(), 1)
        lines = [decoded(line, what=f"{score}, line {number}").strip() for number, line in each]
    found = open_model(model, which=checkpoint, say=tell, needs_head=True)
    if lines is not None:
        for line in scored(lines, found, as_json=as_json):
            click.echo(line)
        return
    has_failed = False
    answers = [filled(text, found, top=top) for text in texts]
    for answer in answers or answered_lines(found, top=top):
        if isinstance(answer, str):
            has_failed = True
            tell(answer)
        else:
            click.echo(json.dumps(answer, ensure_ascii=False) if as_json else answer_line(answer))
    if has_failed:
        raise click.exceptions.Exit(1)


def answered_lines(model: "Model", *, top: int) -> Iterator[Values | str]:
    """The answer to each line of standard input, or a sentence where there is none."""
    from cli.support.task_data import decoded, typed_lines

    is_empty = True
    lines = itertools.chain.from_iterable(typed_lines(_NO_TEXT))
    for place, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        is_empty = False
        try:
            yield filled(decoded(line, what="the text").strip(), model, top=top)
        except AlbertError as error:
            yield in_a_line(f"Line {place}: {error}")
    if is_empty:
        raise SettingError(_NO_TEXT)


def filled(text: str, model: "Model", *, top: int) -> Values:
    """The best pieces at each mask of a text, and the text with the very best."""
    ids, best = model.masks(text, top=top)
    piece, chosen = model.tokenizer.piece, (pieces[0][0] for pieces in best)
    return {
        "text": text,
        "filled": model.tokenizer.decode([next(chosen) if i == MASK_ID else i for i in ids]),
        "masks": [
            [{"piece": piece(i), "id": i, "probability": p} for i, p in pieces] for pieces in best
        ],
    }


def scored(texts: list[str], model: "Model", *, as_json: bool) -> Iterator[str]:
    """The surprisal of each word of texts, in bits, as lines.

    A token of a word is predicted while it and the rest of its word are masked (Kauf and
    Ivanova, 2305.10588); the surprisal of a word is the sum of its tokens'. A text that is
    longer than what the model reads is read in windows, half of one apart, and a word in
    that where a quarter of the window or more stands on either side, but for the text's ends.
    """
    import numpy as np

    from albert_tf.evaluation.bits_per_character import Span, WordScorer, word_bounds
    from albert_tf.model.trained_model import pretrainer_of
    from pipeline.encoding.queries import check_length

    tokenizer, room = model.tokenizer, model.trained.max_seq_length - 2
    found = list(map(tokenizer.encode_with_offsets, texts))
    half = room // 2
    windows: dict[tuple[int, int], int] = {}
    words, places = [], []
    for number, (text, each) in enumerate(zip(texts, found, strict=True)):
        starts = tokenizer.starts(np.array([CLS_ID, *each.ids], np.int32))
        starts[:2] = True
        for start, end in itertools.islice(word_bounds(starts), 1, None):
            word = text[each.starts[start - 1] : each.ends[end - 2]]
            check_length(word, end - start + 2, longest=room + 2)
            begin = max(0, start - 1 - half // 2) // half * half
            begin = max(min(begin, len(each.ids) - room), end - 1 - room, 0)
            window = windows.setdefault((number, begin), len(windows))
            words.append(Span(window, start - begin, end - begin))
            places.append((number + 1, word))
    rows = [
        np.array([CLS_ID, *found[number].ids[begin : begin + room], SEP_ID], np.int32)
        for number, begin in windows
    ]
    losses = WordScorer(pretrainer_of(model.trained)).losses(rows, words)
    if not as_json:
        yield "line\tword\tsurprisal"
    for (number, word), bits in zip(places, losses / math.log(2), strict=True):
        answer = {"line": number, "word": word, "surprisal": float(bits)}
        shown = f"{number}\t{word}\t{bits:.4f}"
        yield json.dumps(answer, ensure_ascii=False) if as_json else shown


def answer_line(answer: Values) -> str:
    """An answer for a person.

    >>> print(answer_line({"text": "A [MASK].", "filled": "a tree.", "masks": [[
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
