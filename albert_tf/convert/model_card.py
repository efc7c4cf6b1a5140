"""The model card: what an exported model is and how it came to be, for a person."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path

from albert_tf.convert.huggingface import ARCHITECTURES, PIPELINES
from albert_tf.model.parameters import count_encoder_parameters, count_parameters, whole_layers
from albert_tf.model.sampled_softmax import num_candidates
from albert_tf.planning.budget import tokens_of_example
from albert_tf.runs.checkpoints import newest_state
from albert_tf.runs.metrics import comparison, heading, read_evaluations, read_metrics, sentences
from albert_tf.runs.run_record import recorded_manifest, recorded_settings, recorded_training
from albert_tf.runs.task_record import threshold_sentence
from schemas import __version__
from schemas.architecture import ModelConfig
from schemas.config import TrainConfig, deciding
from schemas.files import Values, read_json
from schemas.layout import EVAL, MODEL_CARD, SPM_MODEL, TASK_EVALUATION, WORDPIECE
from schemas.manifest import DatasetManifest, inputs_table, recorded, splits_table
from schemas.readable import counted, duration
from schemas.report import Section, Table, as_facts, as_markdown
from schemas.task import TaskRecord, TaskSpec

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
# What becomes of capitals and accents, by what is made of É.
_LETTERS = {
    "É": "Capitals and accents are kept.",
    "é": "Capitals become small letters, accents are kept.",
    "E": "Capitals are kept, accents are lost.",
    "e": "Capitals become small letters, and accents are lost.",
}


def model_card(
    run: Path,
    config: ModelConfig,
    *,
    step: int,
    target: str = "hf",
    vocabulary: str = SPM_MODEL,
    normalize: Callable[[str], str],
    notes: Iterable[str] = (),
) -> str:
    """`README.md` of an export.

    Args:
        run: Where settings, data and metrics are recorded, as far as it has them.
        normalize: What its vocabulary makes of a text.
        target: As `albert export --to` takes it.
    """
    record, manifest = recorded_settings(run), recorded_manifest(run)
    languages = _languages(manifest) if manifest else set()
    is_for_sentences = target == "sentence-transformers"
    pipeline = "feature-extraction" if is_for_sentences else "fill-mask"
    front = _front_matter(target, pipeline, sorted(languages))
    title = f"ALBERT, {counted(config.num_hidden_layers, 'layer')} of width {config.hidden_size}"
    letters = normalize("É").strip("▁ ")
    uses = (
        _origin(record, step=step),
        *notes,
        _use(target, config),
        f"{_VOCABULARIES[vocabulary]} {_LETTERS.get(letters, f'É is read as {letters}.')}",
    )
    card = [
        Section(title=title, parts=uses),
        _model(config),
        *_recipe(run, record, config, step=step, manifest=manifest),
        *_data(manifest),
        _metrics(run, step=step),
        _licence(manifest, record),
    ]
    return front + as_markdown(card)


# A request to a SavedModel in a server, and the answer, as values of JSON.
Call = tuple[Values, Values]


def task_card(
    run: Path,
    record: TaskRecord,
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
    task = record.spec
    if target == "sentence-transformers":
        task = dataclasses.replace(task, kind="embed", labels=())
        record = dataclasses.replace(record, spec=task)
    front = _front_matter(target, PIPELINES[task.kind])
    parts: list[str | Table] = [_loading(target, task)]
    if target == "saved-model":
        parts.append("It takes `input_ids`, `input_mask` and `segment_ids`, and gives `logits`.")
    parts += [*_outputs(record), *notes, *(_served(call) if call else ())]
    parts.append(f"Written by albert-pretraining {__version__} with {named}.")
    if own.is_file():
        path = run / TASK_EVALUATION
        measured = read_json(path)["step"] if path.is_file() else step
        if measured != step:
            parts.append(
                f"These are the weights of step {step:,}; what follows was measured with "
                f"those of step {measured:,}, the best."
            )
        parts.append(own.read_text(encoding="utf-8").rstrip("\n"))
    return front + as_markdown([Section(parts=parts)])


_LIBRARIES = {
    "hf": "transformers",
    "onnx": "onnxruntime",
    "sentence-transformers": "sentence-transformers",
}
# Of models that read two texts: what a tokenizer is given in code, and which comes first.
_TWO_TEXTS = {
    "answer": (
        '["A question?", "Another one?"], ["Its passage.", "That of the other."],\n'
        '    truncation="only_second"',
        "The question comes first, its passage second; `albert predict` reads a long one in "
        "windows.",
    ),
    "choose": (
        '["A text."] * 2, ["A question? Yes.", "A question? No."], truncation="only_first"',
        "A row is an option: the text comes first, then the question with the option in the place "
        "of its blank or after it.",
    ),
}


def _texts(task: TaskSpec | None) -> tuple[str, str]:
    """As `_TWO_TEXTS` has it, of any task or of none."""
    if task and task.kind in _TWO_TEXTS:
        return _TWO_TEXTS[task.kind]
    given, first = '["A text.", "Another one."], ', ""
    if task and task.columns.pair and task.kind != "embed":
        given += '["Its second text.", "That of the other."], '
        first = f"`{task.columns.text}` comes first, `{task.columns.pair}` second."
    return f"{given}truncation=True", first


def _use(target: str, config: ModelConfig) -> str:
    loading = _loading(target)
    if target == "saved-model":
        return f"""\
{loading}

