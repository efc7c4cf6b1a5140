"""The weights that a run begins with: drawn, counted in its data, or another run's.

The paper initialises deeper networks from shallower ones (section 4.6 and footnote 5).
Where all layers share weights, these are copied. Otherwise layer k of L takes the
weights of layer k * l // L of a model with l layers, so that neighbouring layers start
alike.

Counted are how frequent tokens are, and beside which others they stand. The singular
vectors of pointwise mutual information are what skip-gram with negative sampling comes
to (Levy and Goldberg 2014): tokens that stand beside the same tokens get similar
vectors. A model that begins with them need not learn from random ones which tokens are
alike, which takes a small budget most of its steps.

Axes: V tokens, C contexts, E columns.
"""

import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from albert_tf.data.data_check import check_same_vocabulary
from albert_tf.data.input_pipeline import Records, StepShape, training_batches
from albert_tf.model.initial_weights import draw_first_weights
from albert_tf.model.parameters import weight_shapes
from albert_tf.model.pretrainer import AlbertPretrainer, Batch
from albert_tf.model.trained_model import TrainedModel, read_trained
from albert_tf.planning.cost import CONTEXTS, COUNTED_EXAMPLES, EXTRA_COLUMNS
from albert_tf.runs.checkpoints import Arrays, check_shapes, shapes_of
from albert_tf.runs.metrics import QUIET, Say
from albert_tf.runs.run_record import is_tuned, run_config
from schemas.architecture import ModelConfig
from schemas.config import TrainConfig
from schemas.errors import AlbertError
from schemas.example import FIRST_ORDINARY_ID
from schemas.layout import TRAIN
from schemas.manifest import DatasetManifest

Integers = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float32]

# Examples that are read at a time to count their tokens.
COUNTED_AT_ONCE = 1000

# Examples in which it is counted how frequent labels are, whenever a run is begun or goes on.
SHARED_EXAMPLES = 5000

# Sightings that every token is credited with, so that none has the logarithm of 0.
SMOOTHING = 0.5

# How far apart two tokens may stand; one at a distance of d counts 1 / d.
WINDOW = 4

# Contexts count with their frequency to this power, so that rare ones say less.
CONTEXT_POWER = 0.75

# Products with the matrix, which with `EXTRA_COLUMNS` make a few singular vectors of a
# large matrix as good as exact (Halko et al., 0909.4061).
ROUNDS = 4

# Tokens whose counts become information at a time.
ROWS_AT_ONCE = 1024

_OWNER = re.compile(r"(group|layer)_(\d+)_inner")


