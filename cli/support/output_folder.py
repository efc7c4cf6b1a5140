"""The folder a command writes: recognised, locked, continued or refused."""

import contextlib
import dataclasses
import fcntl
import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TextIO

from schemas import __version__, layout
from schemas.config import TrainConfig, flag_name
from schemas.errors import AlbertError, SettingError
from schemas.json_file import read_json, write_json
from schemas.whole_file import TEMPORARY

Identity = dict[str, Any]

# Of a sha256, of which nobody wants to know more than that it changed.
_HASH_DIGITS = 64


class Footprint(NamedTuple):
    """What a command leaves in its folder.

    Attributes:
        command: The name of the command.
        writes: Everything it may have written, the only things --overwrite removes.
        progress: Globs of what would be lost if another setting were used.
        is_finished: Whether a folder, here or remote, has a finished run of this
            identity, all of it.
        evidence: Files that show why a command failed, and keep its folder once they
            say anything; the next command with this output replaces them.
        defaults: What an identity stands for that earlier versions did not write.
        changeable: Settings of the identity that may change when a run goes on.
        check_change: Refuses such a change where a run cannot go on with it; takes the
            folder, and the identity before and now.
    """

    command: str
    writes: tuple[str, ...]
    progress: tuple[str, ...]
    is_finished: Callable[[Path | str, dict[str, Any]], bool]
    evidence: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = MappingProxyType({})
    changeable: tuple[str, ...] = ()
    check_change: Callable[[Path | str, Identity, Identity], None] = (
        lambda folder, before, now: None
    )


def has_vocabulary(folder: Path | str, identity: dict[str, Any]) -> bool:
    """Whether a vocabulary is there, of which the manifest is written last."""
    manifest = Path(folder) / layout.MANIFEST
    return manifest.exists() and layout.vocabulary_file(Path(folder)).exists()


def has_all_shards(folder: Path | str, identity: dict[str, Any]) -> bool:
    """Whether a data set is there with all its files."""
    from pipeline.job.resuming import is_whole_dataset

    return is_whole_dataset(folder)


def has_all_steps(folder: Path | str, identity: dict[str, Any]) -> bool:
    """Whether the newest checkpoint of a run is its last."""
    from albert_tf.runs.finished import finished_step

    step = finished_step(Path(folder))
    return step is not None and step >= int(identity["steps"])


def check_new_steps(folder: Path | str, before: Identity, now: Identity) -> None:
    """Refuse other steps of a run that has done too many of the ones it has."""
    from albert_tf.training.continuation import check_steps_may_change

    given = {field.name: field.default for field in dataclasses.fields(TrainConfig)}
    old, new = (
        TrainConfig(**{name: identity.get(name, given[name]) for name in given})
        for identity in (before, now)
    )
    check_steps_may_change(Path(folder), old, new)


VOCAB = Footprint(
    "vocab",
    writes=(
        layout.SPM_MODEL,
        layout.SPM_VOCAB,
        layout.HF_TOKENIZER,
        layout.HF_TOKENIZER_CONFIG,
        layout.MANIFEST,
        layout.CONFIG,
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
        layout.CONFIG,
        layout.SIDECARS,
        layout.TRAIN,
        layout.EVAL,
        layout.WORK,
    ),
    progress=(layout.MANIFEST, layout.SIDECAR_FILES, layout.SPLIT_MARKS),
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
        layout.CONFIG,
    ),
    progress=(layout.CHECKPOINT_DIRECTORIES,),
    is_finished=has_all_steps,
    evidence=(layout.METRICS,),
    defaults=dataclasses.asdict(TrainConfig())
    | {"keep_optimizer": False, "init_checkpoint": "latest"},
    changeable=("steps", "cooldown_share", "micro_batch_size"),
    check_change=check_new_steps,
)


def is_measured(folder: Path | str, identity: dict[str, Any]) -> bool:
    """Whether a fine-tuned model is there, with all predictions it was asked for."""
    tests = (f"{layout.TEST_PREDICTIONS}/{name}" for name in identity["test"])
    names = (layout.TASK_EVALUATION, *tests)
    return all((Path(folder) / name).exists() for name in names)


