"""A run of pretraining: what it resolves to, what it may not be, where it stands."""

import dataclasses
from pathlib import Path
from typing import Any

import keras
import numpy as np

from albert_tf.data.data_check import check_settings_fit
from albert_tf.data.input_pipeline import Records
from albert_tf.data.on_the_fly import BEGINNING
from albert_tf.evaluation.bits_per_character import Vocabulary
from albert_tf.hosts import ONE_HOST, Hosts
from albert_tf.model.pretrainer import Model
from albert_tf.runs.checkpoints import Checkpoint, assign_arrays
from albert_tf.runs.metrics import Metrics, Sums, means
from albert_tf.training.first_weights import read_source, starting_weights
from albert_tf.training.optimizers import optimizer_of
from albert_tf.training.steps import PRETRAINING, StepDone, TrainingLoss, TrainingSteps
from schemas.architecture import ModelConfig
from schemas.config import OF_FIRST_WEIGHTS, ResolvedTrainConfig, TrainConfig, flag_name
from schemas.errors import AlbertError, SettingError
from schemas.layout import (
    DATA_MANIFEST,
    EVALUATION,
    EVALUATIONS,
    METRICS,
    MODEL_CONFIG,
    SPM_MODEL,
    TENSORBOARD,
    TRAIN,
)
from schemas.manifest import DatasetManifest
from schemas.phases import phases_of


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResolvedRun:
    """A run of which everything is decided.

    Attributes:
        folder: To write; only the first of several hosts reads and writes it.
        data: The folder of the data set.
        init_from: The run whose weights a new one starts from; None for first weights
            of its own, and for a run that goes on.
        starts_trained: Whether the run began with the weights of another.
        vocabulary: That of the data, to ask about words in evaluations; None not to.
        may_be_long: Whether it needs no question if it would take more than a week.
    """

    folder: Path
    model_config: ModelConfig
    config: ResolvedTrainConfig
    data: Path
    manifest: DatasetManifest
    init_from: Path | None = None
    starts_trained: bool = False
    vocabulary: Vocabulary | None = None
    may_be_long: bool = True
    hosts: Hosts = ONE_HOST

    @property
    def is_writer(self) -> bool:
        """Whether this host is the first, which reads and writes the folder."""
        return self.hosts.index == 0

    def records(self) -> Records:
        """The records of its data."""
        return records_for(self.data, self.manifest, self.config)


def records_for(data: Path, manifest: DatasetManifest, config: TrainConfig) -> Records:
    """The records of a data set for a training with these settings."""
    phases = phases_of(manifest.config, config) if manifest.has_documents else ()
    return Records(data, manifest, phases=phases)


def check_run(run: ResolvedRun) -> None:
    """Refuse settings that do not fit together, before anything is written or removed.

    Nothing in the folder of the run is read: it may be about to be overwritten.
    """
    check_can_recompute(run.config)
    check_settings_fit(run.config, run.model_config, run.manifest, data=run.data)
    if run.init_from is None:
        return
    for name in OF_FIRST_WEIGHTS:
        if getattr(run.config, name):
            raise SettingError(
                f"{flag_name(name)} sets first weights and --init-from takes all of "
                "them from another run; leave one of them out."
            )
    source = read_source(run.init_from, manifest=run.manifest, data=run.data)
    starting_weights(run.model_config, source)


def check_can_recompute(config: TrainConfig) -> None:
    """Refuse recomputation that XLA would undo: it computes equal things once."""
    if not config.recompute:
        return
    name = keras.backend.backend()
    if name == "tensorflow" and config.xla:
        raise SettingError("--xla undoes --recompute on TensorFlow; leave one of them out.")
    if name == "jax":
        import jax

        if jax.default_backend() == "cpu":
            raise SettingError(
                "--recompute saves nothing with JAX on a CPU; leave it out, or unset KERAS_BACKEND."
            )


# The sums of no step.
NOTHING = (0.0,) * len(Sums._fields)


@dataclasses.dataclass
class RunState:
    """Where pretraining stands; see `loop.State`.

    Attributes:
        unpadded: Whether the run began without padding; others are not continued.
        examples: Training examples that the steps have had.
        landmark: Where reading can begin to reach the next one, if examples are made of
            documents; see `albert_tf.data.on_the_fly`.
        seconds: Time spent in steps.
        window: The `Sums` of the steps since the last line of metrics.
        machine: What trains it.
    """

    micro_batch_size: int
    unpadded: bool = False
    step: int = 0
    examples: int = 0
    landmark: tuple[int, int, int] = BEGINNING
    seconds: float = 0.0
    window: tuple[float, ...] = NOTHING
    window_seconds: float = 0.0
    window_steps: int = 0
    machine: str = ""

    def add(self, done: StepDone, seconds: float, *, examples: int) -> None:
        """Count what a step adds up and takes."""
        self.examples += examples
        self.seconds += seconds
        sums = done.sums[: len(Sums._fields)]
        self.window = tuple((np.array(self.window) + sums).tolist())
        self.window_seconds += seconds
        self.window_steps += 1

    def take_line(self, newest: StepDone, *, batch_size: int, is_sampled: bool) -> Metrics:
        """The means of all steps since the last such line; the next ones begin anew.

        Args:
            is_sampled: Whether they predicted among candidates alone.
        """
        examples, values = self.window_steps * batch_size, means(Sums(*self.window))
        if is_sampled:
            values |= {f"sampled_{name}": values.pop(name) for name in ("mlm_loss", "mlm_accuracy")}
        line = {
            "step": self.step,
            "split": TRAIN,
            **values,
            "learning_rate": newest.learning_rate,
            "gradient_norm": newest.norm,
            "sequences_per_second": examples / self.window_seconds,
            "seconds": self.seconds,
        }
        self.window, self.window_seconds, self.window_steps = NOTHING, 0.0, 0
        return line


def training_steps(
    model: Model,
    config: TrainConfig,
    *,
    loss: TrainingLoss = PRETRAINING,
    checkpoint: Checkpoint | None = None,
) -> TrainingSteps:
    """The steps of the backend that Keras runs on, over all local devices.

    Args:
        checkpoint: To go on from; its weights are the model's before devices copy them.
    """
    if checkpoint is not None:
        assign_arrays(model.weights_by_path, checkpoint.weights)
    settings: Any = {"optimizer": optimizer_of(config), "seed": config.seed, "loss": loss}
    steps: TrainingSteps
    if keras.backend.backend() == "jax":
        from albert_tf.training.jax_steps import JaxSteps

        steps = JaxSteps(model, **settings)
    else:
        from albert_tf.training.tensorflow_steps import TensorFlowSteps

        steps = TensorFlowSteps(model, **settings, xla=config.xla)
    if checkpoint is not None:
        assign_arrays(steps.optimizer_state, checkpoint.optimizer_state)
    return steps


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
