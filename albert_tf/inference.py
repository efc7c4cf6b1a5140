"""A trained model from Python: `albert_tf.load("run")` and what it says of texts.

The only module of `albert_tf` that reads text: it joins a model with its vocabulary.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from keras import ops

from albert_tf.convert.external import without_padding_rows
from albert_tf.convert.reading import read_model
from albert_tf.finetuning.evaluate import Predictor
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.model.trained_model import as_embedder, likeliest, mask_probabilities, pretrainer_of
from albert_tf.runs.checkpoints import Which
from pipeline.encoding.encoding import encode_examples
from pipeline.encoding.queries import check_text, encode_masked
from pipeline.tasks.table_examples import words_of
from pipeline.vocabulary.tokenizer import Tokenizer, load_tokenizer
from pipeline.vocabulary.tokenizer import read_model as read_vocabulary
from pipeline.vocabulary.wordpiece import read_wordpiece
from schemas.errors import AlbertError
from schemas.layout import MODEL_CONFIG, WORDPIECE, vocabulary_file
from schemas.task import TaskExample

# TensorFlow looks for GPUs, and reports on it, once something is computed.
ops.zeros(1)

Row = str | tuple[str, str] | Mapping[str, Any]


class Model:
    """A run, an export or a fine-tuned model, with its vocabulary.

    Args:
        checkpoint: The newest weights of a run, or its best; None as the commands do.
    """

    def __init__(self, folder: str | Path, *, checkpoint: Which | None = None) -> None:
        path = Path(folder)
        file = vocabulary_file(path)
        if not file.is_file():
            raise AlbertError(
                f"{path} has no {file.name}; give the folder of a run, an export or a fine-tuned "
                "model."
            )
        if file.name == WORDPIECE and not (path / MODEL_CONFIG).is_file():
            raise AlbertError(
                f"{path} has a WordPiece vocabulary, whose pieces are numbered differently "
                "here; turn it into a run with albert import."
            )
        self._tokenizer: Tokenizer = (
            read_wordpiece(file)
            if file.name == WORDPIECE
            else load_tokenizer(read_vocabulary(path))
        )
        model = read_model(path, which=checkpoint, needs_head=False)
        self._model = without_padding_rows(model, self._tokenizer.vocab_size)
        if self._tokenizer.vocab_size != self._model.config.vocab_size:
            raise AlbertError(
                f"{path} has a vocabulary of {self._tokenizer.vocab_size} pieces and a model of "
                f"{self._model.config.vocab_size}; put back the vocabulary of its training."
            )
        self._pretrainer: AlbertPretrainer | None = None
        self._predictors: dict[bool, Predictor] = {}

    def tokenize(self, text: str) -> list[str]:
        """The pieces of a text, without special ones."""
        check_text(text)
        return list(map(self._tokenizer.piece, self._tokenizer.encode([text])[0]))

    def fill_mask(self, text: str, *, top: int = 5) -> list[list[tuple[str, float]]]:
        """The likeliest pieces at each [MASK] of a text, with their probabilities."""
        ids = encode_masked(text, self._tokenizer)
        if self._pretrainer is None:
            self._pretrainer = pretrainer_of(self._model, is_compiled=False)
        return [
            [(self._tokenizer.piece(piece), share) for piece, share in likeliest(row, top=top)]
            for row in mask_probabilities(self._pretrainer, ids)
        ]

    def encode(
        self, texts: Sequence[str], *, dimensions: int | None = None
    ) -> npt.NDArray[np.float32]:
        """Vectors of length 1 of N texts, `[N, H]`, or their first `dimensions` numbers."""
        examples = [
            TaskExample(id=str(number), place=f"text {number}", text=text)
            for number, text in enumerate(texts)
        ]
        embedder = as_embedder(self._model)
        predictor = self._predictors.setdefault(True, Predictor(embedder, is_compiled=False))
        rows = encode_examples(examples, embedder.record, tokenizer=self._tokenizer).rows
        vectors = np.zeros((len(texts), embedder.config.hidden_size), np.float32)
        for number, found in enumerate(predictor.logits(rows)):
            vectors[number] = found[0]
        vectors = vectors[:, :dimensions]
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        scaled: npt.NDArray[np.float32] = vectors / np.maximum(norms, 1e-12)
        return scaled

    def predict(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """What a fine-tuned model says of each row, as `albert predict` does in JSON.

        Args:
            rows: Texts, pairs of texts (of `answer` passage and question), or the fields
                of a `TaskExample`, such as `{"text": ..., "options": (...)}`.
        """
        if self._model.task is None:
            raise AlbertError(
                f"{self._model.folder} is not a fine-tuned model; make one with albert finetune."
            )
        examples, kind = [], self._model.task.spec.kind
        for number, row in enumerate(rows):
            fields: dict[str, Any] = dict(row) if isinstance(row, Mapping) else {}
            if isinstance(row, str):
                fields = {"text": row}
            elif isinstance(row, tuple):
                fields = dict(zip(("text", "text_pair"), row, strict=True))
            example = TaskExample(id=str(number), place=f"row {number}", **fields)
            if kind == "tag" and not example.words:
                example = dataclasses.replace(example, words=words_of(example.text))
            examples.append(example)
        predictor = self._predictors.setdefault(False, Predictor(self._model, is_compiled=False))
        given = encode_examples(examples, self._model.task, tokenizer=self._tokenizer)
        return list(predictor.answers(given).shown())
