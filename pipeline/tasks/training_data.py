"""The training examples of a task: its labels, what is wrong, a tenth held out."""

import dataclasses
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pipeline.core.documents import largest_first
from pipeline.tasks.named_tasks import wanted
from schemas.errors import AlbertError
from schemas.readable import counted, listed
from schemas.task import Kind, Metric, TaskExample, TaskSpec, are_entities

Examples = Sequence[TaskExample]

_METRICS: dict[Kind, tuple[Metric, ...]] = {
    "classify": ("accuracy", "macro_f1"),
    "multilabel": ("micro_f1", "macro_f1"),
    "regress": ("pearson", "spearman"),
    "choose": ("accuracy",),
    "answer": ("answer_f1", "exact_match"),
    "tag": ("accuracy",),
    "embed": ("recall_at_1", "recall_at_10"),
}


def with_labels(task: TaskSpec, train: Examples) -> TaskSpec:
    """The task as its training examples make it.

    >>> examples = [TaskExample(id=l, place="", text="", label=l) for l in ("10", "9")]
    >>> with_labels(TaskSpec(name="classify", kind="classify"), examples).labels
    ('9', '10')
    """
    found = {label: example for example in reversed(train) for label in labels_of(example)}
    known = set(task.labels)
    for label, example in found.items() if known else ():
        if label not in known:
            raise AlbertError(
                f"{example.place}: the label {label!r:.60} is not one of "
                f"{task.name}: {', '.join(task.labels):.200}."
            )
    if task.kind == "multilabel" and found and all(map(_MARKS.fullmatch, found)):
        raise AlbertError(
            f"{train[0].place} has 0 or 1 for each label and not their names; give lists of names "
            "(pandas: [[n for n, m in zip(names, row) if m] for row in df.labels]), or a column "
            f"for each label and their names with --label-column{wanted(task.kind)}"
        )
    labels = task.labels or _in_order(found, task.kind)
    metrics = task.metrics or default_metrics(task.kind, labels)
    if task.kind == "embed" and {each.score for each in train} != {1.0}:
        metrics = ("spearman",)
    learned = found if task.kind != "regress" else {each.score for each in train}
    if task.kind in ("classify", "regress", "tag") and len(learned) < 2:
        what = "score" if task.kind == "regress" else "label"
        raise AlbertError(
            f"All {len(train)} training examples have the same {what} "
            f"{next(iter(learned), None)!r:.60}; there is nothing to learn."
        )
    return dataclasses.replace(
        task,
        labels=labels,
        metrics=metrics,
        has_unanswerable=task.has_unanswerable or any(example.is_impossible for example in train),
    )


def default_metrics(kind: Kind, labels: Sequence[str]) -> tuple[Metric, ...]:
    """The metrics of a task that has no name.

    >>> default_metrics("tag", ("O", "B-PER", "I-PER"))
    ('entity_f1',)
    """
    if kind == "tag" and are_entities(set(labels)):
        return ("entity_f1",)
    return _METRICS[kind]


def labels_of(example: TaskExample) -> tuple[str, ...]:
    """The labels that an example has: its label, its labels or its tags."""
    if example.label is not None:
        return (example.label,)
    return example.labels or example.tags or ()


def _in_order(labels: Iterable[str], kind: Kind) -> tuple[str, ...]:
    """Numbers by their value, all others by the alphabet; of tags, O first.

    Entities that may begin may go on, also if none of the training examples does.
    """
    different = set(labels)
    if kind == "tag" and are_entities(different):
        types = sorted({label[2:] for label in different if label != "O"})
        return ("O", *(f"{prefix}-{each}" for each in types for prefix in "BI"))
    if all(label.isascii() and label.isdecimal() for label in different):
        return tuple(sorted(different, key=int))
    return tuple(sorted(different))


# Of a label with fewer training examples nothing can be learned or measured.
_RARE = 10

# Labels that are only marks of others.
_MARKS = re.compile(r"[01](?:[\s,;|.]+[01])*|true|false")

# This many of them are named.
_MOST_RARE = 20

# What programs write in the place of a label that is missing.
_MISSING = "-1 na n/a <na> nan null none ? ?? unsure unclear unknown undecided skip"

# Labels of which it is said how many examples have them.
_SHOWN = 10

# The share of texts that may come again with other labels.
_MAX_SEVERAL = 0.5

# The share of answers that may be absent from their passages; real files lack 2 in 100.
_MAX_LOST_ANSWERS = 0.1


