"""`albert import`: an ALBERT from elsewhere becomes a run to go on from."""

import dataclasses
import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from cli.commands.vocab import VOCAB
from cli.support.console import Console, silent_stderr
from cli.support.options import FILE, PATH, common_options
from pipeline.storage import output_folder
from pipeline.storage.output_folder import Footprint
from schemas.config import flag_name
from schemas.errors import AlbertError, SettingError
from schemas.files import Values, write_json
from schemas.layout import (
    CHECKPOINTS,
    EVALUATION,
    EVALUATIONS,
    MANIFEST,
    MODEL_CONFIG,
    SPM_MODEL,
    TASK,
    WORDPIECE,
)
from schemas.readable import counted

if TYPE_CHECKING:
    from albert_tf.model.trained_model import TrainedModel
    from pipeline.vocabulary.normalization import Normalization
    from pipeline.vocabulary.tokenizer import Tokenizer

# What the flags say of what a vocabulary keeps of a text, by their names.
Rules = Mapping[str, bool | None]

# Files of weights: a folder that has one is more than a vocabulary.
_WEIGHTS = (
    *("*.safetensors", "*.bin", "*.pt", "*.pth", "*.ckpt*", "*.h5", "*.msgpack"),
    *("*.onnx", "saved_model.pb"),
)

# A vocabulary, and beside it the weights of a run where there are any.
IMPORT = Footprint(
    "import",
    what="an import",
    writes=(*VOCAB.writes, WORDPIECE, MODEL_CONFIG, TASK, CHECKPOINTS, EVALUATION, EVALUATIONS),
    progress=(MANIFEST,),
    is_finished=VOCAB.is_finished,
)


@click.command(epilog="Example:  albert import ./albert-base-v2 --output imported")
@click.argument("source", type=PATH)
@click.option(
    "--vocab",
    type=FILE,
    metavar="FILE",
    help="SentencePiece model to take  [default: the one in SOURCE]",
)
@click.option(
    "--cased/--no-cased",
    default=None,
    help="Whether the vocabulary keeps capital letters  [default: what its tokenizer's "
    "files say, else what its pieces show]",
)
@click.option(
    "--keep-accents/--no-keep-accents",
    default=None,
    help="Whether the vocabulary keeps accents  [default: likewise]",
)
@common_options
def import_command(
    source: Path,
    vocab: Path | None,
    output: Path,
    overwrite: bool,
    console: Console,
    **rules: bool | None,
) -> None:
    """Import another ALBERT as a run to go on from.

    The run is for pretrain --init-from. SOURCE is a Hugging Face folder with
    model.safetensors, a checkpoint of google-research/albert with its configuration, or
    a SentencePiece model alone, which becomes a vocabulary. What the tokenizer does
    before SentencePiece, such as lowering the case, is written into that model. A
    fine-tuned ALBERT of Hugging Face becomes a fine-tuned model, for predict.
    """
    from pipeline.vocabulary.writing import MAX_LENGTH, imported_manifest, write_vocabulary

    taken = take_vocabulary(source, vocab, rules)
    model = take_model(source, taken)
    paths = {"source": source, "vocab": vocab}
    # What decides the files.
    identity: Values = {"vocabulary": taken.tokenizer.sha256}
    if model is not None:
        from albert_tf.runs.checkpoints import Checkpoint, arrays_sha256, save_checkpoint
        from albert_tf.runs.task_record import write_record

        identity |= {
            "model": dataclasses.asdict(model.config),
            "weights": arrays_sha256(model.weights),
            **({"task": dataclasses.asdict(model.task)} if model.task else {}),
        }
    with output_folder.claim(
        output,
        IMPORT,
        settings={n: p and os.path.abspath(p) for n, p in paths.items()} | rules,
        identity=identity,
        overwrite=overwrite,
    ) as finished:
        if finished:
            console.say(f"{output} is finished already; nothing to do.")
            return
        # Weights and task, if there are any, and the vocabulary; its manifest last.
        length = MAX_LENGTH
        if model is not None:
            length = model.max_seq_length
            write_json(output / MODEL_CONFIG, dataclasses.asdict(model.config))
            state = {"step": 0, "untrained": list(model.untrained)}
            checkpoint = Checkpoint(model.weights, {}, state)
            save_checkpoint(output, checkpoint, is_best=model.task is not None)
            if model.task is not None:
                write_record(output, model.task)
        write_vocabulary(
            taken.data,
            imported_manifest(taken.tokenizer, before=taken.before, config=taken.kept._asdict()),
            tokenizer=taken.tokenizer,
            output=output,
            max_length=length,
        )
    console.say(*import_lines(output, taken, model=model))


class TakenVocabulary(NamedTuple):
    """A vocabulary of another program, as it is taken over.

    Attributes:
        before: The file as it was found.
        data: The file as it is written.
        kept: What it keeps of a text.
    """

    path: Path
    before: bytes
    data: bytes
    kept: "Normalization"
    tokenizer: "Tokenizer"


