"""The card of an exported model."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.convert.model_card import model_card, task_card
from albert_tf.finetuning.predictor import Predictor
from albert_tf.inference import examples_of
from albert_tf.model.trained_model import read_tuned, task_model_of
from albert_tf.runs.checkpoints import Checkpoint, save_checkpoint
from albert_tf.runs.metrics import write_evaluation
from schemas import __version__
from schemas.architecture import ModelConfig
from schemas.files import read_json, write_json
from schemas.task import Columns, TaskRecord, TaskSpec
from tests.commands import run
from tests.evaluations import evaluation
from tests.exported_runs import EVALUATION, ONE_LAYER, SMALL_RUN, write_run, write_tuned
from tests.manifests import edit_manifest


def card_of(run, config=SMALL_RUN, *, letters="e", step=7, **given):
    return model_card(run, config, normalize={"É": letters}.get, step=step, **given)


@pytest.fixture
def trained(small, tmp_path):
    run = tmp_path / "run"
    write_run(run, SMALL_RUN, small, steps=80, batch_size=8, learning_rate=0.001)

    def without_languages(manifest):
        """As where py3langid is not installed."""
        manifest["text"] |= {"languages": {}}

    edit_manifest(run / "data_manifest.json", without_languages)
    return run


def test_a_card_tells_how_to_load_what_it_is_and_how_it_came_to_be(trained):
    card = card_of(trained)
    manifest = read_json(trained / "data_manifest.json")
    assert card.startswith(
        "---\nlibrary_name: transformers\npipeline_tag: fill-mask\nlicense: other\n"
        "tags:\n- albert\n---\n\n# ALBERT, 4 layers of width 16\n"
    )
    for line in (
        'model = AlbertForPreTraining.from_pretrained("FOLDER")',
        "| num_hidden_groups | 2 |",
        "| sentence_task | sentence order (label 0: B follows A, 1: swapped) |",
        "| batch_size | 8 |",
        "| warmup_steps | 2 |",
        "| learning_rate | 0.001 |",
        f"| fingerprint | {manifest['fingerprint']} |",
        f"| sha256 of spiece.model | {manifest['vocabulary']['sha256']} |",
        "| max_seq_length | 32 |",
        "| on held-out text, step 7 | |",
        "| masked-LM loss (nats) | 5.5000 |",
        "| masked-LM accuracy | 12.50% |",
        "- further text: as its owners say",
    ):
        assert line in card.splitlines()
    assert "Pretrained with albert-pretraining " in card
    assert "([ALBERT](https://arxiv.org/abs/1909.11942)); weights of step 7." in card
    assert str(trained.parent) not in card


@pytest.mark.parametrize(
    ("file", "look", "languages"),
    [
        ({"language": "en"}, {}, []),
        ({"language": "en"}, {"languages": {"en": 0.8, "fr": 0.2, "la": 0.01}}, ["en", "fr"]),
        ({"language": "uk"}, {"languages": {"en": 1.0}}, ["uk"]),
        ({"language": "en", "language_from": "flag"}, {}, ["en"]),
        ({"language": "en", "kind": "wikipedia"}, {"languages": {"fr": 1.0}}, ["en"]),
    ],
    ids=["default", "seen", "named", "flag", "wikipedia"],
)
def test_a_card_names_the_languages_that_are_known(trained, file, look, languages):
    def edit(manifest):
        manifest["text"] |= look
        for each in manifest["inputs"]:
            each |= file

    edit_manifest(trained / "data_manifest.json", edit)
    card = card_of(trained)
    listed = "".join(f"- {each}\n" for each in languages)
    front = card.partition("# ALBERT")[0]
    expected = f"language:\n{listed}---\n\n" if listed else "---\n\n"
    assert front.partition("- albert\n")[2] == expected


@pytest.mark.parametrize(
    ("changed", "is_named"),
    [({}, True), ({"hidden_act": "relu"}, False), ({"layer_norm_eps": 1e-6}, False)],
)
def test_keras_hub_is_named_where_it_computes_the_same(tmp_path, changed, is_named):
    card = card_of(tmp_path, dataclasses.replace(SMALL_RUN, **changed))
    assert ("AlbertBackbone.from_preset" in card) == is_named
    assert "`AlbertModel`" in card


def test_a_card_has_what_was_measured_of_its_weights_and_of_no_others(trained):
    write_evaluation(trained, evaluation(step=6))
    assert "bits per character" not in card_of(trained)
    write_evaluation(trained, evaluation(step=7))
    row = "| the model | 1.750 (1.700 to 1.800) | 5.500 | 12.5% (11.5 to 13.6%) |\n"
    assert row in card_of(trained)
    card = card_of(trained, step=5)
    assert "Nothing was measured on held-out text." in card
    assert "nats" not in card


def test_a_card_says_what_was_trained_on_how_long_and_on_what(trained):
    metrics = {**EVALUATION, "seconds": 5400.0}
    (trained / "metrics.jsonl").write_text(json.dumps(metrics) + "\n")
    state = {"step": 7, "machine": "2 CPU cores"}
    save_checkpoint(trained, Checkpoint({}, {}, state), is_best=False)
    length = round(read_json(trained / "data_manifest.json")["statistics"]["mean_length"])
    assert {
        f"| tokens trained on, about | {7 * 8 * length:,} |",
        "| time in steps | 1 h 30 min |",
        "| machine, at the end | 2 CPU cores |",
    } < set(card_of(trained).splitlines())


@pytest.mark.parametrize(
    ("made_of", "said"),
    [
        ("É", "Capitals and accents are kept."),
        ("é", "Capitals become small letters, accents are kept."),
        ("▁e", "Capitals become small letters, and accents are lost."),
        ("o", "É is read as o."),
    ],
)
def test_a_card_says_which_letters_are_kept(tmp_path, made_of, said):
    assert f"give it raw text. {said}" in card_of(tmp_path, letters=made_of)


def test_a_card_says_when_sharing_was_written_out(tmp_path):
    shared, partly, apart = (
        card_of(tmp_path, dataclasses.replace(SMALL_RUN, sharing=sharing))
        for sharing in ("all", "attention", "none")
    )
    assert ["share only in part" in card for card in (shared, partly, apart)] == [0, 1, 0]
    assert "Each layer has weights of its own." in apart
    # As the exported config.json says it.
    assert {"| num_hidden_groups | 4 |", "| sharing | none |"} < set(apart.splitlines())


def test_a_bare_run_has_a_card_all_the_same_that_names_the_vocabulary_beside_it(tmp_path):
    ours, theirs = card_of(tmp_path), card_of(tmp_path, vocabulary="vocab.txt")
    assert "## Recipe" not in ours
    assert "## Data" not in ours
    assert "`spiece.model` holds the text normalization: give it raw text." in ours
    assert "`vocab.txt` has BERT's pieces: divide text as BERT's tokenizer does." in theirs


def test_what_a_run_went_on_from_and_what_it_began_with_is_named(trained):
    record = read_json(trained / "config.json")
    more = {"init_from": "elsewhere/first", "began": {"steps": 40}}
    write_json(trained / "config.json", record | more)
    card = card_of(trained, ModelConfig())
    # Without its path, which is nobody else's business.
    assert "| steps at first | 40 |\n| started from the weights of | first |\n" in card
    assert "- the weights of first it started from: as theirs" in card


def test_of_many_inputs_the_largest_are_listed(trained):
    manifest = read_json(trained / "data_manifest.json")
    (file,) = manifest["inputs"][:1]
    inputs = [file | {"name": f"n{i}", "bytes": i} for i in range(1, 31)]
    edit_manifest(trained / "data_manifest.json", lambda values: values.update(inputs=inputs))
    card = card_of(trained)
    digest = file["sha256"][:12]
    kind = f"{file['format']} | {file['language']}"
    assert [row for row in card.splitlines() if digest in row] == [
        f"| n{i} | {kind} | {i} | {digest} |" for i in range(30, 10, -1)
    ]
    assert f"| and 10 smaller files | | | {sum(range(1, 11))} | |" in card.splitlines()


def test_an_imported_model_has_the_licence_of_its_source(tmp_path):
    write_json(tmp_path / "config.json", {"command": "import", "source": "elsewhere/albert-x"})
    card = card_of(tmp_path, step=0)
    assert "Imported and written out by " in card
    assert "That of `albert-x`, which was imported." in card
    assert "Pretrained" not in card
    assert "As the model it was imported from." in card


def record_of(kind, *, threshold=None, **values):
    spec = TaskSpec(name=kind, kind=kind, **values)
    return TaskRecord(spec=spec, max_seq_length=48, threshold=threshold)


def test_the_card_of_a_fine_tuned_model_says_first_how_to_load_it(tmp_path):
    (tmp_path / "README.md").write_text("# A classifier\n", "utf-8")
    record = record_of("classify", labels=("good", "bad"))
    card = task_card(tmp_path, record, step=7, target="hf")
    assert card.startswith(
        "---\nlibrary_name: transformers\npipeline_tag: text-classification\nlicense: other\n"
        "tags:\n- albert\n---\n\n```python\n"
        "from transformers import AlbertForSequenceClassification, AutoTokenizer\n\n"
        'model = AlbertForSequenceClassification.from_pretrained("FOLDER")\n'
        'tokenizer = AutoTokenizer.from_pretrained("FOLDER")\n'
        "```\n\n"
    )
    assert "| place | label |\n|--:|---|\n| 0 | good |\n| 1 | bad |\n" in card
    assert f"Written by albert-pretraining {__version__} with safetensors" in card
    assert card.endswith(".\n\n# A classifier\n")


@pytest.mark.parametrize(
    ("kind", "target", "said"),
    [
        ("multilabel", "hf", "A label is given from a probability of 0.2500 up."),
        (
            *("answer", "onnx"),
            "A question has no answer where [CLS] scores more than the best span by more than "
            "0.2500.",
        ),
        ("multilabel", "sentence-transformers", None),
    ],
)
def test_a_card_says_the_threshold_of_what_was_exported(tmp_path, kind, target, said):
    """Whatever that of the model's own card is, of other weights or of none."""
    labels = ("good", "bad") if kind == "multilabel" else ()
    record = record_of(kind, labels=labels, threshold=0.25)
    lines = task_card(tmp_path, record, step=7, target=target).splitlines()
    assert [line for line in lines if "0.2500" in line] == ([said] if said else [])


