"""A task to fine-tune on: what it is, its examples, and the examples as tokens.

Reading and encoding files makes these; training, decoding and measuring take them.
"""

import dataclasses
from array import array
from collections.abc import Sequence
from typing import Literal, get_args

from schemas.finetune_config import FineTuneConfig

Kind = Literal["classify", "multilabel", "regress", "choose", "answer", "tag"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# `f1` is that of the second label; `entity_f1` compares whole spans, and the metrics of
# CMRC are those of its own script, by character.
Metric = Literal[
    "accuracy",
    "matthews",
    "f1",
    "macro_f1",
    "micro_f1",
    "pearson",
    "spearman",
    "answer_f1",
    "exact_match",
    "cmrc_f1",
    "cmrc_exact_match",
    "entity_f1",
]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The names of the columns of a table, or keys of a record, that a task reads.

    Attributes:
        text: The text, or the first of a pair; the words of `tag`, the article of
            `choose`, the passage of `answer`.
        pair: The second text of a pair, or the question.
        label: The label, labels, score, tags, choice or answers.
        id: What an example is called; None where it is its number.
        first_option: The number of the first option of `choose`, 0 or 1; None until a
            table was read for training.
    """

    text: str | None = None
    pair: str | None = None
    label: str | None = None
    options: tuple[str, ...] = ()
    id: str | None = None
    first_option: int | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """What a task is; a `task.json` holds its fields.

    Attributes:
        name: Of a named task, else its kind.
        kind: What an example has and what is predicted.
        labels: Those of `classify`, `multilabel` and `tag`, in the order of their
            numbers: as published, else sorted; () until training examples were read.
        columns: Where they are in a table; empty until a table was read.
        metrics: What is measured; the first chooses the checkpoint.
        max_seq_length: Tokens in a sequence, special ones included, unless set.
        has_unanswerable: Whether questions of `answer` may have no answer.
        score_range: The least and the greatest score of `regress`, where known.
        submissions: The names of the files that its site takes, one for each test file.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...] = ()
    columns: Columns = Columns()
    metrics: tuple[Metric, ...] = ()
    max_seq_length: int = 128
    has_unanswerable: bool = False
    score_range: tuple[float, float] | None = None
    submissions: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaskRecord:
    """A task as a model is trained for it; what `task.json` says.

    Attributes:
        max_seq_length: Tokens in a sequence, special ones included.
        doc_stride: Of `answer`: tokens from one window of a passage to the next.
        max_query_tokens: Of `answer`: the first tokens of a question that are read.
        threshold: See `Task.best_threshold`; None where there is none, or not yet.
        trained_length: Tokens in the longest sequences that the encoder was ever
            trained on; None where it is not known.
    """

    spec: TaskSpec
    max_seq_length: int
    doc_stride: int = FineTuneConfig.doc_stride
    max_query_tokens: int = FineTuneConfig.max_query_tokens
    max_answer_tokens: int = FineTuneConfig.max_answer_tokens
    threshold: float | None = None
    trained_length: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a question.

    Attributes:
        start: Where it begins there, in characters.
    """

    text: str
    start: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TaskExample:
    """An example as a file has it. What is to be predicted is None where unknown.

    Attributes:
        id: Unique in its file: the file's own, else its number from 0.
        place: File and line or record, for messages.
        text: The text; the article of `choose`, the passage of `answer`, and the words
            of `tag` with a space between.
        text_pair: The second text, or the question of `choose` and `answer`.
        options: The options of `choose`, two or more, not always as many.
        labels: Of `multilabel`, perhaps none.
        score: Of `regress`.
        choice: Of `choose`, the number of the right option.
        tags: Of `tag`, one for each word; entities are in IOB2 whatever the file has.
        answers: Of `answer`; () for a question that has none.
    """

    id: str
    place: str
    text: str
    text_pair: str | None = None
    options: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    label: str | None = None
    labels: tuple[str, ...] | None = None
    score: float | None = None
    choice: int | None = None
    tags: tuple[str, ...] | None = None
    answers: tuple[Answer, ...] | None = None

    @property
    def is_impossible(self) -> bool:
        """Whether the question is known to have no answer."""
        return self.answers == ()


# What is right of an example, by its kind of task.
TARGETS = ("label", "labels", "score", "choice", "tags", "answers")


@dataclasses.dataclass(frozen=True, slots=True)
class TokenSequence:
    """What a model reads: `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`, not padded.

    Attributes:
        token_ids: int32 `[S]`.
        first_length: Number of tokens of segment 0, its `[CLS]` and `[SEP]` included;
            all others have segment id 1.
    """

    token_ids: "array[int]"
    first_length: int

    @property
    def segment_ids(self) -> "array[int]":
        """Of each token, int32 `[S]`.

        >>> TokenSequence(array("i", [2, 17, 3, 18, 3]), first_length=3).segment_ids
        array('i', [0, 0, 0, 1, 1])
        """
        second_length = len(self.token_ids) - self.first_length
        return array("i", [0] * self.first_length + [1] * second_length)


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """Where the tokens of a row of `answer` stand in the passage.

    Attributes:
        starts: The first character of each token in the passage, int32 `[S]`; -1 for
            tokens that are not of the passage. Spaces before a token are not part of
            it; a token without characters starts at its end.
        ends: The first character after each token, int32 `[S]`; -1 as above.
        has_max_context: 1 for tokens of the passage that have more of it around them
            than in any other window, else 0; uint8 `[S]`.
    """

    starts: "array[int]"
    ends: "array[int]"
    has_max_context: bytes


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EncodedExample:
    """One row of a batch: an example, or a part of one, as tokens.

    An example of `answer` has a row for each window, one of `tag` a row for each part
    of a sentence that is too long; all others have one row.

    Attributes:
        example: The number of its example among those that were encoded.
        sequences: One; of `choose` one for each option that there is.
        target: What is to be predicted, None where unknown: the number of the label
            (`classify`) or of the right option (`choose`); 0 or 1 for each label
            (`multilabel`); the score (`regress`); the number of each word's tag (`tag`,
            `[W]`); the first and the last token of the answer, (0, 0) if it is not
            whole in the window (`answer`).
        first_word: Of `tag`, the number in the sentence of the first word here.
        word_starts: Of `tag`, the first token of each word here, `[W]`.
        cut_tokens: Number of tokens left out because they do not fit.
    """

    example: int
    sequences: tuple[TokenSequence, ...]
    target: int | float | tuple[int, ...] | None = None
    window: Window | None = None
    first_word: int = 0
    word_starts: tuple[int, ...] = ()
    cut_tokens: int = 0

    @property
    def length(self) -> int:
        """Number of tokens of the longest sequence."""
        return max(len(sequence.token_ids) for sequence in self.sequences)


@dataclasses.dataclass(frozen=True)
class TaskRows:
    """Examples, and the rows that they are encoded as."""

    examples: Sequence[TaskExample]
    rows: Sequence[EncodedExample]

    @property
    def lengths(self) -> list[int]:
        """Tokens of each row, of `choose` of its longest option."""
        return [row.length for row in self.rows]

    @property
    def options(self) -> int:
        """Sequences of the row with most of them."""
        return max(len(row.sequences) for row in self.rows)
