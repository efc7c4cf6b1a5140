"""What each command leaves in its folder, and when all of it is there."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from schemas import layout
from schemas.config import TrainConfig

Identity = dict[str, Any]


class Footprint(NamedTuple):
    """What a command leaves in its folder, beside `config.json`.

    Attributes:
        command: The name of the command.
        writes: Everything else that it may have written.
        progress: Globs of what would be lost if another setting were used.
        is_finished: Whether a folder, here or remote, has a finished run of this
            identity, all of it.
        evidence: Files that show why a command failed, and keep its folder once they
            say anything; the next command with this output replaces them.
        defaults: What an identity stands for that earlier versions did not write.
        changeable: Settings of the identity that may change when a run goes on.
        check_change: Refuses such a change where a run cannot go on with it; takes the
            folder, and the identity before and now.
        remedy: What to do about a folder with a run of other settings.
    """

    command: str
    writes: tuple[str, ...]
    progress: tuple[str, ...]
    is_finished: Callable[[Path | str, Identity], bool]
    evidence: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = MappingProxyType({})
    changeable: tuple[str, ...] = ()
    check_change: Callable[[Path | str, Identity, Identity], None] = (
        lambda folder, before, now: None
    )
    remedy: str = "give another --output, or --overwrite to start over"

    @property
    def removable(self) -> tuple[str, ...]:
        """The only things that --overwrite removes, in this order.

        The folder is recognised by the last, so that an interrupted --overwrite can be
        given again.
        """
        return (*self.writes, layout.CONFIG)


def has_vocabulary(folder: Path | str, identity: Identity) -> bool:
    """Whether a vocabulary is there, of which the manifest is written last."""
    manifest = Path(folder) / layout.MANIFEST
    return manifest.exists() and layout.vocabulary_file(Path(folder)).exists()


def has_all_shards(folder: Path | str, identity: Identity) -> bool:
    """Whether a data set is there with all its files."""
    from pipeline.job.marks import is_whole_dataset

    return is_whole_dataset(folder)


def has_all_steps(folder: Path | str, identity: Identity) -> bool:
    """Whether the newest checkpoint of a run is its last."""
    from albert_tf.runs.run_record import finished_step

    step = finished_step(Path(folder))
    return step is not None and step >= int(identity["steps"])


def check_new_steps(folder: Path | str, before: Identity, now: Identity) -> None:
    """Refuse other steps of a run that has done too many of the ones it has."""
    from albert_tf.training.schedule import check_steps_may_change

    given = {field.name: field.default for field in dataclasses.fields(TrainConfig)}
    old, new = (
        TrainConfig(**{name: identity.get(name, given[name]) for name in given})
        for identity in (before, now)
    )
    check_steps_may_change(Path(folder), old, new)


def is_measured(folder: Path | str, identity: Identity) -> bool:
    """Whether a fine-tuned model is there, with all predictions it was asked for."""
    tests = (f"{layout.TEST_PREDICTIONS}/{name}" for name in identity["test"])
    names = (layout.TASK_EVALUATION, *tests)
    return all((Path(folder) / name).exists() for name in names)


VOCAB = Footprint(
    "vocab",
    writes=(
        layout.SPM_MODEL,
        layout.SPM_VOCAB,
        layout.HF_TOKENIZER,
        layout.HF_TOKENIZER_CONFIG,
        layout.MANIFEST,
    ),
    progress=(layout.MANIFEST,),
    is_finished=has_vocabulary,
)
MAKE_DATA = Footprint(
    "make-data",
    writes=(
        layout.SPM_MODEL,
        layout.MANIFEST,
        layout.DATA_CARD,
        layout.SIDECARS,
        layout.TRAIN,
        layout.EVAL,
        layout.WORK,
    ),
    progress=(layout.MANIFEST, layout.SIDECAR_FILES, layout.CHUNK_MARKS),
    is_finished=has_all_shards,
    defaults={"examples": "stored"},
)
PRETRAIN = Footprint(
    "pretrain",
    writes=(
        layout.SPM_MODEL,
        layout.MODEL_CONFIG,
        layout.DATA_MANIFEST,
        layout.METRICS,
        layout.EVALUATION,
        layout.TENSORBOARD,
        layout.CHECKPOINTS,
    ),
    progress=(layout.CHECKPOINT_DIRECTORIES,),
    is_finished=has_all_steps,
    evidence=(layout.METRICS,),
    defaults=dataclasses.asdict(TrainConfig()),
    changeable=("steps", "cooldown_share", "micro_batch_size"),
    check_change=check_new_steps,
    remedy="give another --output (--init-from takes this run's weights along), or "
    "--overwrite to start over",
)
FINETUNE = Footprint(
    "finetune",
    writes=(
        layout.SPM_MODEL,
        layout.WORDPIECE,
        layout.HF_TOKENIZER_CONFIG,
        layout.MODEL_CONFIG,
        layout.TASK,
        layout.METRICS,
        layout.TENSORBOARD,
        layout.CHECKPOINTS,
        layout.TASK_EVALUATION,
        layout.TASK_PREDICTIONS,
        layout.TEST_PREDICTIONS,
        layout.MODEL_CARD,
    ),
    progress=(layout.CHECKPOINT_DIRECTORIES,),
    is_finished=is_measured,
    evidence=(layout.METRICS,),
)
# A vocabulary, and beside it the weights of a run where there are any.
IMPORT = Footprint(
    "import",
    writes=(
        *VOCAB.writes,
        layout.WORDPIECE,
        layout.MODEL_CONFIG,
        layout.TASK,
        layout.CHECKPOINTS,
        layout.EVALUATION,
    ),
    progress=(layout.MANIFEST,),
    is_finished=has_vocabulary,
)
