"""`albert export`: a run becomes files that other programs read."""

import dataclasses
import hashlib
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.support.console import Console, Say, silent_stderr
from cli.support.options import FOLDER, PATH, UserPath, debug_option, quiet_option
from cli.support.trained_model import checkpoint_option, data_of
from schemas import __version__
from schemas.errors import AlbertError, SettingError
from schemas.example import CLS_ID, FIRST_ORDINARY_ID, SEP_ID
from schemas.files import (
    Values,
    copy_whole,
    json_text,
    read_json,
    whole_folder,
    write_json,
    write_text,
)
from schemas.layout import (
    CONFIG,
    EXPORT_RECORD,
    MANIFEST,
    MODEL_CARD,
    MODEL_WEIGHTS,
    vocabulary_file,
)
from schemas.manifest import read_manifest

if TYPE_CHECKING:
    from albert_tf.model.trained_model import TrainedModel
    from albert_tf.runs.checkpoints import Which
    from pipeline.vocabulary.tokenizer import Tokenizer


# What a graph gives on held-out rows, in what, and whether more is better.
Measured = Callable[[Any], tuple[float, str, bool]]

SENTENCES, SAVED_MODEL = "sentence-transformers", "saved-model"
# Those that have graphs, in which folder.
WITH_GRAPHS = {"onnx": ".", SENTENCES: "onnx"}
_GRAPH, _SMALL_GRAPH = "model.onnx", "model_quantized.onnx"

# By how much rounding to 8 bits may make that worse before less is rounded.
_MOST_LOST = 0.01

# Held-out examples of a data set on which the cost of --int8 is measured, at once, and
# of a task.
_MEASURED, _AT_ONCE, _MOST_ROWS = 512, 16, 2000

# Where the record of an export has the names of all that it wrote.
WRITTEN = "files"


def write_files(
    model: "TrainedModel", folder: Path, *, target: str, tokenizer: "Tokenizer"
) -> None:
    """Write what a program reads, but graphs, card and record.

    Args:
        target: As --to names it.
    """
    if target == SAVED_MODEL:
        with silent_stderr():
            from albert_tf.convert.saved_model import write_saved_model
            from albert_tf.model.trained_model import pretrainer_of, task_model_of

            build = task_model_of if model.task else pretrainer_of
            write_saved_model(build(model, is_compiled=False), folder)
        return
    with silent_stderr():
        from albert_tf.convert.huggingface import (
            huggingface_config,
            huggingface_tensors,
            write_tensors,
        )
    from pipeline.vocabulary.writing import tokenizer_files

    spec = model.task.spec if model.task else None
    config = huggingface_config(model.config, spec, order=tokenizer.order)
    vocabulary = vocabulary_file(model.folder).read_bytes()
    files: Values = tokenizer_files(
        tokenizer, vocabulary, max_length=length_of(model), has_masks=spec is None
    )
    if target == SENTENCES:
        files |= sentence_files(model)
    for name, values in {CONFIG: config, **files}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        write_json(folder / name, values)
    if target != "onnx":
        tensors = huggingface_tensors(model.weights, model.config, spec)
        write_tensors(tensors, folder / MODEL_WEIGHTS)


def sentence_files(model: "TrainedModel") -> Values:
    """What sentence-transformers reads beside an export, of any version, and servers of it.

    These read only the old names of types and keys.
    """
    modules = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    pooling = {"word_embedding_dimension": model.config.hidden_size, "include_prompt": True}
    for mode in ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens"):
        pooling[f"pooling_mode_{mode}"] = mode == "mean_tokens"
    return {
        "modules.json": [
            {
                "idx": number,
                "name": str(number),
                "path": path,
                "type": f"sentence_transformers.models.{kind}",
            }
            for number, (kind, path) in enumerate(modules.items())
        ],
        "sentence_bert_config.json": {"max_seq_length": length_of(model), "do_lower_case": False},
        "config_sentence_transformers.json": {
            "prompts": {},
            "default_prompt_name": None,
            "similarity_fn_name": "cosine",
        },
        "1_Pooling/config.json": pooling,
        # An empty folder is lost in git and in archives.
        "2_Normalize/config.json": {},
    }


