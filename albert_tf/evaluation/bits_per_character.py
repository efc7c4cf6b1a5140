"""Bits per character: how likely a model finds held-out words.

The words are the same in any vocabulary. A token of a word is predicted while it and
all later tokens of the word are masked and everything around the word is visible (Kauf
and Ivanova, 2305.10588). So a word counts as one whether the vocabulary has one token
for it or four, and its probability is the product over its tokens. The bits of all
words by their characters compare with those of models of any vocabulary and any
training masks on the same text.
"""

import functools
import hashlib
import heapq
import itertools
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
import numpy.typing as npt
from keras import ops

from albert_tf.data.input_pipeline import Records
from albert_tf.evaluation.counting import UNKNOWN, Asked, Bools, Float, Int, held_out_text
from albert_tf.evaluation.held_out import tokens_at_once
from albert_tf.model.compiling import Compiled, Program
from albert_tf.model.pretrainer import AlbertPretrainer, Batch
from albert_tf.planning.cost import MAX_TOKENS
from schemas.example import MASK_ID, PAD_ID, SEP_ID, SPACE, SPECIAL_TOKENS

Row = npt.NDArray[Any]

# The share of all words that may be asked about.
SHARE = 0.15

# Words are drawn from this much text, about 800,000 of them in English.
TEXT_LETTERS = 4_000_000

# Letters on either side that tell one occurrence of a word from another.
CONTEXT = 16


class Vocabulary(NamedTuple):
    """The tokens of a vocabulary.

    Attributes:
        tokens: The text of each, `[V]`.
        word_starts: Whether each starts a word, `[V]`.
    """

    tokens: Sequence[str]
    word_starts: Bools


class Span(NamedTuple):
    """Tokens `[start, end)` of a row, by the number of the row."""

    row: int
    start: int
    end: int


class Word(NamedTuple):
    """An occurrence of a word.

    Attributes:
        characters: How many characters it has, its space not counted.
        key: Hash of the word and the letters around it, from 0 to 2**64 - 1.
    """

    span: Span
    characters: int
    key: int


def sample_words(rows: Iterable[Row], vocabulary: Vocabulary, *, maximum: int) -> list[Word]:
    """A sample of the words of some rows: `SHARE` of them, or `maximum`.

    Which ones follows from the text alone, not from how a vocabulary divides it, so
    that models of different vocabularies are asked about the same words of the same
    text (up to those that stand where one of them ends a row).

    Args:
        rows: Token ids, special ones included, nothing masked.

    Returns:
        The words in the order of the text.
    """
    tokens, starts, bound = vocabulary.tokens, vocabulary.word_starts, round(SHARE * (1 << 64))
    asked = (
        word
        for number, row in enumerate(rows)
        for word in words_of_row([tokens[t] for t in row.tolist()], starts[row], number=number)
        if word.key < bound
    )
    return sorted(heapq.nsmallest(maximum, asked, key=lambda word: word.key))


def first_rows(rows: Iterable[Row], vocabulary: Vocabulary) -> Iterator[Row]:
    """Rows up to `TEXT_LETTERS` letters: nearly the same text in any vocabulary."""
    letters = np.array([len(_letters(text)) for text in vocabulary.tokens])
    left = TEXT_LETTERS
    for row in rows:
        if left <= 0:
            return
        yield row
        left -= int(letters[row].sum())


def held_out_rows(records: Records, vocabulary: Vocabulary, *, examples: int) -> list[Row]:
    """The `first_rows` of the first held-out examples, nothing masked."""
    texts = held_out_text(records.dataset, records.manifest, examples=examples)
    rows = itertools.chain.from_iterable(text.rows for text in texts)
    return list(first_rows(rows, vocabulary))


