"""`albert export`: a run becomes files that other programs read."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.support.console import Console, silent_stderr
from cli.support.options import UserPath, debug_option, quiet_option
from cli.support.trained_model import check_sizes, checkpoint_option, read_vocabulary
from schemas import __version__
from schemas.errors import SettingError
from schemas.example import CLS_ID, FIRST_ORDINARY_ID, SEP_ID
from schemas.files import copy_whole, json_text, read_json, whole_folder, write_json, write_text
from schemas.layout import CONFIG, EXPORT_RECORD, MODEL_CARD, MODEL_WEIGHTS, vocabulary_file

if TYPE_CHECKING:
    from albert_tf.model.trained_model import TrainedModel
    from albert_tf.runs.checkpoints import Which
    from pipeline.vocabulary.tokenizer import Tokenizer


def to_huggingface(model: "TrainedModel", folder: Path, *, tokenizer: "Tokenizer") -> None:
    """Write what transformers and, of a run, KerasHub read."""
    with silent_stderr():
        from albert_tf.convert.huggingface import (
            huggingface_config,
            huggingface_tensors,
            task_config,
            task_tensors,
            write_tensors,
        )
    from pipeline.vocabulary.writing import tokenizer_files

    order = tokenizer.order
    if model.task is None:
        tensors = huggingface_tensors(model.weights, model.config)
        config = huggingface_config(model.config, order=order)
    else:
        tensors = task_tensors(model.weights, model.config, model.task.spec)
        config = task_config(model.config, model.task.spec, order=order)
    write_tensors(tensors, folder / MODEL_WEIGHTS)
    vocabulary = vocabulary_file(model.folder).read_bytes()
    files = tokenizer_files(tokenizer, vocabulary, max_length=length_of(model))
    for name, values in {CONFIG: config, **files}.items():
        write_json(folder / name, values)


def to_saved_model(model: "TrainedModel", folder: Path, *, tokenizer: "Tokenizer") -> None:
    """Write what TensorFlow Serving reads."""
    with silent_stderr():
        from albert_tf.convert.saved_model import write_saved_model, write_task_saved_model
        from albert_tf.model.trained_model import pretrainer_of, task_model_of

        if model.task is None:
            write_saved_model(pretrainer_of(model, is_compiled=False), folder)
        else:
            write_task_saved_model(task_model_of(model, is_compiled=False), folder)


WRITERS: dict[str, Callable[..., None]] = {"hf": to_huggingface, "saved-model": to_saved_model}


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
@checkpoint_option
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
    from albert_tf.runs.metrics import read_evaluations

    console = Console(quiet=quiet)
    output = output or Path(f"{run.resolve()}-{target}")
    found = earlier_export(output, overwrite=overwrite)
    if target == "saved-model":
        with silent_stderr():
            from keras import backend
        if backend.backend() != "tensorflow":
            raise SettingError(
                f"--to saved-model needs TensorFlow, and KERAS_BACKEND is "
                f"{backend.backend()}; unset KERAS_BACKEND."
            )
    model, tokenizer = load(run, checkpoint, console=console)
    # The card shows the evaluations of these weights.
    shown = json_text([one for one in read_evaluations(run) if one["step"] == model.step])
    record = {
        "command": "export",
        "albert_version": __version__,
        "to": target,
        "evaluations": hashlib.sha256(shown.encode()).hexdigest(),
        "max_seq_length": length_of(model),
        **identity(model, tokenizer),
    }
    if found is not None and not overwrite:
        if json_text(found) == json_text(record):
            console.say(f"{output} is finished already; nothing to do.")
            return
        raise SettingError(
            f"--output: {output} holds an export of other weights, for another "
            "program, by another version or from before an evaluation; give another "
            "folder, or --overwrite to replace it."
        )
    write(model, output, tokenizer=tokenizer, record=record, before=found)
    console.say(f"{output}: step {model.step:,} of {run}, for {target}")


def write(
    model: "TrainedModel",
    output: Path,
    *,
    tokenizer: "Tokenizer",
    record: dict[str, Any],
    before: dict[str, Any] | None,
) -> None:
    """Write an export, its card and its record, in the place of an earlier one.

    Args:
        before: The record of that one, which is still to be there at the end.
    """
    vocabulary, target = vocabulary_file(model.folder), record["to"]
    with whole_folder(output) as folder:
        WRITERS[target](model, folder, tokenizer=tokenizer)
        copy_whole(vocabulary, folder / vocabulary.name)
        text = card(model, folder, order=tokenizer.order, target=target)
        write_text(folder / MODEL_CARD, text)
        written = [*sorted(path.name for path in folder.iterdir()), EXPORT_RECORD]
        write_json(folder / EXPORT_RECORD, {**record, WRITTEN: written})
        if earlier_export(output, overwrite=True) != before:
            raise SettingError(
                f"--output: another command wrote {output} meanwhile; give another "
                "folder, or --overwrite once that has ended."
            )


def earlier_export(output: Path, *, overwrite: bool) -> dict[str, Any] | None:
    """The record of the export that a folder holds; None where it is new or empty."""
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
        raise SettingError(f"--output: {output} holds other files; give a new or empty folder.")
    record = read_json(output / EXPORT_RECORD)
    written = record.pop(WRITTEN, ())
    if overwrite and (others := [name for name in held if name not in written]):
        raise SettingError(
            f"--output: {output} holds {others[0]}, which no export wrote; move it, or "
            "give another folder."
        )
    return record


def card(model: "TrainedModel", folder: Path, *, order: list[int] | None, target: str) -> str:
    """The card of an export, whose other files are there; a tuned model has its own."""
    from albert_tf.convert.model_card import model_card, task_card

    if model.task is None:
        return model_card(
            model.folder,
            model.config,
            step=model.step,
            target=target,
            vocabulary=vocabulary_file(model.folder).name,
            notes=model.notes,
        )
    spec, call = model.task.spec, None
    if target == "saved-model":
        # A request to it, and its answer, about the first pieces.
        with silent_stderr():
            from albert_tf.convert.saved_model import example_call

            first = (CLS_ID, FIRST_ORDINARY_ID, SEP_ID)
            ids = [order[i] if order else i for i in first]
            call = example_call(folder, ids, options=2 if spec.kind == "choose" else 0)
    return task_card(model.folder, spec, step=model.step, target=target, call=call)


def load(
    run: Path, checkpoint: "Which | None", *, console: Console
) -> "tuple[TrainedModel, Tokenizer]":
    """A model and its vocabulary; the weights are in the order of its file."""
    with silent_stderr():
        from albert_tf.convert.external import with_rows
        from albert_tf.model.trained_model import read_trained
    tokenizer = read_vocabulary(run)
    model = read_trained(run, which=checkpoint, say=console.say)
    check_sizes(tokenizer, model.config, path=run)
    if (order := tokenizer.order) is not None:
        # The token ids in the order of the file.
        model = with_rows(model, sorted(range(len(order)), key=order.__getitem__))
    return model, tokenizer


def length_of(model: "TrainedModel") -> int:
    """Tokens in the longest sequences that a model was trained on last."""
    return model.task.max_seq_length if model.task else model.max_seq_length


def identity(model: "TrainedModel", tokenizer: "Tokenizer") -> dict[str, Any]:
    """The part of the record that decides the files."""
    from albert_tf.runs.checkpoints import arrays_sha256
    from albert_tf.runs.run_record import EXPORTED_TASK, record_values

    return {
        "step": model.step,
        "weights_sha256": arrays_sha256(model.weights),
        "vocabulary_sha256": tokenizer.sha256,
        **({EXPORTED_TASK: record_values(model.task)} if model.task else {}),
    }
