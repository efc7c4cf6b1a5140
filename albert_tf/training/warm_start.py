"""Starting from another run: its weights, even in a deeper model, or all its state.

The paper initialises deeper networks from shallower ones (section 4.6 and footnote 5).
Where all layers share weights, these are copied. Otherwise layer k of L takes the
weights of layer k * l // L of a model with l layers, so that neighbouring layers start
alike.

With the other's optimizer state and step, a run continues it: on sequences of another
length, as BERT was trained (128, then 512), or with another number of steps.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from albert_tf.data.data_check import check_same_vocabulary, vocabulary_of
from albert_tf.data.on_the_fly import BEGINNING, makings_of
from albert_tf.model.parameters import weight_shapes
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.runs.checkpoints import (
    Checkpoint,
    assign_arrays,
    check_shapes,
    newest_state,
    run_checkpoint,
    run_shapes,
)
from albert_tf.runs.run_record import (
    is_tuned,
    recorded_manifest,
    recorded_settings,
    recorded_training,
    run_config,
)
from albert_tf.training.origin import Origin
from albert_tf.training.run_state import RunState
from albert_tf.training.steps import TrainingSteps
from schemas.config import ModelConfig, TrainConfig
from schemas.errors import AlbertError, SettingError
from schemas.manifest import DatasetManifest
from schemas.phases import phases_of

T = TypeVar("T")

_OWNER = re.compile(r"(group|layer)_(\d+)_inner")


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


def start_from(
    model: AlbertPretrainer,
    origin: Origin,
    *,
    manifest: DatasetManifest,
    data: Path,
    say: Callable[[str], None],
) -> Checkpoint:
    """Give a new model the weights of another run.

    A sentence head that the other run lacks keeps its random first weights.

    Args:
        model: As it is initialized.
        origin: The other run.
        manifest: Of the data to train on.
        data: The data set's directory.
        say: Shows a line.

    Returns:
        The checkpoint, with the optimizer state if that is kept.

    Raises:
        AlbertError: The run has no checkpoint, another vocabulary, or a tensor that
            does not fit; names the tensor.
    """
    source = _source_config(origin.run, manifest=manifest, data=data)
    checkpoint = run_checkpoint(
        origin.run,
        which=origin.which,
        say=say,
        with_optimizer=origin.keeps_optimizer,
    )
    sources = _sources(model.weights_by_path, model.config, source)
    weights = {path: model.weights_by_path[path] for path in sources}
    assign_arrays(weights, _taken(sources, checkpoint.weights))
    kept = " and the optimizer state" if origin.keeps_optimizer else ""
    step = checkpoint.state["step"]
    say(f"Starting from the weights{kept} of {origin.run}, step {step}.")
    return checkpoint


def take_over(
    steps: TrainingSteps,
    state: RunState,
    source: Checkpoint,
    *,
    examples: int,
    landmark: tuple[int, int, int],
) -> None:
    """Go on where another run stood: its optimizer state, its steps, its seconds.

    Args:
        steps: With the weights of that run.
        state: Of the new run, changed in place.
        source: The other run's checkpoint.
        examples: Where to go on in the data, as `position_in_data` has it.
        landmark: Where reading can begin for that.

    Raises:
        AlbertError: A tensor of the optimizer state does not fit.
    """
    assign_arrays(steps.optimizer_state, source.optimizer_state)
    before = RunState(**source.state)
    state.step, state.seconds = before.step, before.seconds
    state.examples, state.landmark = examples, landmark


def position_in_data(
    run: Path,
    source: Checkpoint,
    *,
    manifest: DatasetManifest,
    config: TrainConfig,
) -> tuple[int, tuple[int, int, int]]:
    """Where to go on reading after another run, as far as it keeps a record.

    Args:
        run: The other run.
        source: Its checkpoint.
        manifest: Of the data to train on.
        config: The settings to train with.

    Returns:
        How many examples of this data count as consumed, none if the other run had
        other data, and its landmark, or the beginning's if groups begin elsewhere here.
    """
    recorded = recorded_manifest(run)
    if recorded is None or recorded.fingerprint != manifest.fingerprint:
        return 0, BEGINNING
    state, settings = RunState(**source.state), recorded_settings(run)
    before = recorded_training(run, settings)
    is_same = bool(settings) and before.seed == config.seed
    if is_same and _made_alike(before, config, manifest, state=state):
        return state.examples, state.landmark
    return state.examples, BEGINNING


def _made_alike(
    one: TrainConfig, other: TrainConfig, manifest: DatasetManifest, *, state: RunState
) -> bool:
    """Whether two trainings make examples with the same settings at every place.

    Args:
        one: The settings of a training.
        other: Those of another that goes on from it.
        manifest: Of the data of both.
        state: Where that is.
    """
    ours, theirs = (
        [
            (making.first_example, making.config)
            for making in makings_of(
                phases_of(manifest.config, config),
                config.batch_size,
                ahead=state.examples_ahead(config.batch_size),
            )
        ]
        for config in (one, other)
    )
    return ours == theirs


def check_can_start_from(
    origin: Origin, config: ModelConfig, *, manifest: DatasetManifest, data: Path
) -> None:
    """Refuse what `start_from` would refuse, without building a model.

    Raises:
        AlbertError: As `start_from`.
    """
    source = _source_config(origin.run, manifest=manifest, data=data)
    available = run_shapes(origin.run, which=origin.which)
    ours = weight_shapes(config)
    sources = _sources(ours, config, source)
    check_shapes({path: ours[path] for path in sources}, _taken(sources, available))


def check_can_keep_optimizer(
    run: Path, config: ModelConfig, train_config: TrainConfig
) -> None:
    """Refuse to go on with an optimizer state that does not fit.

    Args:
        run: Whose weights fit.
        config: The architecture to train.
        train_config: The settings to train with.

    Raises:
        AlbertError: The run has none, other weights or another optimizer, or has done
            as many steps already.
    """
    state = newest_state(run) or {}
    if state and "micro_batch_size" not in state:
        raise AlbertError(
            f"{run} has no optimizer state, as it was imported; leave "
            "--keep-optimizer out."
        )
    check_shapes(weight_shapes(config), run_shapes(run))
    settings = recorded_settings(run)
    optimizer = recorded_training(run, settings).optimizer
    if settings and optimizer != train_config.optimizer:
        raise SettingError(
            f"{run} has the optimizer state of {optimizer}, which is of no use to "
            f"{train_config.optimizer}; give --optimizer {optimizer}, or leave "
            "--keep-optimizer out."
        )
    if state.get("step", 0) >= train_config.steps:
        raise SettingError(
            f"{run} has done {state['step']} steps, which count towards --steps "
            f"{train_config.steps}; give more --steps."
        )


def _source_config(run: Path, *, manifest: DatasetManifest, data: Path) -> ModelConfig:
    """The architecture of a run, which must have the vocabulary of the data set."""
    if is_tuned(run):
        raise AlbertError(
            f"{run} is a fine-tuned model, without the masked-LM head that pretraining "
            "needs; give the run that it was tuned from."
        )
    source = run_config(run)
    check_same_vocabulary(vocabulary_of(run), manifest, run=run, data=data)
    return source


def _sources(
    paths: Iterable[str], config: ModelConfig, source: ModelConfig
) -> dict[str, str]:
    """The source of each weight of a model, without those that have none."""
    if source.sentence_task == "none":
        paths = [path for path in paths if not _is_of_sentence_task(path)]
    return {path: source_path(path, config, source) for path in paths}


def _taken(sources: dict[str, str], available: Mapping[str, T]) -> dict[str, T]:
    """The tensors of another run that are there, under the names of the model."""
    return {p: available[s] for p, s in sources.items() if s in available}


def _is_of_sentence_task(path: str) -> bool:
    return "/pooler/" in path or "/sentence_head/" in path
