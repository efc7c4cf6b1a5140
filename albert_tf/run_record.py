"""What a run, finished or not, has written about itself, read without TensorFlow."""

import dataclasses
from pathlib import Path
from typing import Any, TypeVar

from albert_tf.metrics import Metrics, read_metrics
from schemas.config import ModelConfig, TrainConfig, config_from_dict
from schemas.errors import AlbertError, SettingError
from schemas.json_file import read_json
from schemas.layout import CONFIG, DATA_MANIFEST, MODEL_CONFIG

Config = TypeVar("Config")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """What a run has written about itself.

    Attributes:
        title: What the report calls it.
        lines: Its metrics, oldest first.
        settings: As given; empty if it keeps none.
        config: How it is trained, resolved.
        model: Its architecture.
        data: The manifest of its data, as JSON; empty if it keeps none.
    """

    title: str
    lines: tuple[Metrics, ...]
    settings: dict[str, Any]
    config: TrainConfig
    model: ModelConfig
    data: dict[str, Any]

    def of_split(self, split: str) -> list[Metrics]:
        """The lines of a split."""
        return [line for line in self.lines if line["split"] == split]


def read_run(run: Path, *, title: str) -> Run:
    """Read what a run, finished or not, has written about itself.

    Raises:
        AlbertError: It has no metrics or no architecture, or a file cannot be read.
    """
    lines = read_metrics(run)
    if not lines:
        raise AlbertError(
            f"{run} has no metrics yet; let albert pretrain take its first steps, "
            "then ask again."
        )
    settings = read_json(run / CONFIG) if (run / CONFIG).exists() else {}
    data = read_json(run / DATA_MANIFEST) if (run / DATA_MANIFEST).exists() else {}
    identity = settings.get("identity", {})
    names = {field.name for field in dataclasses.fields(TrainConfig)}
    given = {**settings, **{k: v for k, v in identity.items() if v is not None}}
    values = {name: value for name, value in given.items() if name in names}
    return Run(
        title=title,
        lines=tuple(lines),
        settings=settings,
        config=_parsed(TrainConfig, values, path=run / CONFIG).resolved(),
        model=_parsed(
            ModelConfig, read_json(run / MODEL_CONFIG), path=run / MODEL_CONFIG
        ),
        data=data,
    )


def _parsed(kind: type[Config], values: dict[str, Any], *, path: Path) -> Config:
    try:
        return config_from_dict(kind, values)
    except SettingError as error:
        raise AlbertError(f"{path}: {error}") from error