@pytest.mark.parametrize(
    ("kind", "columns", "said"),
    [
        (
            *("answer", {}),
            "The question comes first, its passage second; `albert predict` reads a long one in "
            "windows.",
        ),
        (
            *("choose", {}),
            "A row is an option: the text comes first, then the question with the option in the "
            "place of its blank or after it.",
        ),
        ("regress", {"pair": "claim"}, "`text` comes first, `claim` second."),
        ("regress", {}, None),
        ("embed", {"pair": "positive"}, None),
    ],
)
@pytest.mark.parametrize("target", ["hf", "onnx", "saved-model"])
def test_a_card_says_which_of_two_texts_comes_first(tmp_path, kind, columns, said, target):
    record = record_of(kind, columns=Columns(text="text", **columns))
    lines = task_card(tmp_path, record, step=7, target=target).splitlines()
    assert [line for line in lines if " comes first, " in line] == ([said] if said else [])


ASKED = {
    "classify": [{"text": "A text."}, {"text": "Another one."}],
    "answer": [
        {"text": "Its passage.", "text_pair": "A question?"},
        {"text": "That of the other.", "text_pair": "Another one?"},
    ],
    "choose": [{"text": "A text.", "text_pair": "A question?", "options": ("Yes.", "No.")}],
}


def exported(folder, kind, vocabulary, target, *, config=ONE_LAYER):
    """Where a fine-tuned model is, where its export, and what the card of that says."""
    tuned, out = folder / "tuned", folder / "out"
    write_tuned(tuned, kind, vocabulary, config=config)
    run("export", tuned, "--to", target, "--output", out)
    return tuned, out, (out / "README.md").read_text("utf-8")


