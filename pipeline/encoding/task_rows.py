"""The examples of a task become the rows of batches."""

import functools
import itertools
import re
from collections.abc import Iterator, Sequence

from pipeline.encoding.sequences import (
    SPECIAL_OF_ONE,
    SPECIAL_OF_PAIR,
    best_answer,
    cut_pair,
    parts_of_sentence,
    passage_windows,
    sequence_of,
    word_encoder,
)
from pipeline.vocabulary.tokenizer import Tokenizer
from schemas.errors import SettingError
from schemas.task import EncodedExample, TaskExample, TaskRecord, TaskRows

# The last tokens of question and option together (google-research/albert, RACE).
_MAX_QUESTION_AND_OPTION = 128

# Where a question has a blank, each option is read in its place. Beside a letter it is
# part of a name, unless the letter is of a script without spaces.
_BLANK = re.compile(r"(?<!\w)_+(?!\w)", re.ASCII)

# A sequence has room for three special tokens, and for a token of each text.
MIN_SEQ_LENGTH = 8

# Texts whose tokens are in memory before the rest of them is cut off.
_ENCODED_AT_ONCE = 1000

# Passages that successive examples share are encoded once.
_RECENT = 4


def encode_examples(
    examples: Sequence[TaskExample], record: TaskRecord, *, tokenizer: Tokenizer
) -> TaskRows:
    """Examples with their rows, in their order."""
    if record.max_seq_length < MIN_SEQ_LENGTH:
        raise SettingError(
            f"--max-seq-length must be at least {MIN_SEQ_LENGTH}, not {record.max_seq_length}."
        )
    own = {"choose": _choices, "tag": _tagged, "answer": _questions, "embed": _alone}
    rows_of = own.get(record.spec.kind, _texts)
    return TaskRows(examples, list(rows_of(examples, record, tokenizer=tokenizer)))


