"""`albert export`: a run becomes files that other programs read."""

import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.support.asked_model import (
    any_checkpoint_option,
    check_sizes,
    read_vocabulary,
)
from cli.support.console import Console, silent_stderr
from cli.support.options import debug_option, quiet_option
from cli.support.parameter_types import UserPath
from schemas import __version__
from schemas.config import ModelConfig
from schemas.errors import SettingError
from schemas.json_file import json_text, read_json, write_json, write_text
from schemas.layout import (
    CONFIG,
    EXPORT_RECORD,
    HF_TOKENIZER,
    HF_TOKENIZER_CONFIG,
    MODEL_CARD,
    MODEL_WEIGHTS,
    SPM_MODEL,
    WORDPIECE,
    vocabulary_file,
)
from schemas.task import TaskSpec
from schemas.whole_file import whole_file, whole_folder

if TYPE_CHECKING:
    from albert_tf.finetuning.tuned_model import TaskRecord
    from albert_tf.runs.checkpoints import Which
    from albert_tf.runs.tensor_files import Arrays


@dataclasses.dataclass(frozen=True, kw_only=True)
class Exported:
    """What there is to export.

    Attributes:
        run: Where it is from.
        config: The architecture.
        weights: Arrays by path.
        step: Of the checkpoint.
        max_seq_length: Tokens in the longest sequences it was trained on.
        vocabulary: The content of the file that has the vocabulary.
        order: The place in the vocabulary's file of each piece; None where that is its
            id. Weights are in the order of the file.
        record: Of the task that it was fine-tuned on; None for a run.
    """

    run: Path
    config: ModelConfig
    weights: "Arrays"
    step: int
    max_seq_length: int
    vocabulary: bytes
    order: list[int] | None
    record: "TaskRecord | None"

    @property
    def vocabulary_name(self) -> str:
        """The file that has the vocabulary."""
        return SPM_MODEL if self.order is None else WORDPIECE

    @property
    def task(self) -> TaskSpec | None:
        """The task that it was fine-tuned on; None for a run."""
        return self.record.spec if self.record else None


def to_huggingface(exported: Exported, folder: Path) -> None:
    """Write what transformers and, of a run, KerasHub read."""
    with silent_stderr():
        from albert_tf.convert.huggingface import (
            huggingface_config,
            huggingface_tensors,
            write_tensors,
        )
        from albert_tf.convert.huggingface_tasks import task_config, task_tensors

    config, weights, task = exported.config, exported.weights, exported.task
    if task is None:
        tensors = huggingface_tensors(weights, config)
        values = huggingface_config(config, order=exported.order)
    else:
        tensors = task_tensors(weights, config, task)
        values = task_config(config, task, order=exported.order)
    write_tensors(tensors, folder / MODEL_WEIGHTS)
    write_json(folder / CONFIG, values)
    write_tokenizer(exported, folder)


def write_tokenizer(exported: Exported, folder: Path) -> None:
    """Write the files by which AutoTokenizer loads the vocabulary."""
    from pipeline.vocabulary.tokenizer_json import (
        bert_tokenizer_config,
        tokenizer_config,
        tokenizer_json,
    )
    from pipeline.vocabulary.wordpiece import has_capitals, read_pieces

    length = exported.max_seq_length
    if exported.order is None:
        write_json(folder / HF_TOKENIZER, tokenizer_json(exported.vocabulary))
        write_json(folder / HF_TOKENIZER_CONFIG, tokenizer_config(max_length=length))
        return
    pieces = read_pieces(exported.vocabulary, path=WORDPIECE)
    config = bert_tokenizer_config(is_cased=has_capitals(pieces), max_length=length)
    write_json(folder / HF_TOKENIZER_CONFIG, config)


def to_saved_model(exported: Exported, folder: Path) -> None:
    """Write what TensorFlow Serving reads."""
    with silent_stderr():
        from albert_tf.convert.saved_model import (
            write_saved_model,
            write_task_saved_model,
        )
        from albert_tf.model.pretrainer import AlbertPretrainer
        from albert_tf.model.task_model import TaskModel
        from albert_tf.runs.checkpoints import assign_arrays

    if (task := exported.task) is not None:
        tuned = TaskModel(exported.config, kind=task.kind, labels=len(task.labels))
        assign_arrays(tuned.weights_by_path, exported.weights)
        with silent_stderr():
            write_task_saved_model(tuned, folder)
        return
    model = AlbertPretrainer(exported.config)
    assign_arrays(model.weights_by_path, exported.weights)
    with silent_stderr():
        write_saved_model(model, folder)


WRITERS: dict[str, Callable[[Exported, Path], None]] = {
    "hf": to_huggingface,
    "saved-model": to_saved_model,
}


# Where the record of an export has the names of all that it wrote.
WRITTEN = "files"


@click.command(epilog="Example:  albert export run --to hf --output my-albert")
@click.argument("run", type=UserPath(path_type=Path))
@click.option(
    "--to",
    "target",
    type=click.Choice(list(WRITERS)),
    required=True,
    help="What is to read it: Hugging Face and KerasHub, or TensorFlow and its server.",
)
@click.option(
    "--output",
    type=UserPath(file_okay=False, path_type=Path),
    help="Folder to write  [default: the run's name with the value of --to appended]",
)
@any_checkpoint_option
@click.option("--overwrite", is_flag=True, help="Replace an earlier export.")
@quiet_option()
@debug_option
def export(
    run: Path,
    target: str,
    output: Path | None,
    checkpoint: "Which | None",
    overwrite: bool,
    quiet: bool,
    debug: bool,
) -> None:
    """Write a run, or a fine-tuned model, as files that other programs read.

    A model card describes them. The folder gets its name only once it is complete. A
    fine-tuned model is written for Hugging Face, whose pipelines then know its labels,
    or as a saved-model with the signature predict.
    """
    console = Console(quiet=quiet)
    output = output or default_output(run, target)
    found = earlier_export(output, overwrite=overwrite)
    if target == "saved-model":
        check_backend()
    exported = load(run, checkpoint, console=console)
    record = {
        "command": "export",
        "albert_version": __version__,
        "to": target,
        "max_seq_length": exported.max_seq_length,
        **identity(exported),
    }
    if found is not None and not overwrite:
        if json_text(found) == json_text(record):
            console.say(f"{output} is finished already; nothing to do.")
            return
        raise SettingError(
            f"--output: {output} holds an export of other weights or for another "
            "program; give another folder, or --overwrite to replace it."
        )
    write(exported, output, target=target, record=record)
    console.say(f"{output}: step {exported.step:,} of {run}, for {target}")