def write_graphs(
    model: "TrainedModel", folder: Path, *, int8: bool, measure: Measured | None
) -> list[str]:
    """Write the graph, once it computes what the model does, and a smaller one if asked.

    Args:
        measure: What tells the cost of the smaller one.

    Returns:
        What a person should know of them, a sentence each.
    """
    with silent_stderr():
        import keras

        from albert_tf.convert.onnx_graph import WORDS, Session, check_graph, onnx_graph

    folder.mkdir(exist_ok=True)
    graph = onnx_graph(model)
    # A GPU multiplies float32 with a mantissa of 10 bits (TF32).
    with keras.device("cpu:0"):
        worst = check_graph(model, graph)
    (folder / _GRAPH).write_bytes(graph.SerializeToString())
    notes = [f"onnxruntime computes what the model does, to {worst:.0e}."]
    if not int8:
        return notes
    before = measure(Session(graph))[0] if measure else 0.0
    for left in ((), (WORDS,)):
        small = onnx_graph(model, int8=True, left=left)
        (folder / _SMALL_GRAPH).write_bytes(small.SerializeToString())
        kept = " but for the table of pieces" if left else ""
        rounded = f"{_SMALL_GRAPH} has weights of 8 bits{kept}"
        if measure is None:
            return [*notes, f"{rounded}; what that costs was not measured (--data)."]
        value, name, is_better = measure(Session(small))
        if (before - value if is_better else value - before) <= _MOST_LOST:
            break
    return [*notes, f"{rounded}: {name} {value:.4f}, and {before:.4f} without rounding."]


