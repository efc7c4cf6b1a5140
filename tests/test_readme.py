"""Every command of README and guide runs as it is written, on local files."""

import ast
import bz2
import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.demo import write_corpus
from tests.commands import run

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "docs/guide.md")
README = "".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)

# The dump that the README names.
DUMP = "enwiki-latest-pages-articles-multistream.xml.bz2"

# What makes a command small enough for a test; a later flag goes before an earlier one.
SMALLER = {
    "vocab": ["--vocab-size", "1000"],
    "make-data": ["--max-seq-length", "64", "--eval-fraction", "0.1"],
    "pretrain": [
        *("--steps", "2", "--warmup-steps", "1"),
        *("--batch-size", "4", "--eval-examples", "4"),
    ],
    "finetune": ["--epochs", "1", "--max-seq-length", "32"],
}
# Texts and labels, as fine-tuning takes them.
REVIEWS = "".join(f"It is good {n},yes\nIt is bad {n},no\n" for n in range(20))


def commands(page: str = README) -> list[list[str]]:
    """The `albert` commands in the code blocks of a page, in order."""
    blocks = re.findall(r"^```\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).splitlines()
    return [shlex.split(line) for line in lines if line.startswith("albert ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the README's commands name, with little text in them."""
    folder = tmp_path_factory.mktemp("readme")
    dump, books = write_corpus(folder)
    packed = bz2.compress(dump.read_bytes())
    (folder / DUMP).write_bytes(packed)
    books.rename(folder / "novels")
    for name in ("reviews.csv", "more-reviews.csv"):
        (folder / name).write_text("text,label\n" + REVIEWS, encoding="utf-8")
    (folder / "sentences.txt").write_text("The river is wide.\n", encoding="utf-8")
    pair = {"sentence_good": "The rivers are wide.", "sentence_bad": "The rivers is wide."}
    (folder / "pairs.jsonl").write_text(json.dumps(pair) + "\n", encoding="utf-8")
    (folder / "SST-2").mkdir()
    rows = "".join(f"a good film {n}\t1\na bad film {n}\t0\n" for n in range(20))
    for name in ("train.tsv", "dev.tsv"):
        text = "sentence\tlabel\n" + rows
        (folder / "SST-2" / name).write_text(text, encoding="utf-8")
    return folder


def test_the_readme_shows_all_three_commands():
    assert {"vocab", "make-data", "pretrain"} <= {command[1] for command in commands()}


def test_every_target_of_make_that_the_readme_names_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.findall(r"(?:^|`)make ([a-z-]+)", README, re.MULTILINE)
    assert {"demo", "test"} <= set(named)
    assert [t for t in named if not re.search(rf"^{t}:", makefile, re.MULTILINE)] == []


@pytest.mark.slow
def test_the_commands_run_in_the_order_of_the_readme(folder):
    run_all(commands(), folder)


@pytest.mark.slow
def test_the_commands_of_fine_tuning_run_after_those_of_the_readme(folder):
    page = (ROOT / "docs" / "finetuning.md").read_text(encoding="utf-8")
    if not (folder / "small-run").exists():
        names = [command[1] for command in commands()]
        run_all(commands()[: names.index("pretrain") + 1], folder)
    run_all(commands(page), folder)


def without_budget(arguments: list[str]) -> list[str]:
    """The arguments of a command that has steps in place of a budget."""
    if "--budget" not in arguments:
        return arguments
    place = arguments.index("--budget")
    return [*arguments[:place], *arguments[place + 2 :]]


def run_all(commands: list[list[str]], folder: Path) -> None:
    """Run commands, each made smaller, in a folder."""
    for command in commands:
        arguments = without_budget([*command[1:], *SMALLER.get(command[1], [])])
        if command[1] == "pretrain" and "--init-from" not in arguments:
            arguments += ["--model", "tiny"]
        with contextlib.chdir(folder):
            run(*arguments)


@pytest.mark.slow
def test_the_python_of_the_readme_and_the_guide_runs_after_their_commands(folder):
    programs = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    model, _ = (run_program(program, folder).stdout for program in programs)
    assert len(ast.literal_eval(model.splitlines()[0])) == 5
    assert (folder / "py" / "run" / "metrics.jsonl").exists()


@pytest.mark.slow
def test_the_cells_of_the_notebook_run_one_after_the_other(tmp_path):
    notebook = json.loads((ROOT / "docs/first_model.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    program = ["import subprocess"]
    for cell in cells:
        if cell.startswith("!albert "):
            # The last of a flag counts.
            words = shlex.split(cell[1:]) + ["--steps", "20"] * ("pretrain" in cell)
            program.append(f"subprocess.run({words!r}, check=True)")
        else:
            program.append(cell)
    done = run_program("\n".join(program), tmp_path)
    assert len(ast.literal_eval(done.stdout.splitlines()[-1])) == 5
    shown = sum(bool(cell.get("outputs")) for cell in notebook["cells"])
    assert shown >= len(cells) - 1


def run_program(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, with `albert` on the path and no screen."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=os.environ | {"PATH": path, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done