The signatures take token ids. `saved_model_cli show --all --dir FOLDER` describes them;
TensorFlow Serving reads the folder too, with a version as its name."""
    if target != "hf":
        return loading
    others = ["`AlbertForMaskedLM`", "`AlbertModel`"]
    # KerasHub takes no other activation and no other epsilon, and says nothing.
    if config.hidden_act == "gelu" and config.layer_norm_eps == 1e-12:
        others.append("KerasHub's `AlbertBackbone.from_preset`")
    return f"""\
{loading}

{", ".join(others[:-1])} and {others[-1]} load the same folder."""


def _outputs(record: TaskRecord) -> Iterator[str | Table]:
    """Which text comes first, what the logits stand for, in their order, and the threshold."""
    task = record.spec
    _, first = _texts(task)
    yield first
    if task.labels:
        chosen = {
            "classify": "softmax gives the probability of each label",
            "multilabel": "the sigmoid of each gives the probability of its label",
            "tag": "softmax gives the probability of each label at a token",
        }[task.kind]
        yield f"The logits are those of these labels; {chosen}."
        yield Table(columns=("place", "label"), rows=list(enumerate(task.labels)))
    else:
        yield {
            "regress": "The one logit is the score.",
            "choose": "There is a logit for each option; the highest is the answer.",
            "answer": "The two logits of a token say how likely the answer starts and ends there.",
            "embed": "A text is the mean of its tokens' last outputs, scaled to length 1; the "
            "product of two such vectors is how alike their texts are.",
        }[task.kind]
    yield threshold_sentence(record)


def _served(call: Call) -> Iterator[str]:
    """How a service asks, and what it gets."""
    request, answer = (f"```json\n{json.dumps(values)}\n```" for values in call)
    yield from ("TensorFlow Serving answers", request, "with", answer)
    yield """\
`input_ids` are token ids between [CLS] and [SEP], `input_mask` is 1 at all
that are no padding, `segment_ids` is 1 in the second text of two."""


def _loading(target: str, task: TaskSpec | None = None) -> str:
    """How an export is loaded, and a graph asked."""
    if target == "saved-model":
        signature = "predict" if task else "encode"
        return f"""\
```python
import tensorflow as tf

{signature} = tf.saved_model.load("FOLDER").signatures["{signature}"]
```"""
    if target == "sentence-transformers":
        return """\
```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("FOLDER")
vectors = model.encode(["A text.", "Another one."])
print(vectors @ vectors.T)
```

`onnx/` has the same model for servers such as text-embeddings-inference."""
    if target == "onnx":
        given, _ = _texts(task)
        # A graph that chooses takes options of several rows.
        row = "[None]" if task and task.kind == "choose" else ""
        return f"""\
```python
import onnxruntime
from transformers import AutoTokenizer

session = onnxruntime.InferenceSession("FOLDER/model.onnx")
tokenizer = AutoTokenizer.from_pretrained("FOLDER")
tokens = tokenizer(
    {given}, padding=True, return_tensors="np"
)
names = [each.name for each in session.get_inputs()]
outputs = session.run(None, {{name: tokens[name]{row}.astype("int64") for name in names}})
```"""
    architecture = ARCHITECTURES[task.kind] if task else "AlbertForPreTraining"
    return f"""\