@pytest.mark.parametrize("kind", ASKED)
def test_the_code_in_the_card_of_a_graph_gives_what_the_model_does(kind, model, tmp_path):
    pytest.importorskip("transformers")
    config = dataclasses.replace(ONE_LAYER, vocab_size=2000)
    folder, out, card = exported(tmp_path, kind, model, "onnx", config=config)
    code, found = card.partition("```python\n")[2].partition("```")[0], {}
    exec(code.replace("FOLDER", str(out)), found)
    theirs = np.stack(found["outputs"], axis=-1) if kind == "answer" else found["outputs"][0]
    tuned = albert_tf.load(folder)
    rows = tuned.encoded(examples_of(ASKED[kind], tuned.trained.record.spec)).rows
    ours = Predictor(tuned.trained, is_compiled=False).logits(rows)
    for given, wanted in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(given[: len(wanted)], wanted, atol=1e-4)
    if kind == "classify":
        said = [[*answer["probabilities"].values()] for answer in tuned.predict(ASKED[kind])]
        shares = np.exp(ours) / np.exp(ours).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(said, shares, atol=1e-5)


# One of each shape of what goes in and comes out.
@pytest.mark.parametrize("kind", ["classify", "choose", "tag", "embed"])
def test_the_answer_in_a_card_and_that_of_the_saved_model_are_the_models_own(kind, small, tmp_path):
    vocabulary = (small / "vocab" / "spiece.model").read_bytes()
    folder, out, card = exported(tmp_path, kind, vocabulary, "saved-model")
    assert 'tf.saved_model.load("FOLDER").signatures["predict"]' in card
    assert f"albert-pretraining {__version__} with tensorflow {tf.__version__}" in card
    blocks = card.split("```json\n")[1:]
    request, answer = (json.loads(block.split("\n```")[0]) for block in blocks)
    assert request["signature_name"] == "predict"
    predict = tf.saved_model.load(str(out)).signatures["predict"]
    inputs = {n: tf.constant(v, tf.int32) for n, v in request["inputs"].items()}
    logits = predict(**inputs)["logits"].numpy()
    given = {name: np.array(values) for name, values in request["inputs"].items()}
    expected = np.asarray(task_model_of(read_tuned(folder))(given))
    assert logits == pytest.approx(expected, abs=1e-4)
    assert np.array(answer["outputs"]) == pytest.approx(expected, abs=1e-4)
