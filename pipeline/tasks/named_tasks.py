"""The tasks that have a name: labels, metrics, length, files and submission of each.

Names and order of labels as in google-research/albert (`classifier_utils.py`), metrics
as on the site of each task, lengths as in Table 14 of the paper unless the texts are
known to be short.
"""

from collections.abc import Sequence
from typing import NamedTuple

from schemas.errors import SettingError
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


def _glue(
    name: str,
    metrics: tuple[Metric, ...],
    submissions: tuple[str, ...],
    *,
    labels: tuple[str, ...] = _ZERO_ONE,
    header: tuple[str, ...] = (),
    max_seq_length: int = 128,
) -> NamedTask:
    spec = TaskSpec(
        name=name,
        kind="classify",
        labels=labels,
        metrics=metrics,
        max_seq_length=max_seq_length,
        submissions=submissions,
    )
    return NamedTask(spec, _GLUE_FILES, header)


def _chinese(name: str, labels: tuple[str, ...], *, max_seq_length: int) -> NamedTask:
    spec = TaskSpec(
        name=name,
        kind="classify",
        labels=labels,
        metrics=("accuracy",),
        max_seq_length=max_seq_length,
    )
    return NamedTask(spec)


def _answer(
    name: str,
    metrics: tuple[Metric, ...],
    *,
    max_seq_length: int,
    files: str = "",
    has_unanswerable: bool = False,
) -> NamedTask:
    spec = TaskSpec(
        name=name,
        kind="answer",
        metrics=metrics,
        max_seq_length=max_seq_length,
        has_unanswerable=has_unanswerable,
        submissions=("predictions.json",),
    )
    return NamedTask(spec, files)


def _choose(name: str) -> NamedTask:
    return NamedTask(
        TaskSpec(name=name, kind="choose", metrics=("accuracy",), max_seq_length=512)
    )


def _tag(name: str, metric: Metric, *, max_seq_length: int) -> NamedTask:
    return NamedTask(
        TaskSpec(
            name=name, kind="tag", metrics=(metric,), max_seq_length=max_seq_length
        )
    )


_SQUAD_METRICS: tuple[Metric, ...] = ("answer_f1", "exact_match")

_TASKS = (
    _glue(
        "cola",
        ("matthews", "accuracy"),
        ("CoLA.tsv",),
        header=("source", "label", "star", "sentence"),
    ),
    _glue("sst-2", ("accuracy",), ("SST-2.tsv",)),
    _glue("mrpc", ("accuracy", "f1"), ("MRPC.tsv",)),
    NamedTask(
        TaskSpec(
            name="sts-b",
            kind="regress",
            metrics=("pearson", "spearman"),
            score_range=(0.0, 5.0),
            submissions=("STS-B.tsv",),
        ),
        _GLUE_FILES,
    ),
    _glue("qqp", ("accuracy", "f1"), ("QQP.tsv",)),
    _glue(
        "mnli",
        ("accuracy",),
        ("MNLI-m.tsv", "MNLI-mm.tsv"),
        labels=("contradiction", "entailment", "neutral"),
    ),
    _glue("qnli", ("accuracy",), ("QNLI.tsv",), labels=_INFERENCE),
    _glue("rte", ("accuracy",), ("RTE.tsv",), labels=_INFERENCE, max_seq_length=256),
    _glue("wnli", ("accuracy",), ("WNLI.tsv",)),
    _answer(
        "squad",
        _SQUAD_METRICS,
        max_seq_length=384,
        files=r".*v1\.1.*|(train|dev|test)\.(json|parquet)",
    ),
    _answer(
        "squad2",
        _SQUAD_METRICS,
        max_seq_length=512,
        files=r".*v2\.0.*|(train|dev|test)\.(json|parquet)",
        has_unanswerable=True,
    ),
    _answer("cmrc", ("cmrc_f1", "cmrc_exact_match"), max_seq_length=512),
    _choose("race"),
    _choose("c3"),
    _chinese("tnews", _TNEWS, max_seq_length=128),
    _chinese("afqmc", _ZERO_ONE, max_seq_length=128),
    _chinese("chnsenticorp", _ZERO_ONE, max_seq_length=256),
    NamedTask(
        TaskSpec(
            name="trec",
            kind="classify",
            labels=tuple("012345"),
            metrics=("accuracy",),
            max_seq_length=64,
        ),
        header=("label", "text"),
    ),
    _tag("cluener", "entity_f1", max_seq_length=128),
    _tag("msra-ner", "entity_f1", max_seq_length=256),
    _tag("wnut17", "entity_f1", max_seq_length=128),
    _tag("ud-ewt", "accuracy", max_seq_length=128),
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
            return TaskSpec(
                name=kind, kind=kind, max_seq_length=_LENGTHS.get(kind, 128)
            )
    raise SettingError(
        f"--task {name!r:.60} is neither a kind ({', '.join(KINDS)}) nor a task that "
        f"is known by name ({', '.join(NAMED_TASKS)})."
    )


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


_GLUE_HEADER = "index\tprediction\n"


def submission_text(
    task: TaskSpec,
    examples: Sequence[TaskExample],
    predictions: Sequence[str | float],
) -> str:
    r"""A file of predictions, as GLUE or SQuAD takes it.

    Args:
        examples: Of its test set, in the order of the file.
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
    rows = [f"{identity}\t{_shown(task, value)}\n" for identity, value in pairs]
    return _GLUE_HEADER + "".join(rows)


def _shown(task: TaskSpec, value: str | float) -> str:
    if isinstance(value, str):
        return value
    if task.score_range is not None:
        least, greatest = task.score_range
        value = min(max(value, least), greatest)
    return f"{value:.3f}"
