"""A trained model with its vocabulary, and what it says of texts.

`albert_tf.load("run")` and the commands that read a model for texts have it from here: the
only module of `albert_tf` that reads text.
"""

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from keras import ops

from albert_tf.convert.external import without_padding_rows
from albert_tf.convert.reading import read_whole_model
from albert_tf.finetuning.predictor import Predictor
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.model.trained_model import (
    TrainedModel,
    as_embedder,
    likeliest,
    mask_probabilities,
    pretrainer_of,
)
from albert_tf.runs.checkpoints import Which
from albert_tf.runs.metrics import QUIET, Say
from albert_tf.tasks.evaluation import Answered
from pipeline.encoding.queries import check_length, check_text, encode_masked
from pipeline.encoding.task_rows import encode_examples
from pipeline.tasks.table_examples import words_of
from pipeline.vocabulary.importing import notes_on, read_vocabulary
from pipeline.vocabulary.tokenizer import Tokenizer
from schemas.errors import AlbertError, SettingError
from schemas.layout import MODEL_CONFIG, vocabulary_file
from schemas.task import EncodedExample, TaskExample, TaskRecord, TaskRows, TaskSpec

# TensorFlow looks for GPUs, and reports on it, once something is computed.
ops.zeros(1)

Row = str | tuple[str, str | None] | Mapping[str, Any]


