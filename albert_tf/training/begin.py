"""How a run begins, or goes on from its newest checkpoint."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from albert_tf.data.input_pipeline import first_batches
from albert_tf.data.token_statistics import (
    labels_of,
    pmi_vectors,
    unigram_log_shares,
    whole_texts,
)
from albert_tf.evaluation.held_out import Weighted, backend
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
from albert_tf.training.optimizers import optimizer_of
from albert_tf.training.run import ResolvedRun
from albert_tf.training.saving import RunState
from albert_tf.training.steps import PRETRAINING, TrainingLoss, TrainingSteps
from albert_tf.training.warm_start import read_source, start_from
from schemas.config import TrainConfig
from schemas.errors import AlbertError
from schemas.files import copy_whole, write_json
from schemas.layout import (
    DATA_MANIFEST,
    EVALUATION,
    EVALUATIONS,
    MANIFEST,
    METRICS,
    MODEL_CONFIG,
    SPM_MODEL,
    TENSORBOARD,
    TRAIN,
)

Say = Callable[[str], None]
Integers = npt.NDArray[np.integer[Any]]

# Examples in which tokens are counted for the first weights.
COUNTED_EXAMPLES = 50_000


def training_steps(
    model: Weighted, config: TrainConfig, *, loss: TrainingLoss = PRETRAINING
) -> TrainingSteps:
    """The steps of the backend that Keras runs on, over all local devices."""
    settings: Any = {
        "optimizer": optimizer_of(config),
        "seed": config.seed,
        "loss": loss,
    }
    if backend() == "jax":
        from albert_tf.training.jax_steps import JaxSteps

        return JaxSteps(model, **settings)
    from albert_tf.training.tensorflow_steps import TensorFlowSteps

    return TensorFlowSteps(model, **settings, xla=config.xla)


def begin(run: ResolvedRun, *, say: Say) -> tuple[TrainingSteps, RunState]:
    """A run at its newest checkpoint, or before its first step."""
    newest = load_newest(run.folder, say) if run.is_writer else None
    checkpoint = shared_checkpoint(newest, run.hosts)
    if checkpoint is None:
        return start(run, say=say)
    return resume(run, checkpoint, say=say)


def resume(
    run: ResolvedRun, checkpoint: Checkpoint, *, say: Say
) -> tuple[TrainingSteps, RunState]:
    """A run as a checkpoint has it, but for the micro-batch asked for."""
    try:
        state = RunState(**checkpoint.state)
    except TypeError as error:
        raise AlbertError(
            f"{run.folder}: the newest checkpoint is of no pretraining ({error}); "
            "start the run again with --overwrite."
        ) from error
    size = run.config.micro_batch_size or state.micro_batch_size
    if size > run.config.batch_size:
        raise AlbertError(
            f"{run.folder}: the newest checkpoint was saved with micro-batches of "
            f"{size}, more than the batch of {run.config.batch_size}; start the run "
            "again with --overwrite."
        )
    model = new_model(run)
    assign_arrays(model.weights_by_path, checkpoint.weights)
    steps = training_steps(model, run.config)
    assign_arrays(steps.optimizer_state, checkpoint.optimizer_state)
    say(f"Continuing {run.folder} after step {state.step}.")
    if size != state.micro_batch_size:
        say(
            f"Micro-batches of {size} instead of {state.micro_batch_size}: this "
            "changes only rounding, and what dropout leaves out."
        )
        state.micro_batch_size = size
    return steps, state


def start(run: ResolvedRun, *, say: Say) -> tuple[TrainingSteps, RunState]:
    """A run before its first step, with the files that never change."""
    model = new_model(run)
    if run.is_writer:
        give_first_weights(model, run, say=say)
        remove_leftovers(run.folder)
        write_json(run.folder / MODEL_CONFIG, dataclasses.asdict(run.model_config))
        for name, target in ((SPM_MODEL, SPM_MODEL), (MANIFEST, DATA_MANIFEST)):
            copy_whole(run.data / name, run.folder / target)
    if run.hosts.number > 1:
        weights = shared_arrays(arrays_of(model.weights_by_path), run.hosts)
        assign_arrays(model.weights_by_path, weights)
    steps = training_steps(model, run.config)
    return steps, RunState(micro_batch_size(run, steps), unpadded=True)


def new_model(run: ResolvedRun) -> AlbertPretrainer:
    """A model as the settings ask for, without values yet."""
    return AlbertPretrainer(
        run.model_config,
        precision=run.config.precision,
        recompute=run.config.recompute,
    )


def give_first_weights(model: AlbertPretrainer, run: ResolvedRun, *, say: Say) -> None:
    """Draw and count the first weights of a model, or take those of another run."""
    config, vocab_size = run.config, run.model_config.vocab_size
    texts, labels = tokens_to_count(run, say=say)
    token_vectors = None
    if config.pmi_embeddings:
        token_vectors = pmi_vectors(
            texts, vocab_size=vocab_size, columns=run.model_config.embedding_size
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
    if run.init_from is not None:
        source = read_source(
            run.init_from, manifest=run.manifest, data=run.data, say=say
        )
        start_from(model, source)
        say(f"Starting from the weights of {run.init_from}, step {source.step}.")


def tokens_to_count(
    run: ResolvedRun, *, say: Say
) -> tuple[list[Integers], list[Integers]]:
    """The tokens of the first training examples, read once for all first weights.

    Returns:
        All tokens, `[B, S]` each, and those to predict, `[N]` each; either is empty if
        no first weights are counted from it.
    """
    config = run.config
    texts: list[Integers] = []
    labels: list[Integers] = []
    if not (config.pmi_embeddings or config.unigram_bias):
        return texts, labels
    if config.pmi_embeddings:
        say("Counting which tokens are near which.")
    if config.unigram_bias:
        examples = min(COUNTED_EXAMPLES, run.manifest.num_examples(TRAIN))
        say(f"Counting the tokens to predict in {examples:,} training examples.")
    # Of one phase, so that first weights do not depend on when the next one begins.
    records = run.records()
    records = dataclasses.replace(records, phases=records.phases[:1])
    for batch in first_batches(records, seed=config.seed, maximum=COUNTED_EXAMPLES):
        if config.pmi_embeddings:
            texts.append(whole_texts(batch))
        if config.unigram_bias:
            labels.append(labels_of(batch))
    return texts, labels


def micro_batch_size(run: ResolvedRun, steps: TrainingSteps) -> int:
    """The micro-batch asked for, or what the memory of all devices allows."""
    if run.config.micro_batch_size:
        return run.config.micro_batch_size
    limit, hosts = memory_limit(steps.memory()), run.hosts
    free_bytes = hosts.gather(np.array([limit.free_bytes])).min() * hosts.number
    return derive_micro_batch_size(
        run.config,
        run.model_config,
        length=max(phase.config.max_seq_length for phase in run.phases),
        predictions=max(phase.config.max_predictions_per_seq for phase in run.phases),
        limit=limit._replace(free_bytes=int(free_bytes)),
        devices=steps.num_devices * hosts.number,
    )


def remove_leftovers(run: Path) -> None:
    """Remove what a run wrote that ended before its first checkpoint.

    It may have had other settings, and its metrics would pass for those of this run.
    """
    try:
        for name in (METRICS, EVALUATION, MODEL_CONFIG, DATA_MANIFEST, SPM_MODEL):
            (run / name).unlink(missing_ok=True)
        for path in (
            *(run / TENSORBOARD).glob("events.out.tfevents.*"),
            *(run / EVALUATIONS).glob("*.json"),
        ):
            path.unlink()
    except OSError as error:
        raise AlbertError(
            f"{error.filename} cannot be removed: {error.strerror}; make the "
            "directory writable, or give another --output."
        ) from error
