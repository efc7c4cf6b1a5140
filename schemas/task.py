"""A task to fine-tune on: what it is, its tags and examples, and the examples as tokens.

IOB2 is made of each, and back.

Reading and encoding files makes these; training, decoding and measuring take them.
"""

import dataclasses
import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from schemas.finetune_config import FineTuneConfig

# IOB1 begins an entity with B only after another of its type, IOB2 always; IOBES (also
# as BILOU, BMES or BMEWO) marks the last word and the only word of an entity as well.
Convention = Literal["IOB1", "IOB2", "IOBES"]
_ENTITY_TAG = re.compile(r"O|[BIESLUMW]-.+", re.DOTALL)
# The forms of a tag other than O: its place in an entity before its type, after it, or
# alone where all entities are of one type.
_FORMS = (
    re.compile(r"(?P<place>[BIESLUMW])[-_](?P<type>.+)", re.DOTALL),
    re.compile(r"(?P<type>.+)[-_](?P<place>[BIESLUMW])", re.DOTALL),
    re.compile(r"(?P<place>[BIESLUMW])"),
)
_ONLY_TYPE = "entity"
_INSIDE = "IELM"
_LAST = "ESLUW"
# The letters that a scheme may have for a word of an entity, the most exact ones first.
_BEGINNING_LETTERS, _ONLY_LETTERS = "BI", "SUWBI"
_INNER_LETTERS, _LAST_LETTERS = "IM", "ELIM"


def with_prefixes(tags: Iterable[str]) -> dict[str, str]:
    """Each different tag in the form B-PER, if all have one form; else as it is.

    >>> sorted(with_prefixes(["PER-B", "PER-I", "O"]).values())
    ['B-PER', 'I-PER', 'O']
    >>> with_prefixes(["B_PER"]), with_prefixes(["B"]), with_prefixes(["B-PER", "NOUN"])
    ... # doctest: +NORMALIZE_WHITESPACE
    ({'B_PER': 'B-PER', 'O': 'O'}, {'B': 'B-entity', 'O': 'O'},
     {'B-PER': 'B-PER', 'NOUN': 'NOUN'})
    """
    different = sorted(set(tags))
    for form in _FORMS:
        found = {tag: form.fullmatch(tag) for tag in different if tag != "O"}
        parts = {tag: each.groupdict() for tag, each in found.items() if each}
        if len(parts) == len(found):
            named = {
                tag: f"{each['place']}-{each.get('type', _ONLY_TYPE)}"
                for tag, each in parts.items()
            }
            return {**named, "O": "O"}
    return {tag: tag for tag in different}


def are_entities(tags: Iterable[str]) -> bool:
    """Whether tags mark entities, and are not one for each word such as NOUN.

    >>> are_entities({"O", "B-PER", "I-PER"}), are_entities({"NOUN", "O"})
    (True, False)
    """
    different = set(tags)
    found = with_prefixes(different).values()
    return different != {"O"} and all(map(_ENTITY_TAG.fullmatch, found))


def convention_of(sentences: Sequence[Sequence[str]]) -> Convention:
    """The convention that the tags of entities of a file follow.

    >>> convention_of([["I-PER", "I-PER", "O"], ["I-LOC", "B-LOC"]])
    'IOB1'
    >>> convention_of([["B-PER", "I-PER", "O"]]), convention_of([["S-PER", "O"]])
    ('IOB2', 'IOBES')
    """
    if any(tag[0] not in "BIO" for tags in sentences for tag in tags):
        return "IOBES"
    begins = Counter(
        tag[0]
        for tags in sentences
        for tag, before in _with_before(tags)
        if tag != "O" and (before == "O" or before[2:] != tag[2:])
    )
    return "IOB2" if begins["B"] else "IOB1"


def iob2(tags: Sequence[str]) -> list[str]:
    """The tags of a sentence in IOB2, from any convention.

    An I- that continues nothing begins an entity, as conlleval reads it.

    >>> iob2(["I-PER", "I-PER", "B-PER", "O", "S-LOC", "E-ORG"])
    ['B-PER', 'I-PER', 'B-PER', 'O', 'B-LOC', 'B-ORG']
    """
    forms = with_prefixes(tags)
    return [
        "O" if tag == "O" else f"{'I' if _continues(tag, before) else 'B'}-{tag[2:]}"
        for tag, before in _with_before([forms[tag] for tag in tags])
    ]


