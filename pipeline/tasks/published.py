"""The forms in which tasks are published: SQuAD, CMRC, RACE and C3."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pipeline.tasks.columns import as_text, as_texts, parsed
from pipeline.tasks.options import choice_of, two_or_more
from pipeline.tasks.table_files import Row, decode_text, json_records, read_data, table_of_records
from schemas.errors import AlbertError
from schemas.task import Answer, TaskExample

# What is counted of answers that do not stand where their file says.
MOVED = "answer that is not at its answer_start, taken from the nearest place"
NOT_FOUND = "answer that is not in its passage"

# More than this are no slips: the starts count something other than characters.
_MAX_MOVED = 0.1


def read_squad(value: Any, *, path: str, counts: Counter[str]) -> list[TaskExample]:
    """The questions of a file.

    An answer that stands elsewhere than its file says is taken from the nearest place
    of its passage; one that is not there at all keeps its text, for scoring, with start
    -1.

    >>> paragraph = {"context": "Ada wrote it.", "qas": [
    ...     {"id": "1", "question": "Who?", "answers": [{"text": "Ada",
    ...                                                  "answer_start": 0}]},
    ...     {"id": "2", "question": "When?", "answers": [], "is_impossible": True}]}
    >>> file = {"data": [{"paragraphs": [paragraph]}]}
    >>> [e.answers for e in read_squad(file, path="a.json", counts=Counter())]
    [(Answer(text='Ada', start=0),), ()]
    """
    articles = value["data"] if isinstance(value, dict) else value
    examples = []
    try:
        for paragraph in (p for a in articles for p in a.get("paragraphs", [a])):
            # CMRC's own form calls them context_text, query_text and query_id, KLUE guid.
            text = as_text(_either(paragraph, "context", "context_text"))
            for qa in paragraph["qas"]:
                identity = str(_either(qa, "id", "query_id", "guid"))
                example = TaskExample(
                    id=identity,
                    place=f"{path}, question {identity:.60}",
                    text=text,
                    text_pair=as_text(_either(qa, "question", "query_text")).strip(),
                    answers=answers_of(qa, "answer" if "answer" in qa else "answers"),
                )
                examples.append(example)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        is_missing = isinstance(error, KeyError)
        missing = f"{error.args[0]!r} is missing" if is_missing else ""
        what = missing or "a value is of the wrong kind"
        raise AlbertError(
            f"{path} is not in the form of SQuAD: {what}; correct the file."
        ) from None
    for identity, count in Counter(example.id for example in examples).items():
        # Their predictions could not be told apart.
        if count > 1:
            raise AlbertError(
                f"{path}: the id {identity!r:.60} comes {count} times; make the ids different."
            )
    return located(examples, counts)


def _either(record: dict[str, Any], *keys: str) -> Any:
    return record[next((key for key in keys if key in record), keys[0])]


def answers_of(record: dict[str, Any], key: str = "answers") -> tuple[Answer, ...] | None:
    """The answers to a question; None where they are withheld.

    >>> answers_of({"answers": {"text": ["Ada"], "answer_start": [4]}})
    (Answer(text='Ada', start=4),)
    >>> answers_of({"answers": ["Ada"]}), answers_of({}), answers_of({"answers": []})
    ((Answer(text='Ada', start=-1),), None, ())
    >>> answers_of({"answer": "Ada", "answer_start": 14}, "answer")
    (Answer(text='Ada', start=14),)
    >>> answers_of({"answers": [{"text": "", "answer_start": 0}]})
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
    start = str(record.get("answer_start")).removesuffix(".0")
    if isinstance(found, str) and start.isdecimal():
        found = {"text": found, "answer_start": start}
    if isinstance(found, dict) and isinstance(found["text"], list):
        starts = found["answer_start"]
        pairs = list(zip(found["text"], starts, strict=True))
    else:
        single = [found] if isinstance(found, str | dict) else found
        pairs = [
            (each, -1) if isinstance(each, str) else (each["text"], each["answer_start"])
            for each in single
        ]
    answers = (Answer(as_text(text), int(start)) for text, start in pairs)
    return tuple(answer for answer in answers if answer.text.strip())


