"""The tasks that have a name, and the form of a file of each kind.

`named_tasks.json` has labels, metrics, length, files and submission of each: names and
order of labels as in google-research/albert (`classifier_utils.py`), metrics as on the
site of each task, lengths as in Table 14 of the paper unless the texts are known to be
short.
"""

import json
import math
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from schemas.errors import FORM, SettingError
from schemas.files import json_text
from schemas.task import KINDS, Kind, TaskExample, TaskSpec


class NamedTask(NamedTuple):
    """A task that has a name.

    Attributes:
        files: Pattern of the names of its files in a folder; "" for all that name a
            train, dev or test.
        header: The names of the columns in files that do not name them.
    """

    spec: TaskSpec
    files: str = ""
    header: tuple[str, ...] = ()


NAMED_TASKS: dict[str, NamedTask] = {}
for _row in json.loads((files("pipeline.tasks") / "named_tasks.json").read_text("utf-8")):
    _own: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in _row["spec"].items()
    }
    _header = tuple(_row.get("header", ()))
    NAMED_TASKS[_own["name"]] = NamedTask(TaskSpec(**_own), _row.get("files", ""), _header)


def header_of(task: TaskSpec) -> tuple[str, ...]:
    """The names of the columns in the files of a named task that do not name them."""
    named = NAMED_TASKS.get(task.name)
    return named.header if named else ()


# Of tasks without a name; all others are sentences or pairs of them.
_LENGTHS: dict[Kind, int] = {"answer": 384, "choose": 512}


def task_called(name: str) -> TaskSpec:
    """The task of a name, or a task of a kind.

    Small and capital letters, hyphens and underscores make no difference.

    >>> task_called("SST2").submissions, task_called("answer").max_seq_length
    (('SST-2.tsv',), 384)
    """
    plain = _plain(name)
    for task in NAMED_TASKS.values():
        if _plain(task.spec.name) == plain:
            return task.spec
    for kind in KINDS:
        if kind == plain:
            return TaskSpec(name=kind, kind=kind, max_seq_length=_LENGTHS.get(kind, 128))
    raise SettingError(
        f"--task {name!r:.60} is neither a kind ({', '.join(KINDS)}) nor a task that "
        f"is known by name ({', '.join(NAMED_TASKS)})."
    )


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


# Three rows of the form that is read of each kind of task.
_WANTED: dict[Kind, str] = {
    "classify": """\
text,label
"The plot is thin.",negative
"I loved it, all of it.",positive""",
    "multilabel": """\
{"text": "The plot is thin.", "labels": ["plot", "criticism"]}
{"text": "I loved it.", "labels": ["praise"]}
{"text": "It was on Monday.", "labels": []}""",
    "regress": """\
text,score
"The plot is thin.",1.5
"I loved it, all of it.",5""",
    "choose": """\
{"text": "Ada has two hats.", "question": "How many?", "options": ["1", "two"], "label": "B"}
{"text": "Bo has one hat.", "question": "How many?", "options": ["none", "one"], "label": "B"}
{"text": "It is red.", "question": "Is it blue?", "options": ["no", "yes"], "label": "A"}""",
    "answer": """\
{"context": "Ada ran.", "question": "Who?", "answers": {"text": ["Ada"], "answer_start": [0]}}
{"context": "Bo sat.", "question": "Who?", "answers": {"text": ["Bo"], "answer_start": [0]}}
{"context": "Bo sat.", "question": "Why?", "answers": {"text": [], "answer_start": []}}""",
    "tag": """\
{"tokens": ["Ada", "is", "in", "New", "York"], "tags": ["B-PER", "O", "O", "B-LOC", "I-LOC"]}
{"text": "Ada is in New York", "spans": [[0, 3, "PER"], [10, 18, "LOC"]]}
{"text": "It is late", "spans": []}""",
    "embed": """\
{"anchor": "Who ran?", "positive": "Ada ran home.", "negative": "It was late."}
{"anchor": "When was it?", "positive": "It was late."}
{"sentence1": "It was late.", "sentence2": "It was not early.", "score": 0.9}""",
}


def wanted(kind: Kind) -> str:
    """How a refusal ends: with rows of the form that is read."""
    return f"{FORM}\n{_WANTED[kind]}"


_GLUE_HEADER = "index\tprediction\n"


def submission_text(
    task: TaskSpec, examples: Sequence[TaskExample], predictions: Sequence[str | float]
) -> str:
    r"""A file of predictions, as GLUE or SQuAD takes it.

    Args:
        predictions: For each: the label as the task writes it, the score, or the
            answer, "" for none.

    >>> task = TaskSpec(name="sts-b", kind="regress", score_range=(0.0, 5.0))
    >>> example = TaskExample(id="0", place="", text="A man.", text_pair="A woman.")
    >>> submission_text(task, [example], [5.31])
    'index\tprediction\n0\t5.000\n'
    """
    pairs = list(zip([example.id for example in examples], predictions, strict=True))
    if task.kind == "answer":
        return json_text(dict(pairs))
    rows = _GLUE_HEADER
    least, greatest = task.score_range or (-math.inf, math.inf)
    for identity, value in pairs:
        if not isinstance(value, str):
            value = f"{min(max(value, least), greatest):.3f}"
        rows += f"{identity}\t{value}\n"
    return rows
