"""The model card: what an exported model is and how it came to be, for a person."""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from albert_tf.convert.huggingface import ARCHITECTURES, PIPELINES
from albert_tf.model.parameters import count_encoder_parameters, count_parameters
from albert_tf.runs.metrics import (
    comparison,
    heading,
    metric_text,
    read_evaluations,
    read_metrics,
    sentences,
)
from albert_tf.runs.run_record import recorded_manifest, recorded_settings, recorded_training
from schemas import __version__
from schemas.architecture import ModelConfig
from schemas.config import TrainConfig, deciding
from schemas.files import read_json
from schemas.layout import EVAL, MODEL_CARD, SPM_MODEL, TASK_EVALUATION, WORDPIECE
from schemas.manifest import DatasetManifest, recorded
from schemas.report import markdown, markdown_lines
from schemas.task import TaskSpec

# What the metrics of a run are called in its card.
_METRICS = {
    "mlm_loss": "masked-LM loss (nats)",
    "mlm_accuracy": "masked-LM accuracy",
    "sentence_loss": "sentence-task loss (nats)",
    "sentence_accuracy": "sentence-task accuracy",
    "bits_per_character": "bits per character, as training measured them",
}
_SENTENCE_TASKS = {
    "sop": "sentence order (label 0: B follows A, 1: swapped)",
    "nsp": "next sentence (label 0: B follows A, 1: B is from elsewhere)",
    "none": "none: pooler and sentence head are zero",
}
_LICENCES = {
    "wikipedia": "Wikipedia: CC BY-SA, which asks to name the source",
    "books": "books: public domain or their publishers'; Project Gutenberg's licence "
    "asks not to use its name without its header",
    "text": "further text: as its owners say",
}
# A language with a smaller share of a text is not one of the model.
_LEAST_LANGUAGE = 0.1
# Inputs that the card lists one by one, the largest first.
_MOST_INPUTS = 20

# What each kind of vocabulary asks for.
_VOCABULARIES = {
    SPM_MODEL: "`spiece.model` holds the text normalization: give it raw text.",
    WORDPIECE: "`vocab.txt` has BERT's pieces: divide text as BERT's tokenizer does.",
}


def model_card(
    run: Path,
    config: ModelConfig,
    *,
    step: int,
    target: str = "hf",
    vocabulary: str = SPM_MODEL,
    notes: Iterable[str] = (),
) -> str:
    """`README.md` of an export.

    Args:
        run: Where settings, data and metrics are recorded, as far as it has them.
        target: As `albert export --to` takes it.
    """
    record, manifest = recorded_settings(run), recorded_manifest(run)
    languages = _languages(manifest) if manifest else set()
    is_for_sentences = target == "sentence-transformers"
    pipeline = "feature-extraction" if is_for_sentences else "fill-mask"
    is_on_hub = target != "saved-model"
    lines = [
        *(
            _front_matter(pipeline, sorted(languages), library=_LIBRARIES[target])
            if is_on_hub
            else ()
        ),
        f"# ALBERT, {config.num_hidden_layers} layers of width {config.hidden_size}",
        "",
        _origin(record, step=step),
        "",
        *(line for note in notes for line in (note, "")),
        _use(target, config),
        "",
        _VOCABULARIES[vocabulary],
        "",
        *_model(config),
        *_recipe(run, record),
        *_data(manifest),
        *_metrics(run, step=step),
        *_licence(manifest, record),
    ]
    return "\n".join(lines) + "\n"


class Call(NamedTuple):
    """A request to a SavedModel in a server, and the answer, as values of JSON."""

    request: dict[str, Any]
    answer: dict[str, Any]


def task_card(
    run: Path,
    task: TaskSpec,
    *,
    step: int,
    target: str,
    call: Call | None = None,
    notes: Iterable[str] = (),
) -> str:
    """`README.md` of an export of a fine-tuned model: how to load it, then its own.

    Args:
        run: The folder of the model, which may have a card.
        step: Of the weights, which need not be those that were measured.
        target: As `albert export --to` takes it.
    """
    own = run / MODEL_CARD
    packages = {"saved-model": ("tensorflow", "keras"), "hf": ("safetensors",)}.get(
        target, ("onnx",)
    )
    named = " and ".join(f"{name} {metadata.version(name)}" for name in packages)
    if target == "saved-model":
        lines = [
            _loading_by_tensorflow("predict"),
            "",
            "It takes `input_ids`, `input_mask` and `segment_ids`, and gives `logits`.",
        ]
    else:
        loading = _LOADING.get(target) or _loading_by_transformers(ARCHITECTURES[task.kind])
        is_for_sentences = target == "sentence-transformers"
        pipeline = PIPELINES["embed" if is_for_sentences else task.kind]
        lines = [*_front_matter(pipeline, library=_LIBRARIES[target]), loading]
        if is_for_sentences:
            task = dataclasses.replace(task, kind="embed", labels=())
    lines += ["", *_outputs(task), ""]
    lines += [line for note in notes for line in (note, "")]
    lines += _served(call) if call else ()
    lines += [f"Written by albert-pretraining {__version__} with {named}.", ""]
    if not own.is_file():
        return "\n".join(lines) + "\n"
    path = run / TASK_EVALUATION
    measured = read_json(path)["step"] if path.is_file() else step
    if measured != step:
        lines += [
            f"These are the weights of step {step:,}; what follows was measured with "
            f"those of step {measured:,}, the best.",
            "",
        ]
    return "\n".join([*lines, own.read_text(encoding="utf-8")])