def words_of_row(shown: Sequence[str], starts: Bools, *, number: int = 0) -> Iterator[Word]:
    """The words of a row that consist of letters alone.

    Numbers are left out, because vocabularies divide them into words of their own.

    Args:
        shown: The text of each token, special ones included, `[S]`.
        starts: Whether each starts a word, `[S]`.

    >>> shown = ["[CLS]", "▁a", "▁riv", "er", "▁7", ".", "[SEP]"]
    >>> starts = np.array([True, True, True, False, True, True, True])
    >>> [(word.span, word.characters) for word in words_of_row(shown, starts)]
    [(Span(row=0, start=1, end=2), 1), (Span(row=0, start=2, end=4), 5)]
    """
    spelled = [_letters(token) for token in shown]
    text = "".join(spelled)
    ends = [0, *itertools.accumulate(map(len, spelled))]
    for start, end in word_bounds(starts):
        first, last = ends[start], ends[end]
        whole = "".join(shown[start:end]).removeprefix(SPACE)
        if whole and whole == text[first:last]:
            before, after = text[max(0, first - CONTEXT) : first], text[last:]
            place = f"{before} {whole} {after[:CONTEXT]}".encode()
            key = int.from_bytes(hashlib.blake2b(place, digest_size=8).digest(), "big")
            yield Word(Span(number, start, end), len(whole), key)


def word_bounds(starts: Bools) -> Iterator[tuple[int, int]]:
    """Where each word of a row begins and ends, from where words start, `[S]`.

    >>> list(word_bounds(np.array([True, False, True])))
    [(0, 2), (2, 3)]
    """
    return itertools.pairwise([*np.flatnonzero(starts).tolist(), len(starts)])


@functools.lru_cache(maxsize=1 << 17)
def _letters(token: str) -> str:
    """The letters of a token, and the marks on them; a special token has none."""
    if token in SPECIAL_TOKENS:
        return ""
    return "".join(filter(is_letter, token))


def is_letter(character: str) -> bool:
    """Whether a word may have this character: a letter or a mark on one.

    >>> [is_letter(c) for c in ("é", "の", "3", "'", "▁")]
    [True, True, False, False, False]
    """
    return unicodedata.category(character)[0] in "LM"


# Tokens computed at a time on a CPU, padding included. All widths that are a power of two, or
# three times one, divide it, so that the layers see one shape whatever the width.
BATCH_TOKENS = 3072

# The least length that questions are padded to.
LEAST_WIDTH = 8


class Questions(NamedTuple):
    """N tokens to predict.

    Attributes:
        rows: Token ids, special ones included, nothing masked.
        row: In which of the rows each token stands, `[N]`.
        place: Where it stands there, `[N]`.
        end: The place after its word: it and the tokens up to there are masked, `[N]`.
    """

    rows: Sequence[Row]
    row: Int
    place: Int
    end: Int


def questions_about(rows: Sequence[Row], words: Sequence[Span]) -> Questions:
    """One question for each token of some words.

    >>> questions = questions_about([np.array([2, 8, 9, 7, 3])], [Span(0, 1, 3)])
    >>> questions.place, questions.end
    (array([1, 2]), array([3, 3]))
    """
    row, start, end = np.array(words, np.int64).reshape(-1, 3).T
    sizes = end - start
    firsts = np.cumsum(sizes) - sizes
    place = np.arange(sizes.sum()) + np.repeat(start - firsts, sizes)
    return Questions(rows, np.repeat(row, sizes), place, np.repeat(end, sizes))


class WordScorer:
    """A model that is asked about words; every shape is compiled once."""

    def __init__(self, model: AlbertPretrainer) -> None:
        self._answer = Compiled(_losses, model)
        longest = model.config.max_position_embeddings
        tokens = self._answer.devices * tokens_at_once(model.config, length=longest)
        times = tokens // MAX_TOKENS
        self._batches = functools.partial(batches_by_length, longest=longest, times=times)

    def program(self, length: int) -> Program:
        """What compiles it on JAX for rows of which the longest has such a length."""
        questions = Questions([np.zeros(length, np.int32)], *np.zeros((3, 1), np.int64))
        ((_, batch),) = self._batches(questions)
        return self._answer.program(batch)

    def losses(
        self,
        rows: Sequence[Row],
        words: Sequence[Span],
        *,
        on_batch: Callable[[int], None] = lambda done: None,
    ) -> Float:
        """Minus the log probability of each word, in nats, `[W]`.

        Args:
            rows: Nothing in them is masked.
            on_batch: Told the tokens that each batch predicted.
        """
        questions = questions_about(rows, words)
        losses = np.zeros(len(questions.row))
        for some, of_batch in self.answers(questions):
            losses[some] = of_batch
            on_batch(len(some))
        return sum_by_word(losses, words)

    def answers(self, questions: Questions) -> Iterator[tuple[Int, Float]]:
        """Numbers of some questions and their losses in nats, a batch at a time."""
        for some, batch in self._batches(questions):
            yield some, np.asarray(self._answer(batch))[: len(some)]