class Model:
    """A run, an export or a fine-tuned model, with its vocabulary.

    Args:
        checkpoint: The newest weights of a run, or its best; None as the commands do.
        needs_head: Whether a model of another program without a masked-LM head is refused.
        say: Told what a person should know of its files.
        tokenizer: What `read_vocabulary` gives, if it was read before.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        checkpoint: Which | None = None,
        needs_head: bool = False,
        say: Say = QUIET.say,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        path = Path(folder)
        self.tokenizer: Tokenizer = tokenizer or read_vocabulary(path)
        for note in notes_on(path):
            say(note)
        found = read_whole_model(path, which=checkpoint, needs_head=needs_head, say=say)
        self.trained = fitted(found, self.tokenizer)

    @property
    def tuned(self) -> TrainedModel:
        """The model, once it is found to be a fine-tuned one."""
        if self.trained.task is None:
            raise AlbertError(
                f"{self.trained.folder} is not a fine-tuned model; give a folder that albert "
                "finetune, or albert import of such a model, has written."
            )
        return self.trained

    @functools.cached_property
    def _pretrainer(self) -> AlbertPretrainer:
        return pretrainer_of(self.trained, is_compiled=False)

    @functools.cached_property
    def embedder(self) -> TrainedModel:
        """The model that turns texts into vectors."""
        return as_embedder(self.trained)

    @functools.cached_property
    def _vectors(self) -> Predictor:
        return Predictor(self.embedder, is_compiled=False)

    @functools.cached_property
    def _answers(self) -> Predictor:
        return Predictor(self.tuned, is_compiled=False)

    def tokenize(self, text: str) -> list[str]:
        """The pieces of a text, without special ones."""
        check_text(text)
        return list(map(self.tokenizer.piece, self.tokenizer.encode([text])[0]))

    def masks(self, text: str, *, top: int) -> tuple[list[int], list[list[tuple[int, float]]]]:
        """The token ids of a text, and the likeliest ones at each [MASK] of it."""
        ids = encode_masked(text, self.tokenizer)
        check_length(text, len(ids), longest=self.trained.max_seq_length)
        probabilities = mask_probabilities(self._pretrainer, ids)
        return ids, [likeliest(row, top=top) for row in probabilities]

    def fill_mask(self, text: str, *, top: int = 5) -> list[list[tuple[str, float]]]:
        """The likeliest pieces at each [MASK] of a text, with their probabilities."""
        if "masked_lm_head" in self.trained.untrained:
            # The command says so and answers; here nobody would read it.
            raise AlbertError(f"{self.trained.folder}: {self.trained.notes[0]}")
        _, masks = self.masks(text, top=top)
        return [[(self.tokenizer.piece(piece), share) for piece, share in mask] for mask in masks]

    def encode(
        self, texts: Iterable[str], *, dimensions: int | None = None
    ) -> npt.NDArray[np.float32]:
        """Vectors of length 1 of N texts, `[N, H]`, or their first `dimensions` numbers."""
        return self.vectors_of(self.rows_of(texts).rows, dimensions=dimensions)

    def rows_of(self, texts: Iterable[str]) -> TaskRows:
        """Texts as they are read to be embedded, a row each."""
        record = self.embedder.record
        return self.encoded(examples_of(texts, record.spec), record)

    def vectors_of(
        self, rows: Sequence[EncodedExample], *, dimensions: int | None = None
    ) -> npt.NDArray[np.float32]:
        """What `encode` gives, of texts that are rows."""
        width = self.trained.config.hidden_size
        if dimensions is not None and not 1 <= dimensions <= width:
            raise SettingError(
                f"--dimensions {dimensions} is not from 1 to the {width} numbers of a vector; "
                "give another number."
            )
        vectors = np.zeros((len(rows), width), np.float32)
        for number, found in enumerate(self._vectors.logits(rows)):
            vectors[number] = found[0]
        vectors = vectors[:, :dimensions]
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        scaled: npt.NDArray[np.float32] = vectors / np.maximum(norms, 1e-12)
        return scaled

    def encoded(
        self, examples: Sequence[TaskExample], record: TaskRecord | None = None
    ) -> TaskRows:
        """Examples as a fine-tuned model, or that of another task, reads them."""
        return encode_examples(examples, record or self.tuned.record, tokenizer=self.tokenizer)

    def answers(self, given: TaskRows) -> Answered:
        """What a fine-tuned model says of examples."""
        return self._answers.answers(given)

    def predict(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """What a fine-tuned model says of each row, as `albert predict` does in JSON.

        Args:
            rows: Texts, pairs of texts (of `answer` passage and question), or the fields
                of a `TaskExample`, such as `{"text": ..., "options": (...)}`.
        """
        examples = examples_of(rows, self.tuned.record.spec)
        return list(self.answers(self.encoded(examples)).shown())


def fitted(model: TrainedModel, tokenizer: Tokenizer) -> TrainedModel:
    """A model of another program without the rows that pad its tables.

    One of any other size than its vocabulary is refused.
    """
    if not (model.folder / MODEL_CONFIG).exists():
        model = without_padding_rows(model, tokenizer.vocab_size)
    if tokenizer.vocab_size != model.config.vocab_size:
        raise AlbertError(
            f"{vocabulary_file(model.folder)} has {tokenizer.vocab_size} pieces and the model "
            f"has {model.config.vocab_size}; put back the vocabulary that the model was "
            "trained with."
        )
    return model


def examples_of(rows: Iterable[Row], spec: TaskSpec, *, first: int = 0) -> list[TaskExample]:
    """Rows as examples of a task, once they are what its model learned from.

    Args:
        first: The number of the first row.
    """
    if isinstance(rows, str):
        raise SettingError(f"{rows!r:.60} is one text; give a list of texts.")
    examples = []
    for number, row in enumerate(rows, first):
        fields: Mapping[str, Any] = row if isinstance(row, Mapping) else {"text": row}
        if isinstance(row, tuple):
            fields = dict(zip(("text", "text_pair"), row, strict=True))
        example = TaskExample(**{"id": str(number), "place": f"text {number + 1}", **fields})
        for text in (example.text, example.text_pair, *example.options):
            check_text(text or "")
        check_fits(example, spec)
        if spec.kind == "tag" and not example.words:
            example = dataclasses.replace(example, words=words_of(example.text))
        examples.append(example)
    return examples


def check_fits(example: TaskExample, spec: TaskSpec) -> None:
    """Refuse options and second texts that a task does not have, or has and are missing."""
    if spec.kind == "choose" and len(example.options) < 2:
        raise SettingError(f"{spec.name} chooses between options; give two or more with --option.")
    if spec.kind not in ("choose", "embed") and example.options:
        raise SettingError(f"--option: {spec.name} does not choose; leave it out.")
    if has_second(spec) in (None, example.text_pair is not None):
        return
    said = "the model learned from single texts; leave the second one out."
    if spec.kind == "answer":
        said = (
            f"{spec.name} answers questions; give the passage as TEXT and the question as "
            "SECOND, or in a line after a tab."
        )
    elif spec.columns.pair is not None:
        said = (
            "the model learned from pairs of texts; give the second one as SECOND, or in a line "
            "after a tab."
        )
    raise SettingError(f"{example.place}: {said}")


def has_second(spec: TaskSpec) -> bool | None:
    """Whether the examples of a task have a second text; None where they may."""
    if spec.kind in ("tag", "answer"):
        return spec.kind == "answer"
    if spec.kind in ("choose", "embed") or spec.columns.text is None:
        return None
    return spec.columns.pair is not None
