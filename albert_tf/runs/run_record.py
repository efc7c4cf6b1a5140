"""What a run has written about itself; read without TensorFlow.

Every reader of a run's settings, architecture and data takes them from here, so that a
file that was edited or damaged is refused once, in the same words.
"""

import dataclasses
from pathlib import Path
from typing import TypeVar

from albert_tf.runs.checkpoints import newest_state, newest_step
from albert_tf.runs.metrics import Metrics, read_evaluations, read_metrics
from schemas.architecture import ModelConfig
from schemas.config import Initializer, ResolvedTrainConfig, TrainConfig, config_from_dict, deciding
from schemas.errors import AlbertError, SettingError
from schemas.files import Values, read_json, write_json
from schemas.layout import (
    BUDGET_RECORD,
    CONFIG,
    DATA_MANIFEST,
    EVAL,
    EXPORT_RECORD,
    HF_TOKENIZER_CONFIG,
    LENGTH_BEFORE,
    MODEL_CONFIG,
    TASK,
)
from schemas.manifest import DatasetManifest, parse_manifest
from schemas.phases import phases_of

Config = TypeVar("Config")

# What the settings say besides those of the training, where they say anything.
_TYPES: dict[str, type] = {
    "command": str,
    "albert_version": str,
    "data": str,
    "model": str,
    "overrides": list,
    "init_from": str,
    "source": str,
    "identity": dict,
    "environment": dict,
    "began": dict,
    BUDGET_RECORD: dict,
    LENGTH_BEFORE: int,
}

# Other files that may say how long the sequences were that a model was trained on.
_LENGTHS = {EXPORT_RECORD: "max_seq_length", HF_TOKENIZER_CONFIG: "model_max_length"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """What a run has written about itself.

    Attributes:
        lines: Of metrics, the oldest first.
        settings: Empty if it keeps none.
    """

    title: str
    lines: tuple[Metrics, ...]
    settings: Values
    config: ResolvedTrainConfig
    model: ModelConfig
    data: DatasetManifest | None
    evaluations: list[Metrics]

    def of_split(self, split: str) -> list[Metrics]:
        """The lines of a split."""
        return [line for line in self.lines if line["split"] == split]


def read_run(run: Path, *, title: str) -> Run:
    """Read what a run, finished or not, has written about itself."""
    lines = read_metrics(run)
    settings = recorded_settings(run)
    if not lines and settings.get("command") == "import":
        raise AlbertError(
            f"{run} was imported and not trained further, so it has no curves to draw; "
            "the card of albert export shows what albert evaluate measured of it."
        )
    if not lines:
        raise AlbertError(
            f"{run} has no metrics yet; let albert pretrain take its first steps, then ask again."
        )
    return Run(
        title=title,
        lines=tuple(lines),
        settings=settings,
        config=recorded_training(run, settings).resolved(),
        model=run_config(run),
        data=recorded_manifest(run),
        evaluations=read_evaluations(run),
    )


def recorded_settings(run: Path) -> Values:
    """The settings that a run was given; empty if it keeps none."""
    path = run / CONFIG
    settings = read_json(path) if path.exists() else {}
    places = [(settings, _TYPES)]
    if isinstance(settings.get("environment"), dict):
        places.append((settings["environment"], {"started": str, "python": str}))
    for values, types in places:
        for name, kind in types.items():
            value = values.get(name)
            if value is not None and not isinstance(value, kind):
                raise AlbertError(
                    f"{path}: {name} must be of type {kind.__name__}, not "
                    f"{type(value).__name__}; put the file back as it was written."
                )
    return settings


def recorded_training(run: Path, settings: Values, *names: str) -> TrainConfig:
    """How a run is trained, as far as its settings say; the defaults for the rest.

    Args:
        names: Of the only settings that are asked for.
    """
    names = names or tuple(field.name for field in dataclasses.fields(TrainConfig))
    identity = settings.get("identity") or {}
    given = {**settings, **{k: v for k, v in identity.items() if v is not None}}
    values = {name: value for name, value in given.items() if name in names}
    return _parsed(TrainConfig, values, path=run / CONFIG)


def record_training(run: Path, config: ResolvedTrainConfig) -> None:
    """Keep with what settings a run goes on: its number of steps is another from now on.

    The one that it began with stays too.
    """
    settings = recorded_settings(run)
    before = settings.get("identity") or {}
    now = {name: value for name, value in deciding(config).items() if name in before}
    began = settings.get("began") or {}
    if before.get("steps", config.steps) != config.steps:
        began = {"steps": before["steps"]} | began
    settings |= {**dataclasses.asdict(config), "identity": before | now}
    write_json(run / CONFIG, settings | ({"began": began} if began else {}))


def recorded_initializer(run: Path) -> Initializer:
    """The first weights that a run, or a fine-tuning from scratch, began with.

    "range" if nothing says so, as for models from elsewhere.
    """
    return recorded_training(run, recorded_settings(run), "initializer").initializer


def recorded_manifest(run: Path) -> DatasetManifest | None:
    """The manifest of the data that a run was trained on; None if it keeps none."""
    path = run / DATA_MANIFEST
    return parse_manifest(read_json(path), path) if path.exists() else None


def run_config(run: Path) -> ModelConfig:
    """The architecture of a run."""
    path = run / MODEL_CONFIG
    if not path.exists():
        raise AlbertError(
            f"{run} has no {MODEL_CONFIG}, so it is not a run; give a folder that "
            "albert pretrain or albert import has written."
        )
    return _parsed(ModelConfig, read_json(path), path=path)


def is_tuned(folder: Path) -> bool:
    """Whether a folder is of a fine-tuned model."""
    return (folder / TASK).is_file()


def trained_length(folder: Path, config: ModelConfig) -> int:
    """Tokens in the longest sequences that a model was trained on.

    A run keeps the settings of its data and the length of the model it began with, an
    export has it in its record, an import and most models from elsewhere in the
    settings of their tokenizer. Where nothing says it, tokens in the longest sequences
    that the model takes.
    """
    longest = config.max_position_embeddings
    manifest = recorded_manifest(folder)
    if manifest is not None:
        settings = recorded_settings(folder)
        phases = phases_of(manifest.config, recorded_training(folder, settings))
        lengths = [phase.config.max_seq_length for phase in phases]
        return min(longest, max(*lengths, settings.get(LENGTH_BEFORE) or 0))
    for name, key in _LENGTHS.items():
        said = read_json(folder / name).get(key) if (folder / name).exists() else None
        if type(said) is int and said > 0:
            return min(longest, said)
    return longest


def finished_step(run: Path) -> int | None:
    """The step of a run's newest checkpoint, if it is whole and was evaluated.

    A run whose last step this is has nothing left to do. None for everything else:
    training then finds out what is missing or damaged, and says so.
    """
    state = newest_state(run)
    if state is None or state["step"] != newest_step(run):
        return None
    step: int = state["step"]
    try:
        manifest = recorded_manifest(run)
        lines = read_metrics(run)
    except AlbertError:
        return None
    if manifest is None:
        return None
    is_evaluated = any((e["step"], e["split"]) == (step, EVAL) for e in lines)
    return step if is_evaluated or not manifest.num_examples(EVAL) else None


def _parsed(kind: type[Config], values: Values, *, path: Path) -> Config:
    try:
        return config_from_dict(kind, values)
    except SettingError as error:
        reason = str(error).removesuffix(".")
        raise AlbertError(f"{path}: {reason}; put the file back as it was written.") from error
