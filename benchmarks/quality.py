"""Bits per character of any masked language models, on the same words of one text.

    python -m benchmarks.quality MODEL... --data DATA --words 2000
    python -m benchmarks.quality MODEL... --text FILE

A model is a run of albert, a folder that transformers reads as a masked language model
with a fast tokenizer (needs the extra `hf`), or one of KerasHub that `peers` trained.
Each reads the text with its own tokenizer. A word is masked alone, and its tokens are
predicted from left to right. Only words that all models have whole are asked about:
those that none of them divides in a way of its own, cuts off or does not know. With
--data the text is the held-out split, and counting on the training split stands beside
the models. --csv keeps the figures for `benchmarks.curves`.
"""

import argparse
import csv
import itertools
import re
import textwrap
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from albert_tf.evaluation.bits_per_character import (
    BATCH_TOKENS,
    SHARE,
    TEXT_LETTERS,
    Row,
    Span,
    Word,
    WordScorer,
    batches_by_length,
    known_beside,
    questions_about,
    sum_by_word,
    width_of,
    words_of_row,
)
from albert_tf.evaluation.counting import Float, NeighbourCounts, training_text
from albert_tf.model.trained_model import pretrainer_of, read_trained
from albert_tf.runs.metrics import bits_per_character
from benchmarks.peers import KERAS_HUB_FILE, LENGTH, inputs_of, read_keras_hub
from pipeline.records.reading import read_unmasked
from pipeline.vocabulary.tokenizer import Tokenizer, load_tokenizer, read_spm_model, starts_word
from schemas.example import CLS_ID, SEP, SEP_ID, SPACE, SPECIAL_TOKENS, UNK
from schemas.layout import EVAL, MODEL_CONFIG
from schemas.manifest import read_manifest

# Characters of a passage of a text file: they fit into 128 tokens.
PASSAGE = 300


class Encoded(NamedTuple):
    """A passage as a model reads it.

    Attributes:
        ids: Its tokens, special ones included, `[S]`.
        shown: The text of each, `▁` before those that follow a space, `[S]`.
    """

    ids: Row
    shown: list[str]


class Scored(Protocol):
    """Whatever predicts the words of a text."""

    name: str

    def encode(self, passages: Sequence[str]) -> list[Encoded]:
        """Each passage as tokens."""

    def losses(self, rows: Sequence[Row], words: Sequence[Span]) -> Float:
        """Minus the log probability of each word, in nats, `[W]`."""


class OfRun:
    """A run of albert."""

    def __init__(self, run: Path) -> None:
        self.name = run.name
        self._tokenizer = load_tokenizer(read_spm_model(run))
        model = pretrainer_of(read_trained(run))
        self._longest = model.config.max_position_embeddings
        self._scorer = WordScorer(model)

    def encode(self, passages: Sequence[str]) -> list[Encoded]:
        """Each passage as tokens, as many as the model reads."""
        return encode(passages, self._tokenizer, longest=self._longest)

    def losses(self, rows: Sequence[Row], words: Sequence[Span]) -> Float:
        """Minus the log probability of each word, in nats, `[W]`."""
        return self._scorer.losses(rows, words)


class OfCounting:
    """Counting tokens, or both their neighbours."""

    def __init__(self, counts: NeighbourCounts, tokenizer: Tokenizer, *, neighbours: bool) -> None:
        self.name = "counting both neighbours" if neighbours else "counting tokens"
        self._tokenizer = tokenizer
        self._predict = counts.from_neighbours if neighbours else counts.from_frequencies

    def encode(self, passages: Sequence[str]) -> list[Encoded]:
        """Each passage as tokens."""
        return encode(passages, self._tokenizer, longest=1 << 20)

    def losses(self, rows: Sequence[Row], words: Sequence[Span]) -> Float:
        """Minus the log probability of each word, in nats, `[W]`."""
        asked = known_beside(questions_about(rows, words))
        return sum_by_word(self._predict(asked).losses, words)


def encode(passages: Sequence[str], tokenizer: Tokenizer, *, longest: int) -> list[Encoded]:
    """Each passage between [CLS] and [SEP], by a vocabulary of albert."""
    found = []
    for ids in tokenizer.encode(list(passages)):
        row = [CLS_ID, *ids[: longest - 2], SEP_ID]
        found.append(Encoded(np.array(row), [tokenizer.piece(i) for i in row]))
    return found