```python
from transformers import {architecture}, AutoTokenizer

model = {architecture}.from_pretrained("FOLDER")
tokenizer = AutoTokenizer.from_pretrained("FOLDER")
```"""


def _origin(record: Values, *, step: int) -> str:
    paper = "https://arxiv.org/abs/1909.11942"
    program = f"albert-pretraining {__version__} ([ALBERT]({paper}))"
    if _is_imported(record):
        return f"Imported and written out by {program}, not trained further."
    return f"Pretrained with {program}; weights of step {step:,}."


def _is_imported(record: Values) -> bool:
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


def _front_matter(target: str, pipeline: str, languages: Sequence[str] = ()) -> str:
    """What the Hugging Face Hub reads, of files that one of its libraries loads."""
    library = _LIBRARIES.get(target)
    if library is None:
        return ""
    lines = ["---", f"library_name: {library}", f"pipeline_tag: {pipeline}"]
    # Who publishes it decides; the hub knows no empty field.
    lines += ["license: other", "tags:", "- albert"]
    if library == "sentence-transformers":
        lines += [f"- {library}", "- feature-extraction", "- sentence-similarity"]
    if languages:
        lines += ["language:", *(f"- {language}" for language in languages)]
    return "\n".join([*lines, "---", "", ""])


def _model(config: ModelConfig) -> Section:
    # As the files have it.
    facts = dataclasses.asdict(whole_layers(config)) | {
        "sharing": config.sharing,
        "sentence_task": _SENTENCE_TASKS[config.sentence_task],
        "weights, encoder with pooler": f"{count_encoder_parameters(config):,}",
        "weights with both heads": f"{sum(count_parameters(config).values()):,}",
    }
    notes = {"all": (), "none": ("Each layer has weights of its own.",)}.get(
        config.sharing,
        (
            "The layers share only in part, which other programs cannot say: the\n"
            "files hold the weights of each layer, equal where they are shared.",
        ),
    )
    return Section(title="Model", facts=as_facts(facts), parts=notes)


def _recipe(
    run: Path, record: Values, model: ModelConfig, *, step: int, manifest: DatasetManifest | None
) -> Iterator[Section]:
    if _is_imported(record):
        name = Path(record.get("source") or "an unknown model").name
        yield Section(title="Recipe", parts=(f"That of `{name}`, which was imported.",))
    elif any(field.name in record for field in dataclasses.fields(TrainConfig)):
        config = recorded_training(run, record | {"identity": None}).resolved()
        settings = {
            name: value
            for name, value in deciding(config).items()
            if name in record and value is not None
        }
        began = record.get("began") or {}
        settings |= {f"{name} at first": value for name, value in began.items()}
        if source := record.get("init_from"):
            settings["started from the weights of"] = Path(source).name
        if manifest is not None:
            if config.sampled_softmax:
                candidates = num_candidates(model, config, manifest.config)
                settings["sampled_softmax"] = candidates or "not used"
            length = tokens_of_example(manifest, config, done=max(1, step) / config.steps)
            tokens = step * config.batch_size * length
            settings["tokens trained on, about"] = f"{tokens:,}"
        done = [line for line in read_metrics(run) if line["step"] <= step]
        if done and (seconds := done[-1].get("seconds")):
            settings["time in steps"] = duration(seconds)
        if machine := (newest_state(run) or {}).get("machine"):
            settings["machine, at the end"] = machine
        yield Section(title="Recipe", facts=as_facts(settings))


def _data(manifest: DatasetManifest | None) -> Iterator[Section]:
    if manifest is not None:
        facts = {
            "fingerprint": manifest.fingerprint,
            f"sha256 of {SPM_MODEL}": manifest.vocabulary["sha256"],
            **recorded(manifest.config),
        }
        tables = (splits_table(manifest), inputs_table(manifest, most=_MOST_INPUTS))
        yield Section(title="Data", facts=as_facts(facts), parts=tables)


def _metrics(run: Path, *, step: int) -> Section:
    lines = [m for m in read_metrics(run) if m["split"] == EVAL and m["step"] <= step]
    parts: list[str | Table] = []
    if lines:
        last = lines[-1]
        measured = [
            (words, f"{last[name]:.2%}" if name.endswith("_accuracy") else f"{last[name]:.4f}")
            for name, words in _METRICS.items()
            if last.get(name) is not None
        ]
        parts.append(Table(columns=(f"on held-out text, step {last['step']:,}", ""), rows=measured))
    for one in read_evaluations(run):
        if one["step"] == step:
            parts += [f"{heading(one)}:", comparison(one), "\n".join(sentences(one))]
    return Section(title="Metrics", parts=parts or ["Nothing was measured on held-out text."])


def _licence(manifest: DatasetManifest | None, record: Values) -> Section:
    parts = ["As the model it was imported from."]
    if not _is_imported(record):
        kinds = {file["kind"] for file in manifest.inputs} if manifest else set()
        terms = [f"- {_LICENCES[kind]}" for kind in sorted(kinds)]
        if source := record.get("init_from"):
            terms.append(f"- the weights of {Path(source).name} it started from: as theirs")
        parts = [
            "Whoever publishes these weights says under which licence, and answers for\n"
            "the text they were trained on:",
            "\n".join(terms),
        ]
    return Section(title="Licence", parts=parts)
