"""The forms in which tasks are published: SQuAD, CMRC, RACE and C3, as rows of a table."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pipeline.tasks.columns import checked_text, checked_texts, parsed
from pipeline.tasks.table_files import Row, decode_text, json_records, read_data, table_of_records
from schemas.errors import AlbertError
from schemas.task import Answer, Columns, Kind, TaskExample

# Where each row of such a form has what a task reads.
COLUMNS = Columns(text="text", pair="question", label="label", options=("options",), id="id")

# What is counted of answers that do not stand where their file says.
MOVED = "answer that is not at its answer_start, taken from the nearest place"
NOT_FOUND = "answer that is not in its passage"

# More than this are no slips: the starts count something other than characters.
_MAX_MOVED = 0.1


def published_rows(value: Any, kind: Kind, *, path: str) -> Iterator[Row] | None:
    """The rows of a file of JSON in the form of SQuAD, C3 or RACE; None of any other."""
    articles: Any = value.get("data") if isinstance(value, dict) else value
    first = articles[0] if isinstance(articles, list) and articles else None
    # Articles of paragraphs, or CMRC's own form.
    if kind == "answer" and isinstance(first, dict) and not {"paragraphs", "qas"}.isdisjoint(first):
        return _rows_of_squad(articles, path)
    # Documents of C3: lines, questions and an id.
    if kind == "choose" and isinstance(first, list) and len(first) in (2, 3):
        return itertools.chain.from_iterable(
            _rows_of_c3(document, number, path) for number, document in enumerate(articles)
        )
    if kind == "choose":
        table = table_of_records(value, path=path, kind=kind)
        if "questions" in table.columns:
            return itertools.chain.from_iterable(_rows_of_race(r, r.place) for r in table.rows)
    return None


def _rows_of_squad(articles: Any, path: str) -> Iterator[Row]:
    """A row for each question."""
    ids = set[str]()
    try:
        for paragraph in (p for a in articles for p in a.get("paragraphs", [a])):
            # CMRC's own form calls them context_text, query_text and query_id, KLUE guid.
            text = checked_text(_either(paragraph, "context", "context_text"))
            for qa in paragraph["qas"]:
                identity = str(_either(qa, "id", "query_id", "guid"))
                question = checked_text(_either(qa, "question", "query_text")).strip()
                if identity in ids:
                    # Their predictions could not be told apart.
                    raise AlbertError(
                        f"{path}: the id {identity!r:.60} comes several times; make the ids "
                        "different."
                    )
                ids.add(identity)
                own = {"text": text, "question": question, "id": identity}
                label = qa.get("answers", qa.get("answer"))
                yield Row(f"{path}, question {identity:.60}", {**qa, **own, "label": label}, 0)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        is_missing = isinstance(error, KeyError)
        what = f"{error.args[0]!r} is missing" if is_missing else "a value is of the wrong kind"
        raise AlbertError(
            f"{path} is not in the form of SQuAD: {what}; correct the file."
        ) from None


def _either(record: dict[str, Any], *keys: str) -> Any:
    return record[next((key for key in keys if key in record), keys[0])]


def answers_in(record: dict[str, Any], key: str = "answers") -> tuple[Answer, ...] | None:
    """The answers to a question; None where they are withheld.

    >>> answers_in({"answers": {"text": ["Ada"], "answer_start": [4]}})
    (Answer(text='Ada', start=4),)
    >>> answers_in({"answers": ["Ada"]}), answers_in({}), answers_in({"answers": []})
    ((Answer(text='Ada', start=-1),), None, ())
    >>> answers_in({"answer": "Ada", "answer_start": 14}, "answer")
    (Answer(text='Ada', start=14),)
    >>> answers_in({"answers": ["Ada"], "answer_start": [14]})
    (Answer(text='Ada', start=14),)
    >>> answers_in({"answers": [{"text": "", "answer_start": 0}]})
    ()
    """
    # A text in CSV.
    if str(record.get("is_impossible")).lower() in ("true", "1", "1.0"):
        return ()
    found = parsed(record.get(key))
    if found is None:
        return None
    if isinstance(found, str) and found.lstrip()[:1] in ("[", "{"):
        raise ValueError(f"{found!r:.60} cannot be read")
    # In a column of its own, which is empty where there is no answer.
    start = parsed(record.get("answer_start"))
    if isinstance(start, list) and isinstance(found, str | list):
        found = {"text": [found] if isinstance(found, str) else found, "answer_start": start}
    elif isinstance(found, str) and (number := str(start).removesuffix(".0")).isdecimal():
        found = {"text": found, "answer_start": number}
    if isinstance(found, dict) and isinstance(found["text"], list):
        starts = found["answer_start"]
        pairs = list(zip(found["text"], starts, strict=True))
    else:
        single = [found] if isinstance(found, str | dict) else found
        pairs = [
            (each, -1) if isinstance(each, str) else (each["text"], each["answer_start"])
            for each in single
        ]
    answers = (Answer(checked_text(text), int(start)) for text, start in pairs)
    return tuple(answer for answer in answers if answer.text.strip())


def located(examples: Sequence[TaskExample], counts: Counter[str]) -> list[TaskExample]:
    """The same examples with every answer where it stands in its passage.

    If no question has an answer, the answers are withheld, as in a test set.
    """
    if not any(example.answers for example in examples):
        return [dataclasses.replace(example, answers=None) for example in examples]
    result = [_located(example, counts) for example in examples]
    moved = counts[MOVED]
    total = sum(len(example.answers or ()) for example in examples)
    if moved > _MAX_MOVED * total:
        first = next(old for old, new in zip(examples, result, strict=True) if old != new)
        raise AlbertError(
            f"{first.place}: the answer is not at its answer_start ({moved} of {total} "
            "in the file are not); count the characters before it."
        )
    return result


def _located(example: TaskExample, counts: Counter[str]) -> TaskExample:
    answers = []
    for answer in example.answers or ():
        start = nearest(example.text, answer)
        if start < 0:
            counts[NOT_FOUND] += 1
        elif start != answer.start >= 0:
            counts[MOVED] += 1
        answers.append(Answer(answer.text, start))
    return dataclasses.replace(example, answers=example.answers and tuple(answers))


def nearest(text: str, answer: Answer) -> int:
    """Where an answer stands nearest to the place that was given; -1 if nowhere.

    >>> nearest("no, no, no", Answer("no", 5))
    4
    """
    before = text.rfind(answer.text, 0, max(0, answer.start) + len(answer.text))
    after = text.find(answer.text, max(0, answer.start))
    if before < 0 or after < 0:
        return max(before, after)
    return before if answer.start - before <= after - answer.start else after


def rows_of_folder(folder: str, *, counts: Counter[str]) -> Iterator[Row]:
    """The questions of all files below a folder such as RACE's `train` or `dev/high`.

    Each file is one JSON object, or several of them a line (the `all.txt` that
    google-research/albert reads).
    """
    paths = [
        path
        for path in sorted(Path(folder).rglob("*"))
        if path.suffix in (".txt", ".json", ".jsonl") and path.is_file()
    ]
    if not paths:
        raise AlbertError(f"{folder} has no files of questions (.txt with JSON, as in RACE).")
    for path in paths:
        text = decode_text(read_data(str(path)), str(path), counts=counts)
        table = table_of_records(json_records(text, str(path)), path=str(path), kind="choose")
        for row in table.rows:
            yield from _rows_of_race(row, path.stem)


def _rows_of_race(row: Row, name: str) -> Iterator[Row]:
    """A row for each question on an article.

    Args:
        name: What the article is called if it does not say.
    """
    record = row.cells
    try:
        article, questions = checked_text(record["article"]), checked_texts(record["questions"])
        options = [checked_texts(choices) for choices in record["options"]]
        answers = record.get("answers") or [None] * len(questions)
        asked = list(zip(questions, options, answers, strict=True))
    except (KeyError, TypeError, ValueError):
        raise AlbertError(
            f"{row.place} is not in the form of RACE: it needs an article, and as many "
            "questions, options and answers."
        ) from None
    identity = str(record.get("id", name)).removesuffix(".txt")
    for number, own in enumerate(asked):
        named = zip(("question", "options", "label"), own, strict=True)
        cells = {"text": article, "id": f"{identity}-{number}", **dict(named)}
        yield Row(f"{row.place}, question {number}", cells, number)


def _rows_of_c3(document: Any, number: int, path: str) -> Iterator[Row]:
    """A row for each question on a document: its lines, its questions, and its id."""
    place = f"{path}, document {number + 1}"
    try:
        lines, asked, *identity = document
        record = {
            "article": "\n".join(checked_texts(lines)),
            "questions": [checked_text(each["question"]) for each in asked],
            "options": [checked_texts(each["choice"]) for each in asked],
            "answers": [each.get("answer") for each in asked],
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        raise AlbertError(
            f"{place} is not in the form of C3: lines, questions with choice and answer, and an id."
        ) from None
    return _rows_of_race(Row(place, record, number), str(identity[0] if identity else number))
