"""Starting from the weights of another run, a shallower one included.

The paper initialises deeper networks from shallower ones (section 4.6 and footnote 5).
Where all layers share weights, these are copied. Otherwise layer k of L takes the
weights of layer k * l // L of a model with l layers, so that neighbouring layers start
alike.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from albert_tf.data.data_check import check_same_vocabulary, vocabulary_of
from albert_tf.model.parameters import weight_shapes
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.runs.checkpoints import (
    assign_arrays,
    check_shapes,
    load_newest,
    newest_shapes,
)
from albert_tf.runs.run_record import run_config
from schemas.config import ModelConfig
from schemas.errors import AlbertError
from schemas.manifest import DatasetManifest

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
    run: Path,
    *,
    manifest: DatasetManifest,
    data: Path,
    say: Callable[[str], None],
) -> None:
    """Give a new model the weights of a run's newest checkpoint.

    A sentence head that the other run lacks keeps its random first weights.

    Raises:
        AlbertError: The run has no checkpoint, another vocabulary, or a tensor that
            does not fit; names the tensor.
    """
    source = _source_config(run, manifest=manifest, data=data)
    checkpoint = load_newest(run, say, with_optimizer=False)
    if checkpoint is None:
        raise AlbertError(f"{run} holds no checkpoint to start from.")
    sources = _sources(model.weights_by_path, model.config, source)
    weights = {path: model.weights_by_path[path] for path in sources}
    assign_arrays(weights, _taken(sources, checkpoint.weights))
    say(f"Starting from the weights of {run}, step {checkpoint.state['step']}.")


def check_can_start_from(
    run: Path,
    config: ModelConfig,
    *,
    manifest: DatasetManifest,
    data: Path,
    say: Callable[[str], None],
) -> None:
    """Refuse what `start_from` would refuse, without building a model.

    Raises:
        AlbertError: As `start_from`.
    """
    source = _source_config(run, manifest=manifest, data=data)
    available = newest_shapes(run, say)
    if available is None:
        raise AlbertError(f"{run} holds no checkpoint to start from.")
    ours = weight_shapes(config)
    sources = _sources(ours, config, source)
    check_shapes({path: ours[path] for path in sources}, _taken(sources, available))


def _source_config(run: Path, *, manifest: DatasetManifest, data: Path) -> ModelConfig:
    """The architecture of a run, which must have the vocabulary of the data set."""
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
