"""The architecture of a run and the weights of a checkpoint, once they fit."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from albert_tf.model.parameters import weight_shapes
from albert_tf.runs.checkpoints import Which, check_shapes, run_checkpoint, shapes_of
from albert_tf.runs.run_record import run_config
from albert_tf.runs.tensor_files import Arrays
from schemas.config import ModelConfig


class RunWeights(NamedTuple):
    """What a run has learned.

    Attributes:
        config: The architecture.
        weights: By path.
        step: Of the checkpoint they are from.
    """

    config: ModelConfig
    weights: Arrays
    step: int


def read_run_weights(
    run: Path,
    *,
    which: Which = "latest",
    say: Callable[[str], None] = lambda line: None,
) -> RunWeights:
    """The weights of a run, which a model of its architecture can take.

    Args:
        run: The run directory.
        which: The newest checkpoint, or the one with the least held-out loss.
        say: Told about every damaged checkpoint passed over.

    Raises:
        AlbertError: The folder is not a run, it has no checkpoint that can be read, or
            its files do not fit together.
    """
    config = run_config(run)
    checkpoint = run_checkpoint(run, which=which, say=say)
    # Before anything is built: the architecture may be of any size.
    check_shapes(weight_shapes(config), shapes_of(checkpoint.weights))
    return RunWeights(config, checkpoint.weights, checkpoint.state["step"])