def check_examples(task: TaskSpec, train: Examples, *, evaluation: Examples) -> None:
    """Refuse examples that a task cannot have.

    Args:
        train: None of a model that was trained before.
    """
    known_labels = set(task.labels)
    for example in evaluation:
        for label in labels_of(example):
            if label not in known_labels:
                names = listed(task.labels, most=_MOST_RARE)
                why = f"no training example has the label {label!r:.60}; add some"
                if not train:
                    why = f"{label!r:.60} is none of the labels of the model ({names}); rename it"
                raise AlbertError(f"{example.place}: {why}, or leave it out.")
    targets: dict[tuple[str, str], set[Any]] = defaultdict(set)
    for example in train if task.kind in ("classify", "multilabel") else ():
        targets[_key(example)].add(example.label or example.labels)
    if (several := sum(len(each) > 1 for each in targets.values())) > _MAX_SEVERAL * len(targets):
        raise AlbertError(
            f"{several:,} of {len(targets):,} different texts come with several labels, a row "
            "each, and no label can be learned; put all labels of a text into one row for --task "
            "multilabel (pandas: df.groupby('text')['label'].agg(list)), or give what tells the "
            "rows apart as --pair-column."
        )
    scores = {example.score for example in evaluation}
    if task.kind == "embed" and task.metrics != ("spearman",) and scores - {1.0}:
        raise AlbertError(
            f"{evaluation[0].place}: pairs to measure on have scores, and those to train on have "
            "none; give both scores, or leave out pairs that do not belong together."
        )
    known = sum(bool(example.answers) for example in train)
    lost = _without_their_answers(train)
    if len(lost) > _MAX_LOST_ANSWERS * known:
        raise AlbertError(
            f"{lost[0].place} and {len(lost) - 1} more of {known} have an answer "
            "that is not in the passage; copy answers from it character by character."
        )


def task_summary(task: TaskSpec, train: Examples) -> Iterator[str]:
    """What is to be learned, so that a wrong column is seen: labels, or scores.

    >>> examples = [TaskExample(id="", place="", text="", label=l) for l in "aab"]
    >>> spec = with_labels(TaskSpec(name="classify", kind="classify"), examples)
    >>> list(task_summary(spec, examples))
    ['2 labels: a 2, b 1']
    """
    if task.kind == "regress" or task.metrics == ("spearman",):
        scores = [example.score for example in train if example.score is not None]
        mean = sum(scores) / len(scores)
        yield (
            f"Scores from {min(scores):g} to {max(scores):g}, {mean:.4g} in the mean; "
            f"{len(set(scores)):,} different ones"
        )
    elif task.kind == "answer":
        without, questions = sum(e.is_impossible for e in train), len(train)
        yield f"{counted(questions, 'question')}, {without:,} of them without an answer"
    elif task.kind == "embed":
        yield f"{counted(len(train), 'pair')} of texts that belong together"
    elif task.kind == "choose":
        numbers = Counter(e.choice + 1 for e in train if e.choice is not None)
        sizes = sorted({len(example.options) for example in train})
        options = " to ".join(dict.fromkeys(map(str, (sizes[0], sizes[-1]))))
        yield f"{options} options; the right one by its number: {_most(numbers)}"
    else:
        counts = Counter(label for example in train for label in labels_of(example))
        yield f"{counted(len(task.labels), 'label')}: {_most(counts)}"
        if without := sum(not labels_of(example) for example in train):
            yield f"{counted(without, 'example')} without any of them"


def _most(counts: Counter[Any]) -> str:
    """The first ten of what was counted, the most frequent first."""
    return listed((f"{name!s:.40} {n:,}" for name, n in largest_first(counts)), most=_SHOWN)


def warnings_about(task: TaskSpec, train: Examples, *, evaluation: Examples) -> Iterator[str]:
    """What a person should know, a sentence each. None of it forbids training."""
    yield from _about_labels(task, train)
    divider = task.columns.divider
    if whole := [label for label in task.labels if divider and divider in label]:
        yield (
            f"Labels with {divider!r} in them, which divides those of other rows: "
            f"{listed(whole, most=_MOST_RARE)}."
        )
    cases = Counter(map(str.casefold, task.labels))
    if alike := [label for label in task.labels if cases[label.casefold()] > 1]:
        yield f"Labels that differ in capital letters alone: {listed(alike, most=_MOST_RARE)}."
    trained = set(map(_key, train))
    if overlap := sum(_key(example) in trained for example in evaluation):
        yield (
            f"Evaluation examples with a text that is trained on: {overlap:,} of "
            f"{len(evaluation):,}."
        )
    if empty := sum(example.is_empty for example in (*train, *evaluation)):
        yield f"Examples with an empty text: {empty:,}."
    if lost := len(_without_their_answers(train)):
        yield (
            f"Questions not trained on, because their answers are not in their passages: {lost:,}."
        )


