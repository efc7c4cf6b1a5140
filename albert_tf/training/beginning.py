"""How a run begins, or goes on from its newest checkpoint."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from albert_tf.data.input_pipeline import Records, first_batches
from albert_tf.data.token_vectors import pmi_vectors
from albert_tf.data.unigrams import labels_of, unigram_log_shares
from albert_tf.data.unmasking import whole_texts
from albert_tf.hosts.hosts import shared_arrays, shared_checkpoint
from albert_tf.model.initial_weights import draw_first_weights
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.planning.memory import derive_micro_batch_size, memory_limit
from albert_tf.runs.checkpoints import (
    Checkpoint,
    arrays_of,
    assign_arrays,
    load_newest,
)
from albert_tf.training.backends import training_steps
from albert_tf.training.job import Job
from albert_tf.training.run_state import RunState
from albert_tf.training.steps import TrainingSteps
from albert_tf.training.warm_start import read_source, start_from
from schemas.errors import AlbertError
from schemas.json_file import write_json
from schemas.layout import (
    DATA_MANIFEST,
    EVALUATION,
    MANIFEST,
    METRICS,
    MODEL_CONFIG,
    SPM_MODEL,
    TENSORBOARD,
    TRAIN,
)
from schemas.whole_file import copy_whole

Say = Callable[[str], None]
Integers = npt.NDArray[np.int64]

# Examples in which tokens are counted for the first weights.
COUNTED_EXAMPLES = 50_000


def new_model(job: Job) -> AlbertPretrainer:
    """A model as the settings ask for, without values yet."""
    return AlbertPretrainer(
        job.model_config,
        precision=job.config.precision,
        recompute=job.config.recompute,
    )


def begin(job: Job, records: Records, *, say: Say) -> tuple[TrainingSteps, RunState]:
    """A run at its newest checkpoint, or before its first step.

    Raises:
        AlbertError: It cannot be continued, or not be begun.
    """
    newest = load_newest(job.run, say) if job.is_writer else None
    checkpoint = shared_checkpoint(newest, job.hosts)
    if checkpoint is None:
        return start(job, records, say=say)
    return resume(job, checkpoint, say=say)


def resume(
    job: Job, checkpoint: Checkpoint, *, say: Say
) -> tuple[TrainingSteps, RunState]:
    """A run as it was when a checkpoint was saved, but for the micro-batch asked for.

    Raises:
        AlbertError: The checkpoint is not one of this run.
    """
    state = RunState(**checkpoint.state)
    size = job.config.micro_batch_size or state.micro_batch_size
    if size > job.config.batch_size:
        raise AlbertError(
            f"{job.run}: the newest checkpoint was saved with micro-batches of {size}, "
            f"more than the batch of {job.config.batch_size}; start the run again with "
            "--overwrite."
        )
    model = new_model(job)
    assign_arrays(model.weights_by_path, checkpoint.weights)
    steps = training_steps(model, job.config)
    assign_arrays(steps.optimizer_state, checkpoint.optimizer_state)
    say(f"Continuing {job.run} after step {state.step}.")
    if size != state.micro_batch_size:
        say(
            f"Micro-batches of {size} instead of {state.micro_batch_size}: this "
            "changes only rounding, and what dropout leaves out."
        )
        state.micro_batch_size = size
    return steps, state


def start(job: Job, records: Records, *, say: Say) -> tuple[TrainingSteps, RunState]:
    """Begin a run: first weights, the files that never change, where it stands.

    Raises:
        AlbertError: Another run cannot be started from, the data cannot be read, or
            the folder cannot be written.
    """
    model = new_model(job)
    if job.is_writer:
        first_weights(model, job, records=records, say=say)
        write_beginning(job)
    if job.hosts.number > 1:
        weights = shared_arrays(arrays_of(model.weights_by_path), job.hosts)
        assign_arrays(model.weights_by_path, weights)
    steps = training_steps(model, job.config)
    return steps, RunState(micro_batch_size(job, steps), unpadded=True)


def write_beginning(job: Job) -> None:
    """Write the files of a run that never change.

    Raises:
        AlbertError: The folder cannot be written.
    """
    remove_leftovers(job.run)
    write_json(job.run / MODEL_CONFIG, dataclasses.asdict(job.model_config))
    for name, target in ((SPM_MODEL, SPM_MODEL), (MANIFEST, DATA_MANIFEST)):
        copy_whole(job.data / name, job.run / target)


def first_weights(
    model: AlbertPretrainer, job: Job, *, records: Records, say: Say
) -> None:
    """Give a new model its first weights: counted ones, or those of another run."""
    config, vocab_size = job.config, job.model_config.vocab_size
    texts, labels = tokens_to_count(job, records, say=say)
    token_vectors = None
    if config.pmi_embeddings:
        token_vectors = pmi_vectors(
            texts, vocab_size=vocab_size, columns=job.model_config.embedding_size
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
    if job.init_from is not None:
        source = read_source(
            job.init_from, manifest=job.manifest, data=job.data, say=say
        )
        start_from(model, source)
        say(f"Starting from the weights of {job.init_from}, step {source.step}.")


def tokens_to_count(
    job: Job, records: Records, *, say: Say
) -> tuple[list[Integers], list[Integers]]:
    """The tokens of the first training examples, read once for all first weights.

    Returns:
        All tokens, `[B, S]` each, and those to predict, `[N]` each; either is empty if
        no first weights are counted from it.

    Raises:
        AlbertError: A record is corrupt.
    """
    config = job.config
    texts: list[Integers] = []
    labels: list[Integers] = []
    if not (config.pmi_embeddings or config.unigram_bias):
        return texts, labels
    if config.pmi_embeddings:
        say("Counting which tokens are near which.")
    if config.unigram_bias:
        examples = min(COUNTED_EXAMPLES, job.manifest.num_examples(TRAIN))
        say(f"Counting the tokens to predict in {examples:,} training examples.")
    # Of one phase, so that first weights do not depend on when the next one begins.
    records = dataclasses.replace(records, phases=records.phases[:1])
    for batch in first_batches(records, seed=config.seed, maximum=COUNTED_EXAMPLES):
        if config.pmi_embeddings:
            texts.append(whole_texts(batch))
        if config.unigram_bias:
            labels.append(labels_of(batch))
    return texts, labels


def micro_batch_size(job: Job, steps: TrainingSteps) -> int:
    """The micro-batch asked for, or what the memory of all devices allows."""
    if job.config.micro_batch_size:
        return job.config.micro_batch_size
    limit, hosts = memory_limit(steps.memory()), job.hosts
    free_bytes = hosts.gather(np.array([limit.free_bytes])).min() * hosts.number
    return derive_micro_batch_size(
        job.config,
        job.model_config,
        length=max(phase.config.max_seq_length for phase in job.phases),
        predictions=max(phase.config.max_predictions_per_seq for phase in job.phases),
        limit=limit._replace(free_bytes=int(free_bytes)),
        devices=steps.num_devices * hosts.number,
    )


def remove_leftovers(run: Path) -> None:
    """Remove what a run wrote that ended before its first checkpoint.

    It may have had other settings, and its metrics would pass for those of this run.

    Raises:
        AlbertError: The directory is not writable.
    """
    try:
        for name in (METRICS, EVALUATION, MODEL_CONFIG, DATA_MANIFEST, SPM_MODEL):
            (run / name).unlink(missing_ok=True)
        for events in (run / TENSORBOARD).glob("events.out.tfevents.*"):
            events.unlink()
    except OSError as error:
        raise AlbertError(
            f"{error.filename} cannot be removed: {error.strerror}; make the "
            "directory writable, or give another --output."
        ) from error