_LIBRARIES = {
    "hf": "transformers",
    "onnx": "onnxruntime",
    "sentence-transformers": "sentence-transformers",
}
# How exports that say the same of every model are loaded.
_LOADING = {
    "onnx": """\
```python
import onnxruntime
from transformers import AutoTokenizer

session = onnxruntime.InferenceSession("FOLDER/model.onnx")
tokenizer = AutoTokenizer.from_pretrained("FOLDER")
tokens = tokenizer(["A text.", "Another one."], padding=True, return_tensors="np")
names = [each.name for each in session.get_inputs()]
outputs = session.run(None, {name: tokens[name].astype("int64") for name in names})
```""",
    "sentence-transformers": """\
```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("FOLDER")
vectors = model.encode(["A text.", "Another one."])
print(vectors @ vectors.T)
```

`onnx/` has the same model for servers such as text-embeddings-inference.""",
}


def _use(target: str, config: ModelConfig) -> str:
    if target == "saved-model":
        return f"""\
{_loading_by_tensorflow("encode")}

The signatures take token ids. `saved_model_cli show --all --dir FOLDER` describes them;
TensorFlow Serving reads the folder too, with a version as its name."""
    if target in _LOADING:
        return _LOADING[target]
    others = ["`AlbertForMaskedLM`", "`AlbertModel`"]
    # KerasHub takes no other activation and no other epsilon, and says nothing.
    if config.hidden_act == "gelu" and config.layer_norm_eps == 1e-12:
        others.append("KerasHub's `AlbertBackbone.from_preset`")
    return f"""\
{_loading_by_transformers("AlbertForPreTraining")}

{", ".join(others[:-1])} and {others[-1]} load the same folder."""


def _outputs(task: TaskSpec) -> Iterator[str]:
    """What the numbers of the logits stand for, in their order."""
    if task.labels:
        chosen = {
            "classify": "softmax gives the probability of each label",
            "multilabel": "the sigmoid of each gives the probability of its label",
            "tag": "softmax gives the probability of each label at a token",
        }[task.kind]
        yield from (f"The logits are those of these labels; {chosen}.", "")
        yield from ("| place | label |", "|--:|---|")
        for place, label in enumerate(task.labels):
            yield f"| {place} | {markdown(label)} |"
        return
    yield {
        "regress": "The one logit is the score.",
        "choose": "There is a logit for each option; the highest is the answer.",
        "answer": "The two logits of a token say how likely the answer starts and ends there.",
        "embed": "A text is the mean of its tokens' last outputs, scaled to length 1; the "
        "product of two such vectors is how alike their texts are.",
    }[task.kind]


def _served(call: Call) -> Iterator[str]:
    """How a service asks, and what it gets."""
    yield "TensorFlow Serving answers"
    yield from ("", "```json", json.dumps(call.request), "```", "", "with", "")
    yield from ("```json", json.dumps(call.answer), "```", "")
    yield "`input_ids` are token ids between [CLS] and [SEP], `input_mask` is 1 at all"
    yield "that are no padding, `segment_ids` is 1 in the second text of two."
    yield ""


def _loading_by_transformers(architecture: str) -> str:
    return f"""\
```python
from transformers import {architecture}, AutoTokenizer

model = {architecture}.from_pretrained("FOLDER")
tokenizer = AutoTokenizer.from_pretrained("FOLDER")
```"""


def _loading_by_tensorflow(signature: str) -> str:
    return f"""\
```python
import tensorflow as tf

{signature} = tf.saved_model.load("FOLDER").signatures["{signature}"]
```"""


def _origin(record: dict[str, Any], *, step: int) -> str:
    paper = "https://arxiv.org/abs/1909.11942"
    program = f"albert-pretraining {__version__} ([ALBERT]({paper}))"
    if _is_imported(record):
        return f"Imported and written out by {program}, not trained further."
    return f"Pretrained with {program}; weights of step {step:,}."


def _is_imported(record: dict[str, Any]) -> bool:
    return record.get("command") == "import"


def _languages(manifest: DatasetManifest) -> set[str]:
    """The languages of a text, as far as something says them.

    English is also what is written of a file that nobody said anything of; there it is
    as the look at the text found.
    """
    named = {
        file["language"]
        for file in manifest.inputs
        if file["language"] != "en" or file["kind"] == "wikipedia" or "language_from" in file
    }
    if len(named) == len({file["language"] for file in manifest.inputs}):
        return named
    found = dict(manifest.text.get("languages") or {})
    found.pop("other", None)
    return named | {name for name, share in found.items() if share >= _LEAST_LANGUAGE}