@click.command(epilog="Example:  albert export run --to hf --output my-albert")
@click.argument("run", type=PATH)
@click.option(
    "--to",
    "target",
    type=click.Choice(["hf", *WITH_GRAPHS, SAVED_MODEL]),
    required=True,
    help="What is to read it: Hugging Face and KerasHub; onnxruntime; "
    "sentence-transformers and servers of text embeddings; or TensorFlow and its server.",
)
@click.option(
    "--int8",
    is_flag=True,
    help="Write a second graph with weights of 8 bits, smaller and faster on CPUs.",
)
@click.option(
    "--data",
    type=UserPath(),
    help="Held-out rows to measure what --int8 costs on: of a run a data set, of a "
    "fine-tuned model a labelled file  [default: those of its training, if they are there]",
)
@click.option(
    "--output",
    type=FOLDER,
    help="Folder to write  [default: the run's name with the value of --to appended]",
)
@checkpoint_option
@click.option("--overwrite", is_flag=True, help="Replace an earlier export.")
@quiet_option()
@debug_option
def export_command(
    run: Path,
    target: str,
    output: Path | None,
    checkpoint: "Which | None",
    int8: bool,
    data: str | None,
    overwrite: bool,
    console: Console,
) -> None:
    """Write a run, or a fine-tuned model, as files that other programs read.

    A model card describes them. The folder gets its name only once it is complete. A
    fine-tuned model is written for Hugging Face, whose pipelines then know its labels, as
    a graph for onnxruntime, or as a saved-model with the signature predict. For
    sentence-transformers a model of any kind embeds texts by the mean of their tokens; best
    is one of finetune --task embed.
    """
    from albert_tf.runs.checkpoints import arrays_sha256
    from albert_tf.runs.metrics import read_evaluations
    from albert_tf.runs.task_record import EXPORTED_TASK, record_values

    output = output or Path(f"{run.resolve()}-{target}")
    found = earlier_export(output, overwrite=overwrite)
    if target == SAVED_MODEL:
        with silent_stderr():
            from keras import backend
        if backend.backend() != "tensorflow":
            raise SettingError(
                f"--to saved-model needs TensorFlow, and KERAS_BACKEND is "
                f"{backend.backend()}; unset KERAS_BACKEND."
            )
    if target not in WITH_GRAPHS:
        if int8 or data:
            raise SettingError(
                f"{'--int8' if int8 else '--data'} is for --to {' and '.join(WITH_GRAPHS)}; "
                "leave it out."
            )
    elif not all(map(importlib.util.find_spec, ("onnx", "onnxruntime"))):
        raise SettingError(
            f"--to {target} needs onnx and onnxruntime, which are not installed; "
            'pip install "albert-pretraining[onnx]" adds them.'
        )
    elif data and not int8:
        raise SettingError("--data measures what --int8 costs; give that too.")
    origin, tokenizer = load_model(run, checkpoint, say=console.say)
    model = origin
    if target == SENTENCES:
        from albert_tf.model.trained_model import as_embedder

        model = as_embedder(model)
    # The card shows the evaluations of these weights.
    shown = json_text([one for one in read_evaluations(run) if one["step"] == model.step])
    record = {
        "command": "export",
        "albert_version": __version__,
        "to": target,
        "evaluations": hashlib.sha256(shown.encode()).hexdigest(),
        "max_seq_length": length_of(model),
        # What decides the files.
        "step": model.step,
        "weights_sha256": arrays_sha256(model.weights),
        "vocabulary_sha256": tokenizer.sha256,
        **({EXPORTED_TASK: record_values(model.task)} if model.task else {}),
        **({"int8": int8} if int8 else {}),
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
    measure = None
    if int8:
        try:
            measure = measuring(model, tokenizer, data, say=console.say)
        except AlbertError:
            # What a person named has to be right; what is only looked for need not be.
            if data:
                raise
    vocabulary = vocabulary_file(model.folder)
    with whole_folder(output) as folder:
        write_files(model, folder, target=target, tokenizer=tokenizer)
        notes = []
        if place := WITH_GRAPHS.get(target):
            notes = write_graphs(model, folder / place, int8=int8, measure=measure)
        copy_whole(vocabulary, folder / vocabulary.name)
        text = card(origin, folder, tokenizer=tokenizer, target=target, notes=notes)
        write_text(folder / MODEL_CARD, text)
        written = [*sorted(path.name for path in folder.iterdir()), EXPORT_RECORD]
        write_json(folder / EXPORT_RECORD, {**record, WRITTEN: written})
        if earlier_export(output, overwrite=True) != found:
            raise SettingError(
                f"--output: another command wrote {output} meanwhile; give another "
                "folder, or --overwrite once that has ended."
            )
    console.say(*notes, f"{output}: step {model.step:,} of {run}, for {target}")


def measuring(
    model: "TrainedModel", tokenizer: "Tokenizer", data: str | None, *, say: Say
) -> Measured | None:
    """What measures a graph of a model on held-out rows; None if there are none.

    Args:
        data: As it was named; by default what the model was trained on, where it still is.
    """
    import numpy as np

    folder = Path(data) if data else data_of(model.folder)
    if model.task is None:
        from albert_tf.convert.onnx_graph import masked_lm_loss
        from albert_tf.data.input_pipeline import Records, evaluation_batches
        from albert_tf.evaluation.held_out import held_out_examples

        if folder is None:
            return None
        manifest = read_manifest(folder)
        if manifest.vocabulary["sha256"] != tokenizer.sha256:
            raise SettingError(
                f"--data: {folder} was made with another vocabulary than {model.folder}; "
                "give data of the same one."
            )
        records = Records(folder, manifest)
        number = held_out_examples(records, maximum=_MEASURED)
        batches = list(evaluation_batches(records, batch_size=_AT_ONCE, examples=number))
        said = f"masked-LM loss (nats, {number:,} held-out examples)"
        return lambda graph: (masked_lm_loss(graph, batches), said, False)
    from albert_tf.finetuning.predictor import Predictor
    from albert_tf.runs.run_record import recorded_settings
    from albert_tf.tasks.evaluation import measured
    from cli.support.task_data import read_crops, read_labelled, read_task, task_paths
    from pipeline.encoding.task_rows import encode_examples
    from pipeline.tasks.named_tasks import task_called

    record, order, spec = model.task, tokenizer.order, model.task.spec
    if data and not (Path(data) / MANIFEST).is_file():
        examples, spec = read_labelled(data, spec, say=say)
        record = dataclasses.replace(record, spec=spec)
        model = dataclasses.replace(model, task=record)
    else:
        # As fine-tuning read them, which holds out the same ones again.
        settings = recorded_settings(model.folder) if data is None else {}
        names = ("train", "evaluation", "test")
        values: Values = {name: settings.get(name) or () for name in names}
        values["data"] = folder or settings.get("data")
        known = task_called(settings.get("task", spec.name)).name
        if known != spec.name or not any(values.values()):
            # Of a classifier that is to embed nothing is known either.
            return None
        paths, quiet = task_paths(values, spec), Console(quiet=True).say
        if paths.train:
            examples = read_task(paths, spec, say=quiet).held_out
        else:
            examples = read_crops(
                Path(values["data"]),
                spec,
                # That of a pretraining may be a schedule.
                length=settings.get("max_seq_length") if "task" in settings else length_of(model),
                say=quiet,
                trains=False,
            ).held_out
    examples = examples[:: -(-len(examples) // _MOST_ROWS)]
    given = encode_examples(examples, record, tokenizer=tokenizer)

    def measure(graph: Any) -> tuple[float, str, bool]:
        def compute(batch: Any) -> Any:
            ids = batch["input_ids"]
            return graph.logits({**batch, "input_ids": np.array(order)[ids] if order else ids})

        answered = Predictor(model, compute=compute).answers(given)
        measures = measured(answered.task, answered.targets, answered.predictions)
        name = spec.metrics[0]
        return measures[name], f"{name} ({len(examples):,} examples)", True

    return measure


def earlier_export(output: Path, *, overwrite: bool) -> Values | None:
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


def card(
    model: "TrainedModel",
    folder: Path,
    *,
    tokenizer: "Tokenizer",
    target: str,
    notes: Sequence[str],
) -> str:
    """The card of an export, whose other files are there; a tuned model has its own."""
    from albert_tf.convert.model_card import model_card, task_card

    if model.task is None:
        return model_card(
            model.folder,
            model.config,
            step=model.step,
            target=target,
            vocabulary=vocabulary_file(model.folder).name,
            normalize=tokenizer.normalize,
            notes=(*model.notes, *notes),
        )
    call = None
    if target == "saved-model":
        # A request to it, and its answer, about the first pieces.
        with silent_stderr():
            from albert_tf.convert.saved_model import example_call

            first = (CLS_ID, FIRST_ORDINARY_ID, SEP_ID)
            ids = [tokenizer.order[i] if tokenizer.order else i for i in first]
            options = 2 if model.task.spec.kind == "choose" else 0
            call = example_call(folder, ids, options=options)
    return task_card(
        model.folder, model.task, step=model.step, target=target, call=call, notes=notes
    )


def load_model(
    run: Path, checkpoint: "Which | None", *, say: Say
) -> "tuple[TrainedModel, Tokenizer]":
    """A model and its vocabulary; the weights are in the order of its file."""
    from pipeline.vocabulary.importing import read_vocabulary

    # Before libraries are loaded for some seconds.
    tokenizer = read_vocabulary(run)
    with silent_stderr():
        from albert_tf.convert.external import with_rows
        from albert_tf.inference import fitted
        from albert_tf.model.trained_model import read_trained
    model = fitted(read_trained(run, which=checkpoint, say=say), tokenizer)
    if (order := tokenizer.order) is not None:
        # The token ids in the order of the file.
        model = with_rows(model, sorted(range(len(order)), key=order.__getitem__))
    return model, tokenizer


def length_of(model: "TrainedModel") -> int:
    """Tokens in the longest sequences that a model was trained on last."""
    return model.task.max_seq_length if model.task else model.max_seq_length
