"""The weights that a run begins with: drawn, counted in its data, or another run's.

The paper initialises deeper networks from shallower ones (section 4.6 and footnote 5).
Where all layers share weights, these are copied. Otherwise layer k of L takes the
weights of layer k * l // L of a model with l layers, so that neighbouring layers start
alike.
"""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from albert_tf.data.data_check import check_same_vocabulary, vocabulary_of
from albert_tf.data.input_pipeline import Records, first_batches
from albert_tf.data.token_statistics import (
    labels_of,
    pmi_vectors,
    unigram_log_shares,
    whole_texts,
)
from albert_tf.model.initial_weights import draw_first_weights
from albert_tf.model.parameters import weight_shapes
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.model.trained_model import TrainedModel, read_trained, silent
from albert_tf.planning.cost import COUNTED_EXAMPLES
from albert_tf.runs.checkpoints import Arrays, assign_arrays, check_shapes, shapes_of
from albert_tf.runs.run_record import is_tuned, run_config
from schemas.architecture import ModelConfig
from schemas.config import TrainConfig
from schemas.errors import AlbertError
from schemas.layout import TRAIN
from schemas.manifest import DatasetManifest

Say = Callable[[str], None]
Integers = npt.NDArray[np.integer[Any]]

_OWNER = re.compile(r"(group|layer)_(\d+)_inner")


def give_first_weights(
    model: AlbertPretrainer, config: TrainConfig, records: Records, *, say: Say
) -> None:
    """Draw the first weights of a model, or count them in the first examples."""
    vocab_size = model.config.vocab_size
    texts, labels = tokens_to_count(config, records, say=say)
    token_vectors = None
    if config.pmi_embeddings:
        token_vectors = pmi_vectors(
            texts, vocab_size=vocab_size, columns=model.config.embedding_size
        )
    draw_first_weights(
        model,
        initializer=config.initializer,
        seed=config.seed,
        token_vectors=token_vectors,
    )
    if config.unigram_bias:
        log_shares = unigram_log_shares(labels, vocab_size=vocab_size)
        model.masked_lm_head.output_bias.assign(log_shares)


def tokens_to_count(
    config: TrainConfig, records: Records, *, say: Say
) -> tuple[list[Integers], list[Integers]]:
    """The tokens of the first training examples, read once for all first weights.

    Returns:
        All tokens, `[B, S]` each, and those to predict, `[N]` each; either is empty if
        no first weights are counted from it.
    """
    texts: list[Integers] = []
    labels: list[Integers] = []
    if not (config.pmi_embeddings or config.unigram_bias):
        return texts, labels
    if config.pmi_embeddings:
        say("Counting which tokens are near which.")
    if config.unigram_bias:
        examples = min(COUNTED_EXAMPLES, records.manifest.num_examples(TRAIN))
        say(f"Counting the tokens to predict in {examples:,} training examples.")
    # Of one phase, so that first weights do not depend on when the next one begins.
    records = dataclasses.replace(records, phases=records.phases[:1])
    for batch in first_batches(records, seed=config.seed, maximum=COUNTED_EXAMPLES):
        if config.pmi_embeddings:
            texts.append(whole_texts(batch))
        if config.unigram_bias:
            labels.append(labels_of(batch))
    return texts, labels


def source_path(path: str, config: ModelConfig, source: ModelConfig) -> str:
    """The path of the weight, of another run, that a weight of the model starts from.

    >>> deep = ModelConfig(num_hidden_layers=12, sharing="none")
    >>> shallow = ModelConfig(num_hidden_layers=3, sharing="none")
    >>> source_path("albert/encoder/layer_11_inner_0_ffn/output/bias", deep, shallow)
    'albert/encoder/layer_2_inner_0_ffn/output/bias'
    """

    def owner(match: re.Match[str]) -> str:
        kind, index = match[1], int(match[2])
        field = {"group": "num_hidden_groups", "layer": "num_hidden_layers"}[kind]
        index = index * int(getattr(source, field)) // int(getattr(config, field))
        return f"{kind}_{index}_inner"

    return _OWNER.sub(owner, path)


def start_from(model: AlbertPretrainer, source: TrainedModel) -> None:
    """Give a new model the weights of another run; see `starting_weights`."""
    weights = starting_weights(model.config, source)
    assign_arrays({path: model.weights_by_path[path] for path in weights}, weights)


def starting_weights(config: ModelConfig, source: TrainedModel) -> Arrays:
    """The weights that a model takes from another run, by their paths in the model.

    A sentence head that the other run lacks is left out: it keeps its random first
    weights.
    """
    absent: tuple[str, ...] = ()
    if source.config.sentence_task == "none":
        absent = ("/pooler/", "/sentence_head/")
    shapes = {
        path: shape
        for path, shape in weight_shapes(config).items()
        if not any(part in path for part in absent)
    }
    sources = {path: source_path(path, config, source.config) for path in shapes}
    taken = {
        path: source.weights[theirs]
        for path, theirs in sources.items()
        if theirs in source.weights
    }
    check_shapes(shapes, shapes_of(taken))
    return taken


def read_source(
    run: Path,
    *,
    manifest: DatasetManifest,
    data: Path,
    say: Say = silent,
) -> TrainedModel:
    """The newest weights of a run to start from, if its vocabulary is that of the data.

    Args:
        data: Of the manifest.
        say: Told about every damaged checkpoint passed over.
    """
    if is_tuned(run):
        raise AlbertError(
            f"{run} is a fine-tuned model, without the masked-LM head that pretraining "
            "needs; give the run that it was tuned from."
        )
    run_config(run)
    check_same_vocabulary(vocabulary_of(run), manifest, run=run, data=data)
    return read_trained(run, say=say)