def _front_matter(
    pipeline: str, languages: Sequence[str] = (), *, library: str = "transformers"
) -> Iterator[str]:
    """What the Hugging Face Hub reads."""
    yield from ("---", f"library_name: {library}", f"pipeline_tag: {pipeline}")
    yield from ("tags:", "- albert")
    if library == "sentence-transformers":
        yield from (f"- {library}", "- feature-extraction", "- sentence-similarity")
    if languages:
        yield from ("language:", *(f"- {language}" for language in languages))
    yield from ("---", "")


def _model(config: ModelConfig) -> Iterator[str]:
    total = sum(count_parameters(config).values())
    yield from ("## Model", "", "| | |", "|---|---|")
    for field in dataclasses.fields(config):
        if field.name != "sentence_task":
            yield f"| {field.name} | {getattr(config, field.name)} |"
    yield f"| sentence task | {_SENTENCE_TASKS[config.sentence_task]} |"
    yield f"| weights, encoder with pooler | {count_encoder_parameters(config):,} |"
    yield f"| weights with both heads | {total:,} |"
    yield ""
    if config.sharing == "none":
        yield from ("Each layer has weights of its own.", "")
    elif config.sharing != "all":
        yield "The layers share only in part, which other programs cannot say: the"
        yield "files hold the weights of each layer, equal where they are shared."
        yield ""


def _recipe(run: Path, record: dict[str, Any]) -> Iterator[str]:
    if _is_imported(record):
        name = Path(record.get("source") or "an unknown model").name
        yield from ("## Recipe", "", f"That of `{name}`, which was imported.", "")
        return
    if any(field.name in record for field in dataclasses.fields(TrainConfig)):
        config = recorded_training(run, record | {"identity": None}).resolved()
        yield from ("## Recipe", "", "| setting | value |", "|---|---|")
        for name, value in deciding(config).items():
            if name in record and value is not None:
                yield f"| {name} | {value} |"
        for name, value in (record.get("began") or {}).items():
            yield f"| {name} at first | {value} |"
        if source := record.get("init_from"):
            yield f"| started from the weights of | {markdown(Path(source).name)} |"
        yield ""


def _data(manifest: DatasetManifest | None) -> Iterator[str]:
    if manifest is None:
        return
    yield from ("## Data", "", "| | |", "|---|---|")
    yield f"| fingerprint | `{manifest.fingerprint}` |"
    yield f"| `{SPM_MODEL}` | `{manifest.vocabulary['sha256']}` |"
    for split, values in manifest.splits.items():
        examples = sum(copy["examples"] for copy in values["copies"])
        yield (
            f"| {split} | {values['documents']:,} documents, "
            f"{examples:,} examples in copies: {len(values['copies'])} |"
        )
    for name, value in recorded(manifest.config).items():
        yield f"| {name} | {value} |"
    yield from ("", "| input | bytes | sha256 |", "|---|--:|---|")
    files = sorted(manifest.inputs, key=lambda file: file["bytes"], reverse=True)
    for file in files[:_MOST_INPUTS]:
        yield f"| {file['name']} | {file['bytes']:,} | `{file['sha256'][:12]}` |"
    if more := files[_MOST_INPUTS:]:
        yield f"| {len(more):,} more | {sum(file['bytes'] for file in more):,} | |"
    yield ""


def _metrics(run: Path, *, step: int) -> Iterator[str]:
    yield from ("## Metrics", "")
    lines = [m for m in read_metrics(run) if m["split"] == EVAL and m["step"] <= step]
    evaluations = [one for one in read_evaluations(run) if one["step"] == step]
    if not lines and not evaluations:
        yield from ("Nothing was measured on held-out text.", "")
    if lines:
        last = lines[-1]
        yield f"| on held-out text, step {last['step']:,} | |"
        yield "|---|--:|"
        for name, words in _METRICS.items():
            if last.get(name) is not None:
                yield f"| {words} | {metric_text(name, last[name])} |"
        yield ""
    for evaluation in evaluations:
        yield from (f"{heading(evaluation)}:", "")
        yield from markdown_lines(comparison(evaluation))
        yield from ("", *sentences(evaluation), "")


def _licence(manifest: DatasetManifest | None, record: dict[str, Any]) -> Iterator[str]:
    yield from ("## Licence", "")
    if _is_imported(record):
        yield "As the model it was imported from."
        return
    yield "Whoever publishes these weights says under which licence, and answers for"
    yield "the text they were trained on:"
    kinds = {file["kind"] for file in manifest.inputs} if manifest else set()
    yield from ("", *(f"- {_LICENCES[kind]}" for kind in sorted(kinds)))
    if source := record.get("init_from"):
        yield f"- the weights of {Path(source).name} it started from: as theirs"