def located(examples: Sequence[TaskExample], counts: Counter[str]) -> list[TaskExample]:
    """The same examples with every answer where it stands in its passage.

    If no question has an answer, the answers are withheld, as in a test set.
    """
    if not any(example.answers for example in examples):
        return [dataclasses.replace(example, answers=None) for example in examples]
    before = counts[MOVED]
    result = [_located(example, counts) for example in examples]
    moved = counts[MOVED] - before
    total = sum(len(example.answers or ()) for example in examples)
    if moved > _MAX_MOVED * total:
        first = next(old for old, new in zip(examples, result, strict=True) if old != new)
        raise AlbertError(
            f"{first.place}: the answer is not at its answer_start ({moved} of {total} "
            "in the file are not); count the characters before it."
        )
    return result


def _located(example: TaskExample, counts: Counter[str]) -> TaskExample:
    if not example.answers or all(
        example.text.startswith(answer.text, answer.start) and answer.start >= 0
        for answer in example.answers
    ):
        return example
    answers = []
    for answer in example.answers:
        start = nearest(example.text, answer)
        if start < 0:
            counts[NOT_FOUND] += 1
        elif start != answer.start >= 0:
            counts[MOVED] += 1
        answers.append(Answer(answer.text, start))
    return dataclasses.replace(example, answers=tuple(answers))


def nearest(text: str, answer: Answer) -> int:
    """Where an answer stands nearest to the place that was given; -1 if nowhere.

    >>> nearest("no, no, no", Answer("no", 5))
    4
    """
    before = text.rfind(answer.text, 0, max(0, answer.start) + len(answer.text))
    after = text.find(answer.text, max(0, answer.start))
    if before < 0 or after < 0 or not answer.text:
        return max(before, after) if answer.text else -1
    return before if answer.start - before <= after - answer.start else after


def read_race(folder: str, *, counts: Counter[str]) -> list[TaskExample]:
    """The questions of all files below a folder such as RACE's `train` or `dev/high`.

    Each file is one JSON object, or several of them a line (the `all.txt` that
    google-research/albert reads).
    """
    paths = [
        path
        for path in sorted(Path(folder).rglob("*"))
        if path.suffix in (".txt", ".json", ".jsonl") and path.is_file()
    ]
    examples: list[TaskExample] = []
    for path in paths:
        text = decode_text(read_data(str(path)), str(path), counts=counts)
        table = table_of_records(json_records(text, str(path)), path=str(path), kind="choose")
        for row in table.rows:
            examples += race_questions(row, path.stem)
    if not examples:
        raise AlbertError(f"{folder} has no files of questions (.txt with JSON, as in RACE).")
    return examples


def race_questions(row: Row, name: str) -> Iterator[TaskExample]:
    """The questions on one article.

    Args:
        name: What the article is called if it does not say.
    """
    record = row.cells
    try:
        article, questions = as_text(record["article"]), as_texts(record["questions"])
        options = [as_texts(choices) for choices in record["options"]]
        answers = record.get("answers") or [None] * len(questions)
        asked = list(zip(questions, options, answers, strict=True))
    except (KeyError, TypeError, ValueError):
        raise AlbertError(
            f"{row.place} is not in the form of RACE: it needs an article, and as many "
            "questions, options and answers."
        ) from None
    identity = str(record.get("id", name)).removesuffix(".txt")
    for number, (question, choices, answer) in enumerate(asked):
        place = f"{row.place}, question {number}"
        yield TaskExample(
            id=f"{identity}-{number}",
            place=place,
            text=article,
            text_pair=question,
            options=two_or_more(choices, place=place),
            choice=choice_of(answer, choices, place=place),
        )


def read_c3(value: Any, *, path: str) -> list[TaskExample]:
    """The questions of a file of C3.

    >>> value = [[["A: hi"], [{"question": "Who?", "choice": ["a", "b"],
    ...                        "answer": "b"}], "1-2"]]
    >>> example, = read_c3(value, path="c3.json")
    >>> example.id, example.options, example.choice
    ('1-2-0', ('a', 'b'), 1)
    """
    examples: list[TaskExample] = []
    for number, document in enumerate(value):
        place = f"{path}, document {number + 1}"
        try:
            text = "\n".join(as_texts(document[0]))
            identity = document[2] if len(document) > 2 else number
            for index, asked in enumerate(document[1]):
                options = two_or_more(as_texts(asked["choice"]), place=place)
                example = TaskExample(
                    id=f"{identity}-{index}",
                    place=f"{place}, question {index}",
                    text=text,
                    text_pair=as_text(asked["question"]),
                    options=options,
                    choice=choice_of(asked.get("answer"), options, place=place),
                )
                examples.append(example)
        except (KeyError, TypeError, IndexError, AttributeError):
            raise AlbertError(
                f"{place} is not in the form of C3: lines, questions with choice and "
                "answer, and an id."
            ) from None
    return examples
