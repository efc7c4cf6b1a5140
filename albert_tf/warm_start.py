"""Starting from the weights of another run, a shallower one included.

The paper initialises deeper networks from shallower ones (section 4.6 and footnote 5).
Where all layers share weights that is a copy. Otherwise layer k of L takes the weights
of layer k * l // L of the l there are, so that neighbours start alike.
"""

import re
from collections.abc import Callable
from pathlib import Path

from albert_tf.checkpoints import assign_arrays, load_newest
from albert_tf.data_check import check_same_vocabulary
from albert_tf.pretrainer import AlbertPretrainer
from schemas.config import ModelConfig, config_from_dict
from schemas.errors import AlbertError
from schemas.json_file import read_json
from schemas.layout import DATA_MANIFEST, MODEL_CONFIG
from schemas.manifest import DatasetManifest

_OWNER = re.compile(r"(group|layer)_(\d+)_inner")


def source_path(path: str, config: ModelConfig, source: ModelConfig) -> str:
    """Which weights of a source run a weight of the model starts from.

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

    A sentence task the source was not trained on keeps its first, random weights.

    Raises:
        AlbertError: The run has no checkpoint, another vocabulary, or a tensor that
            does not fit; names the tensor.
    """
    source = config_from_dict(ModelConfig, read_json(run / MODEL_CONFIG))
    vocabulary = read_json(run / DATA_MANIFEST)["vocabulary"]
    check_same_vocabulary(vocabulary, manifest, run=run, data=data)
    checkpoint = load_newest(run, say)
    if checkpoint is None:
        raise AlbertError(f"{run} holds no checkpoint to start from.")
    weights = model.weights_by_path
    if source.sentence_task == "none":
        weights = {p: w for p, w in weights.items() if not _is_of_sentence_task(p)}
    wanted = {path: source_path(path, model.config, source) for path in weights}
    available = checkpoint.weights
    arrays = {p: available[s] for p, s in wanted.items() if s in available}
    assign_arrays(weights, arrays)
    say(f"Starting from the weights of {run}, step {checkpoint.state['step']}.")


def _is_of_sentence_task(path: str) -> bool:
    return "/pooler/" in path or "/sentence_head/" in path
