"""A function with one caller lives in that caller, unless something speaks for it.

A test or an example of its own does, recursion, another room, being handed on instead of called,
a form that cannot stand in a caller (it yields, returns from several places, or is called within
an expression that loops), a caller that would not fit the limits of `pyproject.toml` with it, and
a name in `IDEAS`.
"""

import ast
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
MOST_STATEMENTS, MOST_BRANCHES = 50, 15
# What a reader would ask for by its name, as module.function, by what it is to its caller.
IDEAS = {
    "a section or a line of a card, a page or a report": "card._origin "
    "model_card._licence model_card._metrics "
    "page._bars_table page._curves_table plots._draw_bars plots._draw_ranking "
    "run_report.most_words",
    "a step of a driver that is read by its name": "evaluate.evaluate_task "
    "worker_processes._end_with_parent worker_processes._ended_early "
    "repeats.near_pairs files._remove_halves "
    "first_weights.label_log_shares first_weights.tokens_to_count "
    "unpadding.flat_predictions bits_per_character._batch",
    "one of several alike, or the pair of another": "checkpoints.best_step checks._check_length "
    "checks._check_masks "
    "initial_weights.set_heads initial_weights.set_positions masking._search "
    "masking._try_places encoder.of_layer tensorflow_operations._split_gradients "
    "marked_text.starts_sentence_document",
    "a format of somebody else's": "checkpoints._bfloat16 "
    "export.sentence_files column_files._groups_of_parquet column_files._next_batch_bytes "
    "compression.give_back huggingface._architecture tokenizer.of_unspaced_text",
    "an idea of its field": "answers.window_spans baselines._tags_of_words evaluation._errors "
    "beam._of_memory",
}
Function = ast.FunctionDef | ast.AsyncFunctionDef
# In these no name is read. Looking for one of a tuple takes a third of the time.
LEAVES = (ast.expr_context, ast.Constant, ast.operator, ast.cmpop)
FUNCTIONS, NAMES = (ast.FunctionDef, ast.AsyncFunctionDef), (ast.Name, ast.Attribute)
LOOPS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)


class Use(NamedTuple):
    """A name where it is read: called, and not within an expression that loops."""

    path: Path
    inside: Function | None
    is_plain_call: bool


class Program:
    """The functions of the four packages by name, and where each name is read."""

    def __init__(self, files: dict[Path, str]) -> None:
        self.functions: dict[str, list[tuple[Path, Function]]] = {}
        self.uses: dict[str, list[Use]] = {}
        for path, source in files.items():
            self._read(ast.parse(source), path)

    def _read(
        self, node: ast.AST, path: Path, *, inside: Function | None = None, in_loop: bool = False
    ) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, LEAVES):
                continue
            within = inside
            if isinstance(child, FUNCTIONS) and isinstance(node, (ast.Module, ast.ClassDef)):
                self.functions.setdefault(child.name, []).append((path, child))
                within = child
            if isinstance(child, NAMES):
                name = child.id if isinstance(child, ast.Name) else child.attr
                is_called = isinstance(node, ast.Call) and node.func is child
                self.uses.setdefault(name, []).append(Use(path, inside, is_called and not in_loop))
            if not isinstance(child, ast.Name):
                self._read(child, path, inside=within, in_loop=in_loop or isinstance(child, LOOPS))

    def with_one_caller(self, tested: set[str]) -> list[str]:
        """Functions without a reason, as `module.function`."""
        found = []
        for name, places in self.functions.items():
            for path, function in places:
                uses = self.uses.get(name, [])
                if name.startswith("_"):
                    uses = [use for use in uses if use.path == path]
                elif len(places) > 1:
                    continue
                is_alone = len(uses) == 1 and uses[0].is_plain_call
                if not is_alone or name.startswith("__") or function.decorator_list:
                    continue
                caller = uses[0].inside
                if caller in (None, function) or uses[0].path.parent != path.parent:
                    continue
                is_shown = name in tested or ">>>" in (ast.get_docstring(function) or "")
                if not is_shown and _could_stand_in(caller, function):
                    found.append(f"{path.stem}.{name}")
        return sorted(found)


def _could_stand_in(caller: Function, function: Function) -> bool:
    own = list(ast.walk(function))
    if any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Try) for node in own):
        return False
    if sum(isinstance(node, ast.Return) for node in own) > 1:
        return False
    nodes = [*own, *ast.walk(caller)]
    branches = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.IfExp, ast.comprehension)
    count = sum(isinstance(node, branches) for node in nodes)
    count += sum(len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp))
    statements = sum(isinstance(node, ast.stmt) for node in nodes) - 2
    return statements <= MOST_STATEMENTS and count + 1 <= MOST_BRANCHES


def _sources(*folders: str) -> dict[Path, str]:
    files = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return {path.relative_to(ROOT): path.read_text() for path in files}


def test_every_function_with_one_caller_has_a_reason():
    sources = _sources("tests", "benchmarks")
    del sources[Path("tests/test_helpers.py")]
    tested = set(re.findall(r"\w+", "\n".join(sources.values())))
    found = Program(_sources("cli", "pipeline", "albert_tf", "schemas")).with_one_caller(tested)
    # A name that is gone or has a reason is not in the table.
    assert found == sorted(name for names in IDEAS.values() for name in names.split())