def sum_by_word(losses: Float, words: Sequence[Span]) -> Float:
    """The losses of all tokens of some words, added up for each word, `[W]`."""
    sizes = [word.end - word.start for word in words]
    numbers = np.repeat(np.arange(len(words)), sizes)
    sums: Any = np.bincount(numbers, weights=losses, minlength=len(words))
    totals: Float = sums
    return totals


def known_beside(questions: Questions) -> Asked:
    """What counting knows of each token of a word that a model is asked about.

    Like the model, counting reads a word from left to right: it knows the token before
    each token of a word, but the one after only for the last.
    """
    starts = np.cumsum([0, *map(len, questions.rows)])[questions.row]
    tokens = np.concatenate([*questions.rows, [UNKNOWN]]).astype(np.int64)
    places = starts + questions.place
    is_last = questions.place == questions.end - 1
    return Asked(
        labels=tokens[places],
        left=tokens[places - 1],
        right=np.where(is_last, tokens[places + 1], UNKNOWN),
    )


def batches_by_length(
    questions: Questions, *, longest: int, times: int = 1
) -> Iterator[tuple[Int, Batch]]:
    """Batches of questions of about one length, the longest first, with their numbers.

    Each is filled up to the number of rows of its width, so that every width has one
    shape. On JAX all have the width of the longest, since each takes seconds to compile.

    Args:
        times: So many times `BATCH_TOKENS` at a time.
    """
    lengths = np.array([len(row) for row in questions.rows], np.int64)[questions.row]
    order, first = np.argsort(-lengths, kind="stable"), 0
    while first < len(order):
        place = 0 if keras.backend.backend() == "jax" else first
        width = width_of(int(lengths[order[place]]), longest=longest)
        size = max(1, BATCH_TOKENS * times // width)
        some = order[first : first + size]
        yield some, _batch(questions, some, size=size, width=width)
        first += size


def width_of(length: int, *, longest: int) -> int:
    """The length that rows of a length are padded to: one of a few, each compiled once.

    >>> [width_of(length, longest=512) for length in (5, 9, 20, 33, 100, 512)]
    [8, 12, 24, 48, 128, 512]
    """
    width = LEAST_WIDTH
    while width < length:
        # Powers of two, and between them three halves of each.
        width = width * 3 // 2 if width & (width - 1) == 0 else width * 4 // 3
    return min(width, longest)


def _batch(questions: Questions, some: Int, *, size: int, width: int) -> Batch:
    """Arrays `[size, width]`, rows that ask nothing last."""
    ids = np.full((size, width), PAD_ID, np.int32)
    mask = np.zeros((size, width), np.int32)
    places, labels = np.zeros((2, size, 1), np.int32)
    for number, question in enumerate(some.tolist()):
        tokens = questions.rows[questions.row[question]]
        place = questions.place[question]
        ids[number, : len(tokens)] = tokens
        ids[number, place : questions.end[question]] = MASK_ID
        mask[number, : len(tokens)] = 1
        places[number], labels[number] = place, tokens[place]
    mask[len(some) :, 0] = 1  # A row of padding alone has nothing to attend to.
    separators = np.cumsum(ids == SEP_ID, axis=1) - (ids == SEP_ID)
    return {
        "input_ids": ids,
        "input_mask": mask,
        "segment_ids": ((separators == 1) & (mask == 1)).astype(np.int32),
        "masked_lm_positions": places,
        "masked_lm_ids": labels,
        "masked_lm_weights": np.ones((size, 1), np.float32),
        "sentence_order_labels": np.full(size, -1, np.int32),
    }


def _losses(model: AlbertPretrainer, batch: Batch) -> Any:
    logits, _ = model(batch)
    losses, _ = model.operations.cross_entropy(logits, ops.reshape(batch["masked_lm_ids"], (-1,)))
    return losses