def _about_labels(task: TaskSpec, train: Examples) -> Iterator[str]:
    counts = Counter(label for example in train for label in labels_of(example))
    # The number of an entity's inner words says nothing.
    known = [label for label in task.labels if not label.startswith("I-")]
    if rare := [f"{name} {counts[name]}" for name in known if counts[name] < _RARE]:
        shown = listed(rare, most=_MOST_RARE)
        yield f"Labels with fewer than {_RARE} training examples: {shown}."
    missing = [f"{n} {counts[n]:,}" for n in known if counts[n] and n.lower() in _MISSING.split()]
    if missing and task.kind != "tag":
        yield (
            f"Labels that may say that there is none: {', '.join(missing)}; leave out "
            "their rows if they do."
        )
    are_numbers = task.labels and all(map(str.isdecimal, task.labels))
    if are_numbers and task.kind == "tag":
        yield (
            "The tags are numbers, so words are measured and no entities; to measure "
            "these give the tags by name, such as B-PER."
        )
    elif are_numbers and task.name == task.kind:
        yield (
            "The labels are numbers, and predictions and exports show these; to see "
            "names, give the labels by name."
        )
    elif (
        task.kind == "tag"
        and any(label == "O" or "B-" in label for label in task.labels)
        and not are_entities(task.labels)
    ):
        odd = [label for label in task.labels if label != "O" and not are_entities({label})]
        yield (
            f"Tags that are none of entities, such as B-PER: {listed(odd, most=_MOST_RARE)}; so "
            "words are measured and no entities."
        )
    if task.kind == "multilabel" and all(len(labels_of(example)) < 2 for example in train):
        yield (
            "No example has several labels; to divide those of a cell give a list, or ; or | "
            "between them."
        )


def _without_their_answers(train: Examples) -> list[TaskExample]:
    """The questions that have answers, none of which is in the passage."""
    return [
        example
        for example in train
        if example.answers and all(answer.start < 0 for answer in example.answers)
    ]


def _key(example: TaskExample) -> tuple[str, str]:
    """What two examples share if knowing one by heart is to know the other."""
    is_passage = example.options or example.answers is not None
    pair = "" if is_passage else example.text_pair or ""
    return (" ".join(example.text.split()), " ".join(pair.split()))


_SHARE = 0.1


def hold_out(examples: Examples) -> tuple[list[TaskExample], list[TaskExample]]:
    """The training examples, and a tenth of each label that is held out of them.

    Which ones depends on the text alone: on neither the order of a file nor what else
    is in it. Examples of the same text, of the same passage, and of the same two texts in
    either order stay together.

    >>> examples = [TaskExample(id=str(n), place="", text=str(n), label=str(n % 2))
    ...             for n in range(40)]
    >>> train, held_out = hold_out(examples)
    >>> sorted(e.label for e in held_out)
    ['0', '0', '1', '1']
    """
    by_label: dict[str, list[str]] = defaultdict(list)
    for text, first in {example.text: example for example in reversed(examples)}.items():
        by_label[first.label or ""].append(text)
    chosen: set[str] = set()
    for texts in by_label.values():
        texts.sort(key=lambda text: hashlib.sha256(text.encode()).digest())
        chosen |= set(texts[: round(_SHARE * len(texts))])
    keys = {(example.text, example.text_pair) for example in examples if _key(example)[1]}

    def is_chosen(example: TaskExample) -> bool:
        is_turned = (example.text_pair, example.text) in keys
        return example.text in chosen or (is_turned and example.text_pair in chosen)

    # Not the texts with a label, or a tag, that no other text has.
    rest = {label for e in examples if not is_chosen(e) for label in labels_of(e)}
    alone = [e for e in examples if not rest.issuperset(labels_of(e))]
    chosen -= {text for e in alone for text in (e.text, e.text_pair or "")}
    if not chosen:
        most = max(map(len, by_label.values()), default=0)
        what = "no label has" if any(by_label) else "there are no"
        raise AlbertError(
            f"{len(examples)} training examples are too few to hold out a tenth of "
            f"them: {what} more than {counted(most, 'different text')}; give some to "
            "choose by with --eval."
        )
    return (
        [example for example in examples if not is_chosen(example)],
        [example for example in examples if is_chosen(example)],
    )