def write(
    exported: Exported, output: Path, *, target: str, record: dict[str, Any]
) -> None:
    """Write an export and its card, in the place of an earlier one."""
    with whole_folder(output) as folder:
        WRITERS[target](exported, folder)
        with whole_file(folder / exported.vocabulary_name) as file:
            file.write(exported.vocabulary)
        write_text(folder / MODEL_CARD, card(exported, target))
        written = [*sorted(path.name for path in folder.iterdir()), EXPORT_RECORD]
        write_json(folder / EXPORT_RECORD, {**record, WRITTEN: written})


def default_output(run: Path, target: str) -> Path:
    """The folder beside the run that has its name and that of the program.

    >>> default_output(Path("models/run"), "hf").name
    'run-hf'
    """
    run = run.resolve()
    return Path(f"{run}-{target}")


def earlier_export(output: Path, *, overwrite: bool) -> dict[str, Any] | None:
    """The record of the export that a folder holds; None where it is new or empty.

    Args:
        output: The folder.
        overwrite: Whether it is to be replaced with all that is in it.

    Raises:
        SettingError: It cannot be replaced, or holds what no export has written.
    """
    if output.exists() and not output.is_dir():
        raise SettingError(f"--output: {output} is a file; give a folder.")
    if Path.cwd().is_relative_to(output.resolve()):
        raise SettingError(
            f"--output: {output} is the current folder, or holds it, and cannot be "
            "replaced; give another folder."
        )
    held = sorted(path.name for path in output.iterdir()) if output.exists() else []
    if not held:
        return None
    if EXPORT_RECORD not in held:
        raise SettingError(
            f"--output: {output} holds other files; give a new or empty folder."
        )
    record = read_json(output / EXPORT_RECORD)
    written = record.pop(WRITTEN, ())
    if overwrite and (others := [name for name in held if name not in written]):
        raise SettingError(
            f"--output: {output} holds {others[0]}, which no export wrote; move it, or "
            "give another folder."
        )
    return record


def check_backend() -> None:
    """Refuse to write what only TensorFlow can if Keras runs on another backend.

    Raises:
        SettingError: Names the variable that says so.
    """
    with silent_stderr():
        from keras import backend
    if backend.backend() != "tensorflow":
        raise SettingError(
            f"--to saved-model needs TensorFlow, and KERAS_BACKEND is "
            f"{backend.backend()}; unset KERAS_BACKEND."
        )


def card(exported: Exported, target: str) -> str:
    """The model card; for a fine-tuned model, the one it has."""
    from albert_tf.convert.model_card import model_card, task_card

    if exported.task is not None:
        return task_card(exported.run, exported.task, step=exported.step, target=target)
    return model_card(
        exported.run,
        exported.config,
        step=exported.step,
        target=target,
        vocabulary=exported.vocabulary_name,
    )


def load(run: Path, checkpoint: "Which | None", *, console: Console) -> Exported:
    """What there is to export, once its parts fit together.

    Raises:
        AlbertError: The run has no checkpoint, or another vocabulary.
    """
    with silent_stderr():
        from albert_tf.finetuning.tuned_model import read_tuned
        from albert_tf.model.run_weights import read_run_weights
        from albert_tf.runs.run_record import is_tuned, run_config, trained_length
    config = run_config(run)
    tokenizer = read_vocabulary(run)
    check_sizes(tokenizer, config, path=run)
    record, length = None, trained_length(run, config)
    if is_tuned(run):
        tuned = read_tuned(run, which=checkpoint or "best", say=console.say)
        weights, step = tuned.weights, tuned.step
        record, length = tuned.record, tuned.record.max_seq_length
    else:
        which = checkpoint or "latest"
        _, weights, step = read_run_weights(run, which=which, say=console.say)
    return Exported(
        run=run,
        config=config,
        weights=in_order_of_file(weights, tokenizer.order),
        step=step,
        max_seq_length=length,
        vocabulary=vocabulary_file(run).read_bytes(),
        order=tokenizer.order,
        record=record,
    )


def in_order_of_file(weights: "Arrays", order: list[int] | None) -> "Arrays":
    """The weights with the pieces in the order of the file of a vocabulary."""
    if order is None:
        return weights
    from albert_tf.convert.external_model import reordered

    return reordered(weights, sorted(range(len(order)), key=order.__getitem__))


def identity(exported: Exported) -> dict[str, Any]:
    """What decides the files."""
    from albert_tf.finetuning.tuned_model import EXPORTED_TASK, record_values
    from albert_tf.runs.checkpoints import arrays_sha256

    record = exported.record
    return {
        "step": exported.step,
        "weights_sha256": arrays_sha256(exported.weights),
        "vocabulary_sha256": hashlib.sha256(exported.vocabulary).hexdigest(),
        **({EXPORTED_TASK: record_values(record)} if record else {}),
    }
