"""Whether a model, a data set and a run belong together, checked before any work."""

import dataclasses
import hashlib
import shlex
from pathlib import Path

from schemas.architecture import ModelConfig
from schemas.config import TrainConfig, flag_name
from schemas.errors import AlbertError, SettingError
from schemas.files import read_bytes
from schemas.layout import DATA_MANIFEST, EVAL, MANIFEST, SPM_MODEL, TRAIN, WORDPIECE
from schemas.manifest import DatasetManifest
from schemas.phases import given, phases_of


def check_data(manifest: DatasetManifest, *, data: Path) -> None:
    """Refuse a data set that nothing can be trained on, or that is not whole."""
    check_has_training_examples(manifest, data=data)
    path = data / SPM_MODEL
    if not path.is_file():
        raise AlbertError(f"{path} is missing; make the data again.")
    if hashlib.sha256(read_bytes(path)).hexdigest() != manifest.vocabulary["sha256"]:
        raise AlbertError(
            f"{path} is not the vocabulary that the data was made with; put that one back."
        )
    for shard in manifest.shards:
        path = data / shard.name
        size = path.stat().st_size if path.exists() else None
        if size != shard.bytes:
            is_other = f"has {size} bytes and not {shard.bytes}, as {MANIFEST} says"
            state = "is missing" if size is None else is_other
            raise AlbertError(
                f"{path} {state}; run the same albert make-data again: it makes the "
                "file anew, byte for byte."
            )


def check_model_fits(config: ModelConfig, manifest: DatasetManifest, *, data: Path) -> None:
    """Refuse a data set whose examples the model cannot take."""
    length = manifest.config.max_seq_length
    if length > config.max_position_embeddings:
        raise SettingError(
            f"{data} has sequences of {length} tokens and the model's "
            f"max_position_embeddings is {config.max_position_embeddings}; give "
            f"--set max_position_embeddings={length}, or make data with a shorter "
            "--max-seq-length."
        )
    size = manifest.vocabulary["size"]
    if size != config.vocab_size:
        raise SettingError(
            f"{data} was made with a vocabulary of {size} tokens and the model's "
            f"vocab_size is {config.vocab_size}; leave vocab_size out, it follows from "
            "the data."
        )


def check_has_training_examples(manifest: DatasetManifest, *, data: Path) -> None:
    """Refuse a data set with nothing to train on."""
    if not manifest.num_examples(TRAIN):
        raise AlbertError(
            f"{data} has no training examples; make data from more text or with a "
            "smaller --eval-fraction."
        )


def manifests_of(config: TrainConfig, manifest: DatasetManifest) -> list[DatasetManifest]:
    """The data set as it would be if it were made for each phase of a run."""
    return [
        dataclasses.replace(manifest, config=phase.config)
        for phase in phases_of(manifest.config, config)
    ]


def check_settings_fit(
    config: TrainConfig, model_config: ModelConfig, manifest: DatasetManifest, *, data: Path
) -> None:
    """Refuse examples that cannot be made, or that the model cannot take."""
    check_model_fits(model_config, manifest, data=data)
    settings = given(config)
    if settings and not manifest.has_documents:
        flags = ", ".join(map(flag_name, settings))
        raise SettingError(
            f"{data} has stored examples, which cannot be changed: leave {flags} out, "
            "or make data with --examples on-the-fly."
        )
    task, held_out = settings.get("sentence_task"), manifest.config.sentence_task
    if task not in (None, "none", held_out) and manifest.num_examples(EVAL):
        raise SettingError(
            f"--sentence-task {task}: the held-out examples of {data} are made for "
            f"{held_out}; leave it out, or make data with --sentence-task {task}."
        )
    task, longest = model_config.sentence_task, model_config.max_position_embeddings
    for made in manifests_of(config, manifest):
        length, made_task = made.config.max_seq_length, made.config.sentence_task
        if length > longest:
            raise SettingError(
                f"--max-seq-length {length} is more than the model's "
                f"max_position_embeddings of {longest}; give --set "
                f"max_position_embeddings={length}, or shorter sequences."
            )
        if task not in ("none", made_task):
            raise SettingError(
                f"the model's sentence_task is {task} and {data} was made with "
                f"--sentence-task {made_task}; give --set sentence_task={made_task} or "
                f"none, or make data with --sentence-task {task}."
            )


def check_same_data(run: Path, *, data: Path) -> None:
    """Refuse to continue a run on other data than it was started with."""
    recorded = run / DATA_MANIFEST
    if not recorded.exists():
        return
    try:
        is_same = recorded.read_bytes() == (data / MANIFEST).read_bytes()
    except OSError as error:
        raise AlbertError(
            f"{error.filename} cannot be read: {error.strerror}; continue {run} on "
            "the data set it was started on."
        ) from error
    if not is_same:
        raise AlbertError(
            f"{data} is not the data set {run} was started on: {MANIFEST} differs from "
            f"{recorded}; continue on the old data, or start a new run with "
            f"--init-from {shlex.quote(str(run))} --output NEW."
        )


def check_same_vocabulary(manifest: DatasetManifest, *, run: Path, data: Path) -> None:
    """Refuse to use the weights of a run with tokens of another vocabulary."""
    if (run / WORDPIECE).is_file():
        raise AlbertError(
            f"{run} has BERT's {WORDPIECE}, with which no data can be made; it can be "
            "fine-tuned, queried and exported."
        )
    ours = hashlib.sha256(read_bytes(run / SPM_MODEL)).hexdigest()
    theirs = manifest.vocabulary["sha256"]
    if ours != theirs:
        raise AlbertError(
            f"{data} was made with another vocabulary (sha256 {theirs[:12]}) than "
            f"{run} was trained with ({ours[:12]}); make data with the vocabulary "
            f"{run / SPM_MODEL}, or measure on its text with albert evaluate --text."
        )