def take_vocabulary(source: Path, given: Path | None, rules: Rules) -> TakenVocabulary:
    """The vocabulary of a model, as it is found and as it is written."""
    from pipeline.vocabulary.importing import (
        imported_model,
        is_complete,
        read_external_vocabulary,
        wordpiece_of,
    )
    from pipeline.vocabulary.normalization import Normalization, normalization_of_pieces
    from pipeline.vocabulary.tokenizer import load_tokenizer
    from pipeline.vocabulary.wordpiece import read_wordpiece, wordpiece_data

    if not source.exists():
        raise SettingError(f"{source} does not exist; give a folder or a file.")
    if (source / MODEL_CONFIG).exists():
        raise SettingError(f"{source} is a run already; give it to albert pretrain as --init-from.")
    path = wordpiece_of(source, given=given)
    if path is not None:
        if not source.is_dir():
            raise SettingError(_useless(path))
        # BERT's WordPiece stays as it is.
        tokenizer, data = read_wordpiece(path, folder=source), wordpiece_data(path)
        kept = Normalization(
            cased=not tokenizer.config["do_lower_case"],
            keep_accents=not tokenizer.config["strip_accents"],
        )
        check_agrees(rules, kept, path)
        return TakenVocabulary(path, data, data, kept, tokenizer)
    found = read_external_vocabulary(source, given=given)
    model, kept = found.model, normalization_of_pieces(load_tokenizer(found.model))
    if is_complete(model, found.asked):
        check_agrees(rules, kept, found.path)
    else:
        asked = {name: value for name, value in rules.items() if value is not None}
        kept = (found.asked or kept)._replace(**asked)
        with silent_stderr():
            model = imported_model(model, kept, scores=found.scores)
    return TakenVocabulary(found.path, found.model, model, kept, load_tokenizer(model))


def check_agrees(rules: Rules, kept: "Normalization", path: Path) -> None:
    """Refuse flags that contradict the rules of a vocabulary, which stay."""
    for name, what in (("cased", "capital letters"), ("keep_accents", "accents")):
        wanted, is_kept = rules[name], getattr(kept, name)
        if wanted is not None and wanted != is_kept:
            raise SettingError(
                f"{flag_name(name)}: {path} is for text "
                f"{'with' if is_kept else 'without'} {what}; leave the flag out."
            )


def _useless(path: Path) -> str:
    """Why a WordPiece without a model is not imported."""
    return (
        f"{path} is a WordPiece vocabulary, which is useful only with its model; give "
        "the folder of an ALBERT that has one, or make a vocabulary with albert vocab."
    )


def take_model(source: Path, taken: TakenVocabulary) -> "TrainedModel | None":
    """The model of a folder, with its measures, in the order of its vocabulary.

    None where it holds a vocabulary alone.
    """
    from pipeline.tasks.training_data import default_metrics

    size, order = taken.tokenizer.vocab_size, taken.tokenizer.order
    if not source.is_dir():
        return None
    with silent_stderr():
        from albert_tf.convert.external import with_rows, without_padding_rows
        from albert_tf.convert.reading import read_other_model
    model = read_other_model(source, needs_head=False)
    if model is None:
        left = sorted(path for glob in _WEIGHTS for path in source.glob(glob))
        if left:
            raise AlbertError(
                f"{left[0]} holds weights, and nothing beside it says how to read "
                "them; give the whole folder of a model of Hugging Face or "
                "google-research/albert, or its SentencePiece model alone."
            )
        if order is not None:
            raise SettingError(_useless(taken.path))
        return None
    if model.task is not None and not model.task.spec.metrics:
        spec = model.task.spec
        metrics = default_metrics(spec.kind, spec.labels)
        spec = dataclasses.replace(spec, metrics=metrics)
        task = dataclasses.replace(model.task, spec=spec)
        model = dataclasses.replace(model, task=task)
    model = without_padding_rows(model, size)
    if size != model.config.vocab_size:
        raise AlbertError(
            f"{taken.path} has {size} pieces and the model has "
            f"{model.config.vocab_size}; give the vocabulary that the model was "
            "trained with, using --vocab if it is elsewhere."
        )
    return model if order is None else with_rows(model, order)


def import_lines(
    output: Path, taken: TakenVocabulary, *, model: "TrainedModel | None"
) -> Iterator[str]:
    """What was made, and what to type next."""
    size, typed = taken.tokenizer.vocab_size, shlex.quote(str(output))
    yield from model.notes if model else ()
    if taken.tokenizer.order is not None:
        yield (
            f"{WORDPIECE} is BERT's WordPiece: the model is for albert finetune and "
            "fill-mask; albert make-data needs a SentencePiece vocabulary."
        )
    elif taken.data == taken.before:
        yield "The vocabulary already includes its normalization."
    else:
        words = (
            "capital letters kept" if taken.kept.cased else "lower case",
            "accents kept" if taken.kept.keep_accents else "without accents",
        )
        yield f"Written into {SPM_MODEL}: {', '.join(words)}."
    if model is None:
        yield f"{output}: {size:,} pieces; give it to make-data as --vocab."
        return
    config = model.config
    made = (
        f"{output}: {counted(config.num_hidden_layers, 'layer')} of width {config.hidden_size}, "
        f"{size:,} pieces"
    )
    if model.task is not None:
        labels = ", ".join(model.task.spec.labels)
        named = f" ({labels:.200})" if labels else ""
        made += f"; a model of {model.task.spec.kind}{named} for albert predict"
    elif taken.tokenizer.order is None:
        made += (
            f"; make data with --vocab {typed}, then train on it with "
            f"--init-from {typed} --budget 1h"
        )
    yield f"{made}."
