"""Writes the generated pages: `python docs/generate.py`, or `make docs`.

A test compares what this writes with the files in the repository.
"""

from pathlib import Path

import click

from cli.main import cli
from schemas.example import FEATURES
from schemas.special_tokens import SPECIAL_TOKENS, USER_SYMBOLS

DOCS = Path(__file__).parent

_FORMAT = """\
# The data format

Written by `docs/generate.py` from `schemas/`; do not edit.

## A data set

| file | what it is |
|---|---|
| `manifest.json` | settings, inputs, counts, statistics and the sha256 of every shard; \
written last, so without it there is no data set |
| `README.md` | the same for people |
| `config.json` | the command's settings, accepted back by `--config`; alone in naming \
paths and times |
| `spiece.model` | the vocabulary, with the text normalization inside |
| `train/copy-00/part-00000-of-00064.tfrecord` | one shard of one copy; the copies have \
the same text, masked and divided differently |
| `eval/copy-00/part-...` | documents held out, one copy |
| `shards/train-00000.json` | what one finished shard holds |

## A record

A `tf.train.Example` in a TFRecord file, uncompressed, in random order. The `compact`
layout stores no padding and nothing that can be derived.

| feature | type | most values | in `compact` | meaning |
|---|---|---|---|---|
{features}

## Pieces

Every vocabulary begins with {special}, then {symbols}.
"""


def cli_page() -> str:
    """`docs/cli.md`: the help of every command."""
    parts = ["# Commands", "", "Written by `docs/generate.py` from `--help`; do not edit."]
    for name, command in (("", cli), *sorted(cli.commands.items())):
        path = f"albert {name}".strip()
        with click.Context(command, info_name=path, max_content_width=88) as context:
            context.terminal_width = 88
            text = command.get_help(context)
        parts += ["", f"## {path}", "", "```", text.rstrip(), "```"]
    return "\n".join(parts) + "\n"


def format_page() -> str:
    """`docs/data_format.md`: the files and the feature table."""
    rows = [
        f"| `{f.name}` | {f.dtype} | {f.length} | {'yes' if f.is_compact else 'no'} "
        f"| {f.meaning} |"
        for f in FEATURES
    ]
    special = ", ".join(f"`{token}` {i}" for i, token in enumerate(SPECIAL_TOKENS))
    return _FORMAT.format(
        features="\n".join(rows),
        special=special,
        symbols=" ".join(f"`{symbol}`" for symbol in USER_SYMBOLS),
    )


PAGES = {"cli.md": cli_page, "data_format.md": format_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