def question_room(max_query_tokens: int, *, max_seq_length: int) -> int:
    """How many tokens of a question are read beside its passage.

    Args:
        max_seq_length: Tokens in a sequence, special ones included, of which half at
            least are for the passage.

    >>> question_room(64, max_seq_length=384), question_room(64, max_seq_length=65)
    (64, 31)
    """
    return min(max_query_tokens, (max_seq_length - SPECIAL_OF_PAIR) // 2)


def _texts(
    examples: Sequence[TaskExample], record: TaskRecord, *, tokenizer: Tokenizer
) -> Iterator[EncodedExample]:
    """Rows of `classify`, `multilabel` and `regress`."""
    firsts = _encoded([example.text for example in examples], tokenizer)
    seconds = _encoded([example.text_pair or "" for example in examples], tokenizer)
    numbers = {label: number for number, label in enumerate(record.spec.labels)}
    for number, (example, first, second) in enumerate(zip(examples, firsts, seconds, strict=True)):
        if example.text_pair is None:
            kept, after = first[: record.max_seq_length - SPECIAL_OF_ONE], None
        else:
            room = record.max_seq_length - SPECIAL_OF_PAIR
            length, length_after = cut_pair(len(first), len(second), room=room)
            kept, after = first[:length], second[:length_after]
        yield EncodedExample(
            example=number,
            sequences=(sequence_of(kept, after),),
            target=_target(example, numbers),
            cut_tokens=len(first) + len(second) - len(kept) - len(after or ()),
        )


def _alone(
    examples: Sequence[TaskExample], record: TaskRecord, *, tokenizer: Tokenizer
) -> Iterator[EncodedExample]:
    """Rows of `embed`: a sequence for each text."""
    groups = [
        [e.text, *([] if e.text_pair is None else [e.text_pair]), *e.options] for e in examples
    ]
    encoded = _encoded([text for group in groups for text in group], tokenizer)
    room = record.max_seq_length - SPECIAL_OF_ONE
    for number, (example, group) in enumerate(zip(examples, groups, strict=True)):
        ids = [next(encoded) for _ in group]
        yield EncodedExample(
            example=number,
            sequences=tuple(sequence_of(each[:room], None) for each in ids),
            target=example.score,
            cut_tokens=sum(max(0, len(each) - room) for each in ids),
        )


def _encoded(texts: list[str], tokenizer: Tokenizer) -> Iterator[list[int]]:
    """The tokens of each text; those of a few texts are in memory at a time."""
    for first in range(0, len(texts), _ENCODED_AT_ONCE):
        yield from tokenizer.encode(texts[first : first + _ENCODED_AT_ONCE])


def _target(example: TaskExample, numbers: dict[str, int]) -> int | float | tuple[int, ...] | None:
    if example.label is not None:
        return numbers[example.label]
    if example.labels is not None:
        target = [0] * len(numbers)
        for label in numbers.keys() & example.labels:
            target[numbers[label]] = 1
        return tuple(target)
    return example.score


def _choices(
    examples: Sequence[TaskExample], record: TaskRecord, *, tokenizer: Tokenizer
) -> Iterator[EncodedExample]:
    """Rows of `choose`: `[CLS] article [SEP] question option [SEP]` for each option.

    Of question and option the end is kept, of the article the beginning.
    """
    room = record.max_seq_length - SPECIAL_OF_PAIR
    asked_room = min(_MAX_QUESTION_AND_OPTION, room // 2)
    article_of = functools.lru_cache(_RECENT)(lambda text: tokenizer.encode([text])[0])
    for number, example in enumerate(examples):
        article = article_of(example.text)
        asked = tokenizer.encode([_asked(example.text_pair, option) for option in example.options])
        kept = [ids[-asked_room:] for ids in asked]
        sequences = tuple(sequence_of(article[: room - len(k)], k) for k in kept)
        cut = sum(
            max(0, len(article) + len(k) - room) + len(ids) - len(k)
            for k, ids in zip(kept, asked, strict=True)
        )
        yield EncodedExample(
            example=number, sequences=sequences, target=example.choice, cut_tokens=cut
        )


def _asked(question: str | None, option: str) -> str:
    """A question with one of its options.

    >>> _asked("He ____ home.", "went"), _asked("Who?", "Ada"), _asked(None, "Ada")
    ('He went home.', 'Who? Ada', 'Ada')
    >>> _asked("What does `my_list` do?", "Nothing.")
    'What does `my_list` do? Nothing.'
    """
    if question is None:
        return option
    asked, blanks = _BLANK.subn(lambda _: option, question)
    return asked if blanks else f"{question} {option}"


def _questions(
    examples: Sequence[TaskExample], record: TaskRecord, *, tokenizer: Tokenizer
) -> Iterator[EncodedExample]:
    """Rows of `answer`: one for each window of the passage."""
    length = record.max_seq_length
    room = question_room(record.max_query_tokens, max_seq_length=length)
    questions = _encoded([example.text_pair or "" for example in examples], tokenizer)
    passage_of = functools.lru_cache(_RECENT)(tokenizer.encode_with_offsets)
    for number, (example, question) in enumerate(zip(examples, questions, strict=True)):
        passage = passage_of(example.text)
        tokens = best_answer(passage, example.answers or ())
        is_known = example.is_impossible or tokens is not None
        for sequence, window, target in passage_windows(
            question[:room], passage, tokens, max_seq_length=length, stride=record.doc_stride
        ):
            yield EncodedExample(
                example=number,
                sequences=(sequence,),
                target=target if is_known else None,
                window=window,
                cut_tokens=max(0, len(question) - room),
            )


def _tagged(
    examples: Sequence[TaskExample], record: TaskRecord, *, tokenizer: Tokenizer
) -> Iterator[EncodedExample]:
    """Rows of `tag`: one for each part of a sentence."""
    encode = word_encoder(tokenizer)
    numbers = {label: number for number, label in enumerate(record.spec.labels)}
    for number, example in enumerate(examples):
        words = encode(example.words)
        for first, kept in parts_of_sentence(words, room=record.max_seq_length - SPECIAL_OF_ONE):
            here = slice(first, first + len(kept))
            tags = None if example.tags is None else example.tags[here]
            ids = list(itertools.chain.from_iterable(kept))
            yield EncodedExample(
                example=number,
                sequences=(sequence_of(ids, None),),
                target=None if tags is None else tuple(numbers[tag] for tag in tags),
                first_word=first,
                # After [CLS].
                word_starts=tuple(itertools.accumulate(map(len, kept), initial=1))[:-1],
                cut_tokens=sum(map(len, words[here])) - len(ids),
            )
