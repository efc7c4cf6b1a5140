"""The model that fine-tuning starts from: its architecture, and what of its weights."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cli.support.console import silent_stderr
from schemas.config import Initializer, ModelConfig
from schemas.errors import SettingError
from schemas.task import TaskSpec

if TYPE_CHECKING:
    from albert_tf.runs.checkpoints import Which
    from albert_tf.runs.tensor_files import Arrays

Say = Callable[[str], None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Start:
    """What is taken of a model.

    Attributes:
        from_scratch: Its architecture, and none of its weights.
        keep_head: Its head for the task too, which is otherwise a new one.
        checkpoint: Whose weights; None for the best of a fine-tuned model and the
            latest of others.

    Raises:
        SettingError: It is about weights, and none are taken; names the flag.
    """

    from_scratch: bool = False
    keep_head: bool = False
    checkpoint: "Which | None" = None

    def __post_init__(self) -> None:
        flag = "--keep-head" if self.keep_head else "--checkpoint"
        if self.from_scratch and (self.keep_head or self.checkpoint):
            raise SettingError(
                f"{flag} is about the weights of MODEL, and --from-scratch takes none; "
                "leave one of them out."
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Source:
    """The model that fine-tuning starts from.

    Attributes:
        config: The architecture of its encoder.
        weights: By path; none for a start from scratch.
        max_seq_length: Tokens in the longest sequences it was trained on.
        initializer: The first weights that it began with.
    """

    config: ModelConfig
    weights: "Arrays"
    max_seq_length: int
    initializer: Initializer


def read_source(path: Path, spec: TaskSpec, *, start: Start, say: Say) -> Source:
    """What is taken of a model.

    Args:
        path: Of its folder.
        spec: The task.
        start: What to take.
        say: Told about every damaged checkpoint passed over.

    Raises:
        AlbertError: It cannot be read.
        SettingError: Its head is to be kept, and it has none for this task.
    """
    with silent_stderr():
        from albert_tf.model.parameters import is_of_encoder
        from albert_tf.runs.run_record import is_tuned

    if is_tuned(path):
        source = tuned_source(path, spec, start=start, say=say)
    elif start.keep_head:
        raise SettingError(f"{path} is not a fine-tuned model; leave --keep-head out.")
    else:
        external = external_source(path, start=start)
        source = external or run_source(path, start=start, say=say)
    if start.keep_head:
        return source
    weights = {name: w for name, w in source.weights.items() if is_of_encoder(name)}
    return dataclasses.replace(source, weights=weights)


def tuned_source(path: Path, spec: TaskSpec, *, start: Start, say: Say) -> Source:
    """A fine-tuned model, with its head.

    Raises:
        AlbertError: It cannot be read.
        SettingError: Its head is to be kept, and is for another task.
    """
    with silent_stderr():
        from albert_tf.finetuning.tuned_model import read_record, read_tuned
        from albert_tf.runs.run_record import recorded_initializer, run_config

    record = read_record(path)
    is_of_task = (record.spec.kind, record.spec.labels) == (spec.kind, spec.labels)
    if start.keep_head and not is_of_task:
        raise SettingError(
            f"--keep-head: {path} is for {record.spec.kind} with other labels than "
            f"{spec.name}; leave it out."
        )
    weights: Arrays = {}
    if not start.from_scratch:
        weights = read_tuned(path, which=start.checkpoint or "best", say=say).weights
    return Source(
        config=run_config(path),
        weights=weights,
        max_seq_length=record.trained_length or record.max_seq_length,
        initializer=recorded_initializer(path),
    )


def external_source(path: Path, *, start: Start) -> Source | None:
    """A model that another program keeps, with its heads; None where there is none.

    Raises:
        AlbertError: It cannot be read.
    """
    with silent_stderr():
        from albert_tf.inference.trained_model import read_external
        from albert_tf.runs.run_record import trained_length

    which = start.checkpoint or "latest"
    external = read_external(path, which=which, needs_head=False)
    if external is None:
        return None
    return Source(
        config=external.config,
        # They are read in any case, for they tell which heads the architecture has.
        weights={} if start.from_scratch else external.weights,
        max_seq_length=trained_length(path, external.config),
        initializer="range",
    )


def run_source(path: Path, *, start: Start, say: Say) -> Source:
    """A run or an import, with its heads.

    Raises:
        AlbertError: It cannot be read.
    """
    with silent_stderr():
        from albert_tf.model.run_weights import read_run_weights
        from albert_tf.runs.run_record import (
            recorded_initializer,
            run_config,
            trained_length,
        )

    config = run_config(path)
    weights: Arrays = {}
    if not start.from_scratch:
        which = start.checkpoint or "latest"
        weights = read_run_weights(path, which=which, say=say).weights
    return Source(
        config=config,
        weights=weights,
        max_seq_length=trained_length(path, config),
        initializer=recorded_initializer(path),
    )