class OfTransformers:
    """A masked language model that transformers reads."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModelForMaskedLM, AutoTokenizer

        self.name = folder.name
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._model = AutoModelForMaskedLM.from_pretrained(folder).eval()
        self._longest = self._model.config.max_position_embeddings

    def encode(self, passages: Sequence[str]) -> list[Encoded]:
        """Each passage as tokens, as many as the model reads."""
        found = []
        for passage in passages:
            encoded = self._tokenizer(
                passage,
                return_offsets_mapping=True,
                return_special_tokens_mask=True,
                truncation=True,
                max_length=self._longest,
            )
            ids = np.array(encoded["input_ids"])
            shown = shown_tokens(
                passage, encoded["offset_mapping"], is_special=encoded["special_tokens_mask"]
            )
            unknown = ids == self._tokenizer.unk_token_id
            shown = [UNK if u else s for u, s in zip(unknown, shown, strict=True)]
            found.append(Encoded(ids, shown))
        return found

    def losses(self, rows: Sequence[Row], words: Sequence[Span]) -> Float:
        """Minus the log probability of each word, in nats, `[W]`."""
        import torch

        rows_of, places, ends = questions_about(rows, words)[1:]
        lengths = np.array([len(rows[row]) for row in rows_of])
        order, first = np.argsort(-lengths, kind="stable"), 0
        losses = np.zeros(len(rows_of))
        while first < len(order):
            width = width_of(int(lengths[order[first]]), longest=self._longest)
            some = order[first : first + BATCH_TOKENS // width]
            ids = np.full((len(some), width), self._tokenizer.pad_token_id or 0)
            labels = np.zeros(len(some), np.int64)
            for number, question in enumerate(some):
                row, place = rows[rows_of[question]], places[question]
                ids[number, : len(row)] = row
                ids[number, place : ends[question]] = self._tokenizer.mask_token_id
                labels[number] = row[place]
            mask = np.arange(width) < lengths[some][:, None]
            with torch.inference_mode():
                logits = self._model(
                    input_ids=torch.tensor(ids), attention_mask=torch.tensor(mask.astype(np.int64))
                ).logits
                chosen = logits[torch.arange(len(some)), torch.tensor(places[some])]
                losses[some] = torch.nn.functional.cross_entropy(
                    chosen.float(), torch.tensor(labels), reduction="none"
                ).numpy()
            first += len(some)
        return sum_by_word(losses, words)


class OfKerasHub:
    """A model of KerasHub that `peers` trained, with a vocabulary of albert."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self._tokenizer = load_tokenizer(read_spm_model(folder))
        self._model = read_keras_hub(folder)

    def encode(self, passages: Sequence[str]) -> list[Encoded]:
        """Each passage as tokens, as many as the model reads."""
        return encode(passages, self._tokenizer, longest=LENGTH)

    def losses(self, rows: Sequence[Row], words: Sequence[Span]) -> Float:
        """Minus the log probability of each word, in nats, `[W]`."""
        questions = questions_about(rows, words)
        losses = np.zeros(len(questions.row))
        for some, batch in batches_by_length(questions, longest=LENGTH):
            asked = inputs_of(batch["input_ids"], batch["masked_lm_positions"])
            logits = np.asarray(self._model(asked), np.float64)[: len(some), 0]
            labels = batch["masked_lm_ids"][: len(some)]
            chosen = np.take_along_axis(logits, labels, axis=1)[:, 0]
            losses[some] = np.logaddexp.reduce(logits, axis=1) - chosen
        return sum_by_word(losses, words)


def shown_tokens(
    text: str, offsets: Sequence[tuple[int, int]], *, is_special: Sequence[int]
) -> list[str]:
    """The text of each token by its place, as SentencePiece would show it.

    >>> places = [(0, 0), (0, 1), (1, 2), (2, 5), (5, 7), (7, 8), (0, 0)]
    >>> shown_tokens("a river.", places, is_special=[1, 0, 0, 0, 0, 0, 1])
    ['[SEP]', '▁a', '▁', 'riv', 'er', '.', '[SEP]']
    """
    shown = [SEP]
    for (start, end), special in zip(offsets, is_special, strict=True):
        token = text[start:end]
        follows_space = not text[:start] or text[start - 1] == " "
        begins = token != token.lstrip() or (follows_space and shown[-1] != SPACE)
        shown.append(SEP if special else (SPACE if begins else "") + token.strip())
    return shown[1:]