FINETUNE = Footprint(
    "finetune",
    writes=(
        layout.SPM_MODEL,
        layout.WORDPIECE,
        layout.MODEL_CONFIG,
        layout.TASK,
        layout.METRICS,
        layout.TENSORBOARD,
        layout.CHECKPOINTS,
        layout.TASK_EVALUATION,
        layout.TASK_PREDICTIONS,
        layout.TEST_PREDICTIONS,
        layout.MODEL_CARD,
        layout.CONFIG,
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


@contextlib.contextmanager
def claim(
    folder: Path,
    footprint: Footprint,
    *,
    settings: dict[str, Any],
    identity: dict[str, Any],
    overwrite: bool,
    goes_on_elsewhere: bool = False,
) -> Iterator[bool]:
    """Take a folder for writing; yields whether the command has finished there before.

    `config.json` is written at once, so that an interrupted run is recognised.

    Args:
        folder: Made if absent.
        footprint: Of the command.
        settings: All settings, accepted back by --config.
        identity: What decides the result; a run continues only if it is the same.
        overwrite: Remove an earlier result first.
        goes_on_elsewhere: What writes there may go on when this process has ended, so
            that nothing is removed then.

    Raises:
        SettingError: The folder holds something else, or a run with other settings.
        AlbertError: Another process is writing there.
    """
    check_recognised(folder, footprint)
    is_new = not folder.exists()
    try:
        with lock(folder):
            if overwrite:
                remove(folder, footprint)
            finished = compare(folder, footprint, identity=identity)
            if not finished:
                _prepare(folder, footprint, settings=settings, identity=identity)
            try:
                yield finished
            except BaseException:
                is_kept = has_progress(folder, footprint) or goes_on_elsewhere
                if not (is_kept or has_evidence(folder, footprint)):
                    remove(folder, footprint)
                raise
    finally:
        if is_new:
            # Fails unless the folder is empty, which is what it is meant for.
            with contextlib.suppress(OSError):
                folder.rmdir()


def rewrite(
    folder: Path, footprint: Footprint, *, settings: dict[str, Any], identity: Identity
) -> None:
    """Say with which settings a run goes on, and with which it began.

    Args:
        folder: Claimed, with something to continue.
        footprint: Of the command.
        settings: All of them, as they are now.
        identity: What decides the result now.
    """
    record = run_record(footprint, settings | {"identity": identity})
    _keep_beginning(record, read_json(folder / layout.CONFIG), footprint)
    write_json(folder / layout.CONFIG, record)


def _prepare(
    folder: Path, footprint: Footprint, *, settings: dict[str, Any], identity: Identity
) -> None:
    """Leave only what can be continued, and say whose folder it is since when."""
    if has_progress(folder, footprint):
        rewrite(folder, footprint, settings=settings, identity=identity)
        return
    remove(folder, footprint)
    record = run_record(footprint, settings | {"identity": identity})
    write_json(folder / layout.CONFIG, record)


def _keep_beginning(
    record: dict[str, Any], before: dict[str, Any], footprint: Footprint
) -> None:
    """Have a record say when its run began, and with which settings that changed."""
    environment, old, began = (
        values if isinstance(values, dict) else {}
        for values in map(before.get, ("environment", "identity", "began"))
    )
    if isinstance(environment.get("started"), str):
        record["environment"]["started"] = environment["started"]
    new = record["identity"]
    changed = {
        name: old[name]
        for name in footprint.changeable
        if name in old and old[name] != new.get(name)
    }
    if changed | began:
        record["began"] = changed | began


def run_record(footprint: Footprint, settings: dict[str, Any]) -> dict[str, Any]:
    """What `config.json` says: which command wrote the folder, with which settings."""
    return {
        "command": footprint.command,
        "albert_version": __version__,
        **settings,
        "environment": {
            "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "host": platform.node(),
            "python": platform.python_version(),
        },
    }


def has_progress(folder: Path, footprint: Footprint) -> bool:
    """Whether there is anything to continue."""
    found = (path for pattern in footprint.progress for path in folder.glob(pattern))
    return any(TEMPORARY not in path.name for path in found)


def has_evidence(folder: Path, footprint: Footprint) -> bool:
    """Whether anything shows how far a command came that failed."""
    paths = [folder / name for name in footprint.evidence]
    return any(path.is_file() and path.stat().st_size for path in paths)


def check_recognised(folder: Path, footprint: Footprint) -> None:
    """Refuse a folder that holds anything but a run of the same command."""
    if folder.exists() and not folder.is_dir():
        raise SettingError(f"--output: {folder} is a file; give a folder.")
    if not folder.is_dir() or not any(_contents(folder)):
        return
    config = folder / layout.CONFIG
    command = read_json(config).get("command") if config.exists() else None
    if command != footprint.command:
        what = f"the output of albert {command}" if command else "other files"
        raise SettingError(
            f"--output: {folder} holds {what}; give a new or empty folder."
        )


def check_is_not(folder: Path, source: Path | None, *, what: str) -> None:
    """Refuse a folder that is read as well: beginning there would remove what it has.

    Args:
        folder: To be written.
        source: What is read, if anything is.
        what: It, for people.

    Raises:
        SettingError: They are the same.
    """
    if source is not None and folder.resolve() == source.resolve():
        raise SettingError(f"--output: {folder} is {what}; give another folder.")


def compare(folder: Path, footprint: Footprint, *, identity: dict[str, Any]) -> bool:
    """Whether the folder has a finished run of the same settings.

    Raises:
        SettingError: It has a run of other settings.
    """
    if not has_progress(folder, footprint):
        return False
    record = read_json(folder / layout.CONFIG)
    check_identity(folder, footprint, record, identity=identity)
    return footprint.is_finished(folder, identity)


def check_identity(
    folder: Path | str,
    footprint: Footprint,
    record: dict[str, Any],
    *,
    identity: dict[str, Any],
) -> None:
    """Refuse to continue a run that was started with other settings.

    Args:
        folder: Of the run, for the message.
        footprint: Of the command.
        record: The `config.json` of the run.
        identity: What decides the result of the command as it was given.

    Raises:
        SettingError: A setting differs.
    """
    # As it will be read again: JSON makes lists of tuples.
    recorded, now = record.get("identity"), json.loads(json.dumps(identity))
    if not isinstance(recorded, dict):
        recorded = {}
    before = {**footprint.defaults, **recorded} if recorded else {}
    differing = [
        name for name in {**recorded, **now} if before.get(name) != now.get(name)
    ]
    if set(differing) <= set(footprint.changeable):
        footprint.check_change(folder, before, now)
        return
    changes = []
    for name in differing:
        old, new = before.get(name), now.get(name)
        is_short = all(
            isinstance(v, int | float | str) and len(str(v)) < _HASH_DIGITS
            for v in (old, new)
        )
        change = f" was {old} and is {new}" if is_short else " changed"
        changes.append(f"{flag_name(name)}{change}")
    remedy = "give another --output, or --overwrite to start over"
    if footprint is PRETRAIN:
        remedy = (
            "give another --output (--init-from takes this run's weights along), "
            "or --overwrite to start over"
        )
    raise SettingError(
        f"{folder} holds a run with other settings: {', '.join(changes)}; {remedy}."
    )


def remove(folder: Path, footprint: Footprint) -> None:
    """Remove what an earlier run of the command wrote, and nothing else."""
    for name in footprint.writes:
        for path in (folder / name, *folder.glob(f"{name}{TEMPORARY}*")):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def _contents(folder: Path) -> Iterator[Path]:
    return (
        path
        for path in folder.iterdir()
        if path.name != layout.LOCK and TEMPORARY not in path.name
    )


def _make(folder: Path, *, chosen_by: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(
            f"{chosen_by}: {folder} cannot be made: {error.strerror}."
        ) from error


@contextlib.contextmanager
def lock(folder: Path, *, chosen_by: str = "--output") -> Iterator[None]:
    """Hold a folder, made if need be, until the end of a block.

    The system releases the lock of a process that has died.

    Args:
        folder: To be written.
        chosen_by: The flag or variable that another folder can be given with.

    Raises:
        SettingError: The folder cannot be made or written.
        AlbertError: Another process holds it.
    """
    _make(folder, chosen_by=chosen_by)
    path = folder / layout.LOCK
    with _open_lock(path, chosen_by=chosen_by) as file:
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _open_lock(path: Path, *, chosen_by: str) -> TextIO:
    """The lock file, held by this process and still the one in the folder."""
    while True:
        try:
            file = path.open("a+")
        except OSError as error:
            raise SettingError(
                f"{chosen_by}: {path.parent} cannot be written: {error.strerror}."
            ) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with file:
                file.seek(0)
                owner = file.read().strip() or "unknown"
            raise AlbertError(
                f"{path.parent} is being written by process {owner}; "
                "wait for it to end."
            ) from None
        except OSError:
            # Some network file systems have no locks; whoever writes there has to see
            # to it that nobody else does.
            return file
        # Its last holder may have removed it between the two calls.
        if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
            return file
        file.close()
