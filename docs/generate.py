"""Writes the generated pages: `python docs/generate.py`, or `make docs`.

A test compares what this writes with the files in the repository.
"""

import ast
import configparser
import dataclasses
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from cli.main import cli
from pipeline.reading.formats import FORMATS
from schemas.architecture import PRESETS, ModelConfig
from schemas.example import DOCUMENT_FEATURES, FEATURES, SPECIAL_TOKENS, USER_SYMBOLS
from schemas.finetune_config import RATES, TASK_RECIPES
from schemas.manifest import DatasetManifest

DOCS = Path(__file__).parent
ROOT = DOCS.parent
README = ROOT / "README.md"
FINETUNING = DOCS / "finetuning.md"
DATA_FORMAT = DOCS / "data_format.md"
PACKAGES = ("cli", "pipeline", "albert_tf", "schemas")

# What stands between these two lines of a page is generated.
_GENERATED = "<!-- {name}: written by docs/generate.py -->\n"
_GENERATED_END = "<!-- end -->\n"

# Folders beside the packages.
_BESIDE = (
    "| **`tests/`** | The same folders, a file for a module; end to end beside them. |",
    "| **`benchmarks/`** | Small programs that measure and print a table; the demo. |",
    "| **`docs/`** | What was decided and why, reference, figures, failed ideas. |",
)

# What `manifest.json` has beside the attributes of `DatasetManifest`.
_FEATURES = "| `features` | Name, dtype and maximum length of each feature stored. |"

# What tells the presets apart.
_OF_PRESETS = (
    "num_hidden_layers",
    "hidden_size",
    "embedding_size",
    "num_attention_heads",
    "intermediate_size",
    "sharing",
)


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
        "Written by `docs/generate.py` from `--help`; do not edit. Back to the",
        "[README](../README.md).",
    ]
    for path, command in commands(cli, "albert"):
        # As under the group, whose settings its commands inherit; click keeps the first
        # names for --help that it sees.
        settings = cli.context_settings | {"max_content_width": 88}
        with click.Context(command, info_name=path, **settings) as context:
            context.terminal_width = 88
            text = command.get_help(context)
        parts += ["", f"## {path}", "", "```", text.rstrip(), "```"]
    return "\n".join(parts) + "\n"


def table(*columns: str, rows: Iterable[str]) -> str:
    """A table of rows in Markdown."""
    head = f"| {' | '.join(columns)} |"
    return "\n".join([head, "|---" * len(columns) + "|", *rows]) + "\n"


def data_format_page() -> str:
    """`docs/data_format.md`: the files, and tables of what is in them."""
    features = (
        f"| `{f.name}` | {f.dtype} | {f.length} | {'yes' if f.is_compact else 'no'} | {f.meaning} |"
        for f in FEATURES
    )
    documents = (f"| `{f.name}` | {f.dtype} | {f.meaning} |" for f in DOCUMENT_FEATURES)
    special = ", ".join(f"`{token}` {i}" for i, token in enumerate(SPECIAL_TOKENS))
    symbols = " ".join(f"`{symbol}`" for symbol in USER_SYMBOLS)
    of_manifest = attributes_of(DatasetManifest)
    of_features = ("feature", "type", "most values", "in `compact`", "meaning")
    tables = {
        "manifest": table("field", "what it is", rows=[_FEATURES, *of_manifest]),
        "features": table(*of_features, rows=features),
        "documents": table("feature", "type", "meaning", rows=documents),
        "pieces": f"Every vocabulary begins with {special}, then {symbols}.\n",
        "architecture": table("field", "default", "what it is", rows=fields_of(ModelConfig)),
        "presets": table_of_presets(),
        "formats": table_of_formats(),
    }
    return with_tables(DATA_FORMAT, tables)


def attributes_of(described: type) -> Iterator[str]:
    """The attributes of a class, each with what its docstring says of it."""
    docstring = inspect.getdoc(described) or ""
    _, _, attributes = docstring.partition("Attributes:\n")
    found = re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", attributes, re.MULTILINE)
    return (f"| `{name}` | {' '.join(said.split())} |" for name, said in found)