def give_first_weights(
    model: AlbertPretrainer, config: TrainConfig, records: Records, *, say: Say
) -> None:
    """Draw the first weights of a model, or count them in the first examples."""
    vocab_size = model.config.vocab_size
    texts: list[Integers] = []
    labels: list[Integers] = []
    if config.pmi_embeddings or config.unigram_bias:
        texts, labels = tokens_to_count(config, records, say=say)
    token_vectors = None
    if config.pmi_embeddings:
        token_vectors = pmi_vectors(
            texts, vocab_size=vocab_size, columns=model.config.embedding_size
        )
    draw_first_weights(
        model, initializer=config.initializer, seed=config.seed, token_vectors=token_vectors
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
    if config.pmi_embeddings:
        say("Counting which tokens are near which.")
    examples = min(COUNTED_EXAMPLES, records.manifest.num_examples(TRAIN))
    if config.unigram_bias:
        say(f"Counting the tokens to predict in {examples:,} training examples.")
    for batch in first_batches(records, seed=config.seed, examples=examples):
        if config.pmi_embeddings:
            texts.append(whole_texts(batch))
        if config.unigram_bias:
            labels.append(masked_labels(batch))
    return texts, labels


def first_batches(records: Records, *, seed: int, examples: int) -> Iterator[Batch]:
    """The first training examples of a run, many at a time."""
    # Of one phase, so that what is counted does not depend on when the next one begins.
    records = dataclasses.replace(records, phases=records.phases[:1])
    size = min(COUNTED_AT_ONCE, examples)
    batches = training_batches(records, StepShape(size, size), seed=seed)
    yield from itertools.islice(batches, -(-examples // size))


def masked_labels(batch: Batch) -> Integers:
    """The tokens that are to be predicted in a batch, `[N]`."""
    labels: Integers = batch["masked_lm_ids"][batch["masked_lm_weights"] > 0]
    return labels


def whole_texts(batch: Batch) -> Integers:
    """The tokens of examples with their labels put back, `[B, S]`.

    Args:
        batch: As `pretrainer.BATCH_FEATURES`, `[..., S]` and `[..., P]`.

    >>> ids = np.array([[[2, 4, 9, 3, 0], [2, 7, 4, 3, 0]]])
    >>> labels = {"masked_lm_positions": np.array([[[1, 0], [2, 1]]])}
    >>> labels |= {"masked_lm_ids": np.array([[[8, 0], [5, 6]]])}
    >>> labels |= {"masked_lm_weights": np.array([[[1.0, 0.0], [1.0, 1.0]]])}
    >>> whole_texts({"input_ids": ids} | labels).tolist()
    [[2, 8, 9, 3, 0], [2, 6, 5, 3, 0]]
    """
    ids = np.array(batch["input_ids"], np.int32)
    ids = ids.reshape(-1, ids.shape[-1])
    width = batch["masked_lm_positions"].shape[-1]
    positions, labels, weights = (
        np.reshape(batch[f"masked_lm_{name}"], (-1, width))
        for name in ("positions", "ids", "weights")
    )
    rows, places = np.nonzero(weights > 0)
    ids[rows, positions[rows, places]] = labels[rows, places]
    return ids


def label_log_shares(records: Records, vocab_size: int, *, seed: int) -> Floats:
    """The logarithm of about the share that each token has in a run's labels, `[V]`."""
    examples = min(SHARED_EXAMPLES, records.manifest.num_examples(TRAIN))
    batches = first_batches(records, seed=seed, examples=examples)
    return unigram_log_shares(map(masked_labels, batches), vocab_size=vocab_size)


def unigram_log_shares(labels: Iterable[Integers], *, vocab_size: int) -> Floats:
    """The logarithm of the share that each token has in the labels, `[V]`.

    Args:
        labels: `[N]` each.

    >>> shares = np.exp(unigram_log_shares([np.array([1, 1, 2])], vocab_size=4))
    >>> shares.round(3).astype(str).tolist()
    ['0.1', '0.5', '0.3', '0.1']
    """
    counts = np.full(vocab_size, SMOOTHING)
    for tokens in labels:
        counts += np.bincount(tokens, minlength=vocab_size)
    shares: Floats = np.log(counts / counts.sum()).astype(np.float32)
    return shares


def pmi_vectors(texts: Sequence[Integers], *, vocab_size: int, columns: int) -> Floats:
    """A vector for each token of texts `[B, S]`; zeros where it has no neighbours.

    Every column of `[V, E]` has mean 0 and deviation 1 over the tokens that were seen.
    There are fewer columns than asked for where there are fewer contexts.
    """
    information = positive_information(neighbour_counts(texts, vocab_size=vocab_size))
    vectors = leading_vectors(information, columns=columns)
    is_seen = information.any(axis=1)
    seen = vectors[is_seen] - vectors[is_seen].mean(axis=0)
    vectors[is_seen] = seen / np.maximum(seen.std(axis=0), np.finfo("f4").tiny)
    # Singular vectors of rows of zeros are zeros only up to rounding.
    vectors[~is_seen] = 0
    return vectors


def neighbour_counts(texts: Sequence[Integers], *, vocab_size: int) -> Floats:
    """How often each token stands beside each context, `[V, C]`.

    Near ones count more; special tokens and padding stand beside nothing.
    """
    frequencies = sum(
        (np.bincount(ids.ravel(), minlength=vocab_size) for ids in texts),
        start=np.zeros(vocab_size, np.int64),
    )
    frequencies[:FIRST_ORDINARY_ID] = 0
    contexts = np.argsort(-frequencies, kind="stable")[:CONTEXTS]
    place = np.full(vocab_size, -1)
    place[contexts] = np.where(frequencies[contexts] > 0, np.arange(len(contexts)), -1)
    counts = np.zeros(vocab_size * len(contexts), "f4")
    for ids in texts:
        for distance in range(1, WINDOW + 1):
            left, right = ids[:, :-distance].ravel(), ids[:, distance:].ravel()
            for token, context in ((left, place[right]), (right, place[left])):
                is_pair = (token >= FIRST_ORDINARY_ID) & (context >= 0)
                # There may be more pairs than 32 bits count.
                pairs = token[is_pair].astype("i8") * len(contexts) + context[is_pair]
                which, number = np.unique(pairs, return_counts=True)
                counts[which] += (number / distance).astype("f4")
    return counts.reshape(vocab_size, len(contexts))


def positive_information(counts: Floats) -> Floats:
    """Pointwise mutual information where it is positive, else 0, `[V, C]`.

    It takes the place of the counts, which are a quarter of a gigabyte for 30,000
    tokens.

    >>> positive_information(np.float32([[8, 0], [0, 8]])).round(2)
    array([[0.69, 0.  ],
           [0.  , 0.69]], dtype=float32)
    """
    of_contexts = counts.sum(axis=0) ** CONTEXT_POWER
    share = of_contexts / of_contexts.sum()
    for start in range(0, len(counts), ROWS_AT_ONCE):
        rows = counts[start : start + ROWS_AT_ONCE]
        expected = rows.sum(axis=1, keepdims=True) * share
        is_pair = rows > 0
        rows[is_pair] = np.log(rows[is_pair] / expected[is_pair])
        np.maximum(rows, 0, out=rows)
    return counts


def leading_vectors(matrix: Floats, *, columns: int) -> Floats:
    """The left singular vectors of `[V, C]` with the largest values, times their roots.

    `[V, E]`, or `[V, C]` where there are fewer contexts.
    """
    contexts = matrix.shape[1]
    number = min(contexts, columns + EXTRA_COLUMNS)
    random = np.random.default_rng(0)
    basis = random.standard_normal((contexts, number), dtype="f4")
    for _ in range(ROUNDS):
        basis, _ = np.linalg.qr(matrix.T @ (matrix @ basis))
    left, values, _ = np.linalg.svd(matrix @ basis, full_matrices=False)
    vectors: Floats = (left * np.sqrt(values))[:, :columns]
    return vectors


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


def starting_weights(config: ModelConfig, source: TrainedModel) -> Arrays:
    """The weights that a model takes from another run, by their paths in the model.

    A sentence head that the other run lacks is left out: it keeps its random first
    weights.
    """
    if source.config.sentence_task == "none":
        config = dataclasses.replace(config, sentence_task="none")
    shapes = weight_shapes(config)
    sources = {path: source_path(path, config, source.config) for path in shapes}
    taken = {
        path: source.weights[theirs] for path, theirs in sources.items() if theirs in source.weights
    }
    check_shapes(shapes, shapes_of(taken))
    return taken


def missing_heads(config: ModelConfig, source: TrainedModel) -> Iterator[str]:
    """What is said of the heads that a model does not get trained from another run."""
    yield from source.notes
    task = config.sentence_task
    if task != "none" and source.config.sentence_task == "none":
        yield (
            f"{source.folder} has no sentence task: the pooler and the head of {task} "
            "begin with new weights."
        )


def read_source(
    run: Path, *, manifest: DatasetManifest, data: Path, say: Say = QUIET.say
) -> TrainedModel:
    """The newest weights of a run to start from, if the data has its vocabulary."""
    if is_tuned(run):
        raise AlbertError(
            f"{run} is a fine-tuned model, without the masked-LM head that pretraining "
            "needs; give the run that it was tuned from."
        )
    run_config(run)
    check_same_vocabulary(manifest, run=run, data=data)
    return read_trained(run, say=say)