def without_beginning(tags: Sequence[str]) -> int:
    """How many entities begin with an inner word, where B- or S- ought to stand.

    >>> without_beginning(["I-PER", "O", "B-LOC", "I-PER"])
    2
    """
    return sum(
        tag[0] in _INSIDE and not _continues(tag, before) for tag, before in _with_before(tags)
    )


def _continues(tag: str, before: str) -> bool:
    return tag[0] in _INSIDE and before[0] not in _LAST and before[1:] == tag[1:]


def _with_before(tags: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each tag with the one before it."""
    return zip(tags, ["O", *tags], strict=False)


def are_iob2(labels: Collection[str]) -> bool:
    """Whether labels of entities are those of IOB2, each in the form B-PER."""
    letters = {label[0] for label in labels}
    is_form = all(form == label for label, form in with_prefixes(labels).items())
    return letters <= {"B", "I", "O"} and "B" in letters and is_form


def scheme_tags(tags: Sequence[str], labels: Collection[str]) -> tuple[str, ...]:
    """Tags in IOB2 in the scheme that labels follow; unknown ones stay as they are.

    >>> iobes = {"O", "B-A", "I-A", "E-A", "S-A"}
    >>> scheme_tags(["B-A", "I-A", "I-A", "O", "B-A"], iobes)
    ('B-A', 'I-A', 'E-A', 'O', 'S-A')
    >>> scheme_tags(["B-A", "I-A", "O"], {"O", "I-A"})
    ('I-A', 'I-A', 'O')
    >>> scheme_tags(["B-A", "I-A", "O"], {"O", "A-B", "A-I"})
    ('A-B', 'A-I', 'O')
    """
    found, own_form = [], {form: tag for tag, form in with_prefixes(labels).items()}
    for tag, after in zip(tags, [*tags[1:], "O"], strict=True):
        goes_on = after == f"I-{tag[2:]}"
        if tag[0] == "B":
            letters = _BEGINNING_LETTERS if goes_on else _ONLY_LETTERS
        else:
            letters = _INNER_LETTERS if goes_on else _LAST_LETTERS
        own = (f"{letter}-{tag[2:]}" for letter in letters)
        known = (own_form[form] for form in own if form in own_form)
        found.append(tag if tag == "O" else next(known, tag))
    return tuple(found)


class Entity(NamedTuple):
    """A span of words `[start, end)` of some type."""

    type: str
    start: int
    end: int


def entities_of(tags: Sequence[str]) -> list[Entity]:
    """The entities of a sentence, whose tags are of any scheme.

    >>> entities_of(["B-PER", "E-PER", "O", "I-LOC", "S-LOC"])
    ... # doctest: +NORMALIZE_WHITESPACE
    [Entity(type='PER', start=0, end=2), Entity(type='LOC', start=3, end=4),
     Entity(type='LOC', start=4, end=5)]
    """
    entities: list[Entity] = []
    for place, tag in enumerate(iob2(tags)):
        if tag[0] == "B":
            entities.append(Entity(tag[2:], place, place + 1))
        elif tag[0] == "I":
            entities[-1] = entities[-1]._replace(end=place + 1)
    return entities


Kind = Literal["classify", "multilabel", "regress", "choose", "answer", "tag", "embed"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# `f1` is that of the second label; `entity_f1` compares whole spans, and the metrics of
# CMRC are those of its own script, by character. A text's recall at N is whether its
# partner is among the N of all partners that are nearest to it.
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
    "recall_at_1",
    "recall_at_10",
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
        divider: What divides the labels of `multilabel` in a text; None until a table
            that was read for training shows it.
    """

    text: str | None = None
    pair: str | None = None
    label: str | None = None
    options: tuple[str, ...] = ()
    id: str | None = None
    first_option: int | None = None
    divider: str | None = None


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
        options: The options of `choose`, two or more, not always as many; of `embed` a
            text that does not belong to the first, where there is one.
        labels: Of `multilabel`, perhaps none.
        score: Of `regress`, and of `embed` how alike the texts are: 1 of all pairs that
            only belong together.
        choice: Of `choose`, the number of the right option.
        tags: Of `tag`, one for each word; entities are in IOB2 whatever the file has.
        answers: Of `answer`; () for a question that has none.
        cells: Of an example to predict the whole row of its table, to be written again.
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
    cells: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    @property
    def is_impossible(self) -> bool:
        """Whether the question is known to have no answer."""
        return self.answers == ()

    @property
    def is_empty(self) -> bool:
        """Whether one of its texts is."""
        return any(each is not None and not each.strip() for each in (self.text, self.text_pair))


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
        sequences: One; of `choose` one for each option that there is, of `embed` one for
            each text.
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
