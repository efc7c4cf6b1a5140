"""Writes the generated pages: `python docs/generate.py`, or `make docs`.

A test compares what this writes with the files in the repository.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import click

from cli.main import cli
from schemas.example import FEATURES
from schemas.special_tokens import SPECIAL_TOKENS, USER_SYMBOLS

DOCS = Path(__file__).parent
ROOT = DOCS.parent
README = ROOT / "README.md"
PACKAGES = ("cli", "pipeline", "albert_tf", "schemas")

# The README's tree stands between the line before it and the line behind it.
_TREE_START = "## The tree\n\n"
_TREE_END = "\n\n    tests/ "

_FORMAT = """\
# The data format

Written by `docs/generate.py` from `schemas/`; do not edit.

## A data set

| file | what it is |
|---|---|
| `manifest.json` | settings, inputs, counts, statistics and the sha256 of every \
shard; written last, so without it there is no data set |
| `README.md` | the same for people |
| `config.json` | the command's settings, accepted back by `--config`; alone in naming \
paths and times |
| `spiece.model` | the vocabulary, with the text normalization inside |
| `train/copy-00/part-00000-of-00064.tfrecord` | one shard of one copy; the copies \
have the same text, masked and divided differently |
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


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """A command and all below it, each with what is typed to run it."""
    yield path, command
    if isinstance(command, click.Group):
        for name, below in sorted(command.commands.items()):
            yield from commands(below, f"{path} {name}")


def cli_page() -> str:
    """`docs/cli.md`: the help of every command."""
    parts = [
        "# Commands",
        "",
        "Written by `docs/generate.py` from `--help`; do not edit.",
    ]
    for path, command in commands(cli, "albert"):
        # As under the group, whose names for --help its commands inherit; click keeps
        # the first ones it sees.
        names = cli.context_settings["help_option_names"]
        with click.Context(
            command, info_name=path, max_content_width=88, help_option_names=names
        ) as context:
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


def tree() -> str:
    """The tree of the README: each module with the first line of its docstring."""
    lines = []
    for package in PACKAGES:
        about = first_line(ROOT / package / "__init__.py")
        lines += ["", f"    {package + '/':24} {about}"]
        for module in sorted((ROOT / package).glob("*.py")):
            if module.name != "__init__.py":
                lines.append(f"      {module.name:22} {first_line(module)}")
    return "\n".join(lines[1:])


def first_line(module: Path) -> str:
    """The first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return docstring.split("\n", maxsplit=1)[0]


def readme_page() -> str:
    """`README.md` with its tree brought up to date."""
    before, start, rest = README.read_text(encoding="utf-8").partition(_TREE_START)
    _, end, after = rest.partition(_TREE_END)
    return f"{before}{start}{tree()}{end}{after}"


PAGES = {
    DOCS / "cli.md": cli_page,
    DOCS / "data_format.md": format_page,
    README: readme_page,
}

if __name__ == "__main__":
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8")
