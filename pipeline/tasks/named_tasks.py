"""The tasks that have a name: labels, metrics, length, files and submission of each.

Names and order of labels as in google-research/albert (`classifier_utils.py`), metrics
as on the site of each task, lengths as in Table 14 of the paper unless the texts are
known to be short.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from schemas.errors import FORM, SettingError
from schemas.files import json_text
from schemas.task import KINDS, Kind, Metric, TaskExample, TaskSpec

_GLUE_FILES = r"(train|dev|test)(_(mis)?matched)?\.(tsv|csv|jsonl?|parquet)"
_INFERENCE = ("entailment", "not_entailment")
_ZERO_ONE = ("0", "1")
_TNEWS = tuple(str(number) for number in range(100, 117) if number not in (105, 111))


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


def _task(
    name: str,
    kind: Kind,
    metrics: tuple[Metric, ...],
    *,
    length: int = 128,
    files: str = "",
    header: tuple[str, ...] = (),
    **more: Any,
) -> NamedTask:
    """A row of the table; `more` are other fields of `TaskSpec`."""
    spec = TaskSpec(name=name, kind=kind, metrics=metrics, max_seq_length=length, **more)
    return NamedTask(spec, files, header)


def _glue(name: str, metrics: tuple[Metric, ...], *submissions: str, **more: Any) -> NamedTask:
    more = {"kind": "classify", "labels": _ZERO_ONE, **more}
    return _task(name, metrics=metrics, files=_GLUE_FILES, submissions=submissions, **more)


_ACCURACY: tuple[Metric, ...] = ("accuracy",)
_ACCURACY_F1: tuple[Metric, ...] = ("accuracy", "f1")
_SQUAD_METRICS: tuple[Metric, ...] = ("answer_f1", "exact_match")
_CMRC_METRICS: tuple[Metric, ...] = ("cmrc_f1", "cmrc_exact_match")
_ENTITIES: tuple[Metric, ...] = ("entity_f1",)
_SQUAD_FILES = r"|(train|dev|test)\.(json|parquet)"
_SQUAD_SUBMISSION = ("predictions.json",)

_TASKS = (
    _glue(
        "cola", ("matthews", "accuracy"), "CoLA.tsv", header=("source", "label", "star", "sentence")
    ),
    _glue("sst-2", _ACCURACY, "SST-2.tsv"),
    _glue("mrpc", _ACCURACY_F1, "MRPC.tsv"),
    _glue(
        "sts-b",
        ("pearson", "spearman"),
        "STS-B.tsv",
        kind="regress",
        labels=(),
        score_range=(0.0, 5.0),
    ),
    _glue("qqp", _ACCURACY_F1, "QQP.tsv"),
    _glue(
        "mnli",
        _ACCURACY,
        *("MNLI-m.tsv", "MNLI-mm.tsv"),
        labels=("contradiction", "entailment", "neutral"),
    ),
    _glue("qnli", _ACCURACY, "QNLI.tsv", labels=_INFERENCE),
    _glue("rte", _ACCURACY, "RTE.tsv", labels=_INFERENCE, length=256),
    _glue("wnli", _ACCURACY, "WNLI.tsv"),
    _task(
        "squad",
        "answer",
        _SQUAD_METRICS,
        length=384,
        files=r".*v1\.1.*" + _SQUAD_FILES,
        submissions=_SQUAD_SUBMISSION,
    ),
    _task(
        "squad2",
        "answer",
        _SQUAD_METRICS,
        length=512,
        files=r".*v2\.0.*" + _SQUAD_FILES,
        has_unanswerable=True,
        submissions=_SQUAD_SUBMISSION,
    ),
    _task("cmrc", "answer", _CMRC_METRICS, length=512, submissions=_SQUAD_SUBMISSION),
    _task("race", "choose", _ACCURACY, length=512),
    _task("c3", "choose", _ACCURACY, length=512),
    _task("tnews", "classify", _ACCURACY, labels=_TNEWS),
    _task("afqmc", "classify", _ACCURACY, labels=_ZERO_ONE),
    _task("chnsenticorp", "classify", _ACCURACY, labels=_ZERO_ONE, length=256),
    _task(
        "trec", "classify", _ACCURACY, labels=tuple("012345"), length=64, header=("label", "text")
    ),
    _task("cluener", "tag", _ENTITIES),
    _task("msra-ner", "tag", _ENTITIES, length=256),
    _task("wnut17", "tag", _ENTITIES),
    _task("ud-ewt", "tag", _ACCURACY),
)

NAMED_TASKS = {task.spec.name: task for task in _TASKS}

# Of tasks without a name; all others are sentences or pairs of them.
_LENGTHS: dict[Kind, int] = {"answer": 384, "choose": 512}


def task_called(name: str) -> TaskSpec:
    """The task of a name, or a task of a kind.

    Small and capital letters, hyphens and underscores make no difference.

    >>> task_called("SST2").submissions, task_called("answer").max_seq_length
    (('SST-2.tsv',), 384)
    """
    plain = _plain(name)
    for task in _TASKS:
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