def words_by_key(passages: Sequence[Encoded]) -> dict[int, Word]:
    """The words that may be asked about, by the hash of each and its surroundings."""
    found: dict[int, Word] = {}
    for number, (_, shown) in enumerate(passages):
        shown = [s if s in SPECIAL_TOKENS else s.lower() for s in shown]
        starts = np.array([starts_word(token) for token in shown])
        for word in words_of_row(shown, starts, number=number):
            if word.key < SHARE * 2**64:
                found[word.key] = word
    return found


def held_out_passages(data: Path) -> Iterator[str]:
    """The segments of held-out examples, as their vocabulary normalized them."""
    tokenizer = load_tokenizer(read_spm_model(data))
    for text in read_unmasked(data, read_manifest(data), split=EVAL):
        for row in text.rows:
            ends = np.flatnonzero(row == SEP_ID)
            for start, end in itertools.pairwise([0, *ends]):
                yield tokenizer.decode(row[start + 1 : end].tolist())


def passages_of(text: str) -> Iterator[str]:
    r"""A text in passages of whole words, a blank line between paragraphs.

    >>> list(passages_of("One\nline.\n\nAnother."))
    ['One line.', 'Another.']
    """
    for paragraph in re.split(r"\n\s*\n", text):
        yield from textwrap.wrap(" ".join(paragraph.split()), width=PASSAGE)


def up_to(passages: Iterator[str], *, characters: int) -> Iterator[str]:
    """The first passages, up to a number of characters in all."""
    for passage in passages:
        if characters <= 0:
            return
        yield passage
        characters -= len(passage)


def models_of(arguments: argparse.Namespace) -> Iterator[Scored]:
    """Everything that is to be scored."""
    for path in arguments.models:
        if (path / MODEL_CONFIG).exists():
            yield OfRun(path)
        elif (path / KERAS_HUB_FILE).exists():
            yield OfKerasHub(path)
        else:
            yield OfTransformers(path)
    if arguments.data:
        data = arguments.data
        tokenizer = load_tokenizer(read_spm_model(data))
        texts = training_text(data, read_manifest(data))
        counts = NeighbourCounts(texts, vocab_size=tokenizer.vocab_size)
        for neighbours in (True, False):
            yield OfCounting(counts, tokenizer, neighbours=neighbours)


def score(
    models: Sequence[Scored], passages: Sequence[str], *, maximum: int
) -> Iterator[dict[str, Any]]:
    """The losses of each model on words that all have."""
    encoded = [model.encode(passages) for model in models]
    found = [words_by_key(rows) for rows in encoded]
    common = sorted(set.intersection(*map(set, found)))[:maximum]
    for model, rows, words in zip(models, encoded, found, strict=True):
        asked = [words[key] for key in common]
        start = time.perf_counter()
        losses = model.losses([row.ids for row in rows], [word.span for word in asked])
        yield {
            "name": model.name,
            "losses": losses,
            "characters": np.array([float(word.characters) for word in asked]),
            "seconds": time.perf_counter() - start,
        }


def main() -> None:
    """Print a table, the best model first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--words", type=int, default=2000)
    parser.add_argument("--csv", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if (arguments.data is None) == (arguments.text is None):
        parser.error("give --data or --text")
    text = (
        held_out_passages(arguments.data)
        if arguments.data
        else passages_of(arguments.text.read_text(encoding="utf-8"))
    )
    passages = list(up_to(text, characters=TEXT_LETTERS))
    models = list(models_of(arguments))
    rows = list(score(models, passages, maximum=arguments.words))
    rows.sort(key=lambda row: float(row["losses"].sum()))
    characters = rows[0]["characters"]
    print(f"{len(characters):,} words, {int(characters.sum()):,} characters\n")
    print("| model | bits per character | more than the first | words a second |")
    print("|---|--:|--:|--:|")
    kept = []
    for row in rows:
        bits = bits_per_character(row["losses"], characters)
        kept.append([row["name"], bits.value, bits.low, bits.high])
        more = bits_per_character(row["losses"] - rows[0]["losses"], characters)
        print(
            f"| {row['name']} | {bits.value:.3f} ({bits.low:.3f} to {bits.high:.3f}) "
            f"| {more.value:.3f} ({more.low:.3f} to {more.high:.3f}) "
            f"| {len(characters) / row['seconds']:.0f} |"
        )
    if arguments.csv:
        with arguments.csv.open("w", newline="") as file:
            csv.writer(file).writerows(kept)


if __name__ == "__main__":
    main()
