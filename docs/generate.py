"""Writes the generated pages: `python docs/generate.py`, or `make docs`.

A test compares what this writes with the files in the repository.
"""

import ast
import configparser
import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from cli.main import cli
from pipeline.reading import formats
from schemas.architecture import PRESETS, ModelConfig
from schemas.example import DOCUMENT_FEATURES, FEATURES, SPECIAL_TOKENS, USER_SYMBOLS
from schemas.finetune_config import RATES, TASK_RECIPES
from schemas.manifest import DatasetManifest

DOCS = Path(__file__).parent
ROOT = DOCS.parent
README = ROOT / "README.md"
FINETUNING = DOCS / "finetuning.md"
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

_RAW_TEXT = """
## Raw text

Files are recognised by their content, tables of lines by their names; `--input-format`
names a format. Texts may be packed with gz, bz2, xz or zst. What is structured and not
here is refused by its name.

"""

_FORMAT = """\
# Data formats

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
| `train/documents/part-...` | instead of all copies, with `--examples on-the-fly`: \
the documents of one shard as tokens |
| `eval/copy-00/part-...` | documents held out, one copy: a share of all, and the \
files of `--eval-text`, whose entries in `inputs` of the manifest say \
`"split": "eval"` |
| `shards/train-00000.json` | what one finished shard holds |

`manifest.json` has, beside `format` and `format_version`:

| field | what it is |
|---|---|
| `features` | Name, dtype and maximum length of each feature stored. |
{manifest}

## A record

A `tf.train.Example` in a TFRecord file, uncompressed, in random order. The `compact`
layout stores no padding and nothing that can be derived.

| feature | type | most values | in `compact` | meaning |
|---|---|---|---|---|
{features}

## A document

With `--examples on-the-fly` the training split is documents, or parts of long ones, in
the order of their ids: a `tf.train.Example` each. Training makes the examples of them,
another copy in each epoch, of which the manifest counts the first. Epoch *e* is what
copy *e* would be if it were stored, record for record and byte for byte; it depends on
all documents of a shard, so that none may be left out.

| feature | type | meaning |
|---|---|---|
{documents}

## Pieces

Every vocabulary begins with {special}, then {symbols}.

## A run

| file | what it is |
|---|---|
| `model.json` | the architecture, as below |
| `config.json` | the command's settings, accepted back by `--config`; `began` has \
what has changed since, `chosen_for_budget` what a budget considered |
| `data_manifest.json`, `spiece.model` | the manifest and the vocabulary of the data |
| `metrics.jsonl` | a line for some steps (`split` is `train`) or an evaluation \
(`eval`); losses are means in nats |
| `evaluations` | a file for each text that `albert evaluate` measured: what it \
printed with `--json`, and in `word_losses` the hash, the letters and the loss in nats \
of each word |
| `checkpoints/step-00000300` | `model.safetensors`, `optimizer.safetensors` and \
`state.json`; the newest three and the best are kept |
| `checkpoints/latest`, `checkpoints/best` | the names of the newest and of the best |
| `tensorboard` | the metrics as events |

A fine-tuned model has `model.json`, `config.json`, `metrics.jsonl`, checkpoints and \
vocabulary too, and

| file | what it is |
|---|---|
| `task.json` | kind, labels and measures of the task, threshold |
| `eval.json` | what it is worth, beside guessing; written last |
| `predictions-eval.jsonl` | what it says of each held-out example |
| `predictions` | what it says of the files of `--test` |

## An architecture

The fields of `model.json`, under the names of transformers' `AlbertConfig` where that \
has them; `--set FIELD=VALUE` sets one:

| field | default | what it is |
|---|---|---|
{architecture}

`--model` begins with one of these:

{presets}
"""

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
    """`docs/data_format.md`: the files, and tables of what is in them."""
    rows = [
        f"| `{f.name}` | {f.dtype} | {f.length} | {'yes' if f.is_compact else 'no'} "
        f"| {f.meaning} |"
        for f in FEATURES
    ]
    documents = [f"| `{f.name}` | {f.dtype} | {f.meaning} |" for f in DOCUMENT_FEATURES]
    special = ", ".join(f"`{token}` {i}" for i, token in enumerate(SPECIAL_TOKENS))
    page = _FORMAT.format(
        features="\n".join(rows),
        documents="\n".join(documents),
        manifest=table_of_attributes(DatasetManifest),
        architecture=table_of_fields(ModelConfig),
        presets=table_of_presets(),
        special=special,
        symbols=" ".join(f"`{symbol}`" for symbol in USER_SYMBOLS),
    )
    return f"{page}{_RAW_TEXT}{formats.format_page()}\n"


def table_of_attributes(described: type) -> str:
    """The attributes of a class, each with what its docstring says of it."""
    docstring = inspect.getdoc(described) or ""
    _, _, attributes = docstring.partition("Attributes:\n")
    found = re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", attributes, re.MULTILINE)
    return "\n".join(f"| `{name}` | {' '.join(said.split())} |" for name, said in found)


def table_of_fields(config: type) -> str:
    """The fields of a config with their defaults and their help."""
    return "\n".join(
        f"| `{field.name}` | {field.default} | {field.metadata['help']} |"
        for field in dataclasses.fields(config)
    )


def table_of_presets() -> str:
    """The architectures that have names."""
    lines = [f"| `--model` | {' | '.join(_OF_PRESETS)} |"]
    lines.append("|---" * (1 + len(_OF_PRESETS)) + "|")
    for name, config in PRESETS.items():
        values = " | ".join(str(getattr(config, field)) for field in _OF_PRESETS)
        lines.append(f"| `{name}` | {values} |")
    return "\n".join(lines)


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
    lines = ["| room | what it does |", "|---|---|"]
    for package in PACKAGES:
        lines.append(f"| **`{package}/`** | {first_line(ROOT / package)} |")
        for room in rooms(package):
            about = first_line(ROOT / package / room)
            lines.append(f"| [`{package}/{room}`]({package}/{room}) | {about} |")
    return "\n".join([*lines, *_BESIDE]) + "\n"


def table_of_commands() -> str:
    """Each command with the first sentence of its help."""
    lines = ["| command | what it does |", "|---|---|"]
    for path, command in commands(cli, "albert"):
        if not isinstance(command, click.Group):
            lines.append(f"| `{path}` | {command.get_short_help_str(limit=100)} |")
    return "\n".join(lines) + "\n"


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
    for name, table in tables.items():
        before, start, rest = text.partition(_GENERATED.format(name=name))
        _, end, after = rest.partition(_GENERATED_END)
        text = f"{before}{start}{table}{end}{after}"
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
    DOCS / "data_format.md": format_page,
    FINETUNING: finetuning_page,
    README: readme_page,
}

if __name__ == "__main__":
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8")