def fields_of(config: type) -> Iterator[str]:
    """The fields of a config with their defaults and their help."""
    return (
        f"| `{field.name}` | {field.default} | {field.metadata['help']} |"
        for field in dataclasses.fields(config)
    )


def table_of_formats() -> str:
    """The formats of raw text."""
    rows = []
    for name, row in FORMATS.items():
        flags = ", ".join(f"`--{kind}`" for kind in row.kinds)
        cells = (f"`{name}`", row.known_by, row.meaning.replace("<", "\\<"), flags)
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return table("format", "recognised by", "what it is", "flags", rows=rows)


def table_of_presets() -> str:
    """The architectures that have names."""
    rows = []
    for name, config in PRESETS.items():
        values = " | ".join(str(getattr(config, field)) for field in _OF_PRESETS)
        rows.append(f"| `{name}` | {values} |")
    return table("`--model`", *_OF_PRESETS, rows=rows)


def rooms(package: str) -> list[str]:
    """The rooms of a package in the order in which they may import each other."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / "setup.cfg", encoding="utf-8")
    contract = f"importlinter:contract:{package}-rooms"
    if contract not in contracts:
        return []
    layers = contracts[contract]["layers"].split()
    return [room for room in reversed(layers) if (ROOT / package / room).is_dir()]


def table_of_rooms() -> str:
    """Each room with the first line of its docstring, in the order of the walk."""
    rows = []
    for package in PACKAGES:
        rows.append(f"| **`{package}/`** | {first_line(ROOT / package)} |")
        for room in rooms(package):
            about = first_line(ROOT / package / room)
            rows.append(f"| [`{package}/{room}`]({package}/{room}) | {about} |")
    return table("room", "what it does", rows=[*rows, *_BESIDE])


def table_of_commands() -> str:
    """Each command with the first sentence of its help."""
    rows = (
        f"| `{path}` | {command.get_short_help_str(limit=100)} |"
        for path, command in commands(cli, "albert")
        if not isinstance(command, click.Group)
    )
    return table("command", "what it does", rows=rows)


def first_line(package: Path) -> str:
    """The first line of the docstring of a package."""
    source = (package / "__init__.py").read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(source)) or ""
    return docstring.split("\n", maxsplit=1)[0]


def table_of_recipes() -> str:
    """The settings that the paper fine-tuned with."""
    names = ("learning_rate", "batch_size", "dropout", "steps", "warmup_steps")
    lines = [f"| `--recipe` | {' | '.join(names)} |", "|---|" + "--:|" * len(names)]
    for name, recipe in TASK_RECIPES.items():
        values = " | ".join(f"{recipe[key]:g}" for key in names)
        lines.append(f"| `{name}` | {values} |")
    return "\n".join(lines) + "\n"


def table_of_rates() -> str:
    """The learning rate of fine-tuning by the width of a model."""
    widths = [f"{least} or more" if least else "less" for least, _ in RATES]
    rates = [f"{rate:g}" for _, rate in RATES]
    return (
        f"| width | {' | '.join(widths)} |\n"
        f"|---|{'--:|' * len(RATES)}\n"
        f"| `--learning-rate` | {' | '.join(rates)} |\n"
    )


def with_tables(page: Path, tables: dict[str, str]) -> str:
    """A page with its tables brought up to date, by name."""
    text = page.read_text(encoding="utf-8")
    for name, generated in tables.items():
        before, start, rest = text.partition(_GENERATED.format(name=name))
        _, end, after = rest.partition(_GENERATED_END)
        text = f"{before}{start}{generated}{end}{after}"
    return text


def readme_page() -> str:
    """`README.md`."""
    tables = {"commands": table_of_commands(), "rooms": table_of_rooms()}
    return with_tables(README, tables)


def finetuning_page() -> str:
    """`docs/finetuning.md`."""
    tables = {"rates": table_of_rates(), "recipes": table_of_recipes()}
    return with_tables(FINETUNING, tables)


PAGES = {
    DOCS / "cli.md": cli_page,
    DATA_FORMAT: data_format_page,
    FINETUNING: finetuning_page,
    README: readme_page,
}

if __name__ == "__main__":
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8")
